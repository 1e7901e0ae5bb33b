// Goal: a job that has a GPU and runs no kernel is told of and, where that is configured, ended,
// whether it holds memory there or not; one busy look is enough not to be idle; what cannot be
// known accuses nobody.
//
// Method: an engine with a job and looks made by hand; a berthd on emulated GPUs with jobs that
// hold memory, or GPUs alone, and do nothing.
#include "daemon/limits/idle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "core/base/units.hpp"
#include "daemon/rig.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth::daemon {
namespace {

using namespace berth::literals;
using test::eventually;
using test::Json;
using test::Rig;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Idle : public testing::Test {
 protected:
  Idle() {
    JobSpec spec;
    spec.request.gpu = {.count = GpuCount(1), .vram = 4_GiB, .sharing = Sharing::Shared};
    engine_.step(kStart, {{Submitted{JobId(1), spec}}});
    engine_.step(kStart, {{Started{JobId(1), Attempt(1)}}});
    restart();
  }
  static Cluster one_gpu() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 1, .vram = 24_GiB});
    return cluster;
  }
  struct Seen {
    std::optional<std::uint32_t> utilisation = 0;
    Bytes held = 2_GiB;
  };
  void look(Duration at, const Seen& seen) {
    Sample sample;
    sample.utilisation_percent = seen.utilisation;
    sample.processes = std::vector<GpuProcess>{{.pid = 9, .bytes = seen.held}};
    if (seen.held == Bytes(0)) sample.processes->clear();
    watch_->on_look(
        {.gpu = GpuId(0), .began = kStart + at, .sample = sample, .owners = {{9, OfJob{JobId(1)}}}},
        engine_.view(), kStart + at);
  }

  /// A berthd that goes on with what the one before it kept.
  void restart() {
    watch_ = std::make_unique<IdleWatch>(
        IdleRules{.after = minutes(30), .end = minutes(60)},
        IdleWatch::Hooks{
            .warn =
                [this](JobId, const Idleness& idle) {
                  told_.emplace_back(idle.holds ? "warn" : "warn of nothing held");
                },
            .was_warned =
                [this](JobId, const Idleness& idle) {
                  told_.emplace_back("was warned, idle since " +
                                     std::to_string(micros(idle.since - kStart) / 60'000'000));
                },
            .busy_again = [this](JobId) { told_.emplace_back("busy"); },
            .suspend = [this](JobId, const Idleness&) { told_.emplace_back("suspend"); },
            .end = [this](JobId, const Idleness&) { told_.emplace_back("end"); },
            .keep = [this](const std::string& text) { kept_ = text; }});
    watch_->restore(kept_);
  }

  Engine engine_{one_gpu(), {}, *make_policy("fifo", "first-fit")};
  std::vector<std::string> told_;
  std::string kept_;
  std::unique_ptr<IdleWatch> watch_;
};

TEST_F(Idle, IsToldOnceAndThenEnded) {
  for (int minute = 0; minute <= 29; ++minute) look(minutes(minute), {});
  EXPECT_THAT(told_, IsEmpty());
  for (int minute = 30; minute <= 59; ++minute) look(minutes(minute), {});
  EXPECT_THAT(told_, ElementsAre("warn"));
  for (int minute = 60; minute <= 65; ++minute) look(minutes(minute), {});
  EXPECT_THAT(told_, ElementsAre("warn", "end"));
}

TEST_F(Idle, IsSuspendedOnceBetweenTheTwoUnlessItStays) {
  watch_->set({.after = minutes(10), .suspend = minutes(20), .end = minutes(60)});
  for (int minute = 0; minute <= 30; ++minute) look(minutes(minute), {});
  EXPECT_THAT(told_, ElementsAre("warn", "suspend"));
  look(minutes(31), {.utilisation = 100});
  EXPECT_THAT(told_, ElementsAre("warn", "suspend", "busy"));
  told_.clear();
  // It could not be suspended, and is not to be tried again.
  engine_.step(kStart + minutes(32), {{SuspendAsked{JobId(1)}}});
  engine_.step(kStart + minutes(32),
               {{SuspendFailed{.job = JobId(1), .attempt = Attempt(1), .stays_until = kNever}}});
  for (int minute = 33; minute <= 100; ++minute) look(minutes(minute), {});
  EXPECT_THAT(told_, ElementsAre("warn", "end"));
}

TEST_F(Idle, IsNoJobThatIsBusyNowAndThenHoweverLowTheMean) {
  for (int minute = 0; minute <= 1000; ++minute) {
    look(minutes(minute), {.utilisation = minute % 29 == 0 ? 1 : 0});
  }
  EXPECT_THAT(told_, IsEmpty());
  for (int minute = 1001; minute <= 1040; ++minute) look(minutes(minute), {});
  look(minutes(1041), {.utilisation = 100});
  EXPECT_THAT(told_, ElementsAre("warn", "busy"));
}

TEST_F(Idle, IsNobodyWithoutAFigure) {
  for (int minute = 0; minute <= 200; ++minute) {
    look(minutes(minute), {.utilisation = std::nullopt});
  }
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(Idle, IsAJobThatNeverTouchesItsGpu) {
  for (int minute = 0; minute <= 65; ++minute) look(minutes(minute), {.held = Bytes(0)});
  EXPECT_THAT(told_, ElementsAre("warn of nothing held", "end"));
}

TEST_F(Idle, IsAJobBesideABusyNeighbourThatDoesNotTouchTheirGpu) {
  for (int minute = 0; minute <= 40; ++minute) {
    Sample sample;
    sample.utilisation_percent = 100;
    sample.processes = {{.pid = 10, .bytes = 2_GiB}};
    const Instant now = kStart + minutes(minute);
    watch_->on_look(
        {.gpu = GpuId(0), .began = now, .sample = sample, .owners = {{10, OfJob{JobId(2)}}}},
        engine_.view(), now);
  }
  EXPECT_THAT(told_, ElementsAre("warn of nothing held"));
}

TEST_F(Idle, IsKnownToTheNextBerthdWhichTellsNobodyAgain) {
  for (int minute = 0; minute <= 20; ++minute) look(minutes(minute), {});
  restart();  // nothing was told yet
  for (int minute = 21; minute <= 40; ++minute) look(minutes(minute), {});
  EXPECT_THAT(told_, ElementsAre("warn"));
  restart();
  for (int minute = 41; minute <= 60; ++minute) look(minutes(minute), {});
  EXPECT_THAT(told_, ElementsAre("warn", "was warned, idle since 0", "end"));
  restart();
  look(minutes(60) + seconds(1), {});
  EXPECT_EQ(told_.back(), "end") << "a berthd that is killed may not have ended it";
  EXPECT_EQ(told_.size(), 4U);
}

TEST_F(Idle, IsNobodyWhoWasBusyJustBeforeTheLastBerthdDied) {
  for (int minute = 0; minute <= 40; ++minute) look(minutes(minute), {});
  look(minutes(40) + seconds(1), {.utilisation = 100});
  EXPECT_THAT(told_, ElementsAre("warn", "busy"));
  restart();
  for (int minute = 41; minute <= 70; ++minute) look(minutes(minute), {});
  EXPECT_THAT(told_, ElementsAre("warn", "busy"));
}

/// What is unknown accuses nobody.
TEST_F(Idle, BeginsWithTheNextBerthdWhereNobodyLookedForLong) {
  for (int minute = 0; minute <= 40; ++minute) look(minutes(minute), {});
  restart();
  for (int minute = 42; minute <= 71; ++minute) look(minutes(minute), {});
  EXPECT_THAT(told_, ElementsAre("warn"));
}

TEST_F(Idle, OfAnotherAttemptIsNothingToThisOneNorIsAFileThatIsDamaged) {
  for (const char* const text : {"1 2 0 1 0\n", "1 1 x\n", "1 1 5000000 1 1000000\n", "\n\n7"}) {
    kept_ = text;
    told_.clear();
    restart();
    for (int minute = 1; minute <= 30; ++minute) look(minutes(minute), {});
    EXPECT_THAT(told_, IsEmpty()) << text;
  }
}

/// How long that may take is for the rules to say.
TEST_F(Idle, IsNoJobWhoseFirstKernelComesInTime) {
  for (int minute = 0; minute <= 25; ++minute) look(minutes(minute), {.held = Bytes(0)});
  for (int minute = 26; minute <= 50; ++minute) look(minutes(minute), {.utilisation = 90});
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(Idle, IsNobodyWhereTheDriverListsNoProcesses) {
  for (int minute = 0; minute <= 65; ++minute) {
    Sample sample;
    sample.utilisation_percent = 100;
    const Instant now = kStart + minutes(minute);
    watch_->on_look({.gpu = GpuId(0), .began = now, .sample = sample, .owners = {}}, engine_.view(),
                    now);
  }
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(Idle, IsFoundBesideABusyNeighbourWhereItIsToldWhatEachDoes) {
  const auto look_at_two = [&](int minute, std::optional<std::uint32_t> its_own) {
    Sample sample;
    sample.utilisation_percent = 100;
    sample.processes = {{.pid = 9, .bytes = 2_GiB, .utilisation_percent = its_own},
                        {.pid = 10, .bytes = 2_GiB, .utilisation_percent = 99}};
    const Instant now = kStart + minutes(minute);
    watch_->on_look({.gpu = GpuId(0),
                     .began = now,
                     .sample = sample,
                     .owners = {{9, OfJob{JobId(1)}}, {10, OfJob{JobId(2)}}}},
                    engine_.view(), now);
  };
  for (int minute = 0; minute <= 29; ++minute) look_at_two(minute, 0);
  EXPECT_THAT(told_, IsEmpty());
  for (int minute = 30; minute <= 40; ++minute) look_at_two(minute, 0);
  EXPECT_THAT(told_, ElementsAre("warn"));
  look_at_two(41, 1);
  EXPECT_THAT(told_, ElementsAre("warn", "busy"));
  for (int minute = 42; minute <= 200; ++minute) {
    look_at_two(minute, minute % 20 == 0 ? std::nullopt : std::optional(0U));
  }
  EXPECT_THAT(told_, ElementsAre("warn", "busy")) << "what is unknown accuses nobody";
}

/// A GPU that may fill is glanced at for as long as it may.
TEST_F(Idle, IsFoundBetweenGlancesWhichTellNothing) {
  for (int minute = 0; minute <= 40; ++minute) {
    look(minutes(minute), {});
    Sample sample;
    sample.is_glance = true;
    sample.utilisation_percent = 100;
    sample.processes = {{.pid = 9, .bytes = 2_GiB}, {.pid = 10, .bytes = 2_GiB}};
    const Instant now = kStart + minutes(minute) + seconds(1);
    watch_->on_look(
        {.gpu = GpuId(0), .began = now, .sample = sample, .owners = {{9, OfJob{JobId(1)}}}},
        engine_.view(), now);
  }
  EXPECT_THAT(told_, ElementsAre("warn"));
}

TEST(IdleNote, OfAJobThatHasEndedIsOfThePast) {
  EXPECT_EQ(idle_in_past("idle: it has used none of its GPUs since 14:01:44"),
            "idle: it had used none of its GPUs since 14:01:44");
  EXPECT_EQ(idle_in_past("idle: it holds GPU memory and has run no kernel since 14:01:44"),
            "idle: it held GPU memory and had run no kernel since 14:01:44");
  EXPECT_EQ(idle_in_past("it has one of its own"), "it has one of its own");
}

TEST(IdleJobs, ThatHaveEndedWereIdleAndTheRowOfTheirArraySaysSoWhileTheyAre) {
  Rig rig({.gpus = "2x24GiB", .config = "probe = \"100ms\"\nidle_after = \"500ms\"\n"});
  rig.start();
  const int array = rig.submit("while [ ! -e go ]; do sleep 0.02; done",
                               {{"array", "1-2"}, {"exclusive", true}, {"vram_bytes", nullptr}});
  const auto row = [&] { return rig.request("GET", test::path(array)).body; };
  eventually("its row says so", [&] {
    return row()
        .value("tasks_note", "")
        .starts_with("2 tasks: idle: it has used none of its GPUs since ");
  });
  const Json gpus = rig.request("GET", "/v1/gpus").body["gpus"];
  EXPECT_THAT(gpus[0]["tenants"][0].value("note", ""), testing::StartsWith("idle: it has used"));
  rig.folder().write("go", "");
  eventually("it ends", [&] { return row()["state"] == "done"; });
  EXPECT_FALSE(row().contains("tasks_note"));
  const Json task = rig.request("GET", "/v1/jobs/" + std::to_string(array) + "_2").body;
  EXPECT_THAT(task["note"].get<std::string>(), testing::StartsWith("idle: it had used none"));
}

TEST(IdleJobs, AreFoundBesideABusyOne) {
  Rig rig({.gpus = "1x24GiB",
           .config = "policy = \"fifo-skip\"\nprobe = \"100ms\"\ngrace = \"500ms\"\n"
                     "idle_after = \"1s\"\n"});
  rig.start();
  const int busy =
      rig.submit(test::load("--vram 2GiB --steps 0 --step-ms 20"), {{"vram_bytes", "4GiB"}});
  rig.wait_for(busy, "running");
  const int idle =
      rig.submit(test::load("--vram 2GiB --steps 0 --duty 0"), {{"vram_bytes", "4GiB"}});
  eventually("its reason says so", [&] {
    return rig.job(idle)["reason"].get<std::string>().find("has run no kernel since") !=
           std::string::npos;
  });
  eventually("it is shown what each does", [&] {
    const Json tenants = rig.request("GET", "/v1/gpus").body["gpus"][0]["tenants"];
    return tenants.size() == 2 && tenants[0]["job"] == busy &&
           tenants[0]["utilisation_percent"].is_number() && tenants[0]["utilisation_percent"] > 0 &&
           tenants[1]["utilisation_percent"] == 0;
  });
  const Json doctor = rig.request("GET", "/v1/doctor").body;
  EXPECT_THAT(doctor.dump(), HasSubstr("the driver tells what each process does"));
}

TEST(IdleJobs, AreWarnedOfAndEndedAsConfigured) {
  Rig rig({.gpus = "1x24GiB",
           .config = "probe = \"100ms\"\ngrace = \"500ms\"\nidle_after = \"500ms\"\n"});
  rig.start();
  // Its process is stopped: it keeps its memory and launches nothing.
  const int id = rig.submit(
      test::load("--vram 2GiB --steps 0") +
          " & while [ ! -e stop ]; do sleep 0.02; done; kill -STOP $!; wait",
      {{"vram_bytes", "4GiB"}, {"notify", "echo $BERTH_EVENT >>told"}, {"notify_on", "idle"}});
  eventually("it holds memory", [&] {
    const Json used = rig.job(id).value("used_bytes", Json::object());
    return used.is_object() && used.value("0", std::int64_t{0}) > test::kGiB;
  });
  EXPECT_EQ(rig.job(id)["reason"], "") << "it is busy";
  rig.folder().write("stop", "");
  eventually("its reason says so", [&] {
    return rig.job(id)["reason"].get<std::string>().find("has run no kernel since") !=
           std::string::npos;
  });
  eventually("its user is told", [&] { return test::slurp(rig.folder() / "told") == "idle\n"; });
  rig.folder().write("berth.toml", "probe = \"100ms\"\ngrace = \"500ms\"\nidle_end = \"600ms\"\n");
  EXPECT_EQ(rig.request("POST", "/v1/reload").status, 200);
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "cancelled");
  EXPECT_THAT(job["note"].get<std::string>(),
              testing::StartsWith("ended, because it had run no kernel since"));
  EXPECT_FALSE(job.contains("cancelled_by")) << "nobody did";
  EXPECT_EQ(job["attempts"][0]["outcome"], "cancelled");
}

TEST(IdleJobs, AreStillIdleAfterARestartAndToldOfOnce) {
  Rig rig({.gpus = "1x24GiB",
           .config = "probe = \"100ms\"\ngrace = \"500ms\"\nidle_after = \"500ms\"\n"});
  rig.start();
  const int id = rig.submit(
      "exec sleep 1000",
      {{"vram_bytes", "4GiB"}, {"notify", "echo $BERTH_EVENT >>told"}, {"notify_on", "idle"}});
  std::string reason;
  eventually("its reason says so", [&] {
    reason = rig.job(id)["reason"].get<std::string>();
    return reason.find("has used none of its GPUs since") != std::string::npos;
  });
  eventually("its user is told", [&] { return test::slurp(rig.folder() / "told") == "idle\n"; });
  rig.kill();
  rig.start();
  eventually("it is idle since the same time", [&] { return rig.job(id)["reason"] == reason; });
  EXPECT_EQ(test::slurp(rig.folder() / "told"), "idle\n");
}

TEST(IdleJobs, AreSuspendedAsConfiguredAndGoOnWhenTheirOwnerSaysSo) {
  Rig rig({.gpus = "1x24GiB",
           .config = "probe = \"100ms\"\ngrace = \"500ms\"\nsuspend_host_memory = \"100GiB\"\n"
                     "idle_suspend = \"500ms\"\n"});
  rig.start();
  const int id = rig.submit(test::load("--vram 2GiB --steps 0 --duty 0") +
                                " & while [ ! -e go ]; do sleep 0.02; done; kill $!; exit 0",
                            {{"vram_bytes", "4GiB"}});
  const auto expect_the_rule_is_named = [&] {
    const Json job = rig.wait_for(id, "suspended");
    EXPECT_THAT(job["reason"].get<std::string>(),
                testing::AllOf(testing::StartsWith("suspended, because of idle_suspend: it had "),
                               HasSubstr("berth resume " + std::to_string(id) + " lets it go on"),
                               HasSubstr("are in host memory")));
    EXPECT_THAT(job["reason_brief"].get<std::string>(),
                testing::AllOf(testing::StartsWith("suspended, because of idle_suspend: "),
                               testing::Not(HasSubstr("berth resume"))));
  };
  expect_the_rule_is_named();
  EXPECT_EQ(rig.stop(), 0);
  rig.start();
  expect_the_rule_is_named();
  EXPECT_EQ(rig.wait_end(rig.submit("true", {{"exclusive", true}}))["state"], "done");
  EXPECT_THAT(test::slurp(rig.state() + "/audit.jsonl"),
              HasSubstr("suspend idle job " + std::to_string(id)));
  rig.folder().write("go", "");
  EXPECT_EQ(rig.request("POST", test::path(id, "/resume")).status, 200);
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
}

TEST(IdleJobs, ThatCannotBeSuspendedAreNamedWhenBerthdStartsAndWhenItReadsItsConfigurationAgain) {
  const std::string refusal =
      "idle_suspend: this machine cannot suspend jobs: the driver does not support checkpoints on "
      "this machine; idle_end ends them";
  const std::string base = "probe = \"100ms\"\ngrace = \"500ms\"\n";
  Rig rig({.gpus = "1x24GiB,checkpoints=no", .config = base});
  rig.start();
  rig.folder().write("berth.toml", base + "idle_suspend = \"1h\"\n");
  const Rig::Answer answer = rig.request("POST", "/v1/reload");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body["error"], refusal);
  rig.stop();
  const auto refused = rig.start_refused();
  EXPECT_EQ(refused.exit_code, test::kFailed);
  EXPECT_THAT(refused.err, HasSubstr(refusal));
}

}  // namespace
}  // namespace berth::daemon
