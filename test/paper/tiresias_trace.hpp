// Y480 on 128 GPUs, for claims about mean completion times. The 480 jobs were derived from the
// duration samples that the authors of Tiresias published; they did not publish this trace.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/registry.hpp"
#include "sim/simulator.hpp"
#include "support/paths.hpp"
#include "trace/trace.hpp"

namespace berth::test {

struct TiresiasTrace {
  trace::Trace jobs;
  Cluster cluster;

  /// Seconds from submission to end. An empty placement is the policy's own.
  double mean_completion(std::string_view policy, std::string_view place = "") const {
    const auto result = sim::simulate(jobs, cluster, *make_policy(policy, place));
    double sum = 0;
    for (const sim::JobResult& job : result->jobs) {
      sum += static_cast<double>(micros(job.end - jobs.jobs[job.job].submit)) / 1e6;
    }
    return sum / static_cast<double>(jobs.jobs.size());
  }
};

/// Y480, or nothing and the message for skipping the test in `absent` if the files are missing.
inline std::optional<TiresiasTrace> tiresias_trace(std::string& absent) {
  const std::filesystem::path folder = std::filesystem::path("oracles") / "tiresias";
  for (const char* name : {"Y480.csv", "n32g4.csv"}) {
    if (const auto words = absent_shared(folder / name)) return absent = *words, std::nullopt;
  }
  const auto read = [&](const char* name) { return read_file(shared_dir() / folder / name); };
  auto jobs = trace::read_tiresias(read("Y480.csv"), "Y480.csv");
  auto cluster = trace::read_tiresias_cluster(read("n32g4.csv"), "n32g4.csv");
  return TiresiasTrace{std::move(*jobs), std::move(*cluster)};
}

}  // namespace berth::test
