#include "daemon/suspend/suspender.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/text/text.hpp"
#include "live/notes.hpp"
#include "posix/descriptor.hpp"
#include "shim/proc.hpp"

namespace berth::daemon {

namespace {

constexpr std::int64_t kBytesPerSecond = std::int64_t{256}
                                         << 20;  ///< The slowest that is waited for.
constexpr Duration kNoRoomFor = minutes(10);
constexpr int kMostIdleUndos = 5;

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

Suspender::Suspender(Loop& loop, SuspenderOptions options, SuspenderHooks hooks)
    : loop_(loop),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      files_(options_.folder),
      helpers_(loop, options_.environment,
               {.asks = [this](JobId job, const Told& told) { on_question(job, told); },
                .ended = [this](JobId job, const Told& told) { conclude(job, told); },
                .silent = [this](JobId job, const Told& told,
                                 const std::string& last) { on_silence(job, told, last); }}) {
  for (const Errand& kept : files_.load()) {
    Entry& entry = entries_[kept.job];
    entry.target = {.job = kept.job,
                    .attempt = Attempt(),
                    .shim = kept.shim,
                    .cgroup = kept.cgroup,
                    .gpus = kept.gpus};
    entry.holders = kept.holders;
    entry.is_touched = true;
  }
}

/// As an errand: its job, GPUs and processes.
bool Suspender::write_down(const Entry& entry) const {
  return files_.write({.what = Errand::What::Suspend,
                       .cuda = "",
                       .nvml = "",
                       .job = entry.target.job,
                       .shim = entry.target.shim,
                       .cgroup = entry.target.cgroup,
                       .gpus = entry.target.gpus,
                       .holders = entry.holders});
}

void Suspender::drop(JobId job) {
  entries_.erase(job);
  std::erase(waiting_, job);
  files_.remove(job);
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
  helpers_.leave(job);
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
  const JobId job = entry.target.job;
  entry.phase = phase;
  entry.has_begun = false;
  entry.since = std::chrono::steady_clock::now();
  const auto begun =
      helpers_.begin({.what = goes_on ? Errand::What::Resume : Errand::What::Suspend,
                      .cuda = options_.cuda,
                      .nvml = options_.nvml,
                      .job = job,
                      .shim = entry.target.shim,
                      .cgroup = entry.target.cgroup,
                      .gpus = entry.target.gpus,
                      .lock_timeout = std::max(Duration(1000), options_.patience / 2),
                      .holders = entry.holders},
                     limit_of(entry));
  if (begun) return;
  loop_.post([this, job, why = begun.error().message] {
    if (entries_.contains(job)) fail(job, why, kNoRoomFor);
  });
}

/// It has found the processes and touched none.
void Suspender::on_question(JobId job, const Told& told) {
  Entry& entry = entries_.at(job);
  const bool undoes = entry.phase == Phase::PuttingDown || entry.is_touched;
  entry.holders = told.holders;
  const Bytes needed = sum_of(told.holders);
  const Bytes others = used() - needed;
  const bool fits = undoes || others + needed <= options_.room;
  if (fits && write_down(entry)) {
    entry.is_touched = true;
    return helpers_.go(job, limit_of(entry));  // by what it is to move
  }
  const std::string why =
      fits ? files_.path_of(job) + ": cannot be written"
           : "it holds " + to_text(needed) + " of GPU memory, and of suspend_host_memory (" +
                 to_text(options_.room) + ") " +
                 to_text(std::max(Bytes(0), options_.room - others)) + " are left";
  helpers_.leave(job);
  fail(job, why, kNoRoomFor);
}

void Suspender::on_silence(JobId job, const Told& told, const std::string& last) {
  Entry& entry = entries_.at(job);
  note_progress(entry, told);
  fail(job,
       "the driver did not answer for " + seconds_text(limit_of(entry)) +
           " s (the last step was: " + last + ")",
       minutes(10));
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
  if (!told.is_done) return fail(job, told.error.value_or(""), told.again);
  const SuspendTarget target = entry.target;
  const std::string took = seconds_since(entry.since);
  switch (entry.phase) {
    case Phase::Suspending:
      entry.phase = Phase::Suspended;
      tell_if_rooted(entry);
      hooks_.suspended(job, target.attempt,
                       live::suspended_note(sum_of(entry.holders)) + " (" + took + " s)");
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

/// A job's own process leads its group and is the shim's child.
void Suspender::tell_if_rooted(const Entry& entry) const {
  const auto is_own = [&](const Holder& holder) {
    const auto stat = shim::stat_of(holder.process.pid);
    return stat && stat->parent == entry.target.shim && stat->group == stat->pid;
  };
  if (!hooks_.rooted || std::ranges::any_of(entry.holders, is_own)) return;
  hooks_.rooted(entry.target.job, entry.target.attempt);
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
  tell_if_rooted(entry);
  hooks_.suspended(job, target.attempt, live::suspended_note(sum_of(entry.holders)));
}

/// What was begun is undone, once; what cannot be undone is the end of the job. A helper that was
/// to do that and did nothing, as it had no time on a busy machine or was killed, is not the
/// driver's answer: others are sent.
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
    entry.idle_undos = 0;
    begin(entry, was_suspending ? Phase::PuttingBack : Phase::PuttingDown);
    return begin_next();
  }
  if (!entry.has_begun && ++entry.idle_undos < kMostIdleUndos) return begin(entry, entry.phase);
  const std::string first = entry.why;
  drop(job);
  hooks_.broken(job, target.attempt, first + "; and that could not be undone: " + why);
  begin_next();
}

}  // namespace berth::daemon
