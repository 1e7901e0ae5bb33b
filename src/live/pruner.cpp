#include "live/pruner.hpp"

#include <algorithm>
#include <utility>

namespace berth::live {

void Pruner::begin(Instant ended_before) {
  phase_ = Phase::Jobs;
  ended_before_ = ended_before;
  job_ = JobId(0);
  blob_ = last_blob_ = BlobId();
  needed_.clear();
  is_blind_ = false;
}

Expected<bool> Pruner::advance() {
  Expected<bool> more = false;
  switch (phase_) {
    case Phase::None:
      return false;
    case Phase::Jobs:
      more = drop_jobs();
      break;
    case Phase::Marks:
      more = mark();
      break;
    case Phase::Blobs:
      more = drop_blobs();
      break;
    case Phase::Pages:
      more = cut();
      break;
  }
  if (!more) phase_ = Phase::None;
  return more;
}

Expected<bool> Pruner::drop_jobs() {
  const auto ended = keeper_.store().ended_after(job_, kSlice);
  if (!ended) return std::unexpected(ended.error());
  std::vector<JobId> old;
  for (const auto& [job, at] : *ended) {
    job_ = job;
    if (at < ended_before_ && !keeper_.engine().view().knows(job)) old.push_back(job);
  }
  if (!old.empty()) {
    auto done = keeper_.tidy([&](journal::Store& store) -> Expected<void> {
      for (const JobId job : old) {
        if (auto dropped = store.drop_job(job); !dropped) return dropped;
      }
      return {};
    });
    if (!done) return std::unexpected(done.error());
    dropped_.insert(dropped_.end(), old.begin(), old.end());
  }
  if (ended->size() == kSlice) return true;
  phase_ = Phase::Marks;
  job_ = JobId(0);
  return true;
}

bool Pruner::is_marked(BlobId blob) const {
  const auto number = static_cast<std::size_t>(blob.value());
  return number < needed_.size() && needed_[number];
}

void Pruner::mark_blob(BlobId blob) {
  const auto number = static_cast<std::size_t>(blob.value());
  if (number >= needed_.size()) needed_.resize(number + 1);
  needed_[number] = true;
}

/// The command of every job, as lists show it; the environment of those that may still run.
Expected<void> Pruner::mark_job(JobId id) {
  const auto row = keeper_.store().job(id);
  if (!row) return std::unexpected(row.error());
  const Job* const job = keeper_.engine().view().find(id);
  if (!*row || ((*row)->is_damaged && job == nullptr)) {
    is_blind_ = is_blind_ || row->has_value();
    return {};
  }
  const BlobId blob = job != nullptr ? job->spec.command : (*row)->spec.command;
  if (job == nullptr && is_marked(blob)) return {};  // with its words, by a job before
  mark_blob(blob);
  const auto bytes = keeper_.store().blob(blob);
  const auto command = bytes ? decode_command(*bytes) : std::unexpected(bytes.error());
  is_blind_ = is_blind_ || !command;
  if (!command) return {};
  std::ranges::for_each(command->more_arguments, [this](BlobId part) { mark_blob(part); });
  if (job == nullptr) return {};
  mark_blob(command->environment);
  std::ranges::for_each(command->more_environment, [this](BlobId part) { mark_blob(part); });
  return {};
}

Expected<bool> Pruner::mark() {
  const auto jobs = keeper_.store().jobs_after(job_, kSlice);
  if (!jobs) return std::unexpected(jobs.error());
  for (const JobId job : *jobs) {
    job_ = job;
    if (auto done = mark_job(job); !done) return std::unexpected(done.error());
  }
  if (is_blind_) {
    phase_ = Phase::Pages;
    return true;
  }
  if (jobs->size() == kSlice) return true;
  // All jobs are marked, also those that came meanwhile. From here on no new job gets a blob of
  // before.
  const auto last = keeper_.store().last_blob();
  if (!last) return std::unexpected(last.error());
  last_blob_ = *last;
  std::ranges::for_each(keeper_.awaited_blobs(), [this](BlobId blob) { mark_blob(blob); });
  phase_ = Phase::Blobs;
  Expected<void> done = keeper_.tidy([](journal::Store& store) -> Expected<void> {
    store.forget_recent_blobs();
    return {};
  });
  return done ? Expected<bool>(true) : std::unexpected(done.error());
}

/// Of commands that no job has any more. A copy that is not found here stays on the disk.
void Pruner::note_snapshots(const std::vector<BlobId>& needless) {
  for (const BlobId blob : needless) {
    const auto bytes = keeper_.store().blob(blob);
    // Environments are blobs, too, and the larger ones.
    if (!bytes || bytes->find("/berth/snapshots/") == bytes->npos) continue;
    const auto command = decode_command(*bytes);
    if (command && !command->snapshot.empty()) {
      snapshots_.push_back({.path = command->snapshot, .owner = command->owner});
    }
  }
}

Expected<bool> Pruner::drop_blobs() {
  const auto blobs = keeper_.store().blobs_after(blob_, kBlobs);
  if (!blobs) return std::unexpected(blobs.error());
  std::vector<BlobId> needless;
  bool is_end = blobs->size() < kBlobs;
  for (const BlobId blob : *blobs) {
    is_end = is_end || blob > last_blob_;
    if (blob > last_blob_) break;
    blob_ = blob;
    if (!is_marked(blob)) needless.push_back(blob);
  }
  note_snapshots(needless);
  if (!needless.empty()) {
    auto done = keeper_.tidy([&](journal::Store& store) -> Expected<void> {
      for (const BlobId blob : needless) {
        if (auto dropped = store.drop_blob(blob); !dropped) return dropped;
      }
      return {};
    });
    if (!done) return std::unexpected(done.error());
  }
  if (is_end) phase_ = Phase::Pages;
  return true;
}

Expected<bool> Pruner::cut() {
  bool is_more = false;
  auto done = keeper_.tidy([&](journal::Store& store) -> Expected<void> {
    const auto more = store.cut_some();
    if (!more) return std::unexpected(more.error());
    is_more = *more;
    return {};
  });
  return done ? Expected<bool>(is_more) : std::unexpected(done.error());
}

}  // namespace berth::live
