// Goal: jobs that ask for it share GPUs through a server of their user's, each held to its memory
// on each GPU, and a fatal fault of one touches nobody of another user. What processes of a job
// hold together, each within its limit, is watched. Method: a real berthd on emulated GPUs, with
// the emulated control daemon; as root also two users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "daemon/neighbours.hpp"
#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kGiB;
using test::Rig;
using testing::HasSubstr;

constexpr uid_t kNeighbour = 12345;

Json by_mps(std::int64_t gib) { return {{"vram_bytes", gib * kGiB}, {"share", "mps"}}; }

Json gang(std::int64_t gib) {
  Json job = by_mps(gib);
  job["gpus"] = 2;
  return job;
}

std::string forever(const std::string& more = "") {
  return test::load("--vram 2G --steps 0 --step-ms 10 --report 5 " + more);
}

void wait_for_steps(Rig& rig, int id) {
  eventually("it makes steps", [&] { return rig.log(id).find("step 5") != std::string::npos; });
}

/// A process on both GPUs of its job.
std::string forever_on_both() { return forever("--gpus 2"); }

std::set<std::string> names_of_servers(const Rig& rig) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(rig.state() + "/mps")) {
    if (std::filesystem::exists(entry.path() / "nvidia-cuda-mps-control.pid")) {
      names.insert(entry.path().filename());
    }
  }
  return names;
}

std::size_t servers(const Rig& rig) { return names_of_servers(rig).size(); }

void cancel(Rig& rig, int id) {
  EXPECT_EQ(rig.request("POST", test::path(id, "/cancel")).status, 200);
  rig.wait_end(id);
}

/// Of a user without rights, as root submits for nobody else. Returns: the id.
int submit_as(Rig& rig, uid_t user, const std::string& script, Json body) {
  std::filesystem::permissions(rig.folder().path(), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  body["command"] = {"/bin/sh", "-c", script};
  body["environment"] = {"PATH=/usr/bin:/bin"};
  body["directory"] = "/";
  const auto submitted = test::request_as(rig, user, "POST", "/v1/jobs", body);
  EXPECT_EQ(submitted.status, 201) << submitted.body;
  return submitted.body["id"].get<int>();
}

void expect_goes_on(Rig& rig, int id) {
  const auto size = rig.log(id).size();
  eventually("it makes more steps", [&] { return rig.log(id).size() > size + 200; });
  EXPECT_EQ(rig.job(id)["state"], "running");
}

TEST(Mps, JobsOfAUserShareAServerThatGoesWithTheLast) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  const int first = rig.submit(forever(), by_mps(3));
  const int second = rig.submit(forever(), by_mps(3));
  wait_for_steps(rig, first);
  wait_for_steps(rig, second);
  EXPECT_EQ(servers(rig), 1U);
  const Json job = rig.job(first);
  EXPECT_EQ(job["memory_limit"], "mps");
  EXPECT_THAT(job["memory_limit_line"].get<std::string>(),
              HasSubstr("lets each of its processes hold 3.31 GiB"));
  EXPECT_EQ(rig.request("POST", test::path(first, "/cancel")).status, 200);
  rig.wait_end(first);
  EXPECT_EQ(servers(rig), 1U);
  EXPECT_EQ(rig.request("POST", test::path(second, "/cancel")).status, 200);
  rig.wait_end(second);
  eventually("the server is gone", [&] { return servers(rig) == 0; });
}

TEST(Mps, AJobThatTakesTooMuchFailsAtTheCall) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  const int honest =
      rig.submit(test::load("--vram 18G --ramp 500ms --steps 100 --step-ms 10"), by_mps(19));
  const int liar = rig.submit(test::load("--vram 4G --steps 1"), by_mps(2));
  EXPECT_EQ(rig.wait_end(liar)["state"], "oom");
  EXPECT_THAT(rig.log(liar), HasSubstr("cuMemAlloc_v2 of 4 GiB")) << "the GPU has as much";
  EXPECT_EQ(rig.wait_end(honest)["state"], "done");
}

TEST(Mps, AProcessThatLeavesItsServerIsSeenAndWatched) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  const int id = rig.submit("unset CUDA_MPS_PIPE_DIRECTORY; exec " + forever(), by_mps(3));
  eventually("it is watched", [&] { return rig.job(id)["memory_limit"] == "watch"; });
}

TEST(Mps, AJobWhoseServerDoesNotComeSaysWhyItRunsWithout) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  const std::string folder = "state/mps/" + std::to_string(geteuid()) + "-0.jobs";
  rig.folder().write(folder, "no folder");
  const int id = rig.submit(forever(), by_mps(3));
  wait_for_steps(rig, id);
  EXPECT_EQ(rig.job(id)["memory_limit"], "watch");
  EXPECT_THAT(rig.job(id)["memory_limit_line"].get<std::string>(),
              HasSubstr("; it was to have MPS and runs without: " + (rig.folder() / folder)));
  cancel(rig, id);
}

TEST(Mps, ServersOutlastBerthd) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  const int id = rig.submit(forever(), by_mps(3));
  wait_for_steps(rig, id);
  EXPECT_EQ(rig.stop(), 0);
  rig.start();
  EXPECT_EQ(servers(rig), 1U);
  EXPECT_EQ(rig.wait_for(id, "running")["memory_limit"], "mps");
  EXPECT_EQ(rig.request("POST", test::path(id, "/cancel")).status, 200);
  rig.wait_end(id);
  eventually("the server is gone", [&] { return servers(rig) == 0; });
}

TEST(Mps, AFatalFaultOfOneUserDoesNotTouchAnother) {
  if (!test::others_run_programs()) GTEST_SKIP() << test::kNeedsOthers;
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  const int mine = rig.submit(forever(), by_mps(3));
  const int theirs = submit_as(rig, kNeighbour, forever(), by_mps(3));
  wait_for_steps(rig, mine);
  wait_for_steps(rig, theirs);
  EXPECT_EQ(servers(rig), 2U);
  const int faulty = rig.submit(test::load("--vram 1G --steps 5 --fault-at 3"), by_mps(2));
  EXPECT_EQ(rig.wait_end(faulty)["state"], "failed");
  EXPECT_EQ(rig.wait_end(mine)["state"], "failed") << "a client of the same server";
  EXPECT_NE(rig.log(mine).find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos);
  expect_goes_on(rig, theirs);
}

/// A short pass of what Neighbours.NoneIsHurtWhereMpsLimits does at length.
TEST(Mps, HurtsNoNeighbour) {
  Rig rig(test::options_for_mixes(4, "probe_fast = \"1h\"\n"));
  rig.start();
  const test::Harm all = test::play_mixes(rig, 4, {.share = "mps"}, 7);
  EXPECT_EQ(all.honest, 8);
  EXPECT_EQ(all.hurt, 0) << all.last_words;
}

TEST(Mps, AClientIsNotSuspended) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  const int id = rig.submit(forever(), by_mps(3));
  wait_for_steps(rig, id);
  EXPECT_EQ(rig.request("POST", test::path(id, "/suspend")).status, 200);
  eventually("it is told why", [&] {
    return rig.job(id)["reason"].get<std::string>().find("client of an MPS server") !=
           std::string::npos;
  });
  EXPECT_EQ(rig.job(id)["state"], "running");
}

TEST(Mps, NeedsAGpu) {
  Rig rig({.gpus = "1x24GiB"});
  rig.start();
  Json body{{"gpus", 0}, {"share", "mps"}};
  body["command"] = {"true"};
  body["environment"] = Json::array();
  body["directory"] = "/";
  const auto answer = rig.request("POST", "/v1/jobs", body);
  EXPECT_EQ(answer.body["error"], "share: 'mps' with 0 GPUs, needs 1 at least");
}

/// Jobs of two GPUs each on two GPUs.
class MpsGang : public testing::Test {
 protected:
  void SetUp() override { rig_.start(); }

  std::string server(uid_t user, const std::string& gpus) const {
    return std::to_string(user) + "-" + gpus;
  }

  /// A job on both GPUs that ends well by end_until_go().
  static std::string until_go() {
    return forever_on_both() + " & until [ -e go ]; do sleep 0.02; done; kill $!; touch gone";
  }
  void end_until_go() {
    rig_.folder().write("go", "");
    eventually("it ends", [&] { return std::filesystem::exists(rig_.folder() / "gone"); });
  }

  Rig rig_{{.gpus = "2x24GiB", .flags = {"--policy", "fifo-skip"}}};
  const uid_t me_ = ::getuid();
};

TEST_F(MpsGang, HasAServerOfItsGpusThatGoesWithItsLastJob) {
  const int first = rig_.submit(forever_on_both(), gang(3));
  const int second = rig_.submit(forever_on_both(), gang(3));
  Json on_first = by_mps(3);
  on_first["gpu_indices"] = {0};
  const int single = rig_.submit(forever(), on_first);
  for (const int id : {first, second, single}) wait_for_steps(rig_, id);
  EXPECT_EQ(names_of_servers(rig_), (std::set{server(me_, "0"), server(me_, "0+1")}));
  const Json job = rig_.job(first);
  EXPECT_EQ(job["memory_limit"], "mps");
  EXPECT_THAT(job["memory_limit_line"].get<std::string>(),
              HasSubstr("lets each of its processes hold 3.31 GiB of each GPU;"));
  cancel(rig_, first);
  EXPECT_EQ(servers(rig_), 2U);
  cancel(rig_, second);
  eventually("its server is gone",
             [&] { return names_of_servers(rig_) == std::set{server(me_, "0")}; });
  cancel(rig_, single);
  eventually("no server is left", [&] { return servers(rig_) == 0; });
}

TEST_F(MpsGang, FailsAtTheCallBeyondItsLimitOnItsSecondGpu) {
  const int honest = rig_.submit(
      test::load("--gpus 2 --vram 18G --ramp 500ms --steps 100 --step-ms 10"), gang(19));
  const int liar = rig_.submit(test::load("--first 1 --vram 4G --steps 1"), gang(2));
  EXPECT_EQ(rig_.wait_end(liar)["state"], "oom");
  EXPECT_THAT(rig_.log(liar), HasSubstr("GPU 1: cuMemAlloc_v2 of 4 GiB")) << "the GPU has as much";
  EXPECT_EQ(rig_.wait_end(honest)["state"], "done");
}

/// As some launchers do for each rank: a limit for a GPU that the process does not see voids all.
TEST_F(MpsGang, AProcessThatHidesOneOfItsGpusIsHeldByTheWatch) {
  const int honest = rig_.submit(forever_on_both(), gang(19));
  wait_for_steps(rig_, honest);
  const std::string hides = "CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES#*,} exec ";
  const int liar = rig_.submit(hides + test::load("--vram 12G --steps 0"), gang(2));
  const Json end = rig_.wait_end(liar);
  EXPECT_EQ(end["state"], "oom");
  EXPECT_THAT(end["note"].get<std::string>(), HasSubstr("on GPU 1, was granted 2.31 GiB"));
  EXPECT_EQ(rig_.job(honest)["state"], "running");
}

TEST_F(MpsGang, GoesOnWhereBerthdIsKilled) {
  const int staying = rig_.submit(forever_on_both(), gang(3));
  const int leaving = rig_.submit(until_go(), gang(3));
  wait_for_steps(rig_, staying);
  wait_for_steps(rig_, leaving);
  rig_.kill();
  end_until_go();
  rig_.start();
  EXPECT_EQ(rig_.wait_end(leaving)["state"], "done");
  EXPECT_EQ(rig_.wait_for(staying, "running")["memory_limit"], "mps");
  const int joining = rig_.submit(forever_on_both(), gang(3));
  wait_for_steps(rig_, joining);
  EXPECT_EQ(names_of_servers(rig_), std::set{server(me_, "0+1")});
  cancel(rig_, staying);
  EXPECT_EQ(rig_.job(joining)["memory_limit"], "mps");
  cancel(rig_, joining);
  eventually("the server is gone", [&] { return servers(rig_) == 0; });
}

TEST_F(MpsGang, ThatEndsWithoutBerthdLeavesItsServerToTheNext) {
  wait_for_steps(rig_, rig_.submit(until_go(), gang(3)));
  rig_.kill();
  end_until_go();
  EXPECT_EQ(servers(rig_), 1U);
  rig_.start();
  eventually("the server is gone", [&] { return servers(rig_) == 0; });
}

TEST_F(MpsGang, AFatalFaultEndsTheClientsOfItsServerAlone) {
  const int beside = rig_.submit(forever_on_both(), gang(3));
  const int single = rig_.submit(forever(), by_mps(3));
  std::vector<int> others{single};
  if (test::others_run_programs())
    others.push_back(submit_as(rig_, kNeighbour, forever_on_both(), gang(3)));
  wait_for_steps(rig_, beside);
  for (const int id : others) wait_for_steps(rig_, id);
  EXPECT_EQ(servers(rig_), 1U + others.size());
  const int faulty = rig_.submit(test::load("--gpus 2 --vram 1G --steps 5 --fault-at 3"), gang(2));
  EXPECT_EQ(rig_.wait_end(faulty)["state"], "failed");
  EXPECT_EQ(rig_.wait_end(beside)["state"], "failed");
  for (const int id : others) expect_goes_on(rig_, id);
}

/// Under a policy that shares by MPS.
TEST(MpsPolicy, ChoosesForJobsThatDoNotSay) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip+mps"}});
  rig.start();
  const int silent = rig.submit(forever(), {{"vram_bytes", 3 * kGiB}});
  const int turns = rig.submit(forever(), {{"vram_bytes", 3 * kGiB}, {"share", "timeslice"}});
  wait_for_steps(rig, silent);
  wait_for_steps(rig, turns);
  EXPECT_EQ(rig.job(silent)["memory_limit"], "mps");
  EXPECT_EQ(rig.job(turns)["memory_limit"], "watch");
  cancel(rig, silent);
  eventually("the server is gone", [&] { return servers(rig) == 0; });
  cancel(rig, turns);
  const int alone = rig.submit(forever(), {{"exclusive", true}});
  wait_for_steps(rig, alone);
  EXPECT_EQ(servers(rig), 0U);
}

/// Eight of them, as ranks of an MPI job; each takes this much beside its context.
std::string ranks(const std::string& vram) {
  return "for rank in 1 2 3 4 5 6 7 8; do " + test::load("--steps 0 --step-ms 20 --vram " + vram) +
         " & done; wait";
}

TEST(MpsRanks, ThatTogetherHoldMoreThanTheChargeAreEnded) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  const int honest = rig.submit(forever(), by_mps(19));
  const int job = rig.submit(ranks("512M"), by_mps(2));  // 6.4 GiB, each 0.8 GiB
  const Json end = rig.wait_end(job);
  EXPECT_EQ(end["state"], "oom");
  EXPECT_THAT(end["note"].get<std::string>(), HasSubstr("on GPU 0, was granted 2.31 GiB"));
  EXPECT_EQ(rig.log(job).find("cuMemAlloc"), std::string::npos) << "no call failed";
  EXPECT_EQ(rig.job(honest)["state"], "running");
}

TEST(MpsRanks, ThatAreDeclaredHaveTheirPartEach) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  Json asked = by_mps(4);
  asked["gpu_processes"] = 8;
  const int honest = rig.submit(ranks("400M"), asked);
  eventually("all are there", [&] {
    return rig.log(honest).find("step") != std::string::npos &&
           rig.job(honest)["used_bytes"]["0"] > 5 * kGiB;
  });
  const Json job = rig.job(honest);
  EXPECT_EQ(job["gpu_processes"], 8);
  EXPECT_GE(job["charge_bytes"], 6 * kGiB) << "a context for each";
  EXPECT_EQ(job["memory_limit"], "mps");
  EXPECT_THAT(job["memory_limit_line"].get<std::string>(),
              HasSubstr("not caught: more than 8 processes together"));
  EXPECT_EQ(job["state"], "running");
  const int liar = rig.submit(test::load("--vram 1G --steps 1"), asked);
  EXPECT_EQ(rig.wait_end(liar)["state"], "oom");
  EXPECT_THAT(rig.log(liar), HasSubstr("cuMemAlloc_v2 of 1 GiB"));
}

}  // namespace
}  // namespace berth
