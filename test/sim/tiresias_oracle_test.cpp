// The `tiresias/NAME` policies against what the Tiresias simulator itself produced, job by job.
//
// Method: every file of the oracle folder, named CLUSTER_TRACE_PLACEMENT_POLICY.csv, holds the
// peer's `job_id,start,end`; ours must be the same bytes. The traces are 60_job, which the authors
// published, and Y480 and Y480t, which were derived from their duration samples. Skipped if the
// folder is absent.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "policy/registry.hpp"
#include "report/report.hpp"
#include "sim/simulator.hpp"
#include "support/paths.hpp"
#include "trace/trace.hpp"

namespace berth::sim {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::string all = text.str();
  std::erase(all, '\r');
  return all;
}

struct Replay {
  std::string cluster;
  std::string trace;
  std::string place;
  std::string policy;
};

/// The peer's `dlas-gpu-8` is our `tiresias/dlas-gpu:promote=8`.
std::string policy_of(const std::string& peers) {
  const std::size_t dash = peers.rfind('-');
  const bool promotes = peers.find_first_not_of("0123456789", dash + 1) == std::string::npos;
  if (dash == std::string::npos || !promotes) return "tiresias/" + peers;
  return "tiresias/" + peers.substr(0, dash) + ":promote=" + peers.substr(dash + 1);
}

/// `n4g4_60_job_count_dlas-gpu`: the placement is the last part but one.
Replay case_of(const std::string& name) {
  const std::size_t last = name.rfind('_');
  const std::size_t middle = name.rfind('_', last - 1);
  const std::size_t first = name.find('_');
  return {.cluster = name.substr(0, first),
          .trace = name.substr(first + 1, middle - first - 1),
          .place = name.substr(middle + 1, last - middle - 1),
          .policy = policy_of(name.substr(last + 1))};
}

/// Columns job_id, start, end of berth's own per-job file.
std::string start_and_end(const std::string& jobs) {
  std::istringstream lines(jobs);
  std::string text;
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    std::vector<std::string> fields;
    std::istringstream row(line);
    for (std::string field; std::getline(row, field, ',');) fields.push_back(field);
    text += fields[0] + "," + fields[2] + "," + fields[3] + "\n";
  }
  return text;
}

Expected<std::string> ours(const fs::path& oracle, const Replay& run) {
  const auto trace = trace::read_tiresias(read(oracle / (run.trace + ".csv")), run.trace);
  if (!trace) return std::unexpected(trace.error());
  const auto cluster =
      trace::read_tiresias_cluster(read(oracle / (run.cluster + ".csv")), run.cluster);
  if (!cluster) return std::unexpected(cluster.error());
  Knobs knobs;
  std::vector<std::int64_t> service;
  if (run.policy.ends_with("gittins")) {  // the peer's samples of past service
    const fs::path file = test::shared_dir() / "traces" / "tiresias" / "yarn-gput1000.csv";
    auto samples = trace::read_samples(read(file), file.string());
    if (!samples) return std::unexpected(samples.error());
    service = std::move(*samples);
    knobs.service = service;
  }
  auto policy = make_policy(run.policy, run.place, knobs);
  if (!policy) return std::unexpected(policy.error());
  const auto result = simulate(*trace, *cluster, std::move(*policy));
  if (!result) return std::unexpected(result.error());
  EXPECT_EQ(result->dropped, 0U);
  return start_and_end(jobs_csv(*trace, *cluster, *result));
}

TEST(TiresiasOracle, EveryJobStartsAndEndsAsThePeerSays) {
  const fs::path oracle = test::shared_dir() / "oracles" / "tiresias";
  if (!fs::exists(oracle / "jobs")) GTEST_SKIP() << "no oracle at " << oracle;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(oracle / "jobs")) files.push_back(entry.path());
  std::ranges::sort(files);
  std::size_t same = 0;
  std::size_t tried = 0;
  for (const fs::path& file : files) {
    const Replay run = case_of(file.stem());
    ++tried;
    const auto got = ours(oracle, run);
    ASSERT_TRUE(got.has_value()) << file << ": " << got.error().message;
    EXPECT_EQ(*got, read(file)) << file;
    if (*got == read(file)) ++same;
  }
  std::cout << same << " of " << tried << "\n";
  EXPECT_EQ(same, tried);
  EXPECT_GT(tried, 30U);
}

}  // namespace
}  // namespace berth::sim
