#include "shim/program/launch.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "shim/proc.hpp"
#include "shim/program/exec.hpp"

namespace berth::shim {

namespace {

/// Everything the new process needs, gathered before the fork.
struct Plan {
  const Order& order;
  const JobEnds& ends;
  int attempt_file;
  pid_t shim;
  Vectors vectors;
};

Failure failed(Step step) { return {step, errno}; }

Failure take_terminal(const Plan& plan) {
  setsid();
  if (!plan.order.attach || !plan.order.attach->terminal) return {};
  return ioctl(plan.ends.output.number(), TIOCSCTTY, 0) == 0 ? Failure{} : failed(Step::Terminal);
}

/// Everything else closes on exec.
Failure take_streams(const JobEnds& ends) {
  const int output = ends.output.number();
  const int input = ends.input.is_open() ? ends.input.number() : output;
  const int error = ends.error.is_open() ? ends.error.number() : output;
  const bool good = dup2(input, 0) == 0 && dup2(output, 1) == 1 && dup2(error, 2) == 2;
  return good ? Failure{} : failed(Step::Pipes);
}

/// While it is still berth's: the file is not the user's to write.
Failure write_go(const Plan& plan) {
  const pid_t pid = getpid();
  const auto stat = stat_of(pid);
  if (!stat) return {Step::Record, ESRCH};
  const int error = append_line(plan.attempt_file, go_line({.pid = pid, .start = stat->start}));
  return error == 0 ? Failure{} : Failure{Step::Record, error};
}

Failure drop_rights(const Order& order) {
  if (geteuid() != 0) return {};
  if (setgroups(order.groups.size(), order.groups.data()) != 0) return failed(Step::Groups);
  if (setresgid(order.group, order.group, order.group) != 0) return failed(Step::Group);
  if (setresuid(order.user, order.user, order.user) != 0) return failed(Step::User);
  return {};
}

/// What the shim changed; it found everything else at its defaults.
void reset_signals() {
  for (const int number : {SIGHUP, SIGINT, SIGPIPE}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// A job does not outlive its shim. Must follow the change of user, which clears it.
void die_with(pid_t shim) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != shim) _exit(1);  // it died before that
}

/// Returns only what kept it from running.
Failure become_job(const Plan& plan) {
  const Order& order = plan.order;
  if (const Failure failure = take_terminal(plan); failure.step != Step::None) return failure;
  if (const Failure failure = take_streams(plan.ends); failure.step != Step::None) return failure;
  umask(order.umask);
  if (const Failure failure = write_go(plan); failure.step != Step::None) return failure;
  if (const Failure failure = drop_rights(order); failure.step != Step::None) return failure;
  die_with(plan.shim);
  if (chdir(order.directory.c_str()) != 0) return failed(Step::Directory);
  reset_signals();
  return {Step::Exec, exec_program(order, plan.vectors)};
}

/// fork() into a cgroup. Returns: what fork() returns.
pid_t fork_into(const std::string& cgroup) {
  const Descriptor folder(open(cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return -1;
  clone_args how{};
  how.flags = CLONE_INTO_CGROUP;
  how.exit_signal = SIGCHLD;
  how.cgroup = static_cast<std::uint64_t>(folder.number());
  return static_cast<pid_t>(syscall(SYS_clone3, &how, sizeof how));
}

struct Forked {
  pid_t pid;
  int cgroup_error = 0;
};

/// A machine that cannot put a process into the cgroup still runs it.
Forked fork_job(const Order& order) {
  if (order.cgroup.empty()) return {fork()};
  const pid_t pid = fork_into(order.cgroup);
  if (pid >= 0) return {pid};
  const int error = errno;
  return {fork(), error};
}

}  // namespace

Attempted<Launched> launch(const Order& order, const JobEnds& ends, int attempt_file) {
  // Shared memory, not a pipe: a job that ends well costs no call to learn that it started well.
  void* const shared =
      mmap(nullptr, sizeof(Failure), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return std::unexpected(failed(Step::Fork));
  auto* const told = new (shared) Failure;
  const Plan plan{order, ends, attempt_file, getpid(), vectors_of(order)};
  const Forked forked = fork_job(order);
  if (forked.pid < 0) return std::unexpected(failed(Step::Fork));
  if (forked.pid == 0) {
    *told = become_job(plan);
    _exit(1);
  }
  return Launched(forked.pid, told, forked.cgroup_error);
}

}  // namespace berth::shim
