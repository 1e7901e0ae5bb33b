#include "cli/attend/signal_queue.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace berth::cli {

SignalQueue::SignalQueue() {
  sigset_t wanted;
  sigemptyset(&wanted);
  // One that is ignored waits in a queue all the same, if it is blocked.
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT}) {
    struct sigaction inherited{};
    sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) sigaddset(&wanted, signal);
  }
  sigset_t blocked = wanted;
  sigaddset(&blocked, SIGTTIN);
  sigprocmask(SIG_BLOCK, &blocked, &before_);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
  queue_ = Descriptor(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

SignalQueue::~SignalQueue() {
  while (next()) {
  }
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void SignalQueue::stop() {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGTSTP);
  std::raise(SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);  // here it stops
  sigprocmask(SIG_BLOCK, &one, nullptr);
}

std::optional<QueuedSignal> SignalQueue::next() const {
  signalfd_siginfo info;
  if (read(queue_.number(), &info, sizeof info) != sizeof info) return std::nullopt;
  const int number = static_cast<int>(info.ssi_signo);
  const bool has_key =
      number == SIGINT || number == SIGQUIT;  // a terminal that closes sends SIGHUP
  return QueuedSignal{.number = number, .is_of_a_key = has_key && info.ssi_code == SI_KERNEL};
}

}  // namespace berth::cli
