#include "live/late_memory.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "core/knowledge/memory_estimate.hpp"
#include "live/command.hpp"
#include "live/new_jobs.hpp"

namespace berth::live {

namespace {

constexpr std::size_t kMostLooks = kMostInStep / 2;

/// Its user states no memory, it never ran, and what it is charged is less than this.
bool could_learn(const Job& job, Bytes learned) {
  return leaves_memory_open(job.spec.request.gpu) && !holds_berth(job.state) &&
         job.first_start == kNever && job.spec.vram_estimate < learned;
}

/// Nothing where the latest peak teaches nothing new: what was learned before was told before.
std::optional<Bytes> learned_now(std::span<const Bytes> peaks) {
  const auto now = memory_from(peaks);
  const auto before = peaks.empty() ? std::nullopt : memory_from(peaks.subspan(1));
  return before && now <= before ? std::nullopt : now;
}

}  // namespace

Fingerprint memory_program_of(const Job& job, const journal::Store& store) {
  const auto bytes = store.blob(job.spec.command);
  const auto command = bytes ? decode_command(*bytes) : std::unexpected(bytes.error());
  if (!command) return Fingerprint(0);
  const ArrayPlace& array = job.spec.conditions->array;
  if (array.tasks == 0) return memory_fingerprint_of(*command);
  const auto row = store.job(job.id);
  const Point point = row && *row ? point_of((*row)->name, array) : Point();
  return point.empty() ? memory_fingerprint_of(*command, array.task)
                       : memory_fingerprint_of(*command, point);
}

void LateMemory::look_for_jobs(const ClusterView& view, const journal::Store& store) {
  std::map<UserId, Bytes> most;  // of the user's programs that are news
  for (const auto& [program, unused] : std::exchange(news_, {})) {
    const auto& [user, what] = program;
    const auto peaks = store.peaks_of(user, what, kMostPeaks);
    const auto learned = peaks ? learned_now(*peaks) : std::nullopt;
    if (!learned || !has_gpu_for(*learned, view.cluster())) continue;
    known_[program] = *learned;
    most[user] = std::max(most[user], *learned);
  }
  if (most.empty()) return;
  view.for_each_job([&](const Job& job) {
    const auto found = most.find(job.spec.user);
    if (found != most.end() && could_learn(job, found->second)) to_look_at_.push_back(job.id);
  });
}

std::vector<Input> LateMemory::take(const ClusterView& view, const journal::Store& store) {
  look_for_jobs(view, store);
  std::vector<Input> inputs;
  for (std::size_t some = 0; some < kMostLooks && !to_look_at_.empty(); ++some) {
    const Job* const job = view.find(to_look_at_.front());
    to_look_at_.pop_front();
    if (job == nullptr) continue;
    const auto found = known_.find({job->spec.user, memory_program_of(*job, store)});
    if (found == known_.end() || !could_learn(*job, found->second)) continue;
    Updated updated{.job = job->id, .spec = job->spec};
    updated.spec.vram_estimate = found->second;
    inputs.emplace_back(std::move(updated));
  }
  if (to_look_at_.empty()) known_.clear();
  return inputs;
}

}  // namespace berth::live
