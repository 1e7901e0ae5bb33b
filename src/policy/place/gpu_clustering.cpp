// GPU clustering: jobs of one kind together: those that share a GPU, take one, two, and so on.
//
// Rule: best is a node where only the job's own kind runs, then one where others run too, then an
//   idle one, then one of other kinds; within these the one with the least free GPU, to a 25th of
//   the largest node's, the first among equals. On it the GPUs with the least to spare. A job
//   without GPUs goes to the first host, one larger than the largest node to GPUs of the first
//   nodes.
// Reads: ask, gang sizes of running jobs, compute shares and memory per GPU.
// Differs from the paper: the baseline GpuClustering of Weng et al., ATC 2023, as their artifact
//   has it, but that whole GPUs of a node which are taken within one pass count as one gang.
// Cost: O(GPUs) per job; per pass O(GPUs + new grants).
#include <memory>
#include <vector>

#include "policy/best_node.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

/// How many whole GPUs a job takes; 0 for one that shares.
using Kind = std::int64_t;

class GpuClustering final : public Placer {
 public:
  /// Learns the gangs on GPUs taken whole: from the events if they tell all, else from all jobs.
  void prepare(const ClusterView& view, std::span<const Event> events) override {
    gangs_.resize(view.cluster().gpus().size());
    for (std::uint32_t g = 0; g < gangs_.size(); ++g) {
      if (view.use().gpu(GpuId(g)).tenants == 0) gangs_[g] = 0;
    }
    std::uint64_t told = 0;
    for (const Event& event : events) {
      if (event.kind != EventKind::Granted) continue;
      ++told;
      learn(view.find(event.job));
    }
    if (grants_ + told != view.grants()) {
      std::ranges::fill(gangs_, 0);
      for (const JobId id : view.running()) learn(view.find(id));
    }
    grants_ = view.grants();
  }

  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    const Kind kind = ask.alone() ? ask.gpus().raw() : 0;
    const std::int64_t most = largest_node(trial.cluster()).gpu;
    return place_best(ask, trial, candidates, [&](NodeId node) -> std::int64_t {
      if (ask.gpus() == GpuCount(0)) return 0;
      const std::int64_t fullness =
          25 * std::max<std::int64_t>(0, most - free_share(node, trial)) / most;
      return fullness + 25 * company(node, kind, trial);
    });
  }

 private:
  void learn(const Job* job) {
    if (job == nullptr || job->grant.sharing != Sharing::Alone) return;
    for (const Share& share : job->grant.shares) {
      gangs_[share.gpu.value()] = std::ssize(job->grant.shares);
    }
  }

  /// 3 where only this kind runs, 2 where it does too, 1 on an idle node, else 0.
  std::int64_t company(NodeId node, Kind own, const Trial& trial) const {
    const NodeSpec& spec = trial.cluster().node(node);
    const Kind fresh = taken_in_this_pass(spec, trial);
    bool has_own = false;
    bool has_other = false;
    for (GpuId gpu = spec.first_gpu; gpu < spec.end_gpu(); gpu = GpuId(gpu.value() + 1)) {
      const GpuUse& use = trial.use().gpu(gpu);
      if (use.tenants == 0) continue;
      const Kind gang = gang_on(gpu);
      const Kind kind = use.alone == 0 ? 0 : (gang > 0 ? gang : fresh);
      (kind == own ? has_own : has_other) = true;
    }
    if (has_own) return has_other ? 2 : 3;
    return has_other ? 0 : 1;
  }

  Kind gang_on(GpuId gpu) const { return gpu.value() < gangs_.size() ? gangs_[gpu.value()] : 0; }

  Kind taken_in_this_pass(const NodeSpec& spec, const Trial& trial) const {
    Kind count = 0;
    for (GpuId gpu = spec.first_gpu; gpu < spec.end_gpu(); gpu = GpuId(gpu.value() + 1)) {
      if (trial.use().gpu(gpu).alone > 0 && gang_on(gpu) == 0) ++count;
    }
    return count;
  }

  std::vector<Kind> gangs_;   ///< By GPU; 0 where none is known.
  std::uint64_t grants_ = 0;  ///< Of the view at the last pass.
};

}  // namespace

std::unique_ptr<Placer> gpu_clustering() { return std::make_unique<GpuClustering>(); }

}  // namespace berth
