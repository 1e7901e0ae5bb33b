// CARMA: jobs share GPUs by estimates of their memory, in order.
//
// Rule: first submitted first, those that died for lack of GPU memory before all others, and nobody
//   passes one that has no place. A GPU with tenants, or with memory that others use, is a
//   candidate if the job's estimate leaves 2 GiB of what is available there, by charges and as
//   measured, and if it is less than 80 % busy; an empty one if the job fits. Of the candidates
//   those with the most available memory, on the node that has the most in sum, the first among
//   equals; a job larger than the largest node takes candidates of the first nodes.
// Reads: submitted, times requeued for lack of memory, ask (the estimate, where a job states no
//   memory), available memory and utilisation per GPU, cores and memory per node.
// Differs from the paper: CARMA (Yousefzadeh-Asl-Miandoab et al., arXiv 2508.19073, 2025), policy
//   EST-MAGM of its server. It also asks whether warps or the memory bus are busy, which are not
//   known here; leaves 2 GiB on empty GPUs too, which would lose jobs that fit no other way; trusts
//   measured memory alone; and gives a job that died a GPU alone, where it comes again with a
//   larger request here. Its placement is its own, whatever is asked for.
//   Beside what is published: doc/results/carma.md.
//   Cost: O(GPUs log GPUs per node) per pass, O(log queue) per job.
#include <algorithm>
#include <memory>
#include <vector>

#include "policy/kit/cheapest.hpp"
#include "policy/pipeline/pipeline.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

constexpr Bytes kMargin{std::int64_t{2} << 30};
constexpr std::int16_t kBusyPercent = 80;

Bytes available(GpuId gpu, const Trial& trial) {
  const Bytes unused = trial.cluster().gpu(gpu).capacity - trial.use().gpu(gpu).used;
  return std::min(free_memory(gpu, trial), unused);
}

bool is_candidate(GpuId gpu, const Ask& ask, const Trial& trial) {
  const GpuUse& use = trial.use().gpu(gpu);
  if (use.tenants == 0 && use.foreign == Bytes(0)) return true;
  return use.utilisation < kBusyPercent &&
         charge_on(ask, trial.cluster().gpu(gpu)) + kMargin <= available(gpu, trial);
}

/// What is no candidate costs more than any sum of memory.
struct Price {
  std::int64_t barred = 0;
  Bytes memory{0};

  Price& operator+=(const Price& other) {
    barred += other.barred;
    memory += other.memory;
    return *this;
  }
  auto operator<=>(const Price&) const = default;
};

/// Refuses what would fit: so it goes with no policy that preempts, and is nobody else's.
class Mapper final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (candidates.needs_many_nodes()) return gather(ask, trial, candidates);
    Placed placed = place_cheapest(ask, trial, candidates, [&](GpuId gpu) {
      return Price{is_candidate(gpu, ask, trial) ? 0 : 1, Bytes(0) - available(gpu, trial)};
    });
    const auto is_barred = [&](GpuId gpu) { return !is_candidate(gpu, ask, trial); };
    if (placed && std::ranges::any_of(placed->gpus, is_barred)) return candidates.refusal();
    return placed;
  }

 private:
  static Placed gather(const Ask& ask, const Trial& trial, Candidates& candidates) {
    std::vector<GpuId> gpus;
    std::vector<GpuId> here;
    for (NodeId node(0); node < NodeId(candidates.node_count()); node = NodeId(node.value() + 1)) {
      const std::size_t room = candidates.fitting(node);
      here.clear();
      candidates.append_fitting(node, trial.cluster().node(node).gpus, here);
      std::erase_if(here, [&](GpuId gpu) { return !is_candidate(gpu, ask, trial); });
      const std::size_t missing = candidates.wanted() - gpus.size();
      here.resize(std::min({here.size(), room, missing}));
      gpus.insert(gpus.end(), here.begin(), here.end());
      if (gpus.size() == candidates.wanted()) return placement_on(trial.cluster(), std::move(gpus));
    }
    return candidates.refusal();
  }
};

class RecoveredFirst final : public Order {
 public:
  Ranked rank(const JobView& job, const ClusterView& view) const override {
    const bool recovers = view.find(job.id())->retries_used > 0;
    return {.rank = {.major = recovers ? 0 : 1, .minor = micros(job.submitted())},
            .valid_until = std::nullopt};
  }
};

}  // namespace

std::unique_ptr<Policy> carma(const Knobs& knobs) {
  return std::make_unique<Pipeline>(
      std::make_unique<RecoveredFirst>(), std::make_unique<Mapper>(),
      PipelineOptions{.no_fit = HeadOfLine::Block, .rebuild = knobs.rebuild});
}

}  // namespace berth
