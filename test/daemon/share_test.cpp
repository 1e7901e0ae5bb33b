// Goal: a job joins others when its user, or else an administrator, has said so, and one that waits
// for a better place is told the way out. Method: a real berthd on emulated GPUs whose jobs keep
// them busy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rig.hpp"

namespace berth::test {
namespace {

using testing::HasSubstr;

const Json kFourGib = {{"vram_bytes", 4 * kGiB}};

/// Its GPU 0 is kept busy by a job.
class ShareRig {
 public:
  ShareRig() {
    rig.start();
    rig.submit(load("--vram 2G --steps 0 --duty 1"), kFourGib);
    eventually("a job keeps the GPU busy", [&] {
      const Json percent = rig.request("GET", "/v1/gpus").body["gpus"][0]["utilisation_percent"];
      return percent.is_number() && percent >= 80;
    });
  }
  int submit(Json more = Json::object()) {
    more.update(kFourGib);
    return rig.submit("sleep 1000", more);
  }
  Rig::Answer update(int id, const Json& change) {
    return rig.request("POST", path(id, "/update"), change);
  }

  Rig rig{{.gpus = "1x24GiB", .flags = {"--policy", "headroom"}}};
};

TEST(Share, AHeldJobIsToldHowItStartsNowAndDoes) {
  ShareRig busy;
  const int waits = busy.submit();
  const Json why = busy.rig.request("GET", path(waits, "/why")).body;
  ASSERT_EQ(why["why"], "patience") << why;
  EXPECT_THAT(std::string(why["reason_brief"]), HasSubstr("GPU 0"));
  ASSERT_FALSE(why["hints"].empty()) << why;
  const Json hint = why["hints"][0];
  EXPECT_EQ(hint["change"], (Json{{"share", "now"}}));
  EXPECT_EQ(hint["gpus"], Json::array({0}));
  const Json starts = busy.rig.request("GET", "/v1/starts").body;
  ASSERT_EQ(starts["hints"].size(), 1U) << starts;
  EXPECT_EQ(starts["hints"][0]["change"], hint["change"]);
  EXPECT_EQ(busy.update(waits, hint["change"]).status, 200);
  EXPECT_EQ(busy.rig.wait_for(waits, "running")["share"], "now");
}

TEST(Share, WhoSaysNowOrIsAServiceDoesNotWait) {
  ShareRig busy;
  const int patient = busy.submit();
  busy.rig.wait_for(busy.submit({{"share", "now"}}), "running");
  EXPECT_EQ(busy.rig.wait_for(busy.submit({{"class", "service"}}), "running")["share"], "now");
  const Json waits = busy.rig.job(patient);
  EXPECT_EQ(waits["state"], "queued");
  EXPECT_FALSE(waits.contains("share"));
}

TEST(Share, NeverIsExclusive) {
  ShareRig busy;
  const int alone = busy.submit({{"share", "never"}});
  EXPECT_EQ(busy.rig.job(alone)["exclusive"], true);
  EXPECT_EQ(busy.rig.job(alone)["state"], "queued");
  EXPECT_EQ(busy.update(alone, {{"share", "now"}}).status, 200);
  EXPECT_EQ(busy.rig.wait_for(alone, "running")["exclusive"], false);
  const int none = busy.submit({{"held", true}});
  EXPECT_EQ(busy.update(none, {{"share", "never"}}).status, 200);
  EXPECT_EQ(busy.rig.job(none)["exclusive"], true);
  const auto both = busy.rig.request("POST", "/v1/jobs",
                                     {{"command", {"true"}},
                                      {"directory", "/"},
                                      {"environment", Json::array()},
                                      {"share", "now"},
                                      {"exclusive", true}});
  EXPECT_EQ(both.status, 400);
  EXPECT_EQ(both.body["error"], "share: 'now' with exclusive, which is true; that is never");
}

TEST(Share, ADefaultIsReadAgain) {
  const std::string config = "probe = \"100ms\"\ngrace = \"500ms\"\n";
  Rig rig({.config = config + "share = \"now\"\n"});
  rig.start();
  EXPECT_EQ(rig.job(rig.submit("true", {{"held", true}}))["share"], "now");
  const int patient = rig.submit("true", {{"held", true}, {"share", "patient"}});
  EXPECT_FALSE(rig.job(patient).contains("share"));
  rig.folder().write("berth.toml", config + "share = \"never\"\n");
  ASSERT_EQ(rig.request("POST", "/v1/reload").status, 200);
  EXPECT_EQ(rig.job(rig.submit("true", {{"held", true}}))["exclusive"], true);
}

}  // namespace
}  // namespace berth::test
