// The signals that `berth run` passes on, as something to poll. They stay blocked until the end.
#pragma once

#include <csignal>
#include <optional>

#include "http/socket.hpp"

namespace berth::cli {

struct QueuedSignal {
  int number = 0;
  bool is_of_a_key = false;  ///< The terminal sent it for a key, no other process.

  /// Says something to a program that runs, and nothing to one that does not.
  bool is_news() const {
    return number == SIGWINCH || number == SIGCONT || number == SIGTSTP || number == SIGUSR1 ||
           number == SIGUSR2;
  }
};

class SignalQueue {
 public:
  /// SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP and SIGCONT; SIGPIPE is
  /// ignored meanwhile, and SIGTTIN blocked for read_in_front(). One that this process was started
  /// to ignore, as by nohup, stays ignored.
  SignalQueue();
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  int descriptor() const { return queue_.number(); }
  std::optional<QueuedSignal> next() const;
  /// Stops this process, as SIGTSTP does where it is not taken: not if there is no shell that could
  /// let it go on.
  static void stop();

 private:
  sigset_t before_{};
  struct sigaction pipe_before_{};
  Descriptor queue_;
};

}  // namespace berth::cli
