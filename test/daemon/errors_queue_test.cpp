// Goal: one user's jobs are bounded, and only theirs. Method: a real berthd with a small limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rig.hpp"

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
            "you have 3 jobs that wait or run and ask for 1 more, the most is 3 (user_queue)");
  Json array = body;
  array["array"] = "1-4096";
  EXPECT_EQ(rig.request("POST", "/v1/jobs", array).body["error"],
            "you have 3 jobs that wait or run and ask for 4096 more, the most is 3 (user_queue)");
  EXPECT_EQ(rig.request("POST", "/v1/jobs?dry_run=true", body).status, 200);
  EXPECT_EQ(rig.request("POST", "/v1/jobs/" + std::to_string(ids[0]) + "/cancel").status, 200);
  EXPECT_EQ(rig.request("POST", "/v1/jobs", body).status, 201) << "there is room for one at once";
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
              testing::MatchesRegex("commands and environments of your jobs that wait "
                                    "or run take 4[0-9.]+ KiB, this job's 40[0-9.]* KiB more; the "
                                    "most is 64 KiB \\(user_environments_size\\)"));
  rig.kill();
  rig.start();  // those of the daemon before count
  EXPECT_EQ(submit('b').status, 429);
  for (const int id : {1, 2}) rig.request("POST", test::path(id, "/cancel"));
  EXPECT_EQ(submit('b').status, 201) << "there is room again";
}

/// A job that could never start is no job of the queue.
TEST(ErrorsQueue, AJobBeyondItsUsersGpusIsRefusedWithTheNumberAndTheLimit) {
  Rig rig({.gpus = "4x24GiB", .config = "probe = \"100ms\"\nuser_gpus = 2\n"});
  rig.start();
  Json body = {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
  for (const char* const query : {"", "?dry_run=1"}) {
    body["gpus"] = 3;
    const auto refused = rig.request("POST", std::string("/v1/jobs") + query, body);
    EXPECT_EQ(refused.status, 422);
    EXPECT_EQ(refused.body["error"],
              "gpus: 3, and you may hold 2 at a time (user_gpus, or gpus of users or groups, in "
              "berth.toml): it would never start");
  }
  body["gpus"] = 4;
  body["min_gpus"] = 3;
  EXPECT_EQ(rig.request("POST", "/v1/jobs", body).status, 422);
  body["min_gpus"] = 2;
  EXPECT_EQ(rig.request("POST", "/v1/jobs", body).status, 201) << "it may run on two";
  body.erase("min_gpus");
  body["gpus"] = 2;
  EXPECT_EQ(rig.request("POST", "/v1/jobs", body).status, 201);
}

}  // namespace
}  // namespace berth
