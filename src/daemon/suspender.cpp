#include "daemon/suspender.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "core/text.hpp"
#include "daemon/helper.hpp"
#include "daemon/processes.hpp"
#include "posix/error.hpp"

namespace berth::daemon {

namespace {

constexpr std::int64_t kBytesPerSecond = std::int64_t{256}
                                         << 20;  ///< The slowest that is waited for.
constexpr Duration kNoRoomFor = minutes(1);

/// A helper that is told what to do as it goes on.
struct Spawned : HelperProcess {
  Descriptor input;  ///< Of its standard input.
};

Expected<Spawned> spawn_helper(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::array<int, 2> in{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0) return io_error("a pipe for a helper");
  const Descriptor theirs(in[0]);
  Descriptor ours(in[1]);
  auto process = start_helper(kSuspendHelper, theirs, variables);
  if (!process) return std::unexpected(process.error());
  return Spawned{{std::move(*process)}, std::move(ours)};
}

/// An order is far smaller than what a pipe takes at once.
bool tell(const Descriptor& input, std::string_view text) {
  return ::write(input.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

Bytes sum_of(const std::vector<Holder>& holders) {
  Bytes sum(0);
  for (const Holder& holder : holders) sum = sum + holder.bytes;
  return sum;
}

std::string seconds_since(std::chrono::steady_clock::time_point since) {
  const auto span = std::chrono::steady_clock::now() - since;
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", std::chrono::duration<double>(span).count());
  return text;
}

}  // namespace

struct Suspender::Helper {
  Spawned process;
  std::string said;
  bool was_asked = false;
  std::unique_ptr<Loop::Watch> speech;
  std::unique_ptr<Loop::Watch> exit;
  std::unique_ptr<Loop::Alarm> limit;
};

Suspender::Suspender(Loop& loop, SuspenderOptions options, SuspenderHooks hooks)
    : loop_(loop), options_(std::move(options)), hooks_(std::move(hooks)) {
  ::mkdir(options_.folder.c_str(), 0700);
  load();
}

Suspender::~Suspender() {
  for (const auto& [job, entry] : entries_) {
    if (entry.helper) send_signal(entry.helper->process.pidfd, SIGKILL);
  }
}

// ---- What is written down --------------------------------------------------------------------

std::string Suspender::path_of(JobId job) const {
  return options_.folder + "/" + std::to_string(job.value());
}

/// As an errand: its job, GPUs and processes.
bool Suspender::write_down(const Entry& entry) const {
  const Errand kept{.what = Errand::What::Suspend,
                    .cuda = "",
                    .nvml = "",
                    .job = entry.target.job,
                    .shim = entry.target.shim,
                    .cgroup = entry.target.cgroup,
                    .gpus = entry.target.gpus,
                    .holders = entry.holders};
  const std::string path = path_of(entry.target.job);
  const std::string draft = path + ".new";
  std::ofstream file(draft, std::ios::binary | std::ios::trunc);
  file << encode(kept);
  file.close();
  return file.good() && ::rename(draft.c_str(), path.c_str()) == 0;
}

void Suspender::load() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(options_.folder.c_str()), ::closedir);
  while (const dirent* found = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name(found->d_name);
    if (name.find_first_not_of("0123456789") != std::string_view::npos) continue;
    std::ifstream file(options_.folder + "/" + found->d_name, std::ios::binary);
    const auto kept = decode_errand(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!kept || std::to_string(kept->job.value()) != found->d_name) continue;
    Entry& entry = entries_[kept->job];
    entry.target = {.job = kept->job,
                    .attempt = Attempt(),
                    .shim = kept->shim,
                    .cgroup = kept->cgroup,
                    .gpus = kept->gpus};
    entry.holders = kept->holders;
    entry.is_touched = true;
  }
}

void Suspender::drop(JobId job) {
  entries_.erase(job);
  std::erase(waiting_, job);
  ::unlink(path_of(job).c_str());
}

Bytes Suspender::bytes_of(JobId job) const {
  const auto found = entries_.find(job);
  return found == entries_.end() ? Bytes(0) : sum_of(found->second.holders);
}

Bytes Suspender::used() const {
  Bytes sum(0);
  for (const auto& [job, entry] : entries_) sum = sum + sum_of(entry.holders);
  return sum;
}

// ---- What is asked ---------------------------------------------------------------------------

void Suspender::suspend(const SuspendTarget& target) {
  const auto [found, is_new] = entries_.try_emplace(target.job);
  Entry& entry = found->second;
  if (!is_new && entry.phase == Phase::Resuming) {
    entry.suspends_then = true;
    entry.target.attempt = target.attempt;
    return;
  }
  if (!is_new && entry.phase != Phase::Suspended) return;
  entry.target = target;
  entry.phase = Phase::Waiting;
  waiting_.push_back(target.job);
  begin_next();
}

/// One at a time: what is left of the host memory is known then, and the bus is one.
void Suspender::begin_next() {
  const bool is_busy = std::ranges::any_of(
      entries_, [](const auto& entry) { return entry.second.phase == Phase::Suspending; });
  if (is_busy || waiting_.empty()) return;
  const JobId job = waiting_.front();
  waiting_.pop_front();
  begin(entries_.at(job), Phase::Suspending);
}

void Suspender::resume(const SuspendTarget& target) {
  Entry& entry = entries_.at(target.job);
  if (entry.phase != Phase::Suspended) return;
  entry.target = target;
  entry.suspends_then = false;
  begin(entry, Phase::Resuming);
}

void Suspender::forget(JobId job) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return;
  if (found->second.helper) leave_behind(std::move(found->second.helper));
  const std::string& cgroup = found->second.target.cgroup;
  if (!cgroup.empty()) {
    const Descriptor file(::open((cgroup + "/cgroup.freeze").c_str(), O_WRONLY | O_CLOEXEC));
    if (file.is_open()) static_cast<void>(::write(file.number(), "0", 1));
  }
  drop(job);
  loop_.post([this] { begin_next(); });
}

// ---- Helpers ---------------------------------------------------------------------------------

Duration Suspender::limit_of(const Entry& entry) const {
  return options_.patience + seconds(sum_of(entry.holders).raw() / kBytesPerSecond);
}

void Suspender::begin(Entry& entry, Phase phase) {
  const bool goes_on = phase == Phase::Resuming || phase == Phase::PuttingBack;
  Errand errand{.what = goes_on ? Errand::What::Resume : Errand::What::Suspend,
                .cuda = options_.cuda,
                .nvml = options_.nvml,
                .job = entry.target.job,
                .shim = entry.target.shim,
                .cgroup = entry.target.cgroup,
                .gpus = entry.target.gpus,
                .lock_timeout = std::max(Duration(1000), options_.patience / 2),
                .holders = entry.holders};
  const JobId job = entry.target.job;
  entry.phase = phase;
  entry.has_begun = false;
  entry.since = std::chrono::steady_clock::now();
  auto helper = spawn(errand);
  if (!helper) {
    loop_.post([this, job, why = helper.error().message] {
      if (entries_.contains(job)) fail(job, why, kNoRoomFor);
    });
    return;
  }
  entry.helper = std::move(*helper);
  Helper& started = *entry.helper;
  started.speech = std::make_unique<Loop::Watch>(loop_, started.process.output.number(),
                                                 [this, job] { on_output(job); });
  started.exit = std::make_unique<Loop::Watch>(loop_, started.process.pidfd.number(),
                                               [this, job] { on_exit(job); });
  started.limit = std::make_unique<Loop::Alarm>(loop_, [this, job] { on_limit(job); });
  started.limit->set(limit_of(entry));
}

Expected<std::unique_ptr<Suspender::Helper>> Suspender::spawn(const Errand& errand) {
  auto spawned = spawn_helper(options_.environment);
  if (!spawned) return std::unexpected(spawned.error());
  auto helper = std::make_unique<Helper>();
  helper->process = std::move(*spawned);
  if (!tell(helper->process.input, encode(errand))) return io_error("an errand for a helper");
  return helper;
}

void Suspender::on_output(JobId job) {
  Entry& entry = entries_.at(job);
  Helper& helper = *entry.helper;
  char buffer[4096];
  const ssize_t got = ::read(helper.process.output.number(), buffer, sizeof buffer);
  if (got <= 0) return helper.speech.reset();  // its end is told by the pidfd
  helper.said.append(buffer, static_cast<std::size_t>(got));
  const Told told = decode_told(helper.said);
  helper.limit->set(limit_of(entry));
  if (told.asks && !helper.was_asked) on_question(entry, told);
}

/// It has found the processes and touched none.
void Suspender::on_question(Entry& entry, const Told& told) {
  entry.helper->was_asked = true;
  const bool undoes = entry.phase == Phase::PuttingDown || entry.is_touched;
  entry.holders = told.holders;
  entry.helper->limit->set(limit_of(entry));  // by what it is to move
  const Bytes needed = sum_of(told.holders);
  const Bytes others = used() - needed;
  const bool fits = undoes || others + needed <= options_.room;
  if (fits && write_down(entry)) {
    entry.is_touched = true;
    tell(entry.helper->process.input, kGo);
    return;
  }
  const JobId job = entry.target.job;
  const std::string why =
      fits ? path_of(job) + ": cannot be written"
           : "it holds " + to_text(needed) + " of GPU memory, and of suspend_host_memory (" +
                 to_text(options_.room) + ") " +
                 to_text(std::max(Bytes(0), options_.room - others)) + " are left";
  leave_behind(std::move(entry.helper));
  fail(job, why, kNoRoomFor);
}

void Suspender::on_exit(JobId job) {
  const auto at_work = [&]() -> Helper* {
    const auto found = entries_.find(job);
    return found == entries_.end() ? nullptr : found->second.helper.get();
  };
  const Helper* const ended = at_work();
  while (at_work() == ended && ended->speech) on_output(job);  // to its last word
  if (at_work() != ended) return;
  const auto helper = std::move(entries_.at(job).helper);
  reap(helper->process.pidfd);
  conclude(job, decode_told(helper->said));
}

void Suspender::on_limit(JobId job) {
  Entry& entry = entries_.at(job);
  const Told told = decode_told(entry.helper->said);
  note_progress(entry, told);
  const std::string last = entry.helper->said.empty()
                               ? "nothing"
                               : entry.helper->said.substr(0, entry.helper->said.size() - 1);
  const std::size_t line = last.rfind('\n');
  leave_behind(std::move(entry.helper));
  fail(job,
       "the driver did not answer for " + seconds_text(limit_of(entry)) +
           " s (the last step was: " + (line == std::string::npos ? last : last.substr(line + 1)) +
           ")",
       minutes(10));
}

/// It may hang in the driver; berthd does not wait for it.
void Suspender::leave_behind(std::unique_ptr<Helper> helper) {
  send_signal(helper->process.pidfd, SIGKILL);
  helper->speech.reset();
  helper->limit.reset();
  helper->exit.reset();  // a descriptor has one watch at a time
  const pid_t pid = helper->process.pid;
  Helper& leaves = *(left_behind_[pid] = std::move(helper));
  leaves.exit = std::make_unique<Loop::Watch>(loop_, leaves.process.pidfd.number(), [this, pid] {
    reap(left_behind_.at(pid)->process.pidfd);
    left_behind_.erase(pid);
  });
}

// ---- What came of it -------------------------------------------------------------------------

void Suspender::note_progress(Entry& entry, const Told& told) {
  entry.has_begun = told.has_begun;
  for (const pid_t pid : told.restored) {
    for (Holder& holder : entry.holders) {
      if (holder.process.pid == pid) holder.gpus = entry.target.gpus;
    }
  }
}

void Suspender::conclude(JobId job, const Told& told) {
  Entry& entry = entries_.at(job);
  note_progress(entry, told);
  if (!told.is_done) {
    if (told.error) return fail(job, *told.error, told.again);
    return fail(job, "the suspend helper died", kNoRoomFor);
  }
  const SuspendTarget target = entry.target;
  const std::string took = seconds_since(entry.since);
  switch (entry.phase) {
    case Phase::Suspending:
      entry.phase = Phase::Suspended;
      hooks_.suspended(
          job, target.attempt,
          "its " + to_text(sum_of(entry.holders)) + " are in host memory (" + took + " s)");
      return begin_next();
    case Phase::PuttingBack: {
      const std::string why = entry.why;
      const Duration again = entry.again;
      drop(job);
      hooks_.suspend_failed(job, target.attempt, why, again);
      return begin_next();
    }
    case Phase::Resuming: {
      const bool suspends_then = entry.suspends_then;
      drop(job);
      if (suspends_then) return suspend(target);
      return hooks_.resumed(job, target.attempt);
    }
    case Phase::PuttingDown:
      return is_down(job);
    case Phase::Waiting:
    case Phase::Suspended:
      return;
  }
}

/// It could not go on and is suspended as before.
void Suspender::is_down(JobId job) {
  Entry& entry = entries_.at(job);
  const SuspendTarget target = entry.target;
  const std::string why = entry.why;
  const bool was_to_suspend = entry.suspends_then;
  entry.phase = Phase::Suspended;
  static_cast<void>(write_down(entry));
  if (!was_to_suspend) return hooks_.resume_failed(job, target.attempt, why);
  hooks_.suspended(job, target.attempt,
                   "its " + to_text(sum_of(entry.holders)) + " are in host memory");
}

/// What was begun is undone, once; what cannot be undone is the end of the job.
void Suspender::fail(JobId job, const std::string& why, Duration again) {
  Entry& entry = entries_.at(job);
  const SuspendTarget target = entry.target;
  const bool was_suspending = entry.phase == Phase::Suspending;
  if (was_suspending && !entry.is_touched) {
    drop(job);
    hooks_.suspend_failed(job, target.attempt, "was not suspended: " + why, again);
    return begin_next();
  }
  if (was_suspending || entry.phase == Phase::Resuming) {
    entry.why = (was_suspending ? "was not suspended: " : "") + why;
    entry.again = again;
    if (!was_suspending && !entry.has_begun) return is_down(job);
    begin(entry, was_suspending ? Phase::PuttingBack : Phase::PuttingDown);
    return begin_next();
  }
  const std::string first = entry.why;
  drop(job);
  hooks_.broken(job, target.attempt, first + "; and that could not be undone: " + why);
  begin_next();
}

Expected<int> probe_checkpoints(const SuspenderOptions& options, Duration most) {
  auto spawned = spawn_helper(options.environment);
  if (!spawned) return std::unexpected(spawned.error());
  const auto end = std::chrono::steady_clock::now() + most;
  tell(spawned->input, encode(Errand{.what = Errand::What::Probe,
                                     .cuda = options.cuda,
                                     .nvml = options.nvml,
                                     .job = JobId(0),
                                     .cgroup = "",
                                     .gpus = {},
                                     .holders = {}}));
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
  return berth::fail(ErrorCode::NotFound, told.error.value_or("the driver does not answer"));
}

}  // namespace berth::daemon
