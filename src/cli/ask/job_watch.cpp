#include "cli/ask/job_watch.hpp"

namespace berth::cli {

pollfd JobWatch::interest() const {
  return stream_ ? stream_->interest() : pollfd{.fd = -1, .events = 0, .revents = 0};
}

std::optional<Clock::time_point> JobWatch::due() const {
  if (is_silent()) return answer_by_;
  return stream_ || refusal_ ? std::nullopt : std::optional(next_try_);
}

void JobWatch::advance(Clock::time_point now, const pollfd& polled, const Changed& changed) {
  if (refusal_) return;
  if (stream_ && polled.revents != 0) read(now, changed);
  if (is_silent() && now >= answer_by_) {
    unreachable_ = true;
    stream_.reset();
    lose(now);
  }
  if (!stream_ && !refusal_ && now >= next_try_) connect(now);
}

void JobWatch::connect(Clock::time_point now) {
  auto opened = PolledRequest::open(
      socket_, {.method = "GET", .target = "/v1/events?job=" + http::escape(job_), .body = {}});
  if (!opened) {
    unreachable_ = true;
    return lose(now);
  }
  stream_ = std::move(*opened);
  answer_by_ = now + std::chrono::microseconds(micros(http::kClientPatience));
  events_ = {};
  said_.clear();
}

void JobWatch::read(Clock::time_point now, const Changed& changed) {
  const auto event = [&](const http::ServerEvent& one) {
    unreachable_ = false;
    away_since_.reset();
    backoff_.reset();
    if (const auto job = parse_json(one.data); job && job->is_object()) changed(*job);
  };
  const auto progress = stream_->advance([&](std::string_view bytes) {
    if (stream_->status() == 200) {
      events_.add(bytes, event);
    } else {
      said_.append(bytes);
    }
  });
  if (progress == PolledRequest::Progress::Open) return;
  const int status = stream_->status();
  const bool refused = progress == PolledRequest::Progress::Ended && status >= 400 && status < 500;
  if (refused) {
    refusal_ = answer_of({.status = status, .body = said_}).error().message;
  }
  stream_.reset();
  lose(now);
}

void JobWatch::lose(Clock::time_point now) {
  if (!away_since_) away_since_ = now;
  next_try_ = now + backoff_.next();
}

}  // namespace berth::cli
