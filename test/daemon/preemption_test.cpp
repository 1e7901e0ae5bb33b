// Goal: a preemptive policy costs a live job no more than the bounds say, and berthd says at its
// start what it costs.
// Method: a real berthd under srtf with one emulated GPU. A long job is preempted by a short one,
// begins again, and is left alone when the next short one comes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::Rig;
using testing::HasSubstr;

/// All that it says before it listens.
std::string said(const Rig& rig) {
  std::string text;
  eventually("berthd listens", [&] {
    std::ifstream file(rig.folder() / "daemon.log");
    text.assign(std::istreambuf_iterator<char>(file), {});
    return text.find("listening at") != std::string::npos;
  });
  return text;
}

constexpr const char* kUntilThere = "until [ -e $0 ]; do sleep 0.05; done";

TEST(LivePreemption, IsBoundedAndItsCostIsSaid) {
  Rig rig({.gpus = "1x24GiB",
           .config =
               "policy = \"srtf\"\npreempt_by = \"restart\"\nprobe = \"100ms\"\ngrace = \"500ms\"\n"
               "[preemption]\nmost = 1\nlost = \"30m\"\n"});
  rig.start();
  EXPECT_THAT(said(rig),
              HasSubstr("berthd: policy srtf preempts: a job that gives way begins again "
                        "from nothing, at most 1 times, and none gives way that has run "
                        "for 1800 s in all ([preemption])\n"));
  const Json whole{{"vram_bytes", nullptr}, {"gpus", 1}};
  const auto submit = [&](const std::string& go, double limit) {
    Json more = whole;
    more["time_limit_seconds"] = limit;
    return rig.submit({{"sh", "-c", kUntilThere, rig.folder() / go}, more});
  };
  const int slow = submit("slow", 3600);
  rig.wait_for(slow, "running");
  const int quick = submit("quick", 60);
  rig.wait_for(quick, "running");
  EXPECT_EQ(rig.job(slow)["state"], "queued");
  const Json first = rig.job(slow)["attempts"][0];
  EXPECT_EQ(first["outcome"], "preempted") << first;
  EXPECT_THAT(first["note"].get<std::string>(),
              testing::StartsWith("preempted by job " + std::to_string(quick) + ", starts again"));
  std::ofstream(rig.folder() / "quick").put('\n');
  rig.wait_end(quick);
  rig.wait_for(slow, "running");
  const int another = submit("another", 60);
  EXPECT_EQ(rig.job(another)["state"], "queued");
  EXPECT_EQ(rig.job(slow)["state"], "running") << "it was preempted as often as it may be";
  std::ofstream(rig.folder() / "slow").put('\n');
  EXPECT_EQ(rig.wait_end(slow)["state"], "done");
  rig.wait_for(another, "running");
}

TEST(LivePreemption, ByATaskOfAnArrayIsToldByItsHandle) {
  Rig rig({.gpus = "1x24GiB",
           .config = "policy = \"srtf\"\npreempt_by = \"restart\"\nprobe = \"100ms\"\n"});
  rig.start();
  Json whole{{"vram_bytes", nullptr}, {"gpus", 1}, {"time_limit_seconds", 3600}};
  const int slow = rig.submit({{"sh", "-c", kUntilThere, rig.folder() / "go"}, whole});
  rig.wait_for(slow, "running");
  whole["time_limit_seconds"] = 60;
  whole["array"] = "5-6";
  const int quick = rig.submit({{"sh", "-c", kUntilThere, rig.folder() / "go"}, whole});
  rig.wait_for(quick + 1, "queued");
  test::eventually("the first task has its place",
                   [&] { return rig.job(slow)["attempts"][0]["note"] != ""; });
  EXPECT_THAT(rig.job(slow)["attempts"][0]["note"].get<std::string>(),
              testing::StartsWith("preempted by job " + std::to_string(quick) + "_5, starts"));
  std::ofstream(rig.folder() / "go").put('\n');
}

TEST(LivePreemption, ThatNeverHappensIsNotSpokenOf) {
  Rig rig;
  rig.start();
  EXPECT_THAT(said(rig), testing::Not(HasSubstr("preempts")));
}

}  // namespace
}  // namespace berth
