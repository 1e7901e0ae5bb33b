// Jobs give way to the services beside them while those are busy.
#include <algorithm>
#include <array>

#include "policy/gates.hpp"
#include "policy/pipeline/gate.hpp"

namespace berth {

constexpr auto kYieldKeys = std::to_array<Key>(
    {{.name = "yield_for",
      .type = KeyType::Time,
      .usual = "15m",
      .least = micros(seconds(1)),
      .most = kYear,
      .what = "A job that is kept from its place by busy services takes it after this, all the "
              "same."},
     {.name = "yield_after",
      .type = KeyType::Time,
      .usual = "5m",
      .least = micros(seconds(1)),
      .most = kYear,
      .what = "A job has its GPUs for this long before it gives way, again."}});

constexpr About kYield{
    .title = "Yielding: jobs leave the GPUs of a service while it is busy.",
    .rule =
        "A service is a job of class service with GPUs; it is busy while the last value that it "
        "reported as `busy` is above 0. A job of another class that has had its GPUs for "
        "`yield_after`, and can be suspended or saves its own state, is preempted while a service "
        "on one of its GPUs is busy. Until it has been without GPUs for `yield_for`, no job of "
        "another class is placed on a GPU of a busy service, and such GPUs are chosen last.",
    .reads = "Class, the reported value `busy`, time with and without GPUs.",
    .source = "berth's own.",
    .differs =
        "Nothing known. Backfills `conservative` and `displace` are refused, because they would "
        "give a job its place back at once. Behind `block`, a job that waits here holds up all "
        "behind it; a place kept by `promise` is taken though a service there is busy.",
    .cost = "O(running x GPUs + jobs that wait for it) per pass.",
    .proof =
        "None yet by others. That no job waits for longer than `yield_for` is checked on random "
        "bursts under five policies (test/property/yield_test.cpp).",
    .needs = {.preemption = true, .reports = true},
    .keys = kYieldKeys};

namespace {

bool is_service(const Job& job) { return job.spec.duration_class == DurationClass::Service; }

bool is_busy(const JobView& job) {
  return job.duration_class() == DurationClass::Service && job.state() == JobState::Running &&
         job.metric("busy").value_or(0) > 0;
}

bool has_busy_service(GpuId gpu, const ClusterView& view) {
  return std::ranges::any_of(view.tenants_of(gpu), [&](JobId id) { return is_busy(view.job(id)); });
}

class Yield final : public Gate {
 public:
  explicit Yield(const Keys& keys)
      : most_(keys.time("yield_for")), turn_(keys.time("yield_after")) {}

  std::vector<GpuId> avoided(JobId job, const ClusterView& view,
                             std::span<const Fresh>) const override {
    std::vector<GpuId> busy;
    if (is_service(*view.find(job))) return busy;
    for (const JobId id : view.running()) {
      if (!is_busy(view.job(id))) continue;
      for (const Share& share : view.job(id).grant().shares) busy.push_back(share.gpu);
    }
    return busy;
  }

  Duration wait(const JobView& job, const Placement& place, const Trial&,
                const ClusterView& view) const override {
    const bool is_kept =
        job.duration_class() != DurationClass::Service &&
        std::ranges::any_of(place.gpus, [&](GpuId gpu) { return has_busy_service(gpu, view); });
    if (!is_kept) return Duration::zero();
    return std::max(Duration::zero(), most_ - (view.now() - view.find(job.id())->since));
  }

  GateWord word(const JobView&, const Placement& place, const Trial&,
                const ClusterView& view) const override {
    const auto busy =
        std::ranges::find_if(place.gpus, [&](GpuId gpu) { return has_busy_service(gpu, view); });
    return {.what = GateWord::What::Service, .gpu = *busy};
  }

  /// By how long it has been without GPUs.
  bool goes_by_run() const override { return false; }

  bool looks_again(const ClusterView& view, std::span<const Event> events) const override {
    return std::ranges::any_of(events, [&](const Event& event) {
      const Job* const job = view.find(event.job);
      return job != nullptr && is_service(*job);
    });
  }

  Evicted evicted(const ClusterView& view) const override {
    Evicted evicted;
    for (const JobId id : view.running()) {
      const JobView job = view.job(id);
      const bool is_kept = view.settings().can_suspend || job.saves_itself();
      const bool may = job.state() == JobState::Running && !is_service(*view.find(id)) && is_kept &&
                       !job.request().gpu.is_elastic() && !view.is_left_alone(job);
      const auto is_beside_busy = [&](const Share& share) {
        return has_busy_service(share.gpu, view);
      };
      if (!may || std::ranges::none_of(job.grant().shares, is_beside_busy)) continue;
      const Instant rested = later(job.granted_at(), turn_);
      if (rested > view.now()) {
        evicted.look_at = std::min(evicted.look_at, rested);
      } else {
        evicted.jobs.push_back(id);
      }
    }
    return evicted;
  }

 private:
  Duration most_;
  Duration turn_;
};

}  // namespace

std::unique_ptr<const Gate> yield(const Keys& keys) { return std::make_unique<Yield>(keys); }

}  // namespace berth
