// Goal: what a job held at most is recorded, shown, and charged to the next run of its program.
// Method: a real berthd on emulated GPUs under jobs that hold memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::Json;
using test::kGiB;
using test::path;
using test::Rig;
using testing::HasSubstr;

/// Holds 2 GiB until there is a file `NAME` in the rig's folder.
Json holder(const Rig& rig, const std::string& name) {
  const std::string script = test::load("--vram 2G --steps 0 --report 0") + " & while [ ! -e " +
                             name + " ]; do sleep 0.02; done; kill $!; exit 0";
  return {{"command", {"sh", "-c", script}},
          {"directory", rig.folder().path()},
          {"environment", {"PATH=/usr/bin:/bin"}}};
}

void await_peak(Rig& rig, int id) {
  test::eventually("job " + std::to_string(id) + " is seen to hold 2 GiB",
                   [&] { return rig.job(id).value("peak_bytes", std::int64_t{0}) >= 2 * kGiB; });
}

TEST(Peaks, AreRecordedAndChargedToTheNextRun) {
  Rig rig;
  rig.start();
  Json first = holder(rig, "go");
  first["vram_bytes"] = 12 * kGiB;
  const auto asked = rig.request("POST", "/v1/jobs", first);
  ASSERT_EQ(asked.status, 201) << asked.body;
  const int id = asked.body["id"];
  await_peak(rig, id);
  std::ofstream(rig.folder() / "go");
  const Json ended = rig.wait_end(id);
  EXPECT_EQ(ended["state"], "done");
  const std::int64_t peak = ended.value("peak_bytes", std::int64_t{0});
  EXPECT_GE(peak, 2 * kGiB);
  EXPECT_LT(peak, 3 * kGiB);
  EXPECT_EQ(rig.job(id)["attempts"][0]["peak_bytes"], peak);

  const auto again = rig.request("POST", "/v1/jobs", holder(rig, "go"));
  ASSERT_EQ(again.status, 201) << again.body;
  const std::int64_t learned = again.body["vram_learned_bytes"];
  EXPECT_GT(learned, peak);
  EXPECT_LT(learned, 2 * peak);
  EXPECT_THAT(again.body["warnings"].dump(), HasSubstr("by the peaks of earlier runs"));
  EXPECT_EQ(rig.job(again.body["id"])["vram_learned_bytes"], learned);
  rig.wait_end(again.body["id"]);

  const auto other = rig.request("POST", "/v1/jobs?dry_run=true", holder(rig, "gone"));
  EXPECT_FALSE(other.body.contains("vram_learned_bytes")) << "another program";
}

/// Alone on the GPU until it is known what they need.
TEST(Peaks, OfTheFirstRunAreChargedToThoseThatWait) {
  Rig rig({.gpus = "1x24GiB"});
  rig.start();
  std::vector<int> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(rig.request("POST", "/v1/jobs", holder(rig, "go.$BERTH_JOB_ID")).body["id"]);
  }
  await_peak(rig, jobs[0]);
  EXPECT_EQ(rig.job(jobs[1])["state"], "queued");
  EXPECT_FALSE(rig.job(jobs[1]).contains("vram_learned_bytes"));
  std::ofstream(rig.folder() / ("go." + std::to_string(jobs[0])));
  rig.wait_end(jobs[0]);
  test::eventually("both others run at once", [&] {
    return rig.job(jobs[1])["state"] == "running" && rig.job(jobs[2])["state"] == "running";
  });
  EXPECT_GT(rig.job(jobs[2])["vram_learned_bytes"], 2 * kGiB);
  rig.kill();
  rig.start();
  EXPECT_GT(rig.job(jobs[2])["vram_learned_bytes"], 2 * kGiB) << "also after a restart";
  for (const int id : jobs) std::ofstream(rig.folder() / ("go." + std::to_string(id)));
  for (const int id : jobs) EXPECT_EQ(rig.wait_end(id)["state"], "done");
}

TEST(Peaks, AreNotLearnedFromWhereThatIsOff) {
  Rig rig({.config = "probe = \"100ms\"\ngrace = \"500ms\"\nlearn_memory = false\n"});
  rig.start();
  const auto first = rig.request("POST", "/v1/jobs", holder(rig, "go"));
  await_peak(rig, first.body["id"]);
  std::ofstream(rig.folder() / "go");
  rig.wait_end(first.body["id"]);
  const auto again = rig.request("POST", "/v1/jobs", holder(rig, "go"));
  EXPECT_FALSE(again.body.contains("vram_learned_bytes")) << again.body;
  rig.wait_end(again.body["id"]);
}

}  // namespace
}  // namespace berth
