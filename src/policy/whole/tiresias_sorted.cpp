// The Tiresias simulator's sjf, shortest and shortest-gpu, exactly.
#include <algorithm>

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
    .cost = "O(jobs log jobs) per event.",
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

class TiresiasSorted final : public Policy {
 public:
  TiresiasSorted(SortBy* by, std::unique_ptr<Placer> placer)
      : by_(by), placer_(std::move(placer)) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    list_.update(view, events, *placer_);
    sort(view);
    Decisions decisions = repack(view, list_.ids(), *placer_).decisions;
    list_.reject_impossible(decisions);
    return decisions;
  }
  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    return waits_its_turn(job, view, GateWord::What::Ahead);
  }
  Snapshot save() const override { return list_.save(); }
  Expected<void> restore(const Snapshot& bytes) override { return list_.restore(bytes); }

 private:
  void sort(const ClusterView& view) {
    keyed_.clear();
    for (const JobId id : list_.ids()) keyed_.emplace_back(by_(view.job(id)), id);
    constexpr auto key = &std::pair<std::int64_t, JobId>::first;
    if (std::ranges::is_sorted(keyed_, {}, key)) return;
    std::ranges::stable_sort(keyed_, {}, key);
    for (std::size_t i = 0; i < keyed_.size(); ++i) list_.ids()[i] = keyed_[i].second;
  }

  SortBy* by_;
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
