// The inputs of Gavel's artefact (Narayanan et al., OSDI 2020) as traces and clusters of ours.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "policy/registry.hpp"
#include "report/metrics.hpp"
#include "sim/simulator.hpp"
#include "support/paths.hpp"
#include "trace/csv.hpp"
#include "trace/formats.hpp"
#include "trace/gzip.hpp"
#include "trace/speed_files.hpp"

namespace berth::test {

/// Throughputs of the artefact. Requires: its files are there.
inline std::vector<trace::Profile> gavel_profiles() {
  const auto path = shared_dir() / "traces" / "gavel" / "simulation_throughputs.json.gz";
  return {{"rates.json", *trace::unpacked(read_file(path), "rates.gz")}};
}

/// So many nodes of each type of GPU, in the artefact's order.
inline Cluster gavel_cluster(const std::array<int, 3>& nodes, std::uint32_t gpus) {
  Cluster cluster;
  cluster.add_switch();
  constexpr std::array<const char*, 3> kTypes = {"v100", "p100", "k80"};
  for (std::size_t type = 0; type < kTypes.size(); ++type) {
    for (int i = 0; i < nodes[type]; ++i) {
      cluster.add_node({.name = kTypes[type],
                        .gpus = gpus,
                        .vram = Bytes(std::int64_t{16} << 30),
                        .type = kTypes[type]});
    }
  }
  return cluster;
}

/// A trace in the artefact's layout, ready to run on this cluster, and the speeds for it.
struct GavelRun {
  trace::Trace trace;
  Cluster cluster;
  sim::Options options;

  GavelRun(const std::string& text, Cluster on) : cluster(std::move(on)) {
    const auto profiles = gavel_profiles();
    auto read = trace::read_gavel({.text = text, .file = "trace", .profiles = profiles});
    EXPECT_TRUE(read.has_value());
    trace = std::move(*read);
    EXPECT_TRUE(accept_types(trace, cluster).has_value());
    EXPECT_TRUE(trace::read_speeds(profiles.front().text, "rates", "v100", options.rates.speeds)
                    .has_value());
    keep_off_types(trace, cluster, options.rates.speeds);
  }

  /// Each job states a little memory, so that any two may share a GPU, as in the artefact.
  void let_share() {
    for (trace::TraceJob& job : trace.jobs) {
      job.spec.request.gpu.vram = Bytes(std::int64_t{1} << 30);
      job.spec.request.gpu.sharing = Sharing::Shared;
    }
  }

  sim::Result under(const std::string& policy) const {
    auto result = sim::simulate(trace, cluster, *make_policy(policy, ""), options);
    EXPECT_TRUE(result.has_value()) << policy;
    EXPECT_EQ(result->dropped, 0U) << policy;
    return std::move(*result);
  }
};

/// The first jobs of the sweep's stream, at so many an hour.
inline std::string sweep_text(double jobs_per_hour, std::size_t jobs) {
  const auto path = shared_dir() / "oracles" / "gavel-sweep" / "jobs_seed0.csv.gz";
  const std::string file = *trace::unpacked(read_file(path), "jobs.gz");
  auto csv = trace::Csv::open(file, "jobs");
  const std::size_t type = *csv->column("type");
  const std::size_t steps = *csv->column("total_steps");
  const std::size_t gap = *csv->column("e");
  std::string text;
  double at = 0;
  const auto number = [&](std::size_t column) {
    return std::stod(std::string(csv->field(column)));
  };
  for (; jobs > 0 && csv->next().value_or(false); --jobs) {
    text += std::string(csv->field(type)) + "\tpython3\t-n\t0\t" +
            std::to_string(std::llround(number(steps))) + "\t" + std::to_string(at) + "\t1\n";
    at += number(gap) * 3600 / jobs_per_hour;
  }
  return text;
}

/// The mean completion time of jobs 4,000 to 4,999, in hours.
inline double sweep_mean(const GavelRun& run, const std::string& policy) {
  constexpr std::size_t kFirst = 4'000;
  constexpr std::size_t kJobs = 1'000;
  const auto jobs = run.under(policy).jobs;
  double sum = 0;
  for (std::size_t i = kFirst; i < kFirst + kJobs; ++i) {
    sum += static_cast<double>(micros(jobs[i].end - run.trace.jobs[i].submit));
  }
  return sum / kJobs / 3600e6;
}

}  // namespace berth::test
