// Goal: jobs with several GPUs get those that are linked, and `berth gpus`, `show` and `why` say
// what links there are. Method: a real berthd on emulated GPUs with NVLinks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::Json;
using test::kGiB;
using test::Rig;
using testing::HasSubstr;

TEST(Links, JoinTheGpusOfAGang) {
  Rig rig({.gpus = "4x24GiB,links=0-3x4+1-2"});
  rig.start();
  const int best = rig.submit(test::kUntilGo, {{"gpus", 2}, {"vram_bytes", 4 * kGiB}});
  const int next = rig.submit(test::kUntilGo, {{"gpus", 2}, {"exclusive", true}});
  rig.wait_for(best, "running");
  rig.wait_for(next, "running");
  EXPECT_EQ(rig.job(best)["gpus"], Json::array({0, 3})) << "not 0 and 1, which share a switch";
  EXPECT_EQ(rig.job(next)["gpus"], Json::array({1, 2}));
  EXPECT_EQ(rig.job(best)["links_line"], "4 NVLinks between any two of its GPUs");
  const auto why = rig.request("GET", test::path(next, "/why"));
  EXPECT_EQ(why.body["links_line"], "1 NVLink between any two of its GPUs");
  const Json links = rig.request("GET", "/v1/gpus").body["gpus"][0]["links"];
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[2]["gpu"], 3);
  EXPECT_EQ(links[2]["nvlinks"], 4);
  EXPECT_EQ(links[2]["path"], "4 NVLinks");
  EXPECT_EQ(links[0]["path"], "one PCIe switch");
  EXPECT_LT(links[2]["distance"], links[0]["distance"]);
  rig.folder().write("go", "");
  rig.wait_end(best);
  rig.wait_end(next);
}

}  // namespace
}  // namespace berth
