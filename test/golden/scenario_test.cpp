// Goal: a scenario that says something else than its author meant is refused, not guessed at.
// Method: small good and bad texts.
#include "golden/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::golden {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& question) {
  const auto scenario = read_scenario(question + "----\n", "x.txt");
  return scenario ? "none" : scenario.error().message;
}

TEST(Scenario, ReadsEveryKindOfLine) {
  const auto scenario = read_scenario(
      "# Why.\n"
      "cluster 2x1x2 vram=10GiB context=300MiB slots=2 cpu=8 host=64GiB\n"
      "policy fifo\n"
      "place first-fit\n"
      "settings guard=1GiB admission=declared user-gpus=3 user-jobs=2 half-life=1h\n"
      "job late at=10 gpus=1 run=5 vram=2GiB user=7 limit=1m cpu=2 host=4GiB processes=2\n"
      "job early at=0 gpus=2 run=5 alone estimate=none  # comment\n"
      "scale net 100 150\n"
      "at 3 cancel late\n"
      "at 2 gpu n1:1 down\n"
      "until 2m\n"
      "----\n"
      "0 start early n0:0,1\n",
      "x.txt");
  ASSERT_TRUE(scenario) << scenario.error().message;
  EXPECT_EQ(scenario->cluster.switches(), 2U);
  EXPECT_EQ(scenario->cluster.gpu(GpuId(3)).capacity, Bytes(std::int64_t{10} << 30));
  EXPECT_EQ(scenario->place, "first-fit");
  EXPECT_EQ(scenario->settings.limits.jobs, 2);
  ASSERT_EQ(scenario->jobs.size(), 2U);
  EXPECT_EQ(scenario->jobs[0].name, "early");
  EXPECT_EQ(scenario->jobs[0].spec.estimate, kForever);
  EXPECT_EQ(scenario->jobs[1].spec.estimate, seconds(5));
  ASSERT_EQ(scenario->happenings.size(), 2U);
  EXPECT_EQ(std::get<GpuHealth>(scenario->happenings[0].input).gpu, GpuId(3));
  EXPECT_EQ(std::get<CancelAsked>(scenario->happenings[1].input).job, JobId(2));
  EXPECT_EQ(scenario->speeds.scaled("net", 0, 1, 2), Rate(1'500'000));
  EXPECT_EQ(scenario->expected, "0 start early n0:0,1\n");
}

TEST(Scenario, NamesLineAndWord) {
  const std::string start = "cluster 1x1\npolicy fifo\n";
  EXPECT_THAT(error_of(start + "jbo a run=1\n"), HasSubstr("x.txt:3: 'jbo' starts no line"));
  EXPECT_THAT(error_of(start + "job a run=1 gpu=2\n"), HasSubstr("'gpu=2' is not known here"));
  EXPECT_THAT(error_of(start + "job a run=soon\n"), HasSubstr("'soon' is not a time"));
  EXPECT_THAT(error_of(start + "job a run=1 vram=3GB\n"), HasSubstr("'3GB' is not MiB or GiB"));
  EXPECT_THAT(error_of(start + "job a\n"), HasSubstr("'a' needs run= above zero"));
  EXPECT_THAT(error_of(start + "at 3 cancel b\n"), HasSubstr("x.txt:3: 'b' is no job"));
  EXPECT_THAT(error_of(start + "at 3 gpu n0:1 down\n"), HasSubstr("'n0:1' is no GPU"));
  EXPECT_THAT(error_of(start + "at 3 gpu n0:0 off\n"), HasSubstr("'gpu' is not known here"));
  EXPECT_THAT(error_of(start + "scale net 100 0\n"), HasSubstr("'0' is no speed"));
  EXPECT_THAT(error_of("policy fifo\n"), HasSubstr("'cluster' line is missing"));
  EXPECT_THAT(error_of("cluster 1x1\n"), HasSubstr("'policy' line is missing"));
  EXPECT_THAT(error_of("cluster 1by1\n"), HasSubstr("'1by1' is not NODESxGPUS"));
  EXPECT_EQ(read_scenario("cluster 1x1\n", "x.txt").error().message, "x.txt: no line `----`");
}

TEST(Scenario, RefusesAnUnknownPolicy) {
  const auto scenario = read_scenario("cluster 1x1\npolicy nonesuch\n----\n", "x.txt");
  ASSERT_TRUE(scenario);
  const auto log = run_scenario(*scenario);
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("nonesuch"));
}

TEST(Replay, LogsEveryTurnOfAJob) {
  const auto scenario = read_scenario(
      "cluster 1x1\npolicy fifo-skip\n"
      "job a at=0 gpus=1 run=10\njob b at=0 gpus=1 run=10\njob c at=0 gpus=2 run=1\n"
      "job d at=0 gpus=1 run=99 limit=5\nat 4 hold b\nat 20 release b\nat 22 cancel b\n----\n",
      "x.txt");
  ASSERT_TRUE(scenario) << scenario.error().message;
  EXPECT_EQ(run_scenario(*scenario).value_or("failed"),
            "0 rejected c: asks 2 GPUs, the cluster has 1\n"
            "0 start a n0:0\n"
            "10 end a\n"
            "10 start d n0:0\n"
            "15 timeout d\n"
            "20 start b n0:0\n"
            "22 cancelled b\n");
}

}  // namespace
}  // namespace berth::golden
