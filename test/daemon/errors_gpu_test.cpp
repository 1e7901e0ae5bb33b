// Goal: a driver that is missing or fails, and a GPU that is lost, cost no job that does not need
// them, and are named. Method: a real berthd on a driver that does as the test says, and on
// emulated GPUs that are told to fall off the bus under running jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "daemon/wilful_driver.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::await_unhealthy;
using test::check_of;
using test::eventually;
using test::gpu_of;
using test::Json;
using test::kNoGpus;
using test::kUntilGo;
using test::load;
using test::path;
using test::Rig;
using testing::HasSubstr;

using ErrorsDriver = test::WilfulDriver;

TEST_F(ErrorsDriver, OneThatIsNotThereLeavesJobsWithoutGpus) {
  if (test::run_program("berth-gpu-list", {}).exit_code == 0)
    GTEST_SKIP() << "this machine has one";
  Rig rig({.gpus = "", .config = "probe = \"100ms\"\n"});
  rig.start();
  EXPECT_THAT(check_of(rig, "driver"),
              HasSubstr("warn: no GPUs: no NVIDIA driver: libnvidia-ml.so.1: "));
  EXPECT_EQ(rig.wait_end(rig.submit("true", kNoGpus))["state"], "done");
  EXPECT_THAT(test::slurp(rig.folder() / "daemon.log"),
              HasSubstr("\nberthd: no GPUs: no NVIDIA driver: libnvidia-ml.so.1: "));
  const Json body = {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}};
  const auto refused = rig.request("POST", "/v1/jobs", body);
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.body["error"], "asks 1 GPU, the cluster has 0");
}

TEST_F(ErrorsDriver, OneThatWasNamedMustBeThere) {
  Rig rig({.gpus = "", .config = "nvml = \"/no/such.so\"\n"});
  const auto refused = rig.start_refused();
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_THAT(refused.err,
              HasSubstr("berthd: no NVIDIA driver: /no/such.so: cannot open shared object file"));
}

TEST_F(ErrorsDriver, OneThatFailsAtTheStartIsNamed) {
  be('f');
  const auto refused = rig_.start_refused();
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_EQ(refused.err, "berthd: nvmlInit_v2: Unknown Error\n");
}

TEST_F(ErrorsDriver, OneThatFailsLaterTakesNoJobsUntilItAnswers) {
  rig_.start();
  const int runs = rig_.submit(kUntilGo);
  rig_.wait_for(runs, "running");
  be('f');
  await_unhealthy(rig_);
  EXPECT_EQ(gpu_of(rig_, 0)["problem"], "nvmlDeviceGetMemoryInfo on GPU 0: Unknown Error");
  const int waits = rig_.submit("true");
  const int other = rig_.submit("true", kNoGpus);
  EXPECT_EQ(rig_.wait_end(other)["state"], "done");
  EXPECT_EQ(rig_.job(waits)["state"], "queued");
  EXPECT_THAT(rig_.job(waits)["reason"].get<std::string>(), HasSubstr("is out of service"));
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(runs)["exit_code"], 3);
  be('o');
  EXPECT_EQ(rig_.wait_end(waits)["state"], "done");
}

TEST_F(ErrorsDriver, AGpuThatIsLostAtTheStartKeepsItsPlace) {
  rig_.start();
  const int id = rig_.submit(kUntilGo, {{"gpus", 2}});
  rig_.wait_for(id, "running");
  EXPECT_EQ(rig_.stop(), 0);
  be('l');
  rig_.start();  // under a job that has it
  EXPECT_EQ(rig_.job(id)["state"], "running");
  EXPECT_EQ(gpu_of(rig_, 1)["healthy"], false);
  EXPECT_THAT(gpu_of(rig_, 1)["problem"].get<std::string>(), HasSubstr("on GPU 1: GPU is lost"));
  EXPECT_THAT(check_of(rig_, "gpus"), HasSubstr("fail: GPU 1: "));
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(id)["exit_code"], 3);
  EXPECT_EQ(rig_.wait_end(rig_.submit("true"))["gpus"], Json::array({0}));
}

/// The machine's own memory stands for it, so a small job has room on any.
TEST(ErrorsHidden, AGpuWhoseMemoryIsNotToldIsServedAndSaidSo) {
  Rig rig({.gpus = "1x24GiB,memory=hidden"});
  rig.start();
  EXPECT_THAT(check_of(rig, "gpus"), HasSubstr("the driver does not tell its memory"));
  const int id = rig.submit(load("--vram 64M --steps 0"), {{"vram_bytes", 64 << 20}});
  rig.wait_for(id, "running");
  eventually("what its process holds is charged to it and not foreign", [&] {
    const Json used = rig.job(id)["used_bytes"];
    return used.is_object() && used.contains("0") && used["0"] >= 364 << 20;
  });
}

// ---- A GPU that falls off the bus ------------------------------------------------------------

class ErrorsXid : public testing::Test {
 protected:
  explicit ErrorsXid(const test::RigOptions& options = {}) : rig_(options) { rig_.start(); }
  void lose(int gpu) {
    const std::string line = test::program("berth-emu").string() + " xid " + rig_.state() +
                             "/emulated-gpus --gpu " + std::to_string(gpu) + " --xid 79 >/dev/null";
    ASSERT_EQ(std::system(line.c_str()), 0);
    eventually("it is unhealthy",
               [&] { return gpu_of(rig_, static_cast<std::size_t>(gpu))["healthy"] == false; });
  }

  Rig rig_;
};

/// One that does not look at its GPU goes on; a gang that needs both waits, others get what is
/// left.
TEST_F(ErrorsXid, AGpuLostUnderAJobTakesNoOther) {
  const int runs = rig_.submit(kUntilGo, {{"exclusive", true}});
  rig_.wait_for(runs, "running");
  const int gpu = rig_.job(runs)["gpus"][0];
  lose(gpu);
  EXPECT_EQ(gpu_of(rig_, static_cast<std::size_t>(gpu))["problem"], "Xid 79");
  EXPECT_THAT(rig_.text("/v1/doctor"), HasSubstr("GPU " + std::to_string(gpu) + ": Xid 79"));
  EXPECT_EQ(rig_.job(runs)["state"], "running");
  const std::string failed = "GPU " + std::to_string(gpu) + " failed: Xid 79";
  EXPECT_EQ(rig_.job(runs)["reason"], failed);
  const int gang = rig_.submit("true", {{"gpus", 2}});
  const int next = rig_.submit("true", {{"class", "short"}});
  EXPECT_EQ(rig_.wait_end(next)["gpus"], Json::array({1 - gpu}));
  EXPECT_EQ(rig_.job(gang)["state"], "queued");
  EXPECT_THAT(rig_.job(gang)["reason"].get<std::string>(), HasSubstr("is out of service"));
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(runs)["exit_code"], 3);
  EXPECT_EQ(rig_.job(runs)["note"], failed);
  EXPECT_EQ(rig_.wait_end(rig_.submit("true"))["gpus"], Json::array({1 - gpu}));
  EXPECT_EQ(rig_.job(gang)["state"], "queued");
}

TEST_F(ErrorsXid, AGangThatLosesOneIsCancelledWhole) {
  const int id = rig_.submit("sleep 1000", {{"gpus", 2}});
  rig_.wait_for(id, "running");
  lose(1);
  EXPECT_EQ(rig_.request("POST", path(id, "/cancel")).status, 200);
  EXPECT_EQ(rig_.wait_end(id)["state"], "cancelled");
  EXPECT_EQ(rig_.wait_end(rig_.submit("true"))["gpus"], Json::array({0}));
}

/// Jobs share the first GPU.
class ErrorsXidShared : public ErrorsXid {
 protected:
  ErrorsXidShared()
      : ErrorsXid({.config = "policy = \"fifo-skip\"\nplace = \"first-fit\"\nprobe = \"100ms\"\n"
                             "grace = \"500ms\"\n"}) {}
};

/// The job takes memory of the GPU for real, so the driver tells it of the loss, too.
TEST_F(ErrorsXidShared, AJobThatAsksForItRunsAgainElsewhere) {
  const Json asks{{"vram_bytes", 4 * test::kGiB}, {"requeue_on", {"gpu-failure"}}};
  const int id = rig_.submit(
      {{"sh", "-c", "[ $BERTH_ATTEMPT = 2 ] || exec " + test::load("--vram 3G --step-ms 10")},
       asks});
  const int other = rig_.submit("sleep 1000", {{"vram_bytes", 4 * test::kGiB}});
  rig_.wait_for(id, "running");
  rig_.wait_for(other, "running");
  eventually("it has its memory", [&] { return rig_.log(id).find("step") != std::string::npos; });
  const int gpu = rig_.job(id)["gpus"][0];
  lose(gpu);
  const Json job = rig_.wait_end(id);
  EXPECT_EQ(job["state"], "done") << job;
  EXPECT_EQ(job["gpus"], Json::array({1 - gpu}));
  ASSERT_EQ(job["attempts"].size(), 2U);
  EXPECT_THAT(job["attempts"][0]["note"].get<std::string>(),
              HasSubstr("GPU " + std::to_string(gpu) + " failed: "));
  EXPECT_THAT(job["attempts"][0]["note"].get<std::string>(), HasSubstr("; starts again elsewhere"));
  EXPECT_EQ(rig_.job(other)["state"], "running") << "it did not ask for that";
  EXPECT_EQ(rig_.request("POST", path(other, "/cancel")).status, 200);
  EXPECT_EQ(gpu_of(rig_, static_cast<std::size_t>(gpu))["healthy"], false);
}

/// berthd was away while the GPU was lost.
TEST_F(ErrorsXid, ALossThatNobodySawIsNoticedAtTheNextStart) {
  const Json asks{{"exclusive", true}, {"requeue_on", {"gpu-failure"}}};
  const int id = rig_.submit("[ $BERTH_ATTEMPT = 2 ] || exec sleep 1000", asks);
  rig_.wait_for(id, "running");
  const int gpu = rig_.job(id)["gpus"][0];
  rig_.kill();
  const std::string line = test::program("berth-emu").string() + " xid " + rig_.state() +
                           "/emulated-gpus --gpu " + std::to_string(gpu) + " --xid 79 >/dev/null";
  ASSERT_EQ(std::system(line.c_str()), 0);
  rig_.start();
  const Json job = rig_.wait_end(id);
  EXPECT_EQ(job["state"], "done") << job;
  EXPECT_EQ(job["gpus"], Json::array({1 - gpu}));
}

}  // namespace
}  // namespace berth
