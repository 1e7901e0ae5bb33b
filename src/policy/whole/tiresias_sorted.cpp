// The Tiresias simulator's sjf, shortest and shortest-gpu, exactly.
//
// Rule: one list of all jobs, arrivals at its tail, stably sorted at every event by fewest GPUs
//   (sjf), remaining time (shortest) or remaining time x GPUs (shortest-gpu); the order persists.
//   The cluster is then repacked from nothing in that order; whoever fits runs. Preemption is free.
// Reads: remaining, gpus, arrivals.
// Differs from the paper: this is the simulator of Tiresias (Gu et al., NSDI 2019), artifact
//   959f9b0, with its yarn placement not leaking memory. `tiresias/sjf` is fewest GPUs first, the
//   peer's word. doc/results/muri.md has more. Cost: O(jobs log jobs) per event.
#include <algorithm>

#include "policy/kit/diff.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

using Key = std::int64_t(const JobView&);

class TiresiasSorted final : public Policy {
 public:
  TiresiasSorted(Key* key, std::unique_ptr<Placer> placer)
      : key_(key), placer_(std::move(placer)) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    list_.update(view, events, *placer_);
    sort(view);
    Decisions decisions = repack(view, list_.ids(), *placer_).decisions;
    list_.reject_impossible(decisions);
    return decisions;
  }
  Snapshot save() const override { return list_.save(); }
  Expected<void> restore(const Snapshot& bytes) override { return list_.restore(bytes); }

 private:
  void sort(const ClusterView& view) {
    keyed_.clear();
    for (const JobId id : list_.ids()) keyed_.emplace_back(key_(view.job(id)), id);
    constexpr auto key = &std::pair<std::int64_t, JobId>::first;
    if (std::ranges::is_sorted(keyed_, {}, key)) return;
    std::ranges::stable_sort(keyed_, {}, key);
    for (std::size_t i = 0; i < keyed_.size(); ++i) list_.ids()[i] = keyed_[i].second;
  }

  Key* key_;
  std::unique_ptr<Placer> placer_;
  JobList list_;
  std::vector<std::pair<std::int64_t, JobId>> keyed_;
};

std::int64_t fewest_gpus(const JobView& job) { return job.gpus().raw(); }
std::int64_t remaining_time(const JobView& job) { return micros(job.remaining()); }
std::int64_t remaining_service(const JobView& job) {
  if (job.remaining() == kForever) return micros(kForever);
  return (job.gpus() * job.remaining()).raw();
}

Key* key_of(std::string_view name) {
  if (name.ends_with("/sjf")) return fewest_gpus;
  return name.ends_with("/shortest") ? remaining_time : remaining_service;
}

}  // namespace

std::unique_ptr<Policy> tiresias_sorted(const Knobs& knobs) {
  return std::make_unique<TiresiasSorted>(key_of(knobs.name), knobs.place());
}

}  // namespace berth
