// Goal: each job of a sweep has its parameters in its command, its environment and its name, and
// who looks sees them, before and after it ended. Method: `berth submit` against a real berthd on
// emulated GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rig.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth {
namespace {

using test::Json;
using test::Ran;
using test::Rig;
using testing::HasSubstr;

class Sweeps : public testing::Test {
 protected:
  Sweeps() { rig_.start(); }

  Ran berth(std::vector<std::string> words) const {
    words.insert(words.begin() + 1, {"--socket", rig_.socket()});
    return test::run_program("berth", words);
  }
  std::string log_of(const std::string& handle) { return rig_.text("/v1/jobs/" + handle + "/log"); }
  Json get(const std::string& target) { return rig_.request("GET", target).body; }

  Rig rig_;
};

TEST_F(Sweeps, GiveEachJobItsParameters) {
  const Ran made = berth({"submit", "--gpus", "0", "--name", "s", "--param", "lr=0.1,0.01",
                          "--param", "note=a b", "--", "sh", "-c",
                          "echo {lr} \"{note}\" $BERTH_PARAM_lr ${HOME+x} {{lr}}; exec true"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(berth({"wait", "1"}).exit_code, 0);
  EXPECT_EQ(log_of("1_1"), "0.1 a b 0.1 x {lr}\n");
  EXPECT_EQ(log_of("1_2"), "0.01 a b 0.01 x {lr}\n");
  const Json job = get("/v1/jobs/1_2");
  EXPECT_EQ(job["name"], "s[2] lr=0.01 note='a b'");
  EXPECT_EQ(job["parameters"], (Json{{"lr", "0.01"}, {"note", "a b"}}));
  EXPECT_THAT(job["command"][2], HasSubstr("echo 0.01 \"a b\" $BERTH_PARAM_lr"));
  EXPECT_THAT(job["command_line"], HasSubstr("echo 0.01"));
  EXPECT_EQ(get("/v1/jobs/1")["name"], "s");
}

TEST_F(Sweeps, OfTheLinesOfAFileAreAJobForEachCommand) {
  rig_.folder().write("jobs.txt", "echo one\n# note\n\necho two; exit 3\n");
  const Ran made = berth({"submit", "--gpus", "0", "--lines", rig_.folder() / "jobs.txt"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "1\n");
  EXPECT_NE(berth({"wait", "1"}).exit_code, 0);
  EXPECT_EQ(log_of("1_1"), "one\n");
  EXPECT_EQ(log_of("1_2"), "two\n");
  EXPECT_THAT(berth({"ls", "--all"}).out, HasSubstr("jobs"));
  EXPECT_THAT(berth({"ls", "1"}).out, HasSubstr("jobs[1] line='echo one'"));
}

TEST_F(Sweeps, AreInTheHistoryWithAColumnForEachParameter) {
  ASSERT_EQ(berth({"submit", "--gpus", "0", "--param", "x=1-2", "--", "true", "{x}"}).exit_code, 0);
  EXPECT_EQ(berth({"wait", "1"}).exit_code, 0);
  const Ran csv = berth({"history", "--csv"});
  EXPECT_THAT(csv.out, HasSubstr(",run_seconds,handle,array,param_x\n"));
  EXPECT_THAT(csv.out, HasSubstr(",1_2,1,2\n"));
}

TEST_F(Sweeps, WhatFailedIsSubmittedAgainAlone) {
  const std::string flag = rig_.folder() / "flag";
  ASSERT_EQ(
      berth({"submit", "--gpus", "0", "--name", "s", "--env", "GIVEN=7", "--at-once", "2",
             "--param", "x=1-4", "--", "sh", "-c",
             "echo {x} $GIVEN $BERTH_ARRAY_TASK_ID; [ $(({x} % 2)) = 1 ] || [ -e " + flag + " ]"})
          .exit_code,
      0);
  EXPECT_NE(berth({"wait", "1"}).exit_code, 0);
  EXPECT_THAT(berth({"requeue", "--failed", "1_1"}).err,
              HasSubstr("job 1_1: neither it nor a task that was named has ended otherwise"));
  rig_.folder().write("flag", "");
  const Ran again = berth({"requeue", "--failed", "1"});
  EXPECT_EQ(again.out, "5\n") << again.err;
  EXPECT_EQ(berth({"wait", "5"}).exit_code, 0);
  EXPECT_EQ(log_of("5_2"), "2 7 2\n");
  EXPECT_EQ(log_of("5_4"), "4 7 4\n");
  EXPECT_EQ(get("/v1/jobs/5_4")["name"], "s[4] x=4");
  EXPECT_EQ(get("/v1/jobs/5_4")["array_at_once"], 2);
  EXPECT_EQ(get("/v1/jobs?jobs=5&all=true")["jobs"].size(), 2U);
  EXPECT_EQ(berth({"requeue", "1_3"}).out, "7\n");
  EXPECT_EQ(berth({"wait", "7"}).exit_code, 0);
  EXPECT_THAT(berth({"requeue", "1_3", "--failed"}).err,
              HasSubstr("has ended otherwise than well"));
  const Ran several = berth({"requeue", "1-7"});
  EXPECT_THAT(several.err, HasSubstr("were not submitted as one; name one job, or tasks of one"));
}

TEST_F(Sweeps, AreMadeWiderAndNarrowerWhileTheyRun) {
  ASSERT_EQ(
      berth({"submit", "--gpus", "0", "--at-once", "1", "--param", "x=1-4", "--", "sleep", "{x}00"})
          .exit_code,
      0);
  const auto waiting = [&] {
    std::size_t deferred = 0;
    const Json jobs = get("/v1/jobs?jobs=1")["jobs"];
    for (const Json& job : jobs) {
      deferred += job["state"] == "deferred" ? 1U : 0U;
    }
    return deferred;
  };
  EXPECT_EQ(waiting(), 3U);
  const Ran wider = berth({"update", "--at-once", "3", "1"});
  EXPECT_EQ(wider.exit_code, 0) << wider.err;
  EXPECT_EQ(waiting(), 1U);
  EXPECT_EQ(berth({"update", "--at-once", "0", "1"}).exit_code, 125);
  ASSERT_EQ(berth({"submit", "--gpus", "0", "--", "sleep", "100"}).exit_code, 0);
  EXPECT_THAT(berth({"update", "--at-once", "3", "5"}).err,
              HasSubstr("job 5: --at-once: it is no job of an array"));
  EXPECT_EQ(berth({"cancel", "--all"}).exit_code, 0);
}

TEST_F(Sweeps, KeepTheirParametersUnderANewName) {
  ASSERT_EQ(
      berth({"submit", "--gpus", "0", "--hold", "--param", "x=1-2", "--", "true", "{x}"}).exit_code,
      0);
  ASSERT_EQ(berth({"update", "--name", "new", "1"}).exit_code, 0);
  EXPECT_EQ(get("/v1/jobs/1_2")["name"], "new[2] x=2");
  EXPECT_EQ(get("/v1/jobs?jobs=new")["jobs"].size(), 2U);
}

TEST_F(Sweeps, ListTheirPointsInADryRun) {
  const Ran tried = berth(
      {"submit", "--dry-run", "--param", "x=a,b c", "--param", "y=1", "--", "echo", "{x}{y}"});
  ASSERT_EQ(tried.exit_code, 0) << tried.err;
  EXPECT_THAT(tried.out, HasSubstr("1  x=a y=1\n2  x='b c' y=1\n"));
  EXPECT_TRUE(get("/v1/jobs")["jobs"].empty());
}

TEST_F(Sweeps, DoNotPassTheirParametersOn) {
  const std::string inner = test::program("berth").string() + " submit --socket " + rig_.socket();
  ASSERT_EQ(berth({"submit", "--gpus", "0", "--param", "x=1", "--", "sh", "-c",
                   inner + " --gpus 0 -- sh -c 'echo [$BERTH_PARAM_x]'; : {x}"})
                .exit_code,
            0);
  EXPECT_EQ(berth({"wait", "1"}).exit_code, 0);
  EXPECT_EQ(berth({"wait", "2"}).exit_code, 0);
  EXPECT_EQ(log_of("2"), "[]\n");
}

TEST_F(Sweeps, AreRefusedWhereTheirPointsDoNotFit) {
  const auto told = [&](const Json& more) {
    Json body = {{"command", {"true", "{x}"}},
                 {"directory", "/"},
                 {"environment", Json::array()},
                 {"parameters", {"x"}},
                 {"points", {{"1"}, {2}}}};
    body.update(more);
    const Rig::Answer answer = rig_.request("POST", "/v1/jobs?dry_run=true", body);
    return answer.status == 200 ? "taken" : answer.body["error"].get<std::string>();
  };
  EXPECT_EQ(told(Json::object()), "taken");
  EXPECT_EQ(told({{"array", "0,7%1"}}), "taken");
  EXPECT_EQ(told({{"array", "1-3"}}), "points: 2, array has 3 numbers");
  EXPECT_EQ(told(Json::parse(R"({"points": [["1", "2"]]})")),
            "points[0]: 2 values, parameters are 1");
  EXPECT_EQ(told({{"points", Json::array()}}),
            "points: must be a list of 1 to 4096 lists of values, is one of 0");
  EXPECT_EQ(told({{"points", {1}}}), "points[0]: must be a list, is 1");
  EXPECT_EQ(told({{"points", {{"a\nb"}}}}),
            "points[0]: a value has a control character, such as a line break");
  EXPECT_EQ(told({{"points", {{std::string(4096, 'x')}}}}),
            "points[0]: 4099 bytes, the most is 4096");
  EXPECT_EQ(told({{"parameters", {"y"}}}),
            "command: {x} in the command is no parameter; write {{x}} for the text as it is");
  EXPECT_EQ(told({{"parameters", {"a-b"}}}),
            "parameters: 'a-b' is no name of letters, digits and _, of 64 bytes at most");
  EXPECT_EQ(told({{"parameters", {"x", "x"}}}), "parameters: 'x' is there twice");
  EXPECT_EQ(told({{"command", {std::string(1000, 'x') + "{x}"}},
                  {"points", Json(600, Json{std::string(4000, 'y')})}}),
            "points: 2438400 bytes, the most is 2080768");
}

}  // namespace
}  // namespace berth
