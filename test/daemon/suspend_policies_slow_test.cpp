// Goal: two long jobs on one GPU, which only one of them has at a time, end under every policy that
// berthd accepts, and none of their steps is made twice. Method: a real berthd for each policy,
// with hours as seconds and the shortest turns where a policy has any.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "daemon/rig.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

using test::Json;
using test::kGiB;
using test::Rig;

constexpr int kSteps = 200;

/// Policies that take turns would take longer ones than these jobs.
std::string with_short_turns(std::string_view name) {
  static const std::map<std::string_view, std::string> kTurns{
      {"las", "las:quantum=1s"},
      {"gavel/isolated", "gavel/isolated:round=1s"},
      {"e-las", "e-las:quantum=1s"},
      {"e-las/rate", "e-las/rate:quantum=1s"},
      {"gittins-learned", "gittins-learned:quantum=1s"}};
  const auto found = kTurns.find(name);
  if (found != kTurns.end() && choose(found->second)) return found->second;
  return std::string(name);
}

class EveryPolicy : public testing::TestWithParam<std::string> {};

TEST_P(EveryPolicy, EndsTwoLongJobsOnOneGpu) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", GetParam()}});
  rig.start();
  Json wish{{"vram_bytes", 20 * kGiB}, {"time_limit_seconds", 3600}};
  std::vector<int> ids;
  for (int i = 0; i < 2; ++i) {
    ids.push_back(rig.submit(
        test::load("--vram 19G --step-ms 10 --report 1 --steps " + std::to_string(kSteps)), wish));
  }
  for (const int id : ids) {
    const Json job = rig.wait_end(id);
    EXPECT_EQ(job["state"], "done") << job;
    int steps = 0;
    std::istringstream lines(rig.log(id));
    for (std::string line; std::getline(lines, line);) steps += line.starts_with("step ") ? 1 : 0;
    EXPECT_EQ(steps, kSteps) << "of job " << id;
  }
}

std::vector<std::string> all_policies() {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : policies()) names.push_back(with_short_turns(entry.name));
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryPolicy, testing::ValuesIn(all_policies()),
                         [](const testing::TestParamInfo<std::string>& test) {
                           std::string name = test.param;
                           for (char& letter : name)
                             letter = std::isalnum(letter) != 0 ? letter : '_';
                           return name;
                         });

}  // namespace
}  // namespace berth
