// The Tiresias simulator's dlas and dlas-gpu, exactly: discretised least attained service.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "policy/kit/diff.hpp"
#include "policy/kit/gittins.hpp"
#include "policy/policies.hpp"
#include "policy/whole/level_queues.hpp"

namespace berth {

constexpr auto kTiresiasDlasKeys = std::to_array<Key>({
    {.name = "thresholds",
     .type = KeyType::Service,
     .usual = "3250:7200",
     .least = 1,
     .most = 100'000'000,
     .what = "Executed seconds, or executed seconds x GPUs, at which the queues end."},
    {.name = "promote",
     .type = KeyType::Factor,
     .usual = "0",
     .least = 0,
     .most = 1'000'000,
     .what = "A job that has waited this many times its executed time returns to the first queue, "
             "and both times restart at 0; 0: never."},
});

constexpr About kTiresiasDlasGpu{
    .title = "Tiresias' simulator: queues by executed time x GPUs; preemptive.",
    .rule =
        "queue = number of `thresholds` that executed seconds x GPUs has reached. A running job at "
        "its threshold moves to the tail of the next queue, one queue per event. At every event "
        "the cluster is packed again, queue by queue, and any job that fits runs; then waiting "
        "jobs move to the tail of their queue.",
    .reads = "Run time, time waited, GPUs asked for, arrivals.",
    .source =
        "The simulator of Tiresias (Gu et al., NSDI 2019), artifact 959f9b0. Its `dlas-gpu-K` is "
        "`promote=K`.",
    .differs =
        "Nothing known. The simulator ignores places, so only the number of GPUs counts, and it "
        "computes the next demotion as floor((threshold - executed) / GPUs), which is late.",
    .cost = "O(jobs) per event.",
    .proof =
        "Every start and end of the simulator's own runs: 60_job, which its authors published, "
        "Y480 and Y480t, which were derived from their duration samples; with promote 1, 2 and 8 "
        "on Y480 (test/sim/tiresias_oracle_test.cpp).",
    .needs = {.preemption = true},
    .keys = kTiresiasDlasKeys};

constexpr About kTiresiasDlas = like(
    kTiresiasDlasGpu,
    {.title = "Tiresias' simulator: queues by executed time; preemptive.",
     .rule = "As `tiresias/dlas-gpu`, with executed seconds instead of executed seconds x GPUs.",
     .source = "The simulator of Tiresias (Gu et al., NSDI 2019), artifact 959f9b0.",
     .differs = "Nothing known. The simulator ignores places, so only the number of GPUs counts.",
     .proof = "Every start and end of the simulator's own runs: 60_job, which its authors "
              "published, Y480 and Y480t, which were derived from their duration samples "
              "(test/sim/tiresias_oracle_test.cpp)."});

constexpr About kTiresiasDlasGpuFixjump = like(
    kTiresiasDlasGpu,
    {.title = "Tiresias' simulator: dlas-gpu with its late demotions fixed; preemptive.",
     .rule = "As `tiresias/dlas-gpu`, with the next demotion at ceil(threshold / GPUs) - executed.",
     .differs = "The simulator's own demotions are late; that one line is fixed here.",
     .proof = "Every start and end of runs of the simulator with that line fixed: Y480 and Y480t, "
              "which were derived from its authors' duration samples "
              "(test/sim/tiresias_oracle_test.cpp)."});

constexpr About kTiresiasDlasGpuGittins = [] {
  About about =
      like(kTiresiasDlasGpu,
           {.title = "Tiresias' simulator: dlas-gpu, each queue by Gittins index; preemptive.",
            .rule = "As `tiresias/dlas-gpu`, but each queue is first sorted by the Gittins index "
                    "of executed seconds x GPUs over a sample of past jobs (`--service`).",
            .proof = "Every start and end of the simulator's own run on Y480, which was derived "
                     "from its authors' duration samples (test/sim/tiresias_oracle_test.cpp)."});
  about.needs.samples = true;
  return about;
}();

namespace {

struct Variant {
  bool by_gpu_time = true;
  bool fixed_jump = false;
  bool by_index = false;
};

class TiresiasDlas final : public Policy {
 public:
  TiresiasDlas(const Variant& variant, const Keys& keys, const Knobs& knobs)
      : variant_(variant),
        limits_(keys.list("thresholds").begin(), keys.list("thresholds").end()),
        promote_milli_(keys.number("promote")),
        index_(knobs.service, GittinsForm::Artifact),
        placer_(count({})),
        queues_(limits_.size() + 1) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    repacker_.follow(view, events);
    if (queues_.update(view, events, *placer_)) advance(view);
    if (variant_.by_index && index_.is_known()) sort_by_index(view);
    Repacked repacked = repacker_.repack(view, queues_.in_order(), *placer_);
    Instant wake = repacked.decisions.wake_at.value_or(kNever);
    queues_.move_back_unless(repacked.wanted, [&](JobId id, std::size_t level, bool runs) {
      if (runs ? level == queues_.last_level() : promote_milli_ == 0) return;
      const std::int64_t ahead = next_move(view.job(id), level, runs);
      if (ahead > 0) wake = std::min(wake, view.now() + seconds(ahead));
    });
    if (wake != kNever) repacked.decisions.wake_at = wake;
    queues_.reject_impossible(repacked.decisions);
    return std::move(repacked.decisions);
  }

  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    return waits_its_turn(job, view, GateWord::What::Ahead);
  }
  Snapshot save() const override { return queues_.save(); }
  Expected<void> restore(const Snapshot& bytes) override {
    repacker_ = {};
    return queues_.restore(bytes, "tiresias/dlas");
  }

 private:
  /// Demotions, then promotions: they never enter the same queue.
  void advance(const ClusterView& view) {
    queues_.demote(view, [&](const JobView& job, std::size_t level) {
      const std::int64_t weight = variant_.by_gpu_time ? job.gpus().raw() : 1;
      return executed(job) * weight >= limits_[level];
    });
    if (promote_milli_ == 0) return;
    queues_.promote(view, [&](const JobView& job) { return waited(job) < patience(job); });
  }

  // In whole seconds, as the peer has them.
  std::int64_t executed(const JobView& job) const { return queues_.executed(job) / seconds(1); }
  std::int64_t waited(const JobView& job) const { return queues_.waited(job) / seconds(1); }
  std::int64_t patience(const JobView& job) const { return executed(job) * promote_milli_ / 1000; }

  /// Largest index first, then first submitted; equals stay as they are.
  void sort_by_index(const ClusterView& view) {
    queues_.sort([&](JobId id) {
      const JobView job = view.job(id);
      return std::pair(-index_.at(executed(job) * job.gpus().raw()), job.in_line_since());
    });
  }

  /// Seconds until this job changes its queue, as the peer computes them; zero or less: never.
  std::int64_t next_move(const JobView& job, std::size_t level, bool runs) const {
    const std::int64_t so_far = executed(job);
    if (runs) return demotion_in(limits_[level], so_far, job.gpus().raw());
    return level == 0 || so_far == 0 ? 0 : patience(job) - waited(job);
  }

  std::int64_t demotion_in(std::int64_t limit, std::int64_t executed, std::int64_t gpus) const {
    if (!variant_.by_gpu_time || gpus == 0) return limit - executed;
    if (variant_.fixed_jump) return (limit + gpus - 1) / gpus - executed;
    return (limit - executed) / gpus;
  }

  Variant variant_;
  std::vector<std::int64_t> limits_;  ///< Where queues end.
  std::int64_t promote_milli_;        ///< Thousandths of the executed time; zero: no promotion.
  GittinsIndex index_;
  std::unique_ptr<Placer> placer_;
  LevelQueues queues_;
  Repacker repacker_;
};

}  // namespace

std::unique_ptr<Policy> tiresias_dlas(const Keys& keys, std::unique_ptr<Placer>,
                                      const Knobs& knobs) {
  return std::make_unique<TiresiasDlas>(Variant{.by_gpu_time = false}, keys, knobs);
}

std::unique_ptr<Policy> tiresias_dlas_gpu(const Keys& keys, std::unique_ptr<Placer>,
                                          const Knobs& knobs) {
  return std::make_unique<TiresiasDlas>(Variant{}, keys, knobs);
}

std::unique_ptr<Policy> tiresias_fixjump(const Keys& keys, std::unique_ptr<Placer>,
                                         const Knobs& knobs) {
  return std::make_unique<TiresiasDlas>(Variant{.fixed_jump = true}, keys, knobs);
}

std::unique_ptr<Policy> tiresias_gittins(const Keys& keys, std::unique_ptr<Placer>,
                                         const Knobs& knobs) {
  return std::make_unique<TiresiasDlas>(Variant{.by_index = true}, keys, knobs);
}

}  // namespace berth
