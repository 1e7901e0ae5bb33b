// Goal: what a job holds beyond its grant is seen in lists, a job that waits for it is told, and by
// configuration its holder is warned or ended; never while nobody waits.
// Method: a real berthd on one emulated GPU of 24 GiB, and berth-load as a job that takes more than
// it asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kGiB;
using test::load;
using test::Rig;
using testing::AllOf;
using testing::HasSubstr;

class Overuse : public testing::Test {
 protected:
  static std::string config_with(const std::string& rule) {
    return "policy = \"fifo-skip\"\nprobe = \"100ms\"\ngrace = \"500ms\"\noveruse = \"" + rule +
           "\"\nnotify_command = \"echo $BERTH_EVENT >>told\"\nnotify_on = [\"overuse\"]\n";
  }
  void start(const std::string& rule) {
    rig_ = std::make_unique<Rig>(test::RigOptions{.gpus = "1x24GiB", .config = config_with(rule)});
    rig_->start();
  }
  /// A job that asked for 4 GiB and holds 16.
  int holder(const Json& more = Json::object()) {
    Json asked = {{"vram_bytes", 4 * kGiB}};
    asked.update(more);
    const int id = rig_->submit(
        "if [ $BERTH_ATTEMPT = 1 ]; then exec " + load("--vram 16G --steps 0") + "; fi; exit 0",
        asked);
    eventually("its surplus is seen", [&] {
      const Json job = rig_->job(id);
      return job.value("surplus_bytes", std::int64_t{0}) >= 11 * kGiB;
    });
    return id;
  }
  int waiter() { return rig_->submit("true", {{"vram_bytes", 12 * kGiB}}); }

  std::unique_ptr<Rig> rig_;
};

TEST_F(Overuse, IsToldToWhoeverWaitsAndKept) {
  start("keep");
  const int holds = holder();
  const int waits = waiter();
  const Json why = rig_->request("GET", test::path(waits, "/why")).body;
  EXPECT_GE(why["lacking"][0]["holders"][0].value("surplus_bytes", std::int64_t{0}), 11 * kGiB)
      << why;
  EXPECT_EQ(rig_->job(holds)["state"], "running");
  EXPECT_EQ(rig_->job(holds)["reason"], "");
}

TEST_F(Overuse, IsWarnedOfWhileAnotherWaits) {
  start("warn");
  const int holds = holder();
  EXPECT_EQ(rig_->job(holds)["reason"], "");
  const int waits = waiter();
  eventually("it is warned", [&] { return rig_->job(holds)["reason"] != ""; });
  EXPECT_THAT(
      std::string(rig_->job(holds)["reason"]),
      AllOf(HasSubstr("beyond its grant: it holds 16"), HasSubstr("on GPU 0, was granted 4"),
            HasSubstr("job " + std::to_string(waits) + " waits for the rest")));
  rig_->request("POST", test::path(waits, "/cancel"));
  eventually("nobody waits", [&] { return rig_->job(holds)["reason"] == ""; });
  EXPECT_EQ(rig_->job(holds)["state"], "running");
}

TEST_F(Overuse, EndsAJobThatOthersWaitFor) {
  start("end");
  const int holds = holder({{"retries", 1}});
  const int waits = waiter();
  EXPECT_EQ(rig_->wait_end(waits)["state"], "done");
  const Json job = rig_->wait_end(holds);
  EXPECT_EQ(job["state"], "done") << job;
  ASSERT_EQ(job["attempts"].size(), 2U);
  EXPECT_EQ(job["attempts"][0]["outcome"], "oom");
  EXPECT_THAT(std::string(job["attempts"][0]["note"]), HasSubstr("and others wait for the rest"));
}

TEST_F(Overuse, EndsOneThatWasWarnedOfOnceThatIsTheRule) {
  start("warn");
  const int holds = holder();
  waiter();
  eventually("it is warned", [&] { return rig_->job(holds)["reason"] != ""; });
  rig_->folder().write("berth.toml", config_with("end"));
  ASSERT_EQ(rig_->request("POST", "/v1/reload").status, 200);
  EXPECT_EQ(rig_->wait_end(holds)["state"], "oom");
}

}  // namespace
}  // namespace berth
