// A cluster with jobs on it, without an engine: what a policy would see.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "core/view.hpp"

namespace berth::test {

class Scene {
 public:
  explicit Scene(Cluster cluster, const Settings& settings = {})
      : state_(std::move(cluster), settings) {}

  /// A waiting job, submitted now.
  JobId wait(const JobSpec& spec) { return add(spec).id; }

  /// A job that runs on these GPUs from now on.
  JobId run(const JobSpec& spec, std::initializer_list<std::uint32_t> gpus) {
    Placement placement;
    for (const std::uint32_t gpu : gpus) placement.gpus.emplace_back(gpu);
    placement.host = state_.cluster.node_of(placement.gpus.front());
    return run_at(spec, placement);
  }
  JobId run_at(const JobSpec& spec, const Placement& placement) {
    Job& job = add(spec);
    job.grant =
        state_.ledger.use().grant_for(state_.cluster, ask_of(JobView(job, now_)), placement);
    job.grant_number = ++state_.grants;
    job.state = JobState::Running;
    state_.ledger.put(state_.cluster, job.grant);
    state_.running.push_back(job.id);
    for (const GpuId gpu : placement.gpus) state_.tenants[gpu.value()].push_back(job.id);
    return job.id;
  }
  /// As if it had had so many GPUs as it asks for, for so long.
  void has_run(JobId id, Duration ran) {
    Job& job = state_.jobs.at(id);
    job.ran = ran;
    job.attained = job.spec.request.gpu.count * ran;
  }
  /// A job that runs ends now, after so long.
  void end(JobId id, Duration ran, Outcome outcome = Outcome::Done) {
    const Job& job = state_.jobs.at(id);
    const GpuCount gpus = job.spec.request.gpu.count;
    state_.history.add({.job = id,
                        .user = job.spec.user,
                        .what = state_.company.of(id),
                        .gpus = gpus,
                        .duration_class = job.spec.duration_class,
                        .ran = ran,
                        .attained = gpus * ran,
                        .outcome = outcome,
                        .at = now_});
    state_.ledger.take(state_.cluster, job.grant);
    for (const Share& share : job.grant.shares) {
      std::erase(state_.tenants[share.gpu.value()], id);
    }
    std::erase(state_.running, id);
    state_.company.forget(id);
    state_.jobs.erase(id);
  }

  void at(Instant now) { now_ = now; }
  /// Of a solver, for the next passes.
  void answer(std::optional<Answer> answer) { state_.answer = std::move(answer); }
  State& state() { return state_; }
  Job& job(JobId id) { return state_.jobs.at(id); }
  ClusterView view() const { return ClusterView(state_, now_); }
  JobView look(JobId id) const { return view().job(id); }

 private:
  Job& add(const JobSpec& spec) {
    const JobId id(state_.jobs.size() + 1);
    return state_.jobs.insert(id, Job{.id = id, .spec = spec, .submitted = now_, .since = now_});
  }

  State state_;
  Instant now_ = kStart;
};

/// One switch, `nodes` nodes of `gpus` GPUs with 24 GiB each.
inline Cluster uniform(std::uint32_t nodes, std::uint32_t gpus) {
  Cluster cluster;
  cluster.add_switch();
  for (std::uint32_t n = 0; n < nodes; ++n) {
    cluster.add_node({.name = "n" + std::to_string(n), .gpus = gpus, .vram = Bytes(24LL << 30)});
  }
  return cluster;
}

/// Whole GPUs for an estimated time.
inline JobSpec whole(std::int64_t gpus, Duration estimate) {
  JobSpec spec{.estimate = estimate};
  spec.request.gpu.count = GpuCount(gpus);
  spec.request.gpu.sharing = Sharing::Alone;
  return spec;
}

}  // namespace berth::test
