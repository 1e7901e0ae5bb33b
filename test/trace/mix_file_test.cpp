// Goal: files of workloads and mixes are read as doc/scenarios.md says, and errors name place, key,
// value and what was expected.
// Method: the shipped files; small texts with one fault each.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/paths.hpp"
#include "trace/error.hpp"
#include "trace/mix.hpp"

namespace berth::trace {
namespace {

constexpr auto kHeader = "name,gpus,vram_mib,memory,duty_milli,duration_seconds,class\n";
constexpr auto kTwo =
    "name,gpus,vram_mib,memory,duty_milli,duration_seconds,class,source\n"
    "a,1,1024,0:0 10:900,500,100,short,x\n"
    "b,4,2048,0:2000,1000,2000,medium,y\n";

std::vector<Workload> two() { return *read_workloads(kTwo, "w"); }

std::string error_of_row(const std::string& row) {
  return error_of(read_workloads(kHeader + row + "\n", "w.csv"));
}
std::string error_of_mix(const std::string& keys) {
  return error_of(read_mixes("[[mix]]\nname = \"m\"\n" + keys + "\n", "m.toml", two()));
}

TEST(Workloads, HaveWhatTheRowsSay) {
  const auto workloads = two();
  ASSERT_EQ(workloads.size(), 2U);
  EXPECT_EQ(workloads[1].name, "b");
  EXPECT_EQ(workloads[1].gpus, GpuCount(4));
  EXPECT_EQ(workloads[1].asks, Bytes(std::int64_t{2048} << 20));
  EXPECT_EQ(workloads[0].use.peak(), Bytes(std::int64_t{900} << 20));
  EXPECT_EQ(workloads[0].duty, GpuMilli(500));
  EXPECT_EQ(workloads[1].run_time, seconds(2000));
  EXPECT_EQ(workloads[0].duration_class, DurationClass::Short);
}

TEST(Workloads, ErrorsNameTheValue) {
  EXPECT_EQ(error_of_row("a,0,1,0:1,5,9,short"),
            "w.csv:2: column 'gpus': '0', expected an integer from 1 to 1000000");
  EXPECT_EQ(error_of_row("a,1,1,0:0,5,9,short"),
            "w.csv:2: column 'memory': '0:0', expected points SECONDS:MIB, ascending in time, some "
            "above 0 MiB");
  EXPECT_EQ(error_of_row("a,1,1,0:1,5,0,short"),
            "w.csv:2: column 'duration_seconds': '0', expected more than 0 seconds");
  EXPECT_EQ(error_of_row("a,1,1,0:1,5,9,brief"),
            "w.csv:2: column 'class': 'brief', expected one of short, medium, long, service");
  EXPECT_EQ(error_of_row("a,1,1,0:1,5,9,short\na,1,1,0:1,5,9,short"),
            "w.csv:3: column 'name': 'a', expected a name not yet used");
  EXPECT_EQ(error_of(read_workloads(kHeader, "w.csv")), "w.csv: no workloads");
  EXPECT_EQ(error_of(read_workloads("name,gpus\n", "w.csv")),
            "w.csv:1: no column 'vram_mib' in the header");
}

TEST(MixFile, WhatIsNotSaidIsAsDocumented) {
  const Mix mix = read_mixes("[[mix]]\nname = \"m\"\n", "m", two())->front();
  ASSERT_EQ(mix.choices.size(), 1U);
  EXPECT_EQ(mix.choices.front().workloads.size(), 2U);
  EXPECT_EQ(mix.run_times, RunTimes::Table);
  EXPECT_EQ(mix.arrivals, Arrivals::Daily);
  EXPECT_EQ(mix.load_of, LoadOf::Gpus);
  EXPECT_EQ(mix.load, 1000);
  EXPECT_EQ(mix.users, 8);
  EXPECT_EQ(mix.greedy + mix.lying + mix.limit, 0);
  EXPECT_EQ(mix.estimates, "none");
}

TEST(MixFile, LikeTakesEveryKeyOfTheMixAbove) {
  const auto mixes = read_mixes(
      "[[mix]]\nname = \"x\"\nload = 0.6\nusers = 3\nworkloads = { b = 1 }\n"
      "[[mix]]\nname = \"y\"\nlike = \"x\"\nusers = 5\nestimates = \"+-30%\"\n",
      "m", two());
  ASSERT_TRUE(mixes) << mixes.error().message;
  const Mix& mix = mixes->back();
  EXPECT_EQ(mix.name, "y");
  EXPECT_EQ(mix.load, 600);
  EXPECT_EQ(mix.users, 5);
  EXPECT_EQ(mix.choices.front().workloads, (std::vector<std::size_t>{1}));
  EXPECT_EQ(mix.estimates, "+-30%");
}

TEST(MixFile, ErrorsNameThePlaceAndTheKey) {
  EXPECT_EQ(error_of_mix("load = 0"), "m.toml:3:8: load: must be a number from 0.001 to 100");
  EXPECT_EQ(error_of_mix("load = nan"), "m.toml:3:8: load: must be a number from 0 to 100");
  EXPECT_EQ(error_of_mix("users = 0"), "m.toml:3:9: users: must be a number from 1 to 10000");
  EXPECT_EQ(error_of_mix("run_times = \"long\""),
            "m.toml:3:13: run_times: must be one of \"table\", \"philly\"");
  EXPECT_EQ(error_of_mix("workloads = { c = 1 }"),
            "m.toml:3:13: workloads: must be of workloads; there is no 'c'");
  EXPECT_EQ(error_of_mix("workloads = { a = 0 }"),
            "m.toml:3:13: workloads: must be weights of which at least one is above 0");
  EXPECT_EQ(error_of_mix("sizes = { 2 = 1 }"),
            "m.toml:3:9: sizes: must be by GPUs of workloads; none has '2'");
  EXPECT_EQ(error_of_mix("workloads = { a = 1 }\nsizes = { 1 = 1 }"),
            "m.toml:1:1: a mix has workloads or sizes, not both");
  EXPECT_EQ(error_of_mix("also = { a = 2 }"), "m.toml:3:8: also.a: must be a number from 0 to 1");
  EXPECT_EQ(error_of_mix("users = 2\ngreedy = 2\nlying = 1"),
            "m.toml:1:1: mix 'm' has 2 greedy and 1 lying users of 2");
  EXPECT_EQ(error_of_mix("like = \"z\""), "m.toml:3:8: like: must be the name of a mix above");
  EXPECT_EQ(error_of_mix("[[mix]]\nname = \"m\""), "m.toml:3:1: there is a mix 'm' above");
  EXPECT_EQ(error_of_mix("[[mix]]\nload = 1"), "m.toml:3:1: a mix needs a name");
  EXPECT_EQ(error_of_mix("weight = 1"),
            "m.toml:3:10: weight: unknown key of a mix; valid keys: workloads, sizes, also, "
            "run_times, arrivals, load_of, load, users, greedy, lying, limit, estimates");
  EXPECT_EQ(error_of(read_mixes("", "m.toml", two())), "m.toml: no [[mix]] table");
  EXPECT_EQ(error_of(read_mixes("a = 1", "m.toml", two())),
            "m.toml:1:5: a: unknown key; valid keys: [[mix]]");
}

TEST(MixFile, OneKeyIsChanged) {
  const auto workloads = two();
  Mix mix = read_mixes("[[mix]]\nname = \"m\"\n", "m", workloads)->front();
  EXPECT_EQ(error_of(change(mix, "load=1.2", workloads)), "none");
  EXPECT_EQ(mix.load, 1200);
  EXPECT_EQ(error_of(change(mix, "run_times=philly", workloads)), "none");
  EXPECT_EQ(mix.run_times, RunTimes::Philly);
  EXPECT_EQ(error_of(change(mix, "estimates=+-30%", workloads)), "none");
  EXPECT_EQ(mix.estimates, "+-30%");
  EXPECT_EQ(error_of(change(mix, "workloads={ a = 3, b = 1 }", workloads)), "none");
  EXPECT_EQ(mix.choices.size(), 2U);
}

TEST(MixFile, AChangeThatIsRefusedChangesNothing) {
  const auto workloads = two();
  Mix mix = read_mixes("[[mix]]\nname = \"m\"\n", "m", workloads)->front();
  EXPECT_EQ(error_of(change(mix, "lying=9", workloads)),
            "'lying=9': mix 'm' has 0 greedy and 9 lying users of 8");
  EXPECT_EQ(mix.lying, 0);
  EXPECT_EQ(error_of(change(mix, "users=0", workloads)),
            "'users=0': users: must be a number from 1 to 10000");
  for (const char* text : {"", "load", "load=", "=1", "load=1\nusers=2"}) {
    EXPECT_NE(error_of(change(mix, text, workloads)).find("expected KEY=VALUE with one of"),
              std::string::npos)
        << text;
    EXPECT_EQ(mix.users, 8) << text;
  }
}

TEST(MixFile, TheShippedOnesAreThoseInTheProgram) {
  const auto folder = test::source_dir() / "examples/scenarios";
  EXPECT_EQ(test::read_file(folder / "workloads.csv"), shipped_workloads());
  EXPECT_EQ(test::read_file(folder / "mixes.toml"), shipped_mixes());
  EXPECT_EQ(test::read_file(folder / "4x8x80g.toml"), shipped_cluster());
  const auto workloads = read_workloads(shipped_workloads(), "w");
  ASSERT_TRUE(workloads) << workloads.error().message;
  EXPECT_EQ(workloads->size(), 12U);
  const auto mixes = read_mixes(shipped_mixes(), "m", *workloads);
  ASSERT_TRUE(mixes) << mixes.error().message;
  EXPECT_EQ(mixes->size(), 14U);
}

TEST(MixFile, EveryShippedWorkloadFitsTheShippedCluster) {
  const auto cluster = read_cluster(shipped_cluster(), "c.toml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  const auto workloads = read_workloads(shipped_workloads(), "w");
  ASSERT_TRUE(workloads) << workloads.error().message;
  for (const Workload& workload : *workloads) {
    EXPECT_LT(workload.asks, cluster->least_room()) << workload.name;
    EXPECT_GE(workload.asks, workload.use.peak()) << workload.name << " asks honestly";
  }
}

}  // namespace
}  // namespace berth::trace
