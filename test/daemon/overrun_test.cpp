// Goal: a job that takes GPU memory granted to others is ended, even while another stops there;
// a job that it hurt is told which job was at fault, and runs again with the same request.
// Method: a real berthd on one emulated GPU of 24 GiB, berth-load as honest and greedy jobs. Where
// the harm must come before berthd looks, it looks once an hour.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kGiB;
using test::load;
using test::Rig;
using test::vram;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The default policy keeps a job off a GPU where another began a moment ago.
const std::string kJoinsAtOnce = "policy = \"fifo-skip\"\n";

/// Waits for a file, then takes and holds memory.
std::string load_after(const std::string& file, const std::string& arguments) {
  return "until [ -e " + file + " ]; do sleep 0.02; done; exec " + load(arguments);
}

TEST(Overrun, IsEndedWhileAnotherTenantTakesItsTimeToStop) {
  Rig rig({.gpus = "1x24GiB", .config = kJoinsAtOnce + "probe = \"100ms\"\ngrace = \"1h\"\n"});
  rig.start();
  const int honest = rig.submit(load("--vram 4G --steps 0"), vram(12));
  const int stubborn = rig.submit("trap '' TERM; echo on; while :; do sleep 0.1; done", vram(1));
  const int greedy = rig.submit(load_after("go", "--vram 14G --steps 0"), vram(2));
  eventually("it ignores signals", [&] { return rig.log(stubborn) == "on\n"; });
  rig.wait_for(greedy, "running");
  rig.request("POST", "/v1/jobs/" + std::to_string(stubborn) + "/cancel");
  rig.wait_for(stubborn, "stopping");
  rig.folder().write("go", "");
  const Json end = rig.wait_end(greedy);
  EXPECT_EQ(end["state"], "oom");
  EXPECT_THAT(std::string(end["note"]), HasSubstr("was granted 2."));
  EXPECT_EQ(rig.job(stubborn)["state"], "stopping");
  EXPECT_EQ(rig.job(honest)["state"], "running");
}

/// A job that dies of another's overrun before berthd has seen it.
class Harmed : public testing::Test {
 protected:
  void start(const std::string& more = "") {
    rig_ = std::make_unique<Rig>(test::RigOptions{
        .gpus = "1x24GiB",
        .config = kJoinsAtOnce + "probe = \"1h\"\nprobe_fast = \"1h\"\ngrace = \"1s\"\n" + more});
    rig_->start();
  }
  /// Returns: the victim, once it has died.
  int hurt(const Json& more) {
    Json asked = vram(8);
    asked.update(more);
    const int victim = rig_->submit(load_after("go", "--vram 6G --steps 1"), asked);
    greedy_ = rig_->submit(load("--vram 20G --steps 0 --report 1"), vram(2));
    eventually("it holds what it took",
               [&] { return rig_->log(greedy_).find("holding 20 GiB") != std::string::npos; });
    rig_->folder().write("go", "");
    return victim;
  }

  std::unique_ptr<Rig> rig_;
  int greedy_ = 0;
};

TEST_F(Harmed, IsToldWhoseFaultItWasAndRunsAgain) {
  start();
  const int victim = hurt({{"retries", 2}});
  const Json job = rig_->wait_end(victim);
  EXPECT_EQ(job["state"], "done") << rig_->log(victim);
  EXPECT_EQ(job["vram_bytes"], 8 * kGiB) << "it asked for enough";
  ASSERT_EQ(job["attempts"].size(), 2U);
  EXPECT_EQ(job["attempts"][0]["outcome"], "oom");
  EXPECT_THAT(std::string(job["attempts"][0]["note"]),
              AllOf(HasSubstr("within the 8 GiB it asked for"),
                    HasSubstr("job " + std::to_string(greedy_) + " of "), HasSubstr(" held 2"),
                    HasSubstr("on GPU 0, was granted 2"), HasSubstr("runs again")));
  EXPECT_EQ(rig_->wait_end(greedy_)["state"], "oom");
}

TEST_F(Harmed, EndsWhereJobsDoNotRunAgain) {
  start("again_after_overrun = false\n");
  const Json job = rig_->wait_end(hurt(Json::object()));
  EXPECT_EQ(job["state"], "oom");
  EXPECT_EQ(job["exit_code"], 77);
  EXPECT_EQ(job["attempts"].size(), 1U);
  EXPECT_THAT(std::string(job["note"]),
              AllOf(HasSubstr("job " + std::to_string(greedy_) + " of "), Not(HasSubstr("again"))));
}

// ---- On a GPU that was not given -------------------------------------------------------------

/// The other gets all that it was granted, once the job that took some of it is gone.
TEST(Trespass, EndsTheJobNamesItAndLetsTheOtherLive) {
  Rig rig({.config = "probe = \"100ms\"\ngrace = \"500ms\"\n"});
  rig.start();
  Json asked = vram(20);
  asked["gpu_indices"] = {0};
  const int honest =
      rig.submit(load("--vram 10G --steps 0 --report 1") +
                     " & until [ -e go ]; do sleep 0.02; done; kill $!; wait; exec " +
                     load("--vram 18G --steps 1"),
                 asked);
  eventually("it holds a part of its memory",
             [&] { return rig.log(honest).find("holding 10 GiB") != std::string::npos; });
  asked = vram(2);
  asked["gpu_indices"] = {1};
  asked["retries"] = 3;
  const int culprit = rig.submit(
      "export CUDA_VISIBLE_DEVICES=0; exec " + load("--vram 10G --on-oom keep --steps 0"), asked);
  const Json ended = rig.wait_end(culprit);
  EXPECT_EQ(ended["state"], "failed");
  EXPECT_EQ(ended["attempts"].size(), 1U) << "more memory would not help";
  EXPECT_THAT(rig.log(culprit),
              AllOf(HasSubstr("*** JOB " + std::to_string(culprit) + " CANCELLED "),
                    HasSubstr(" DUE TO GPU MEMORY THAT IT WAS NOT GRANTED ***")));
  EXPECT_THAT(std::string(ended["note"]),
              AllOf(HasSubstr("ended: process "), HasSubstr(" of it held "),
                    HasSubstr("on GPU 0, which it was not given; it has GPU 1")));
  EXPECT_THAT(std::string(rig.job(honest)["reason"]),
              AllOf(HasSubstr("job " + std::to_string(culprit) + " of "),
                    HasSubstr("on GPU 0, which it was not given, and was ended")));
  EXPECT_EQ(rig.job(honest)["state"], "running") << rig.log(honest);
  rig.folder().write("go", "");
  EXPECT_EQ(rig.wait_end(honest)["state"], "done") << rig.log(honest);
}

TEST(Trespass, OfAJobWithoutGpusIsSeenToo) {
  Rig rig({.config = "probe = \"100ms\"\ngrace = \"500ms\"\n"});
  rig.start();
  const int culprit = rig.submit(
      "export CUDA_VISIBLE_DEVICES=0; " + load("--vram 3G --steps 0") + " & wait", test::kNoGpus);
  const Json ended = rig.wait_end(culprit);
  EXPECT_EQ(ended["state"], "failed");
  EXPECT_THAT(std::string(ended["note"]), HasSubstr("which it was not given; it has no GPU"));
}

/// A job that dies of it before berthd has looked.
TEST_F(Harmed, ByAJobOfAnotherGpuIsToldWhichAndRunsAgain) {
  rig_ = std::make_unique<Rig>(test::RigOptions{
      .config = kJoinsAtOnce + "probe = \"1h\"\nprobe_fast = \"1h\"\ngrace = \"1s\"\n"});
  rig_->start();
  Json asked = vram(12);
  asked["gpu_indices"] = {0};
  const int victim = rig_->submit(load_after("go", "--vram 10G --steps 1"), asked);
  asked = vram(2);
  asked["gpu_indices"] = {1};
  const int culprit = rig_->submit(
      "export CUDA_VISIBLE_DEVICES=0; exec " + load("--vram 20G --steps 0 --report 1"), asked);
  eventually("it holds what it took",
             [&] { return rig_->log(culprit).find("holding 20 GiB") != std::string::npos; });
  rig_->folder().write("go", "");
  const Json job = rig_->wait_end(victim);
  EXPECT_EQ(job["state"], "done") << rig_->log(victim);
  ASSERT_EQ(job["attempts"].size(), 2U);
  EXPECT_THAT(std::string(job["attempts"][0]["note"]),
              AllOf(HasSubstr("job " + std::to_string(culprit) + " of "),
                    HasSubstr(" on GPU 0, which it was not given"), HasSubstr("runs again")));
  EXPECT_EQ(rig_->wait_end(culprit)["state"], "failed");
}

// ---- By a process from outside ---------------------------------------------------------------

/// Takes GPU memory as no job of berth's.
class ForeignLoad {
 public:
  ForeignLoad(const Rig& rig, const std::string& arguments) : output_(rig.folder() / "foreign") {
    std::string script;
    for (const std::string& line : rig.outside_environment()) script += line + "\n";
    script += "exec " + load(arguments) + " >" + output_ + " 2>&1";
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  ~ForeignLoad() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  bool says(const std::string& words) const {
    return test::slurp(output_).find(words) != std::string::npos;
  }

 private:
  std::string output_;
  pid_t pid_;
};

TEST_F(Harmed, ByAProcessFromOutsideIsToldOfItAndAsksForNoMore) {
  start();
  Json asked = vram(12);
  asked["retries"] = 1;
  const int victim = rig_->submit(
      "[ $BERTH_ATTEMPT = 1 ] || exit 0; " + load_after("go", "--vram 10G --steps 1"), asked);
  rig_->wait_for(victim, "running");
  const auto foreign = std::make_unique<ForeignLoad>(*rig_, "--vram 20G --steps 0 --report 1");
  eventually("it holds what it took", [&] { return foreign->says("holding 20 GiB"); });
  rig_->folder().write("go", "");
  eventually("it waits again", [&] { return rig_->job(victim)["state"] == "queued"; });
  const Json job = rig_->job(victim);
  EXPECT_EQ(job["vram_bytes"], 12 * kGiB);
  EXPECT_THAT(
      std::string(job["attempts"][0]["note"]),
      AllOf(HasSubstr("within the 12 GiB it asked for: processes that berth did not start held 2"),
            HasSubstr("on GPU 0: process " + std::to_string(foreign->pid()) + " (berth-load"),
            HasSubstr("runs again")));
}

// ---- Own fault -------------------------------------------------------------------------------

TEST(OwnFault, IsNobodyElses) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  const int beside = rig.submit(load("--vram 2G --steps 0"), vram(4));
  rig.wait_for(beside, "running");
  const Json job = rig.wait_end(rig.submit(load("--vram 30G --steps 1"), vram(8)));
  EXPECT_EQ(job["state"], "oom");
  EXPECT_EQ(job["note"], "ran out of GPU memory, asked 8 GiB");
  EXPECT_EQ(job["attempts"].size(), 1U);
}

}  // namespace
}  // namespace berth
