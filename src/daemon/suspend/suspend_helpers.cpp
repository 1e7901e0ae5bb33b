#include "daemon/suspend/suspend_helpers.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

#include "daemon/loop/helper.hpp"
#include "daemon/loop/processes.hpp"
#include "daemon/suspend/suspend_helper.hpp"
#include "posix/error.hpp"

namespace berth::daemon {

namespace {

constexpr Duration kAfterADeath = minutes(1);  ///< Until the same errand is tried again.

/// A helper that is told what to do as it goes on.
struct Spawned : HelperProcess {
  Descriptor input;  ///< Of its standard input.
};

/// An order is far smaller than what a pipe takes at once.
bool tell(const Descriptor& input, std::string_view text) {
  return ::write(input.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

Expected<Spawned> spawn(const SuspendHelpers::Variables& variables, const Errand& errand) {
  std::array<int, 2> in{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0) return io_error("a pipe for a helper");
  const Descriptor theirs(in[0]);
  Descriptor ours(in[1]);
  auto process = start_helper(kSuspendHelper, theirs, variables);
  if (!process) return std::unexpected(process.error());
  Spawned spawned{{std::move(*process)}, std::move(ours)};
  if (!tell(spawned.input, encode(errand))) return io_error("an errand for a helper");
  return spawned;
}

std::string last_line(const std::string& said) {
  if (said.empty()) return "nothing";
  const std::string whole = said.substr(0, said.size() - 1);
  const std::size_t line = whole.rfind('\n');
  return line == std::string::npos ? whole : whole.substr(line + 1);
}

}  // namespace

struct SuspendHelpers::Helper {
  Spawned process;
  Duration allowed{0};
  std::string said;
  bool was_asked = false;
  std::unique_ptr<Loop::Watch> speech;
  std::unique_ptr<Loop::Watch> exit;
  std::unique_ptr<Loop::Alarm> limit;
};

SuspendHelpers::SuspendHelpers(Loop& loop, Variables environment, Hooks hooks)
    : loop_(loop), environment_(std::move(environment)), hooks_(std::move(hooks)) {}

SuspendHelpers::~SuspendHelpers() {
  for (const auto& [job, helper] : at_work_) send_signal(helper->process.pidfd, SIGKILL);
}

SuspendHelpers::Helper* SuspendHelpers::of(JobId job) const {
  const auto found = at_work_.find(job);
  return found == at_work_.end() ? nullptr : found->second.get();
}

Expected<void> SuspendHelpers::begin(const Errand& errand, Duration limit) {
  auto spawned = spawn(environment_, errand);
  if (!spawned) return std::unexpected(spawned.error());
  const JobId job = errand.job;
  Helper& helper = *(at_work_[job] = std::make_unique<Helper>());
  helper.process = std::move(*spawned);
  helper.allowed = limit;
  helper.speech = std::make_unique<Loop::Watch>(loop_, helper.process.output.number(),
                                                [this, job] { on_output(job); });
  helper.exit = std::make_unique<Loop::Watch>(loop_, helper.process.pidfd.number(),
                                              [this, job] { on_exit(job); });
  helper.limit = std::make_unique<Loop::Alarm>(loop_, [this, job] { on_limit(job); });
  helper.limit->set(limit);
  return {};
}

void SuspendHelpers::go(JobId job, Duration limit) {
  Helper* const helper = of(job);
  if (helper == nullptr) return;
  helper->allowed = limit;
  helper->limit->set(limit);
  tell(helper->process.input, kGo);
}

void SuspendHelpers::leave(JobId job) {
  auto found = at_work_.extract(job);
  if (!found) return;
  Helper& helper = *found.mapped();
  send_signal(helper.process.pidfd, SIGKILL);
  helper.speech.reset();
  helper.limit.reset();
  helper.exit.reset();  // a descriptor has one watch at a time
  const pid_t pid = helper.process.pid;
  left_behind_[pid] = std::move(found.mapped());
  helper.exit = std::make_unique<Loop::Watch>(loop_, helper.process.pidfd.number(), [this, pid] {
    reap(left_behind_.at(pid)->process.pidfd);
    left_behind_.erase(pid);
  });
}

void SuspendHelpers::on_output(JobId job) {
  Helper& helper = *at_work_.at(job);
  char buffer[4096];
  const ssize_t got = ::read(helper.process.output.number(), buffer, sizeof buffer);
  if (got <= 0) return helper.speech.reset();  // its end is told by the pidfd
  helper.said.append(buffer, static_cast<std::size_t>(got));
  helper.limit->set(helper.allowed);
  const Told told = decode_told(helper.said);
  if (!told.asks || helper.was_asked) return;
  helper.was_asked = true;
  hooks_.asks(job, told);
}

void SuspendHelpers::on_exit(JobId job) {
  const Helper* const ended = of(job);
  while (of(job) == ended && ended->speech) on_output(job);  // to its last word
  if (of(job) != ended) return;
  const auto helper = std::move(at_work_.extract(job).mapped());
  const std::string how = reap(helper->process.pidfd);
  Told told = decode_told(helper->said);
  if (!told.is_done && !told.error) {
    told.error = "the suspend helper died (" + how + ")";
    told.again = kAfterADeath;
  }
  hooks_.ended(job, told);
}

void SuspendHelpers::on_limit(JobId job) {
  const std::string said = at_work_.at(job)->said;
  leave(job);
  hooks_.silent(job, decode_told(said), last_line(said));
}

Expected<int> probe_checkpoints(const SuspendHelpers::Variables& environment,
                                const std::string& cuda, Duration most) {
  auto spawned = spawn(environment, {.what = Errand::What::Probe,
                                     .cuda = cuda,
                                     .nvml = "",
                                     .job = JobId(0),
                                     .cgroup = "",
                                     .gpus = {},
                                     .holders = {}});
  if (!spawned) return std::unexpected(spawned.error());
  const auto end = std::chrono::steady_clock::now() + most;
  std::string said;
  bool has_ended = false;
  while (!has_ended) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd output{.fd = spawned->output.number(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&output, 1, static_cast<int>(left.count())) <= 0) break;
    char buffer[512];
    const ssize_t got = ::read(output.fd, buffer, sizeof buffer);
    has_ended = got <= 0;
    if (!has_ended) said.append(buffer, static_cast<std::size_t>(got));
  }
  send_signal(spawned->pidfd, SIGKILL);
  // One that hangs in the driver may not end; it is then the init process's to reap.
  if (has_ended) ::waitpid(spawned->pid, nullptr, 0);
  const Told told = decode_told(said);
  if (told.version && told.is_done) return *told.version;
  return fail(ErrorCode::NotFound, told.error.value_or("the driver does not answer"));
}

}  // namespace berth::daemon
