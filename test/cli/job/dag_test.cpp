// Goal: a file of jobs means what it says, in an order in which each stands behind those it waits
// for; anything else is refused by its place. Method: texts in, jobs or messages out.
#include "cli/job/dag.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/job/begin_time.hpp"

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<DagJob>& jobs) {
  std::vector<std::string> names;
  for (const DagJob& job : jobs) names.push_back(job.name);
  return names;
}

std::string refusal(const std::string& text) {
  const auto jobs = read_dag(text, "j.toml");
  return jobs ? "taken" : jobs.error().message;
}

TEST(Dag, JobsStandBehindThoseTheyWaitFor) {
  const auto jobs = read_dag(
      "[jobs.report]\n"
      "command = 'python report.py'\n"
      "after-any = ['train', 12]\n"
      "[jobs.train]\n"
      "command = ['python', 'train.py']\n"
      "array = '1-8%2'\n"
      "exclusive = true\n"
      "after = 'prepare'\n"
      "vram = '2G'\n"
      "[jobs.prepare]\n"
      "command = 'true'\n"
      "gpus = 0\n"
      "cpus = 0.5\n"
      "env = ['A=1', 'B=2']\n"
      "[defaults]\n"
      "vram = '10G'\n",
      "j.toml");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_THAT(names_of(*jobs), ElementsAre("prepare", "train", "report"));
  const DagJob& prepare = (*jobs)[0];
  EXPECT_THAT(prepare.options.command, ElementsAre("bash", "-c", "true"));
  EXPECT_THAT(prepare.options.environment, ElementsAre("A=1", "B=2"));
  EXPECT_EQ(prepare.options["--gpus"], "0");
  EXPECT_EQ(prepare.options["--cpus"], "0.5");
  EXPECT_EQ(prepare.options["--vram"], "10G");
  EXPECT_EQ(prepare.options["--name"], "prepare");
  const DagJob& train = (*jobs)[1];
  EXPECT_THAT(train.options.command, ElementsAre("python", "train.py"));
  EXPECT_EQ(train.options["--vram"], "2G");
  EXPECT_EQ(train.options["--array"], "1-8%2");
  EXPECT_TRUE(train.options.exclusive);
  const DagJob& report = (*jobs)[2];
  ASSERT_EQ(report.after.size(), 1U);
  EXPECT_EQ(report.after[0].option, "after-any");
  EXPECT_THAT(report.after[0].names, ElementsAre("train", "12"));
}

TEST(Dag, WhatIsWrongIsNamedByItsPlace) {
  EXPECT_EQ(refusal("[jobs.a]\ncommand = 'true'\nafter = ['b']\n"),
            "j.toml:1:1: after: 'b' is neither a job of this file nor a number");
  EXPECT_THAT(
      refusal("[jobs.a]\ncommand = 'x'\nafter = 'b'\n[jobs.b]\ncommand = 'x'\nafter = 'a'\n"),
      HasSubstr("waits for itself, by way of others"));
  EXPECT_EQ(refusal("[jobs.a]\nvram = '1G'\n"), "j.toml:1:1: jobs.a: has no command");
  EXPECT_EQ(refusal("[jobs.a]\ncommand = 'x'\ngres = 'gpu:1'\n"),
            "j.toml:3:8: gres: --gres: no such option; say --gpus N and --vram SIZE, the memory on "
            "each GPU");
  EXPECT_EQ(refusal("[job.a]\ncommand = 'x'\n"),
            "j.toml:1:1: job: unknown key; valid: [jobs.NAME], [defaults]");
  EXPECT_EQ(refusal(""), "j.toml: has no job; add [jobs.NAME]");
  EXPECT_EQ(refusal("[jobs.a]\ncommand = []\n"), "j.toml:2:11: command: is empty");
  EXPECT_THAT(refusal("[jobs.a\n"), HasSubstr("j.toml:1:8: "));
}

TEST(BeginTime, IsFromNowOrOfTheClock) {
  const Instant now = kStart + seconds(1'700'000'000);
  EXPECT_EQ(parse_begin("+2h", now), now + hours(2));
  EXPECT_EQ(parse_begin("now+90min", now), now + seconds(5400));
  EXPECT_EQ(parse_begin("1h30m", now), now + seconds(5400));
  const auto next = parse_begin("22:00", now);
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_GT(*next, now);
  EXPECT_LE(*next, now + hours(25));
  const auto day = parse_begin("2030-01-02", now);
  ASSERT_TRUE(day) << day.error().message;
  EXPECT_EQ(parse_begin("2030-01-02T22:00", now), *day + hours(22));
  EXPECT_EQ(parse_begin("2030-01-02 22:00:30", now), *day + hours(22) + seconds(30));
  EXPECT_EQ(parse_begin("2020-01-01", now).error().message, "is over");
  EXPECT_EQ(parse_begin("22", now).error().message,
            "is an hour or a time to wait; say 22:00 or +22s");
  for (const char* const text : {"", "soon", "25:00", "2030-02-30", "2030-13-01", "22:00x", "+"}) {
    const auto at = parse_begin(text, now);
    ASSERT_FALSE(at) << text;
    EXPECT_THAT(at.error().message, HasSubstr("is not a time such as +2h"));
  }
}

}  // namespace
}  // namespace berth::cli
