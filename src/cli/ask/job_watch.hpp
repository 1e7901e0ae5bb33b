// A job's events from a daemon that may go away and come back.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/ask/daemon.hpp"
#include "cli/ask/polled_request.hpp"
#include "cli/print/json.hpp"
#include "http/client.hpp"

namespace berth::cli {

using Clock = std::chrono::steady_clock;

class JobWatch {
 public:
  using Changed = std::function<void(const Json& job)>;

  JobWatch(std::string socket, std::string job)
      : socket_(std::move(socket)), job_(std::move(job)) {}

  pollfd interest() const;
  /// When to call advance() even if there is nothing to read.
  std::optional<Clock::time_point> due() const;
  /// Reads what has come, if poll found something of interest(), and connects where it is time to.
  void advance(Clock::time_point now, const pollfd& polled, const Changed& changed);

  /// Since when nothing is known any more; nothing while the daemon is there.
  std::optional<Clock::time_point> away_since() const { return away_since_; }
  /// No daemon listens there at present, or it is there and says nothing.
  bool is_unreachable() const { return unreachable_; }
  /// The daemon's message, if it does not know the job or refuses.
  const std::optional<std::string>& refusal() const { return refusal_; }

 private:
  void connect(Clock::time_point now);
  void read(Clock::time_point now, const Changed& changed);
  void lose(Clock::time_point now);
  bool is_silent() const { return stream_ && stream_->status() == 0; }

  std::string socket_;
  std::string job_;  ///< Its handle.
  std::optional<PolledRequest> stream_;
  http::EventReader events_;
  std::string said_;  ///< The body of an answer that is not 200.
  Backoff backoff_;
  Clock::time_point next_try_{};
  Clock::time_point answer_by_{};  ///< Of one that is silent so far.
  std::optional<Clock::time_point> away_since_;
  bool unreachable_ = false;
  std::optional<std::string> refusal_;
};

}  // namespace berth::cli
