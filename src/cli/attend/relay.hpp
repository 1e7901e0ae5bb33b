// One attended attempt: this process's input to the shim, the job's output to this process's.
//
// Nothing here waits. A reader that does not keep up holds the job up, as a pipe would.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/attend/detach_keys.hpp"
#include "cli/attend/raw_terminal.hpp"
#include "http/socket.hpp"
#include "shim/attach.hpp"

namespace berth::cli {

/// Whether standard input may be read at all, or was read to its end by an earlier attempt.
enum class Input { Open, Ended };

class Relay {
 public:
  /// `keys` where they are looked for in the input.
  Relay(Descriptor shim, Input input, std::optional<DetachKeys> keys = {});

  /// What to poll for: the shim, and standard input, output and error.
  struct Polls {
    pollfd shim;
    pollfd input;
    pollfd output;
    pollfd error;
  };
  Polls interests() const;
  void advance(const Polls& polls);

  /// What was typed before there was a shim.
  void type(std::string_view bytes);
  void send_signal(int signal);
  void send_size(TerminalSize size);

  /// Asks the shim to let this client go.
  void detach();
  /// The keys for that were typed since the last call.
  bool take_wish_to_detach() { return std::exchange(wants_to_detach_, false); }
  /// How the shim parted with this client while the job goes on.
  std::optional<shim::Parting> parting() const { return parting_; }

  /// The shim has said its last, and all of it is written.
  bool is_over() const { return ended_ && output_.is_drained() && error_.is_drained(); }
  std::optional<int> exit_code() const { return exit_code_; }
  Input input() const { return input_; }
  /// Standard output or error could not be written: errno. What follows for it is dropped.
  std::optional<int> failure() const {
    return output_.failure() ? output_.failure() : error_.failure();
  }

 private:
  /// A descriptor that is written where poll says that it takes something.
  class Sink {
   public:
    explicit Sink(int descriptor);
    void add(std::string_view bytes);
    pollfd interest() const;
    void advance(short ready);
    bool is_drained() const { return pending_.empty(); }
    bool is_full() const;
    std::optional<int> failure() const { return failure_; }

   private:
    int descriptor_;
    std::size_t at_once_;
    std::string pending_;
    std::optional<int> failure_;
  };

  void read_shim();
  void take(const shim::Frame& frame);
  void read_input();
  void end_input();
  void flush();

  Descriptor shim_;
  shim::FrameReader frames_;
  std::string unsent_;
  Input input_;
  Sink output_{1};
  Sink error_{2};
  std::optional<DetachKeys> keys_;
  bool wants_to_detach_ = false;
  std::optional<shim::Parting> parting_;
  bool ended_ = false;
  std::optional<int> exit_code_;
};

}  // namespace berth::cli
