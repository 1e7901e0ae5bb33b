// Carries bytes between the job, its log and the client that attends it. Never blocks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shim/program/client.hpp"
#include "shim/program/log.hpp"
#include "shim/program/poll_set.hpp"
#include "shim/program/streams.hpp"

namespace berth::shim {

/// What the client asked for that is not a matter of bytes.
struct Wishes {
  std::vector<int> signals;
  bool hung_up = false;  ///< It is gone, as of now, and takes the job along.
};

class Pump {
 public:
  Pump(ShimEnds ends, Log& log, std::optional<Client> client);

  void watch(PollSet& set) const;
  Wishes move(const PollSet& ready);
  /// For poll: milliseconds until move() has something to do; -1: it has not.
  int timeout() const { return log_.copy() == nullptr ? -1 : log_.copy()->timeout(); }
  /// Takes what the ended tree left in its pipes, even if the client does not read.
  void drain();

  /// From now on the client may go, and the job stays.
  void let_go() { may_go_ = true; }
  /// Another client takes the place of the one before, if there is one; it may go.
  void replace(Client client, const Attach& size);
  bool has_terminal() const { return ends_.terminal.is_open(); }
  bool has_client() const { return client_.has_value(); }

  /// The process group in the foreground of the job's terminal; nothing without a terminal.
  std::optional<pid_t> foreground() const;
  /// A line of berth's own, in the log and before the client.
  void say(std::string_view words);
  /// The last frame; waits a few seconds for a client that does not read.
  void finish(int code);

 private:
  bool is_held_back() const {
    return (client_ && client_->has_unsent()) || (log_.copy() != nullptr && log_.copy()->is_full());
  }
  bool wants_input() const { return input_.size() < kLargestFrame; }
  std::size_t pass_on(Descriptor& from, FrameKind kind);
  void feed_job();
  void end_input();
  bool obey(const Frame& frame, Wishes& wishes);
  bool hear_client(Wishes& wishes);
  void detach();
  void resize(std::uint16_t rows, std::uint16_t columns);
  void tell_of_vain_stop(std::string_view typed);

  ShimEnds ends_;
  Log& log_;
  std::optional<Client> client_;
  bool may_go_ = false;         ///< The client; its end is no hang-up then.
  bool goes_ = false;           ///< It detaches now.
  bool knows_of_stop_ = false;  ///< The client: that Ctrl-Z stops nothing here.
  std::string input_;           ///< For the job, not written yet.
  bool input_ends_ = false;
  std::unique_ptr<char[]> buffer_;  ///< Not cleared: a quiet job costs no page of it.
};

}  // namespace berth::shim
