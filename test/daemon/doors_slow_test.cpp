// Goal: what one user asks for or leaves lying about keeps no other waiting and turns nothing off.
// Method: a real berthd with thousands of jobs; what its engine's thread works is its own CPU time,
// so that a busy machine changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::Json;
using test::Rig;

/// Of the thread that owns the engine, in milliseconds.
double engine_millis(Rig& rig) {
  const std::string pid = std::to_string(test::pid_of(rig));
  std::ifstream file("/proc/" + pid + "/task/" + pid + "/schedstat");
  double nanos = 0;
  file >> nanos;
  return nanos / 1e6;
}

class Crowd : public testing::Test {
 protected:
  Crowd() : rig_({.config = "probe = \"1h\"\ngrace = \"500ms\"\n"}) {}

  int array(const Json& more = Json::object()) {
    Json body = {{"command", {"true"}},
                 {"directory", "/"},
                 {"environment", Json::array()},
                 {"array", "1-4096"}};
    body.update(more);
    const auto answer = rig_.request("POST", "/v1/jobs", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return answer.status == 201 ? answer.body["id"].get<int>() : 0;
  }
  Rig::Answer dry_run(const Json& more = Json::object()) {
    Json body = {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
    body.update(more);
    return rig_.request("POST", "/v1/jobs?dry_run=1", body);
  }

  Rig rig_;
};

TEST_F(Crowd, OfHeldJobsTurnsNothingOffForOthers) {
  rig_.start();
  for (int i = 0; i < 5; ++i) array({{"held", true}});
  const Json all = {{"exclusive", true}, {"gpus", 2}, {"time_limit_seconds", 600}};
  Json more = all;
  more["vram_bytes"] = nullptr;
  const int runs = rig_.submit("sleep 1000", more);
  rig_.wait_for(runs, "running");
  const int waits = rig_.submit("true", more);
  const auto why = rig_.request("GET", test::path(waits, "/why"));
  EXPECT_EQ(why.status, 200) << why.body;
  EXPECT_TRUE(why.body["predicted_start_at"].is_number()) << why.body;
  const auto would = dry_run(all);
  EXPECT_EQ(would.status, 200) << would.body;
  EXPECT_TRUE(would.body["predicted_start_at"].is_number()) << would.body;
  const auto starts = rig_.request("GET", "/v1/starts");
  EXPECT_EQ(starts.status, 200);
  EXPECT_EQ(starts.body["starts"].size(), 1U) << starts.body;
}

/// Neither the look ahead nor the longest list of jobs to wait for takes a submission's turn.
TEST_F(Crowd, OfDependenciesIsLookedThroughInLittleTime) {
  rig_.start();
  const int held = array({{"held", true}});
  Json after = Json::array();
  for (int task = 1; task <= 4096; ++task) {
    after.push_back({{"job", held}, {"task", task}, {"when", "after-any"}});
  }
  ASSERT_EQ(dry_run().status, 200);  // what is done once is done
  const double before = engine_millis(rig_);
  const auto answer = dry_run({{"after", after}});
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_LT(engine_millis(rig_) - before, 200) << "tens of milliseconds unoptimised";
  for (Json& one : after) one["task"] = 4096;
  const double same = engine_millis(rig_);
  EXPECT_EQ(dry_run({{"after", after}}).status, 200);
  EXPECT_LT(engine_millis(rig_) - same, 200);
}

}  // namespace
}  // namespace berth
