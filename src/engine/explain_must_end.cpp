// What must end before a job fits: greedily the fewest holders, on one placement.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/explain.hpp"
#include "policy/kit/timeline.hpp"

namespace berth {

namespace {

class Clearer {
 public:
  Clearer(const ClusterView& view, JobId job)
      : view_(view), job_(job), ask_(ask_of(view.job(job))), trial_(view.trial()) {
    for (const JobId id : view.running()) {
      for (const Share& share : view.find(id)->grant.shares) tenants_[share.gpu].push_back(id);
    }
    for (auto& [gpu, jobs] : tenants_) {
      std::ranges::sort(jobs, {}, [&, on = gpu](JobId id) { return leaves_first(id, on); });
    }
  }

  std::optional<Clearing> find() {
    const Cluster& cluster = view_.cluster();
    const auto gpus = static_cast<std::uint32_t>(ask_.gpus().raw());
    if (gpus > cluster.largest_node()) {
      consider(GpuId(0), GpuId(static_cast<std::uint32_t>(cluster.gpus().size())), NodeId(0));
      return best_;
    }
    for (std::uint32_t n = 0; n < cluster.nodes().size(); ++n) {
      const NodeSpec& node = cluster.node(NodeId(n));
      if (node.gpus >= gpus) consider(node.first_gpu, node.end_gpu(), NodeId(n));
    }
    return best_;
  }

 private:
  /// Those already on their way out, then the largest.
  std::tuple<int, Bytes, JobId> leaves_first(JobId id, GpuId on) const {
    const Job& job = *view_.find(id);
    const auto share = std::ranges::find(job.grant.shares, on, &Share::gpu);
    return {job.state == JobState::Stopping ? 0 : 1, Bytes(0) - share->charge, id};
  }

  bool is_gone(JobId id) const { return std::ranges::find(gone_, id) != gone_.end(); }

  void take(JobId id) {
    trial_.take(view_.find(id)->grant);
    gone_.push_back(id);
  }

  void put_back(std::size_t gone, Trial::Mark mark) {
    gone_.resize(gone);
    trial_.rollback(mark);
  }

  /// Empties the GPU as far as it takes. Returns: whether the job fits there then.
  bool clear(GpuId gpu) {
    const auto admits_it = [&] {
      return admits(trial_.use().admission(), view_.cluster().gpu(gpu), trial_.use().gpu(gpu),
                    ask_);
    };
    for (const JobId id : tenants_[gpu]) {
      if (admits_it()) return true;
      if (!is_gone(id)) take(id);
    }
    return admits_it();
  }

  /// Few leave, and the last of them soon.
  using Cost = std::pair<std::size_t, Instant>;
  Cost cost() const {
    Instant last = kStart;
    for (const JobId id : gone_) last = std::max(last, planned_end(view_.job(id), view_.now()));
    return {gone_.size(), last};
  }

  /// The GPU, of those not chosen, that costs least; `last` if none can serve.
  GpuId cheapest(GpuId first, GpuId last, const std::vector<GpuId>& chosen) {
    GpuId best = last;
    Cost least;
    const std::size_t before = gone_.size();
    for (GpuId gpu = first; gpu < last; gpu = GpuId(gpu.value() + 1)) {
      if (std::ranges::find(chosen, gpu) != chosen.end()) continue;
      const Trial::Mark mark = trial_.mark();
      const bool serves = clear(gpu);
      const Cost here = cost();
      put_back(before, mark);
      if (!serves || (best != last && here >= least)) continue;
      best = gpu;
      least = here;
      if (here.first == before) break;
    }
    return best;
  }

  /// Cores and host memory: the largest users of the placement's nodes leave too.
  bool clear_host(const Placement& placement) {
    while (trial_.look(placement, ask_, job_) != Why::Fits) {
      std::optional<JobId> largest;
      for (const JobId id : view_.running()) {
        const Grant& grant = view_.find(id)->grant;
        if (is_gone(id) || !is_beside(grant, placement)) continue;
        if (!largest || host_use(*largest) < host_use(id)) largest = id;
      }
      if (!largest) return false;
      take(*largest);
    }
    return true;
  }

  std::pair<CpuMilli, Bytes> host_use(JobId id) const {
    const Grant& grant = view_.find(id)->grant;
    return {grant.cpu, grant.memory};
  }

  bool is_beside(const Grant& grant, const Placement& placement) const {
    const Cluster& cluster = view_.cluster();
    bool beside = false;
    for_each_node(cluster, grant, [&](NodeId node, std::size_t) {
      beside |= node == placement.host || std::ranges::find(placement.gpus, node, [&](GpuId gpu) {
                                            return cluster.node_of(gpu);
                                          }) != placement.gpus.end();
    });
    return beside;
  }

  /// The job on GPUs of [first, last): better than the best so far?
  void consider(GpuId first, GpuId last, NodeId host) {
    Placement placement{.gpus = {}, .host = host};
    const auto wanted = static_cast<std::size_t>(ask_.gpus().raw());
    while (placement.gpus.size() < wanted) {
      const GpuId gpu = cheapest(first, last, placement.gpus);
      if (gpu == last) return put_back(0, 0);
      clear(gpu);
      placement.gpus.push_back(gpu);
    }
    std::ranges::sort(placement.gpus);
    if (wanted > 0) placement.host = view_.cluster().node_of(placement.gpus.front());
    const bool fits = clear_host(placement);
    if (fits && (!best_ || cost() < best_cost_)) {
      best_cost_ = cost();
      best_ = Clearing{.jobs = gone_, .placement = std::move(placement)};
      std::ranges::sort(best_->jobs);
    }
    put_back(0, 0);
  }

  const ClusterView& view_;
  JobId job_;
  Ask ask_;
  Trial trial_;
  std::map<GpuId, std::vector<JobId>> tenants_;
  std::vector<JobId> gone_;  ///< Taken off the trial, in order.
  std::optional<Clearing> best_;
  Cost best_cost_;
};

}  // namespace

std::optional<Clearing> what_must_end(const ClusterView& view, JobId job) {
  return Clearer(view, job).find();
}

}  // namespace berth
