#include "shim/program/launch.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "posix/keyring.hpp"
#include "shim/proc.hpp"
#include "shim/program/exec.hpp"
#include "shim/program/io.hpp"
#include "shim/program/user.hpp"
#include "shim/ulimits.hpp"

namespace berth::shim {

namespace {

/// Everything the new process needs, gathered before it is there.
struct Plan {
  const Order& order;
  const JobEnds& ends;
  int attempt_file;
  pid_t shim;
  User user;
  Vectors vectors;
  std::vector<Ulimit> ulimits;
  CpuHabits cpu_habits;
  struct {
    Failure failure;
    int cgroup_error = 0;
  } told;  ///< By the new process.
};

constexpr std::size_t kJobStack = std::size_t{64} * 1024;

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

/// After the change of user: a keyring is whose user made it. One that cannot be made, because the
/// user's quota of keys is used up, is no reason not to run: the shim's is no other job's either.
void take_keyring() {
  if (join_own_session_keyring() == 0) link_user_keyring();
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
  if (const Failure failure = become(plan.user); failure.step != Step::None) return failure;
  take_ulimits(plan.ulimits);
  take_cpu_habits(plan.cpu_habits);
  take_keyring();
  die_with(plan.shim);
  if (chdir(order.directory.c_str()) != 0) return failed(Step::Directory);
  reset_signals();
  return {Step::Exec, exec_program(order, plan.vectors)};
}

/// A machine that cannot put the process into its cgroup still runs it. Returns: an errno, or 0.
int join_cgroup(const std::string& folder) {
  if (folder.empty()) return 0;
  const Descriptor file(open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return errno;
  return write(file.number(), "0", 1) == 1 ? 0 : errno;  // 0 is the writer itself
}

/// Returns, as what its process exits with, only if it could not become the job.
int run_job(void* what) {
  Plan& plan = *static_cast<Plan*>(what);
  plan.told.cgroup_error = join_cgroup(plan.order.cgroup);
  plan.told.failure = become_job(plan);
  return 1;
}

alignas(16) std::array<char, kJobStack> job_stack;

}  // namespace

/// As vfork does it, without copying page tables that exec throws away: the new process works in
/// our memory, and we wait, until its exec. It has its own stack, descriptors and signal handlers.
Attempted<Launched> launch(const Order& order, const JobEnds& ends, int attempt_file) {
  Plan plan{.order = order,
            .ends = ends,
            .attempt_file = attempt_file,
            .shim = getpid(),
            .user = user_of(order),
            .vectors = vectors_of(order),
            .ulimits = ulimits_of(order.environment),
            .cpu_habits = cpu_habits_of(order.environment),
            .told = {}};
  const pid_t pid =
      clone(run_job, job_stack.data() + job_stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &plan);
  if (pid < 0) return std::unexpected(failed(Step::Fork));
  return Launched(pid, plan.told.failure, plan.told.cgroup_error);
}

}  // namespace berth::shim
