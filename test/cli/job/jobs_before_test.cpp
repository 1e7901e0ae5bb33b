// Goal: a job waits for those that its user named, by number, task or name. Method: the pure part,
// and a daemon of canned answers.
#include "cli/job/jobs_before.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/fake_daemon.hpp"

namespace berth::cli {
namespace {

using testing::HasSubstr;

Json before(std::string_view typed) {
  const auto jobs = jobs_before(typed, "after-ok");
  return jobs ? *jobs : Json(jobs.error().message);
}

TEST(JobsBefore, AreNumbersTasksAndNames) {
  const auto job = [](Json number) {
    return Json{{"job", std::move(number)}, {"when", "after-ok"}};
  };
  EXPECT_EQ(before("7,9-10"), (Json{job(7), job(9), job(10)}));
  EXPECT_EQ(before("643_*"), (Json{job(643)}));
  Json task = job(643);
  task["task"] = 5;
  EXPECT_EQ(before("643_5"), (Json{task}));
  EXPECT_EQ(before("7,prep,train-*"), (Json{job(7), job("prep"), job("train-*")}));
  EXPECT_EQ(before("643_5,prep"), (Json{task, job("prep")}));
  for (const char* const wrong : {"", "7:8", "7,,8", "prep,", "10-5", "1-99999", "-", "\xff"}) {
    EXPECT_THAT(before(wrong).dump(), HasSubstr("is not a list of jobs such as 7, 7,9-12"))
        << wrong;
  }
}

class JobsBeforeOfBerthd : public testing::Test {
 protected:
  Expected<Json> numbered(Json after) {
    Json body = {{"after", std::move(after)}};
    const CommonOptions common{.socket = daemon_.socket(), .json = false};
    if (auto found = number_jobs_before(common, body); !found) {
      return std::unexpected(found.error());
    }
    return body["after"];
  }
  test::FakeDaemon daemon_;
};

TEST_F(JobsBeforeOfBerthd, AreAskedForByName) {
  daemon_.answer("GET /v1/jobs",
                 R"({"jobs":[{"id":3},{"id":12,"handle":"10_2"},{"id":20,"handle":"20"}]})");
  const auto after = numbered(*jobs_before("7,prep", "after-any"));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(*after, *parse_json(R"([
      {"job": 7, "when": "after-any"}, {"job": 3, "when": "after-any"},
      {"job": 10, "task": 2, "when": "after-any"}, {"job": 20, "when": "after-any"}])"));
  const auto query = daemon_.take("GET /v1/jobs").query;
  EXPECT_THAT(query, testing::Contains(testing::Pair("jobs", "prep")));
  EXPECT_THAT(query, testing::Contains(testing::Pair("whole_arrays", "true")));
}

TEST_F(JobsBeforeOfBerthd, AreRefusedWhereNoJobHasTheName) {
  daemon_.answer("GET /v1/jobs", {{.status = 404, .body = R"({"error":"prep: no such job"})"}});
  const auto after = numbered(*jobs_before("prep", "after-ok"));
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().message, "prep: no such job");
}

TEST_F(JobsBeforeOfBerthd, AreNotAskedForByNumber) {
  daemon_.stop();
  EXPECT_EQ(numbered(*jobs_before("7", "after-ok")), before("7"));
  Json plain = {{"command", {"true"}}};
  EXPECT_TRUE(number_jobs_before({.socket = daemon_.socket(), .json = false}, plain));
}

}  // namespace
}  // namespace berth::cli
