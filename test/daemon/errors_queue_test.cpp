// Goal: one user's jobs are bounded, and only theirs. Method: a real berthd with a small limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/forecaster.hpp"
#include "daemon/rig.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::Rig;

TEST(ErrorsQueue, IsBoundedForEachUser) {
  Rig rig({.config = "probe = \"100ms\"\ngrace = \"500ms\"\nuser_queue = 3\n"});
  rig.start();
  std::vector<int> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(rig.submit("true", {{"held", true}}));
  const Json body = {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
  const auto refused = rig.request("POST", "/v1/jobs", body);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.body["error"],
            "uid " + std::to_string(geteuid()) + " has 3 jobs that wait or run, the most is 3");
  EXPECT_EQ(rig.request("POST", "/v1/jobs?dry_run=true", body).status, 200);
  EXPECT_EQ(rig.request("POST", "/v1/jobs/" + std::to_string(ids[0]) + "/cancel").status, 200);
  eventually("there is room for one again",
             [&] { return rig.request("POST", "/v1/jobs", body).status == 201; });
  rig.kill();
  rig.start();  // those of the daemon before count
  eventually("what ran has ended", [&] { return rig.job(ids.back() + 1)["state"] == "done"; });
  rig.submit("true", {{"held", true}});
  EXPECT_EQ(rig.request("POST", "/v1/jobs", body).status, 429);
}

TEST(ErrorsQueue, OfAUserTakesABoundedPartOfTheDisk) {
  Rig rig({.config = "probe = \"100ms\"\nuser_environments_size = \"64KiB\"\n"});
  rig.start();
  const auto submit = [&](char letter) {
    const std::string variable = "A=" + std::string(40 * 1024, letter);
    return rig.request(
        "POST", "/v1/jobs",
        {{"command", {"true"}}, {"directory", "/"}, {"held", true}, {"environment", {variable}}});
  };
  const auto first = submit('a');
  ASSERT_EQ(first.status, 201);
  EXPECT_EQ(submit('a').status, 201) << "equal ones are kept once";
  const auto refused = submit('b');
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(std::string(refused.body["error"]),
              testing::MatchesRegex("commands and environments of the jobs of uid [0-9]+ that wait "
                                    "or run take 4[0-9.]+ KiB, this job's 40[0-9.]* KiB more; the "
                                    "most is 64 KiB \\(user_environments_size\\)"));
  rig.kill();
  rig.start();  // those of the daemon before count
  EXPECT_EQ(submit('b').status, 429);
  for (const int id : {1, 2}) rig.request("POST", test::path(id, "/cancel"));
  eventually("there is room again", [&] { return submit('b').status == 201; });
}

/// To copy it would delay the engine.
TEST(ErrorsQueue, ThatIsTooLongIsNotLookedAhead) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.gpus = 1, .vram = Bytes(std::int64_t{24} << 30)});
  Engine engine(cluster, {}, *make_policy("fifo", "first-fit"));
  std::vector<Input> jobs;
  for (std::uint64_t id = 1; id <= daemon::Forecaster::kMostJobs + 1; ++id) {
    jobs.emplace_back(Submitted{JobId(id), {.user = UserId(1)}, true});
  }
  engine.step(kStart, jobs);
  daemon::Forecaster forecaster("fifo", "first-fit");
  const auto refused =
      forecaster.ask(engine, {.about = JobId(1), .now = kStart, .exchange = nullptr});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "berthd knows 20001 jobs, it looks ahead with at most 20000");
}

}  // namespace
}  // namespace berth
