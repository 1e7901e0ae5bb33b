#include "shim/program/ending.hpp"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>

#include "posix/descriptor.hpp"
#include "shim/program/io.hpp"
#include "shim/program/tree.hpp"

namespace berth::shim {

namespace {

constexpr std::chrono::milliseconds kLongestGrace = std::chrono::hours(24 * 365);
constexpr std::chrono::milliseconds kGraceForLeftovers = std::chrono::seconds(2);
constexpr std::chrono::milliseconds kLongestPause = std::chrono::seconds(1);

}  // namespace

Ending::Ending(pid_t job, const Order& order)
    : job_(job),
      grace_(std::min(kLongestGrace, std::chrono::milliseconds(order.grace_millis))),
      cgroup_(order.cgroup) {}

void Ending::stop() {
  was_asked_ = true;
  ask_to_end(job_);
  kill_at_latest(Clock::now() + grace_);
}

void Ending::kill() {
  if (!cgroup_.empty()) {
    const Descriptor file(open((cgroup_ + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
    if (file.is_open()) write_some(file.number(), "1");
  }
  if (job_ != 0) ::kill(-job_, SIGKILL);
  kill_all();
  kill_at_ = Clock::now() + pause_;  // those that a full round missed, or that came too late
  pause_ = std::min(2 * pause_, kLongestPause);
}

void Ending::hang_up(std::optional<pid_t> foreground) {
  if (job_ == 0) return;
  if (foreground && *foreground != job_) pass_on(SIGHUP, foreground);
  pass_on(SIGHUP, std::nullopt);
  pass_on(SIGCONT, std::nullopt);
  if (foreground && *foreground != job_) pass_on(SIGCONT, foreground);
  kill_at_latest(Clock::now() + grace_);
}

void Ending::pass_on(int signal, std::optional<pid_t> foreground) const {
  if (job_ == 0) return;
  // A terminal remembers the number of a group that is no more, which may be another user's now.
  if (foreground && *foreground != job_ && signal_group(*foreground, signal)) return;
  // A process that was just made is not the leader of its group yet.
  if (::kill(-job_, signal) != 0 && errno == ESRCH) ::kill(job_, signal);
}

void Ending::job_ended() {
  job_ = 0;
  if (!was_asked_) ask_to_end(0);
  was_asked_ = true;
  kill_at_latest(Clock::now() + std::min(grace_, kGraceForLeftovers));
}

int Ending::timeout() const {
  if (!kill_at_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - Clock::now());
  return static_cast<int>(
      std::clamp(left, std::chrono::milliseconds(0), std::chrono::milliseconds(60'000)).count());
}

void Ending::on_time() {
  if (kill_at_ && Clock::now() >= *kill_at_) kill();
}

void Ending::kill_at_latest(Clock::time_point time) {
  kill_at_ = std::min(time, kill_at_.value_or(time));
}

}  // namespace berth::shim
