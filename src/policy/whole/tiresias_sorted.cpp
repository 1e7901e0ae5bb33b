// The Tiresias simulator's sjf, shortest and shortest-gpu, exactly.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/id_map.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kTiresiasSjf{
    .title = "Tiresias' simulator: fewest GPUs first, not shortest run time; preemptive.",
    .rule =
        "One list of all jobs, with arrivals at its tail, is stably sorted at every event by GPUs "
        "asked for, and the next event sorts the result again. At every event the cluster is "
        "packed again in that order, and any job that fits runs. Preemption is free.",
    .reads = "GPUs asked for, arrivals.",
    .source =
        "The simulator of Tiresias (Gu et al., NSDI 2019), artifact 959f9b0, which calls it `sjf`.",
    .differs =
        "Its placement `yarn` never gives back the memory of preempted jobs; that is fixed here.",
    .cost = "A few bytes for each job per event, and a placement for each that gets a place.",
    .proof =
        "Every start and end of the simulator's own runs with placements `count` and `yarn`: "
        "60_job, which its authors published (`count` only), Y480 and Y480t (`count` only), which "
        "were derived from their duration samples (test/sim/tiresias_oracle_test.cpp).",
    .needs = {.preemption = true}};

constexpr About kTiresiasShortest = [] {
  About about = like(
      kTiresiasSjf,
      {.title = "Tiresias' simulator: shortest remaining time first; preemptive.",
       .rule = "As `tiresias/sjf`, sorted by remaining time.",
       .reads = "Remaining time, arrivals.",
       .source = "The simulator of Tiresias (Gu et al., NSDI 2019), artifact 959f9b0.",
       .proof =
           "Every start and end of the simulator's own runs with placements `count` and `yarn`: "
           "60_job, which its authors published (`count` only), Y480 and Y480t (`count` only), "
           "which were derived from their duration samples (test/sim/tiresias_oracle_test.cpp). "
           "doc/results/muri.md compares with Muri's published SRTF."});
  about.needs.estimates = true;
  return about;
}();

constexpr About kTiresiasShortestGpu = like(
    kTiresiasShortest,
    {.title = "Tiresias' simulator: least remaining time x GPUs first; preemptive.",
     .rule = "As `tiresias/sjf`, sorted by remaining time x GPUs.",
     .reads = "Remaining time, GPUs asked for, arrivals.",
     .proof = "Every start and end of the simulator's own runs with placements `count` and `yarn`: "
              "60_job, which its authors published (`count` only), Y480 and Y480t (`count` only), "
              "which were derived from their duration samples (test/sim/tiresias_oracle_test.cpp). "
              "doc/results/muri.md compares with Muri's published SRSF."});

namespace {

using SortBy = std::int64_t(const JobView&);
using Keyed = std::pair<std::int64_t, JobId>;

class TiresiasSorted final : public Policy {
 public:
  TiresiasSorted(SortBy* by, std::unique_ptr<Placer> placer)
      : by_(by), placer_(std::move(placer)) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    list_.update(view, events, *placer_);
    repacker_.follow(view, events);
    sort(view, events);
    Decisions decisions = repacker_.repack(view, list_.ids(), *placer_).decisions;
    list_.reject_impossible(decisions);
    return decisions;
  }
  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    return waits_its_turn(job, view, GateWord::What::Ahead);
  }
  Snapshot save() const override { return list_.save(); }
  Expected<void> restore(const Snapshot& bytes) override {
    repacker_ = {};
    keys_ = {};
    return list_.restore(bytes);
  }

 private:
  /// By keys that are kept, for those of most jobs that wait do not change.
  void sort(const ClusterView& view, std::span<const Event> events) {
    for (const Event& event : events) forget(event.job);
    for (const JobId id : view.running()) forget(id);
    keyed_.clear();
    for (const JobId id : list_.ids()) keyed_.emplace_back(key_of(id, view), id);
    if (!sort_stably()) return;
    for (std::size_t i = 0; i < keyed_.size(); ++i) list_.ids()[i] = keyed_[i].second;
  }
  void forget(JobId id) {
    if (keys_.find(id) != nullptr) keys_.erase(id);
  }
  std::int64_t key_of(JobId id, const ClusterView& view) {
    if (const std::int64_t* const known = keys_.find(id)) return *known;
    const JobView job = view.job(id);
    const std::int64_t key = by_(job);
    if (is_waiting(job.state())) keys_.insert(id, key);
    return key;
  }
  /// Merges the parts that are sorted already: few jobs have moved. Returns: whether any has.
  bool sort_stably() {
    constexpr auto key = &Keyed::first;
    auto sorted = std::ranges::is_sorted_until(keyed_, {}, key);
    if (sorted == keyed_.end()) return false;
    std::vector<std::vector<Keyed>::iterator> ends{keyed_.begin(), sorted};
    while (ends.back() != keyed_.end()) {
      ends.push_back(std::ranges::is_sorted_until(ends.back(), keyed_.end(), {}, key));
    }
    while (ends.size() > 2) {
      std::size_t kept = 1;
      for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
        const auto end = ends[std::min(i + 2, ends.size() - 1)];
        std::ranges::inplace_merge(ends[i], ends[i + 1], end, {}, key);
        ends[kept++] = end;
      }
      ends.resize(kept);
    }
    return true;
  }

  SortBy* by_;
  std::unique_ptr<Placer> placer_;
  JobList list_;
  Repacker repacker_;
  IdMap<JobId, std::int64_t> keys_;  ///< Of jobs that wait.
  std::vector<Keyed> keyed_;
};

std::int64_t fewest_gpus(const JobView& job) { return job.gpus().raw(); }
std::int64_t remaining_time(const JobView& job) { return micros(job.remaining()); }
std::int64_t remaining_service(const JobView& job) {
  if (job.remaining() == kForever) return micros(kForever);
  return (job.gpus() * job.remaining()).raw();
}

}  // namespace

std::unique_ptr<Policy> tiresias_sjf(const Keys&, std::unique_ptr<Placer> placer, const Knobs&) {
  return std::make_unique<TiresiasSorted>(fewest_gpus, std::move(placer));
}

std::unique_ptr<Policy> tiresias_shortest(const Keys&, std::unique_ptr<Placer> placer,
                                          const Knobs&) {
  return std::make_unique<TiresiasSorted>(remaining_time, std::move(placer));
}

std::unique_ptr<Policy> tiresias_shortest_gpu(const Keys&, std::unique_ptr<Placer> placer,
                                              const Knobs&) {
  return std::make_unique<TiresiasSorted>(remaining_service, std::move(placer));
}

}  // namespace berth
