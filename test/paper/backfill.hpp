// What the backfilling policies are held against: whole-GPU jobs on one node, where only the number
// of GPUs matters, simulated by berth and by a few lines that know nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/rng.hpp"
#include "policy/registry.hpp"
#include "sim/simulator.hpp"

namespace berth::test {

/// Times in seconds. A plan is never shorter than the run.
struct PlainJob {
  std::int64_t submit;
  std::int64_t gpus;
  std::int64_t run;
  std::int64_t planned;
};

/// By submission; half of the seeds plan exactly.
inline std::vector<PlainJob> random_jobs(std::uint64_t seed, std::int64_t gpus) {
  Rng rng(seed);
  std::vector<PlainJob> jobs;
  std::int64_t at = 0;
  for (std::int64_t left = rng.between(5, 60); left > 0; --left) {
    if (!rng.one_in(3)) at += rng.between(1, 20);
    const std::int64_t run = rng.between(1, 100);
    const std::int64_t slack = seed % 2 == 0 ? 0 : rng.between(0, 2 * run);
    const std::int64_t most = rng.one_in(3) ? gpus : std::min<std::int64_t>(gpus, 3);
    jobs.push_back(
        {.submit = at, .gpus = rng.between(1, most), .run = run, .planned = run + slack});
  }
  return jobs;
}

/// Starts in seconds, as berth's policy gives them.
inline std::vector<std::int64_t> starts(std::string_view policy, std::string_view place,
                                        const std::vector<PlainJob>& jobs, const Cluster& cluster) {
  trace::Trace trace;
  for (const PlainJob& job : jobs) {
    trace::TraceJob row{.name = "",
                        .submit = kStart + seconds(job.submit),
                        .duration = seconds(job.run),
                        .spec = {.estimate = seconds(job.planned)}};
    row.spec.request.gpu.count = GpuCount(job.gpus);
    row.spec.request.gpu.sharing = Sharing::Alone;
    trace.jobs.push_back(std::move(row));
  }
  const auto result = sim::simulate(trace, cluster, *make_policy(policy, place),
                                    {.settings = {}, .told = sim::Told::AsStated, .progress = {}});
  std::vector<std::int64_t> starts;
  for (const sim::JobResult& job : result->jobs) starts.push_back(micros(job.start) / 1'000'000);
  return starts;
}

inline Cluster one_node(std::int64_t gpus) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = static_cast<std::uint32_t>(gpus)});
  return cluster;
}

}  // namespace berth::test
