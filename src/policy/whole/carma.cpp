// CARMA: jobs share GPUs by estimates of their memory, in order.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "policy/backfills.hpp"
#include "policy/gates.hpp"
#include "policy/kit/cheapest.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/pipeline.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kCarmaKeys = std::to_array<Key>({
    {.name = "margin",
     .type = KeyType::Size,
     .usual = "2GiB",
     .least = 0,
     .most = std::int64_t{1} << 40,
     .what = "Memory that a job's estimate must leave available on a GPU with tenants."},
    {.name = "busy_percent",
     .type = KeyType::Percent,
     .usual = "80",
     .least = 0,
     .most = 100,
     .what = "A GPU with tenants that is at least this busy gets no further tenant."},
});

constexpr About kCarma{
    .title = "CARMA: jobs share GPUs by estimates of their memory, in order.",
    .rule =
        "rank = (requeued for lack of GPU memory first, time of submission); a job without a place "
        "blocks all jobs behind it. An empty GPU is a candidate if the job fits. A GPU with "
        "tenants or foreign memory is a candidate if estimate + `margin` <= memory available, by "
        "charges and as measured, and it is less than `busy_percent` busy. The candidates with the "
        "most available memory are taken, on the node with the largest sum, the first among "
        "equals; a job larger than the largest node takes candidates of the first nodes. Jobs "
        "share GPUs as with the gate `mps`.",
    .reads =
        "Time of submission, times requeued for lack of memory, request (the estimate, where a job "
        "states no memory), available memory and utilisation per GPU, cores and memory per node.",
    .source =
        "CARMA (Yousefzadeh-Asl-Miandoab et al., arXiv 2508.19073, 2025), policy EST-MAGM of its "
        "server.",
    .differs =
        "CARMA also looks at how busy warps and the memory bus are, which is unknown here. It "
        "leaves 2 GiB free on empty GPUs too; that would reject jobs that need the whole GPU. It "
        "uses measured memory only. It restarts a job that died on a GPU of its own; here the job "
        "is requeued with a larger request. `--place` is ignored.",
    .cost = "O(GPUs log GPUs per node) per pass, O(log queue) per job.",
    .proof =
        "The published mapping rule, case by case (test/paper/carma_test.cpp). No published figure "
        "is reproduced: the published makespans are reached only for a utilisation of the tasks "
        "that we chose, because none is published (doc/results/carma.md).",
    .keys = kCarmaKeys};

namespace {

struct Bounds {
  Bytes margin;
  std::int64_t busy_percent;
};

Bytes available(GpuId gpu, const Trial& trial) {
  const Bytes unused = trial.cluster().gpu(gpu).capacity - trial.use().gpu(gpu).used;
  return std::min(free_memory(gpu, trial), unused);
}

bool is_candidate(GpuId gpu, const Ask& ask, const Trial& trial, const Bounds& bounds) {
  const GpuUse& use = trial.use().gpu(gpu);
  if (use.tenants == 0 && use.foreign == Bytes(0)) return true;
  return use.utilisation < bounds.busy_percent &&
         charge_on(ask, trial.cluster().gpu(gpu)) + bounds.margin <= available(gpu, trial);
}

/// What is no candidate costs more than any sum of memory.
struct Cost {
  std::int64_t barred = 0;
  Bytes memory{0};

  Cost& operator+=(const Cost& other) {
    barred += other.barred;
    memory += other.memory;
    return *this;
  }
  auto operator<=>(const Cost&) const = default;
};

/// Refuses places that would fit, so it cannot be used by another policy or with preemption.
class Mapper final : public Placer {
 public:
  explicit Mapper(const Bounds& bounds) : bounds_(bounds) {}

  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (candidates.needs_many_nodes()) return gather(ask, trial, candidates);
    Placed placed = place_cheapest(ask, trial, candidates, [&](GpuId gpu) {
      return Cost{is_candidate(gpu, ask, trial, bounds_) ? 0 : 1, Bytes(0) - available(gpu, trial)};
    });
    const auto is_barred = [&](GpuId gpu) { return !is_candidate(gpu, ask, trial, bounds_); };
    if (placed && std::ranges::any_of(placed->gpus, is_barred)) return candidates.refusal();
    return placed;
  }

 private:
  Placed gather(const Ask& ask, const Trial& trial, Candidates& candidates) const {
    std::vector<GpuId> gpus;
    std::vector<GpuId> here;
    for (NodeId node(0); node < NodeId(candidates.node_count()); node = NodeId(node.value() + 1)) {
      const std::size_t room = candidates.fitting(node);
      here.clear();
      candidates.append_fitting(node, trial.cluster().node(node).gpus, here);
      std::erase_if(here, [&](GpuId gpu) { return !is_candidate(gpu, ask, trial, bounds_); });
      const std::size_t missing = candidates.wanted() - gpus.size();
      here.resize(std::min({here.size(), room, missing}));
      gpus.insert(gpus.end(), here.begin(), here.end());
      if (gpus.size() == candidates.wanted()) return placement_on(trial.cluster(), std::move(gpus));
    }
    return candidates.refusal();
  }

  Bounds bounds_;
};

class RecoveredFirst final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView& view) const override {
    const bool recovers = view.find(job.id())->retries_used > 0;
    return {.rank = {.major = recovers ? 0 : 1, .minor = micros(job.in_line_since())},
            .valid_until = std::nullopt};
  }
};

}  // namespace

std::unique_ptr<Policy> carma(const Keys& keys, std::unique_ptr<Placer>, const Knobs& knobs) {
  const Bounds bounds{.margin = keys.size("margin"), .busy_percent = keys.number("busy_percent")};
  Gates gates;
  gates.list.push_back(mps({}));
  return std::make_unique<Pipeline>(std::make_unique<RecoveredFirst>(),
                                    std::make_unique<Mapper>(bounds), block({}),
                                    PipelineOptions{.rebuild = knobs.rebuild}, std::move(gates));
}

}  // namespace berth
