// Goal: a process that was started by hand becomes a job of its user: charged, shown, protected,
// ended on demand, and found again by the next berthd; nobody adopts what is not theirs.
// Method: a real berthd on two emulated GPUs of 24 GiB, and berth-load started beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/rig.hpp"
#include "shim/proc.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kGiB;
using test::kNobody;
using test::load;
using test::path;
using test::Rig;
using test::vram;
using testing::AllOf;
using testing::HasSubstr;

/// Takes memory of GPU 0 as no job of berth's, in a session of its own.
class LoadByHand {
 public:
  LoadByHand(const Rig& rig, const std::string& arguments, const std::string& before = "exec ") {
    std::string script;
    for (const std::string& line : rig.outside_environment()) script += line + "\n";
    script += before + load(arguments) + " >" + (rig.folder() / "by-hand") + " 2>&1\nexit $?";
    pid_ = ::fork();
    if (pid_ != 0) {
      while (shim::stat_of(pid_)->session != pid_) ::usleep(1000);
      return;
    }
    ::setsid();
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  LoadByHand(const LoadByHand&) = delete;
  LoadByHand& operator=(const LoadByHand&) = delete;
  ~LoadByHand() {
    ::kill(-pid_, SIGKILL);
    collect();
  }
  pid_t pid() const { return pid_; }
  void end() const { ::kill(pid_, SIGTERM); }
  /// Returns: the signal that ended it; 0 if none did.
  int collect() {
    int status = 0;
    if (!std::exchange(is_collected_, true)) ::waitpid(pid_, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t pid_ = 0;
  bool is_collected_ = false;
};

class AdoptTest : public testing::Test {
 protected:
  explicit AdoptTest(const std::string& more = "")
      : rig_({.config = "probe = \"100ms\"\ngrace = \"500ms\"\npolicy = \"fifo-skip\"\n" + more}) {
    rig_.start();
  }

  Json gpu() { return rig_.request("GET", "/v1/gpus").body["gpus"][0]; }
  void wait_foreign(std::int64_t gib) {
    eventually("it is foreign", [&] { return gpu()["foreign_bytes"] >= gib * kGiB; });
  }
  Rig::Answer adopt(pid_t pid, const Json& more = Json::object()) {
    Json body = {{"pid", pid}};
    body.update(more);
    return rig_.request("POST", "/v1/adopt", body);
  }
  int adopted(pid_t pid, const Json& more = Json::object()) {
    const Rig::Answer answer = adopt(pid, more);
    EXPECT_EQ(answer.status, 201) << answer.body;
    const int id = answer.body.value("id", 0);
    rig_.wait_for(id, "running");
    return id;
  }
  void expect_refused(const Rig::Answer& answer, int status, const std::string& words) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_THAT(answer.body.value("error", ""), HasSubstr(words));
  }

  Rig rig_;
};

const std::string kEightGib = "--vram 8G --steps 0";

TEST_F(AdoptTest, WhatIsHeldBecomesTheChargeOfAJob) {
  const LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  EXPECT_EQ(gpu()["foreign"][0]["yours"], true);
  const Json answer = adopt(by_hand.pid(), {{"name", "night"}}).body;
  const int id = answer["id"];
  ASSERT_EQ(answer["charges"].size(), 1U) << answer;
  EXPECT_GE(answer["charges"][0]["held_bytes"], 8 * kGiB);
  EXPECT_GE(answer["charges"][0]["charge_bytes"], 9 * kGiB);
  rig_.wait_for(id, "running");
  eventually("it is no foreign use", [&] {
    const Json seen = gpu();
    return seen["foreign_bytes"] == 0 && seen["foreign"].empty() && seen["tenants"].size() == 1 &&
           seen["tenants"][0]["job"] == id && seen["tenants"][0]["used_bytes"].is_number() &&
           seen["tenants"][0]["used_bytes"] >= 8 * kGiB;
  });
  const Json job = rig_.job(id);
  EXPECT_EQ(job["name"], "night");
  EXPECT_EQ(job["gpus"], Json::array({0}));
  EXPECT_EQ(job["command_line"], "berth-load");
  EXPECT_THAT(rig_.log(id), HasSubstr("what it writes stays where it goes"));
}

TEST_F(AdoptTest, OthersAreNotPlacedOntoItsMemory) {
  const LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  adopted(by_hand.pid(), {{"vram_bytes", 16 * kGiB}});
  const int there = rig_.submit("sleep 1000", {{"vram_bytes", 6 * kGiB}, {"gpu_indices", {0}}});
  const int waits = rig_.submit("sleep 1000", {{"vram_bytes", 8 * kGiB}, {"gpu_indices", {0}}});
  rig_.wait_for(there, "running");
  EXPECT_EQ(rig_.job(waits)["state"], "queued");
}

TEST_F(AdoptTest, ItsEndIsSeenAndItsStatusIsNotKnown) {
  LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  const int id = adopted(by_hand.pid());
  by_hand.end();
  by_hand.collect();
  const Json job = rig_.wait_end(id);
  EXPECT_EQ(job["state"], "done");
  EXPECT_THAT(std::string(job["note"]), HasSubstr("its exit status is not known"));
  EXPECT_TRUE(job["exit_code"].is_null()) << job["exit_code"];
  expect_refused(rig_.request("POST", test::path(id, "/again")), 409, "was adopted: berth did not");
  eventually("its room is back", [&] { return gpu()["charged_bytes"] == 0; });
}

TEST_F(AdoptTest, CancelEndsItAndAllBelowIt) {
  LoadByHand by_hand(rig_, kEightGib, "trap '' TERM; ");  // the shell stays above it
  wait_foreign(8);
  const int id = adopted(by_hand.pid());
  EXPECT_EQ(rig_.request("POST", path(id, "/cancel")).status, 200);
  EXPECT_EQ(rig_.wait_end(id)["state"], "cancelled");
  EXPECT_EQ(by_hand.collect(), SIGKILL);
  eventually("its memory is free", [&] { return gpu()["used_bytes"] == 0; });
}

TEST_F(AdoptTest, ItsTimeLimitEndsIt) {
  LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  const int id = adopt(by_hand.pid(), {{"time_limit_seconds", 1}}).body["id"];
  EXPECT_EQ(rig_.wait_end(id)["state"], "timeout");
  EXPECT_EQ(by_hand.collect(), SIGTERM);
}

TEST_F(AdoptTest, ItIsThereForTheNextBerthd) {
  LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  const int id = adopted(by_hand.pid());
  rig_.kill();
  rig_.start();
  eventually("it is a tenant again", [&] {
    const Json seen = gpu();
    return seen["foreign_bytes"] == 0 && seen["tenants"].size() == 1 &&
           seen["tenants"][0]["used_bytes"].is_number();
  });
  EXPECT_EQ(rig_.job(id)["state"], "running");
  expect_refused(adopt(by_hand.pid()), 409, "is of job " + std::to_string(id) + " already");
  rig_.kill();
  by_hand.end();
  by_hand.collect();
  rig_.start();
  EXPECT_EQ(rig_.wait_end(id)["state"], "done");
  EXPECT_THAT(std::string(rig_.job(id)["note"]), HasSubstr("its exit status is not known"));
}

TEST_F(AdoptTest, ItEndsWithItsShim) {
  LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  const int id = adopted(by_hand.pid());
  ::kill(rig_.shim_of(id), SIGKILL);
  EXPECT_EQ(rig_.wait_end(id)["state"], "lost");
  EXPECT_EQ(by_hand.collect(), SIGKILL);
}

TEST_F(AdoptTest, ItIsNeverSuspendedAndNobodyAttaches) {
  const LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  const int id = adopted(by_hand.pid());
  expect_refused(rig_.request("POST", path(id, "/suspend")), 409,
                 "was started by hand and adopted, and is never suspended");
  expect_refused(rig_.request("POST", path(id, "/attach"), {{"socket", "/tmp/none"}}), 409,
                 "was started by hand: its terminal is where that was");
  expect_refused(rig_.request("POST", path(id, "/update"), {{"suspend", true}}), 409,
                 "was started by hand and adopted, and is never suspended");
  EXPECT_EQ(rig_.job(id)["state"], "running");
}

// ---- What is refused -------------------------------------------------------------------------

TEST_F(AdoptTest, WhatIsNoProcessOfAUserIsRefused) {
  expect_refused(adopt(4'000'000), 404, "process 4000000: there is no such process");
  expect_refused(adopt(1), 409, "process 1: is the first of all processes, and no job");
  expect_refused(adopt(test::pid_of(rig_)), 409, "is berthd itself");
  expect_refused(adopt(::getpid()), 409, "berthd runs below it");
  expect_refused(rig_.request("POST", "/v1/adopt", {{"vram_bytes", kGiB}}), 400, "pid: is missing");
  expect_refused(adopt(77, {{"gpus", 1}}), 400, "gpus: unknown key; valid keys: pid, start");
}

TEST_F(AdoptTest, AProcessWithoutGpuMemoryIsRefused) {
  const LoadByHand idle(rig_, kEightGib, "sleep 1000; exec ");
  expect_refused(adopt(idle.pid()), 409,
                 "holds no memory of a GPU, nor does one below it, as the last look at the 2 GPUs");
}

TEST_F(AdoptTest, AnotherProcessOfThatNumberIsRefused) {
  const LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  const std::uint64_t start = shim::stat_of(by_hand.pid())->start;
  expect_refused(adopt(by_hand.pid(), {{"start", start - 1}}), 409,
                 "berthd sees another process of that number");
  EXPECT_EQ(adopt(by_hand.pid(), {{"start", start}}).status, 201);
}

TEST_F(AdoptTest, AJobOrItsShimIsRefused) {
  const int id = rig_.submit(load("--vram 2G --steps 0"), vram(4));
  rig_.wait_for(id, "running");
  const std::string words = "is of job " + std::to_string(id) + " already";
  expect_refused(adopt(rig_.shim_of(id)), 409, words);
}

TEST_F(AdoptTest, LessThanItHoldsIsRefused) {
  const LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  expect_refused(adopt(by_hand.pid(), {{"vram_bytes", 4 * kGiB}}), 422, "vram_bytes: 4 GiB, and");
}

TEST_F(AdoptTest, MoreThanThereIsBesideOthersIsRefused) {
  const LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  const int there = rig_.submit("sleep 1000", {{"vram_bytes", 12 * kGiB}, {"gpu_indices", {0}}});
  rig_.wait_for(there, "running");
  expect_refused(adopt(by_hand.pid(), {{"vram_bytes", 14 * kGiB}}), 409,
                 "GPU 0: the process holds 8.");
  const int id = adopted(by_hand.pid());
  EXPECT_EQ(rig_.job(there)["state"], "running");
  EXPECT_EQ(rig_.job(id)["state"], "running");
}

TEST_F(AdoptTest, WhatHoldsForAnotherJobIsRefused) {
  const LoadByHand above(rig_, kEightGib, "trap '' HUP; ");
  wait_foreign(8);
  std::optional<pid_t> below;
  const Json seen = gpu();
  for (const Json& one : seen["foreign"]) below = one["pid"];
  ASSERT_TRUE(below && *below != above.pid());
  const int id = adopted(*below);
  expect_refused(adopt(above.pid()), 409,
                 "process " + std::to_string(*below) + " below it is of job " + std::to_string(id));
}

class AdoptWithLimit : public AdoptTest {
 protected:
  AdoptWithLimit() : AdoptTest("user_gpus = 1\n") {}
};

TEST_F(AdoptWithLimit, MoreGpusThanItsUserMayHoldAreRefused) {
  const LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  const int there = rig_.submit("sleep 1000", {{"vram_bytes", kGiB}, {"gpu_indices", {1}}});
  rig_.wait_for(there, "running");
  expect_refused(adopt(by_hand.pid()), 409,
                 "holds memory of 1 GPUs, its user has 1 of 1 GPUs and 1 of 0 jobs");
}

TEST_F(AdoptTest, AProcessWithOtherRightsToo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
  const pid_t mixed = ::fork();
  if (mixed == 0) {
    if (::setresuid(static_cast<uid_t>(-1), kNobody, static_cast<uid_t>(-1)) == 0) ::pause();
    ::_exit(1);
  }
  eventually("it has another user's rights", [&] {
    return shim::read_proc(mixed, "status", 4096).find("Uid:\t0\t65534") != std::string::npos;
  });
  expect_refused(adopt(mixed), 409, "only one with those of one user can be a job");
  ::kill(mixed, SIGKILL);
  ::waitpid(mixed, nullptr, 0);
}

TEST_F(AdoptTest, AStrangersProcessIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
  ASSERT_EQ(::chmod(rig_.folder().path().c_str(), 0755), 0);
  const LoadByHand by_hand(rig_, kEightGib);
  wait_foreign(8);
  const Rig::Answer answer =
      test::request_as(rig_, kNobody, "POST", "/v1/adopt", {{"pid", by_hand.pid()}});
  expect_refused(answer, 403, "others' processes are for administrators");
  EXPECT_THAT(answer.body.value("error", ""), HasSubstr("belongs to root (uid 0), you are"));
}

}  // namespace
}  // namespace berth
