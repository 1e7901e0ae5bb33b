// Goal: jobs that ask for it share a GPU through a server of their user's, each held to its memory,
// and a fatal fault of one touches nobody of another user. Method: a real berthd on emulated GPUs,
// with the emulated control daemon; as root also two users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "daemon/neighbours.hpp"
#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kGiB;
using test::Rig;
using testing::HasSubstr;

constexpr uid_t kOther = 12345;

Json by_mps(std::int64_t gib) { return {{"vram_bytes", gib * kGiB}, {"share", "mps"}}; }

std::string forever(const std::string& more = "") {
  return test::load("--vram 2G --steps 0 --step-ms 10 --report 5 " + more);
}

void wait_for_steps(Rig& rig, int id) {
  eventually("it makes steps", [&] { return rig.log(id).find("step 5") != std::string::npos; });
}

std::size_t servers(const Rig& rig) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(rig.state() + "/mps")) {
    count += std::filesystem::exists(entry.path() / "nvidia-cuda-mps-control.pid") ? 1 : 0;
  }
  return count;
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
  const int liar = rig.submit(test::load("--vram 20G --steps 1"), by_mps(2));
  EXPECT_EQ(rig.wait_end(liar)["state"], "oom");
  EXPECT_EQ(rig.wait_end(honest)["state"], "done");
}

TEST(Mps, AProcessThatLeavesItsServerIsSeenAndWatched) {
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  const int id = rig.submit("unset CUDA_MPS_PIPE_DIRECTORY; exec " + forever(), by_mps(3));
  eventually("it is watched", [&] { return rig.job(id)["memory_limit"] == "watch"; });
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
  if (::geteuid() != 0) GTEST_SKIP() << "only root runs jobs of two users";
  Rig rig({.gpus = "1x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  std::filesystem::permissions(rig.folder().path(), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  const int mine = rig.submit(forever(), by_mps(3));
  Json body = by_mps(3);
  body["command"] = {"/bin/sh", "-c", forever()};
  body["environment"] = {"PATH=/usr/bin:/bin"};
  body["directory"] = "/";
  const auto submitted = test::request_as(rig, kOther, "POST", "/v1/jobs", body);
  ASSERT_EQ(submitted.status, 201) << submitted.body;
  const int theirs = submitted.body["id"].get<int>();
  wait_for_steps(rig, mine);
  wait_for_steps(rig, theirs);
  EXPECT_EQ(servers(rig), 2U);
  const int faulty = rig.submit(test::load("--vram 1G --steps 5 --fault-at 3"), by_mps(2));
  EXPECT_EQ(rig.wait_end(faulty)["state"], "failed");
  EXPECT_EQ(rig.wait_end(mine)["state"], "failed") << "a client of the same server";
  EXPECT_NE(rig.log(mine).find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos);
  const auto size = rig.log(theirs).size();
  eventually("it makes more steps", [&] { return rig.log(theirs).size() > size + 200; });
  EXPECT_EQ(rig.job(theirs)["state"], "running");
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

TEST(Mps, SeveralGpusAreRefused) {
  Rig rig({.gpus = "2x24GiB"});
  rig.start();
  Json body = by_mps(3);
  body["gpus"] = 2;
  body["command"] = {"true"};
  body["environment"] = Json::array();
  body["directory"] = "/";
  const auto answer = rig.request("POST", "/v1/jobs", body);
  EXPECT_EQ(answer.body["error"], "share: 'mps' with 2 GPUs, a server has 1");
}

}  // namespace
}  // namespace berth
