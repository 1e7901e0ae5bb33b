#include "shim/program/ending.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "posix/descriptor.hpp"
#include "shim/program/io.hpp"

namespace berth::shim {

namespace {

constexpr std::chrono::milliseconds kLongestGrace = std::chrono::hours(24 * 365);
constexpr std::chrono::milliseconds kMomentForLeftovers{1000};  ///< On a machine that is busy.
constexpr std::chrono::milliseconds kGraceForLeftovers = std::chrono::seconds(2);
constexpr std::chrono::milliseconds kLongestHang = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kLongestPause = std::chrono::seconds(1);

bool write_to(const std::string& path, std::string_view text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.is_open() && write_some(file.number(), text).flow == Flow::Some;
}

}  // namespace

std::string ended_text(JobId job, EndedFor why) {
  std::string_view cause;
  switch (why) {
    case EndedFor::Unsaid:
      return "";
    case EndedFor::Cancel:
      break;
    case EndedFor::TimeLimit:
      cause = " DUE TO TIME LIMIT";
      break;
    case EndedFor::GpuMemory:
      cause = " DUE TO GPU MEMORY THAT IT WAS NOT GRANTED";
      break;
  }
  const time_t now = time(nullptr);
  tm local{};
  char at[32] = "";
  if (localtime_r(&now, &local) != nullptr) strftime(at, sizeof at, "%FT%T", &local);
  return "*** JOB " + std::to_string(job.value()) + " CANCELLED AT " + at + std::string(cause) +
         " ***";
}

Ending::Ending(pid_t job, const Order& order)
    : tree_{.shim = getpid(), .process = job},
      user_(user_of(order)),
      grace_(std::min(kLongestGrace, std::chrono::milliseconds(order.grace_millis))),
      cgroup_(order.cgroup),
      save_signal_(order.save_signal),
      save_grace_(std::min(kLongestGrace, std::chrono::milliseconds(order.save_grace_millis))) {}

void Ending::save() {
  if (was_asked_ || stop_at_) return;
  if (save_signal_ == 0 || !any_takes(tree_, save_signal_)) return stop();
  do_as(user_, [this] { tell(tree_, save_signal_); });
  stop_at_ = Clock::now() + save_grace_;
}

void Ending::stop() {
  stop_at_.reset();
  was_asked_ = true;
  do_as(user_, [this] { ask_to_end(tree_); });
  kill_at_latest(Clock::now() + grace_);
}

void Ending::kill() {
  // Before Linux 5.14 a cgroup cannot be killed whole. One that is frozen forks no more, and its
  // processes can be killed.
  if (!cgroup_.empty() && !write_to(cgroup_ + "/cgroup.kill", "1")) {
    write_to(cgroup_ + "/cgroup.freeze", "1");
  }
  signal_job(tree_, SIGKILL);
  kill_all();
  if (!killed_at_) killed_at_ = Clock::now();
  if (Clock::now() - *killed_at_ >= kLongestHang) hanging_ = shim::hanging();
  kill_at_ = Clock::now() + pause_;  // those that a full round missed, or that came too late
  pause_ = std::min(2 * pause_, kLongestPause);
}

void Ending::hang_up(std::optional<pid_t> foreground) {
  if (tree_.process == 0) return;
  do_as(user_, [this, foreground] {
    const bool two = foreground && *foreground != tree_.process;
    for (const int signal : {SIGHUP, SIGCONT}) {
      if (two) signal_group(tree_, *foreground, signal);
      signal_job(tree_, signal);
    }
  });
  kill_at_latest(Clock::now() + grace_);
}

void Ending::pass_on(int signal, std::optional<pid_t> foreground) const {
  if (tree_.process == 0) return;
  do_as(user_, [this, signal, foreground] {
    // A terminal remembers the number of a group that is no more, which may be another user's now.
    const bool two = foreground && *foreground != tree_.process;
    if (two && signal_group(tree_, *foreground, signal)) return;
    signal_job(tree_, signal);
  });
}

bool Ending::warn(int signal, std::optional<pid_t> foreground) const {
  if (tree_.process == 0) return false;
  const std::set<pid_t> groups = {tree_.process, foreground.value_or(tree_.process)};
  const bool any = any_takes(tree_, signal, &groups);
  if (any) do_as(user_, [&] { tell(tree_, signal, &groups); });
  return any;
}

void Ending::job_ended() {
  tree_.process = 0;
  if (stop_at_ && any_hears(tree_, save_signal_)) return;  // others save what they have
  stop_at_.reset();
  if (!was_asked_) leftovers_at_ = Clock::now() + kMomentForLeftovers;
}

void Ending::end_leftovers() {
  leftovers_at_.reset();
  if (std::exchange(was_asked_, true)) return;
  ends_leftovers_ = true;
  do_as(user_, [this] { ask_to_end(tree_); });
  if (!kill_at_) kill_at_latest(Clock::now() + std::min(grace_, kGraceForLeftovers));
}

int Ending::timeout() const {
  if (!kill_at_ && !stop_at_ && !leftovers_at_) return -1;
  constexpr auto kNever = Clock::time_point::max();
  const auto next = std::min(
      {kill_at_.value_or(kNever), stop_at_.value_or(kNever), leftovers_at_.value_or(kNever)});
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  return static_cast<int>(
      std::clamp(left, std::chrono::milliseconds(0), std::chrono::milliseconds(60'000)).count());
}

void Ending::on_time() {
  if (leftovers_at_ && Clock::now() >= *leftovers_at_) end_leftovers();
  if (stop_at_ && Clock::now() >= *stop_at_) stop();
  if (kill_at_ && Clock::now() >= *kill_at_) {
    if (!killed_at_) outlasted_grace_ = !ends_leftovers_;
    kill();
  }
}

void Ending::kill_at_latest(Clock::time_point time) {
  kill_at_ = std::min(time, kill_at_.value_or(time));
}

}  // namespace berth::shim
