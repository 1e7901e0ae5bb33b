#include "daemon/attempts/orphans.hpp"

#include <unistd.h>

#include <csignal>
#include <utility>

#include "daemon/loop/helper.hpp"
#include "daemon/loop/processes.hpp"

namespace berth::daemon {

namespace {

constexpr Duration kHelperSilence = seconds(10);  ///< Of a helper that waits to read memory.
constexpr Duration kStartAgain = seconds(1);

std::string count_of(int number, const char* one, const char* many) {
  return number == 0 ? "no " + std::string(one)
                     : std::to_string(number) + " " + (number == 1 ? one : many);
}

/// What is said of an attempt whose shim died.
std::string words(const Ended& ended, bool saw_all) {
  std::string text = "its shim died; ";
  if (ended.by_cgroup) {
    text += "all in its cgroup was ended";
  } else {
    text += count_of(ended.processes, "process", "processes") +
            " of it found and ended; without `cgroup`, one that has left its session and its "
            "environment is not found and goes on";
  }
  if (ended.hanging > 0) {
    text += "; " + count_of(ended.hanging, "process", "processes") +
            " hung in the kernel and will end once let go";
  }
  if (!saw_all && !ended.by_cgroup) text += "; a process of its user's could not be looked at";
  return text;
}

}  // namespace

struct Orphans::Helper {
  std::vector<Leftover> left;
  HelperProcess process;
  std::string said;
  std::unique_ptr<Loop::Watch> speech;
  std::unique_ptr<Loop::Watch> exit;
  std::unique_ptr<Loop::Alarm> silence;
};

Orphans::Orphans(Loop& loop, std::string mark, Gone gone)
    : loop_(loop),
      mark_(std::move(mark)),
      gone_(std::move(gone)),
      start_again_(loop, [this] { start(); }) {}

Orphans::~Orphans() {
  for (const auto& [user, helper] : at_work_) send_signal(helper->process.pidfd, SIGKILL);
}

void Orphans::end(Leftover left) {
  waiting_[left.record.user].push_back(std::move(left));
  start_again_.set(Duration(0));  // those that died together are one helper's
}

void Orphans::start() {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto user = next->first;
    if (at_work_.contains(user)) {
      ++next;
      continue;
    }
    auto helper = spawn({.mark = mark_, .left = next->second});
    if (!helper) return start_again_.set(kStartAgain);
    (*helper)->left = std::move(next->second);
    next = waiting_.erase(next);
    Helper& started = *(at_work_[user] = std::move(*helper));
    watch(user, started);
  }
}

Expected<std::unique_ptr<Orphans::Helper>> Orphans::spawn(const Search& search) {
  const auto input = helper_input(encode(search));
  if (!input) return std::unexpected(input.error());
  auto process = start_helper(kEndLeftovers, *input);
  if (!process) return std::unexpected(process.error());
  auto helper = std::make_unique<Helper>();
  helper->process = std::move(*process);
  return helper;
}

void Orphans::watch(uid_t user, Helper& helper) {
  helper.speech = std::make_unique<Loop::Watch>(loop_, helper.process.output.number(),
                                                [this, user] { on_report(user); });
  helper.exit = std::make_unique<Loop::Watch>(loop_, helper.process.pidfd.number(),
                                              [this, user] { on_exit(user); });
  helper.silence = std::make_unique<Loop::Alarm>(loop_, [this, user] { on_silence(user); });
  helper.silence->set(kHelperSilence);
}

void Orphans::on_report(uid_t user) {
  Helper& helper = *at_work_.at(user);
  char buffer[4096];
  const ssize_t got = ::read(helper.process.output.number(), buffer, sizeof buffer);
  if (got <= 0) return helper.speech.reset();  // its end is told by the pidfd
  helper.said.append(buffer, static_cast<std::size_t>(got));
  helper.silence->set(kHelperSilence);
}

void Orphans::on_exit(uid_t user) {
  while (at_work_.at(user)->speech) on_report(user);  // to its last word
  const std::unique_ptr<Helper> helper = std::move(at_work_.extract(user).mapped());
  reap(helper->process.pidfd);
  tell(*helper);
  start();
}

void Orphans::on_silence(uid_t user) {
  std::unique_ptr<Helper> helper = std::move(at_work_.extract(user).mapped());
  tell(*helper);
  leave_behind(std::move(helper));
  start();
}

/// It may take as long to end as the process it reads; berthd does not wait for it.
void Orphans::leave_behind(std::unique_ptr<Helper> helper) {
  send_signal(helper->process.pidfd, SIGKILL);
  helper->speech.reset();
  helper->silence.reset();
  helper->exit.reset();  // a descriptor has one watch at a time
  const pid_t pid = helper->process.pid;
  Helper& leaves = *(left_behind_[pid] = std::move(helper));
  leaves.exit = std::make_unique<Loop::Watch>(loop_, leaves.process.pidfd.number(), [this, pid] {
    reap(left_behind_.at(pid)->process.pidfd);
    left_behind_.erase(pid);
  });
}

void Orphans::tell(const Helper& helper) {
  const Report report = decode_report(helper.said);
  for (const Leftover& left : helper.left) {
    const auto found = report.ended.find({left.record.job, left.record.attempt});
    const Ended ended = found == report.ended.end() ? Ended{} : found->second;
    gone_(left.record, words(ended, report.saw_all));
  }
}

}  // namespace berth::daemon
