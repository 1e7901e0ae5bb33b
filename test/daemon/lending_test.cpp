// Goal: a long job of 20 GiB is suspended for a burst of short ones, makes each of its steps once,
// and is delayed for no longer than the bound; `show` and `why` tell it.
// Method: a real berthd under headroom+lend with minutes as seconds, and berth-load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/suspend_rig.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kGiB;
using test::kRoom;
using test::Rig;
using test::SuspendRig;
using testing::HasSubstr;

const std::string kLends = "policy = \"headroom+lend:delay=20s:after=0s:turn=1s\"\n" + kRoom;

Json burst(int limit) {
  return {{"vram_bytes", 6 * kGiB}, {"class", "short"}, {"time_limit_seconds", limit}};
}

TEST(Lending, ALongJobIsSuspendedForABurstOfShortOnes) {
  SuspendRig rig({.config = kLends});
  constexpr int kAll = 400;
  const int slow = rig.submit_load(20, kAll);
  std::vector<int> quick;
  for (int i = 0; i < 6; ++i) quick.push_back(rig.submit("sleep 0.4", burst(5)));
  const Json lent = rig.wait_for(slow, "suspended");
  EXPECT_THAT(lent["reason"].get<std::string>(), HasSubstr("suspended by the scheduler"));
  const Json why = rig.request("GET", test::path(slow, "/why")).body;
  EXPECT_THAT(why["reason"].get<std::string>(), HasSubstr("reserved for it")) << why;
  for (const int id : quick) EXPECT_EQ(rig.wait_end(id)["state"], "done");
  const Json back = rig.wait_for(slow, "running");
  EXPECT_GT(back["waited_seconds"].get<double>(), 0.3) << back;
  EXPECT_LT(back["waited_seconds"].get<double>(), 20) << back;
  rig.expect_complete(slow, kAll);
}

/// One that may run for longer than the bound does not borrow.
TEST(Lending, IsForJobsThatEndInTime) {
  SuspendRig rig({.config = kLends});
  const int slow = rig.submit_load(20, test::kMany);
  const int late = rig.submit("true", burst(19));
  const int none = rig.submit("true", {{"vram_bytes", 6 * kGiB}, {"class", "short"}});
  rig.wait_end(rig.submit("true", test::kNoGpus));
  EXPECT_EQ(rig.job(late)["state"], "queued");
  EXPECT_EQ(rig.job(none)["state"], "queued");
  rig.expect_complete(slow, test::kMany);
  EXPECT_EQ(rig.job(slow)["attempts"].size(), 1U) << rig.job(slow);
}

TEST(Lending, NeedsJobsThatCanGiveWay) {
  Rig rig({.gpus = "1x24GiB,checkpoints=no", .config = kRoom});
  const auto refused = rig.start_refused({"--policy", "headroom+lend"});
  EXPECT_EQ(refused.exit_code, test::kFailed);
  EXPECT_THAT(refused.err, HasSubstr("preempts, and this machine cannot suspend jobs"));
}

}  // namespace
}  // namespace berth
