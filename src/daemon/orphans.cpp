#include "daemon/orphans.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "daemon/processes.hpp"
#include "posix/error.hpp"

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

/// Standard input of a helper.
Expected<Descriptor> in_memory(const std::string& text) {
  Descriptor memory(::memfd_create("berth-leftovers", MFD_CLOEXEC));
  if (!memory.is_open()) return io_error("memory for a helper");
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(memory.number(), rest.data(), rest.size());
    if (written < 0) return io_error("memory for a helper");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(memory.number(), 0, SEEK_SET);
  return memory;
}

}  // namespace

struct Orphans::Helper {
  std::vector<Leftover> left;
  pid_t pid = 0;
  Descriptor pidfd;
  Descriptor output;
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
  for (const auto& [user, helper] : at_work_) send_signal(helper->pidfd, SIGKILL);
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
  const auto input = in_memory(encode(search));
  if (!input) return std::unexpected(input.error());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("a pipe for a helper");
  auto helper = std::make_unique<Helper>();
  helper->output = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input->number(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.number(), STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t defaults;
  ::sigemptyset(&none);
  ::sigfillset(&defaults);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = "berthd";
  std::string flag = kEndLeftovers;
  std::array<char*, 3> arguments = {name.data(), flag.data(), nullptr};
  std::array<char*, 1> environment = {nullptr};
  const int failed = ::posix_spawn(&helper->pid, "/proc/self/exe", &actions, &attributes,
                                   arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    errno = failed;
    return io_error("a helper");
  }
  helper->pidfd = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, helper->pid, 0)));
  if (!helper->pidfd.is_open()) return io_error("pidfd_open");
  return helper;
}

void Orphans::watch(uid_t user, Helper& helper) {
  helper.speech = std::make_unique<Loop::Watch>(loop_, helper.output.number(),
                                                [this, user] { on_report(user); });
  helper.exit =
      std::make_unique<Loop::Watch>(loop_, helper.pidfd.number(), [this, user] { on_exit(user); });
  helper.silence = std::make_unique<Loop::Alarm>(loop_, [this, user] { on_silence(user); });
  helper.silence->set(kHelperSilence);
}

void Orphans::on_report(uid_t user) {
  Helper& helper = *at_work_.at(user);
  char buffer[4096];
  const ssize_t got = ::read(helper.output.number(), buffer, sizeof buffer);
  if (got <= 0) return helper.speech.reset();  // its end is told by the pidfd
  helper.said.append(buffer, static_cast<std::size_t>(got));
  helper.silence->set(kHelperSilence);
}

void Orphans::on_exit(uid_t user) {
  while (at_work_.at(user)->speech) on_report(user);  // to its last word
  const std::unique_ptr<Helper> helper = std::move(at_work_.extract(user).mapped());
  reap(helper->pidfd);
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
  send_signal(helper->pidfd, SIGKILL);
  helper->speech.reset();
  helper->silence.reset();
  helper->exit.reset();  // a descriptor has one watch at a time
  const pid_t pid = helper->pid;
  Helper& leaves = *(left_behind_[pid] = std::move(helper));
  leaves.exit = std::make_unique<Loop::Watch>(loop_, leaves.pidfd.number(), [this, pid] {
    reap(left_behind_.at(pid)->pidfd);
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
