// Goal: a wall clock that is set forward or back, under a daemon or between two, ends no job too
// early, puts nothing before what was, and stops no time. Method: a real berthd with a preloaded
// clock (wilful_clock.c) that is ahead by what the test says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "daemon/loop/clock.hpp"
#include "daemon/rig.hpp"

namespace berth {
namespace {

using daemon::Clock;
using test::eventually;
using test::Json;
using test::kUntilGo;
using test::Rig;

constexpr double kDay = 86400;

class ErrorsClock : public testing::Test {
 protected:
  ErrorsClock() {
    set(0);
    ::setenv("WILFUL_CLOCK", file().c_str(), 1);
    ::setenv("LD_PRELOAD", WILFUL_CLOCK_LIBRARY, 1);
    const char* const before = std::getenv("ASAN_OPTIONS");
    if (before != nullptr) asan_ = before;
    ::setenv("ASAN_OPTIONS", (asan_ + ":verify_asan_link_order=0").c_str(), 1);
  }
  ~ErrorsClock() override {
    ::unsetenv("WILFUL_CLOCK");
    ::unsetenv("LD_PRELOAD");
    asan_.empty() ? ::unsetenv("ASAN_OPTIONS") : ::setenv("ASAN_OPTIONS", asan_.c_str(), 1);
  }
  std::string file() const { return folder_ / "ahead"; }
  void set(double seconds) const {
    std::ofstream(file()) << static_cast<std::int64_t>(seconds) << "\n";
  }
  double submitted(int id) { return rig_.job(id)["submitted_at"]; }
  /// What `doctor` says of the clock, once it begins so.
  std::string said_of_clock(const std::string& begin) {
    std::string said;
    eventually("doctor says " + begin, [&] {
      const Json doctor = rig_.request("GET", "/v1/doctor").body;
      for (const Json& check : doctor["checks"]) {
        if (check["name"] != "clock") continue;
        said = check["status"].get<std::string>() + ": " + check["detail"].get<std::string>();
      }
      return said.starts_with(begin);
    });
    return said;
  }

  const test::ScratchFolder folder_;
  std::string asan_;
  Rig rig_;
};

TEST_F(ErrorsClock, SetUnderADaemonItMovesNothing) {
  rig_.start();
  const int first = rig_.submit(kUntilGo, {{"time_limit_seconds", 3600}});
  rig_.wait_for(first, "running");
  for (const double ahead : {10 * kDay, -10 * kDay}) {
    set(ahead);
    const int next = rig_.submit("true");
    EXPECT_EQ(rig_.wait_end(next)["state"], "done");
    EXPECT_GE(submitted(next), submitted(first));
    EXPECT_LT(submitted(next), submitted(first) + 3600);
  }
  EXPECT_LT(rig_.job(first)["ran_seconds"], 3600);
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(first)["exit_code"], 3);
}

/// A job's time limit counts time, not what a clock says: as long as one runs, time goes on as it
/// did. The clock is trusted again once no job runs.
TEST_F(ErrorsClock, SetForwardBetweenTwoDaemonsItEndsNoJob) {
  rig_.start();
  const int id = rig_.submit(kUntilGo, {{"time_limit_seconds", 3600}});
  rig_.wait_for(id, "running");
  EXPECT_EQ(rig_.stop(), 0);
  set(10 * kDay);
  rig_.start();
  const int next = rig_.submit("true");
  EXPECT_EQ(rig_.wait_end(next)["state"], "done");
  EXPECT_LT(submitted(next), submitted(id) + 3600);
  EXPECT_EQ(rig_.job(id)["state"], "running");
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(id)["exit_code"], 3);
  EXPECT_EQ(rig_.stop(), 0);
  rig_.start();
  EXPECT_GT(submitted(rig_.submit("true")), submitted(id) + 9 * kDay);
}

TEST_F(ErrorsClock, SetBackBetweenTwoDaemonsItPutsNothingBeforeWhatWas) {
  set(10 * kDay);
  rig_.start();
  const int first = rig_.submit("true");
  const Json ended = rig_.wait_end(first);
  EXPECT_EQ(rig_.stop(), 0);
  set(0);
  rig_.start();
  const int next = rig_.submit("sleep 0.2; exit 3");
  EXPECT_EQ(rig_.wait_end(next)["exit_code"], 3);
  EXPECT_GE(submitted(next), ended["ended_at"]);
  EXPECT_GT(rig_.job(next)["ended_at"].get<double>(), rig_.job(next)["started_at"].get<double>());
}

/// A start at a wrong time, then one at the right one: berthd says what it found and what to do.
class WrongOnce : public ErrorsClock, public testing::WithParamInterface<int> {};

TEST_P(WrongOnce, ItIsSaidAndSetBackWhereItIsTrusted) {
  set(GetParam() * 365 * kDay);
  rig_.start();
  const int then = rig_.submit("true");
  EXPECT_EQ(rig_.wait_end(then)["state"], "done");
  EXPECT_EQ(rig_.stop(), 0);
  set(0);
  rig_.start();  // as the journal has it
  const int next = rig_.submit("true");
  EXPECT_GE(submitted(next), submitted(then));
  EXPECT_EQ(rig_.wait_end(next)["state"], "done");
  EXPECT_THAT(said_of_clock("warn: berthd's time is 2"),
              testing::HasSubstr("start it once with --trust-clock"));
  EXPECT_EQ(rig_.stop(), 0);
  rig_.start({"--trust-clock"});
  const double now = static_cast<double>(::time(nullptr));
  const int begins = rig_.submit("true", {{"begin_at", now + 3600}});
  EXPECT_EQ(rig_.job(begins)["state"], "deferred");
  EXPECT_LT(std::abs(submitted(begins) - now), 600);
  EXPECT_EQ(rig_.stop(), 0);
  rig_.start();
  EXPECT_EQ(rig_.job(begins)["state"], "deferred");
  const int last = rig_.submit("true");
  EXPECT_LT(submitted(last), now + 3600);
  EXPECT_EQ(rig_.wait_end(last)["state"], "done");  // a clock is taken over while no job runs
}

INSTANTIATE_TEST_SUITE_P(Years, WrongOnce, testing::Values(14, 100));

/// What people stated for a time stays, and nothing becomes old, where the clock is years ahead;
/// where it is taken over all the same, what ended by it is in force again once time is set back.
TEST_F(ErrorsClock, AheadByYearsItIsNotTakenOverUnlessItIsTrusted) {
  Rig rig(
      {.config = "probe = \"100ms\"\ngrace = \"500ms\"\nkeep_jobs = \"1d\"\nkeep_logs = \"1d\"\n"});
  rig.start();
  const auto now = static_cast<double>(::time(nullptr));
  const int ended = rig.submit("echo words", test::kNoGpus);
  rig.wait_end(ended);
  Json later = test::kNoGpus;
  later["begin_at"] = now + 3600;
  const int begins = rig.submit("true", later);
  const Json reserved = {
      {"gpus", Json::array({0})}, {"users", Json::array({"0"})}, {"until_at", now + 7200}};
  ASSERT_EQ(rig.request("POST", "/v1/reserve", reserved).status, 200);
  const Json drained = {{"gpus", Json::array({1})}, {"until_at", now + 7200}};
  ASSERT_EQ(rig.request("POST", "/v1/drain", drained).status, 200);
  const auto in_force = [&] {
    const Json gpus = rig.request("GET", "/v1/gpus").body["gpus"];
    return (gpus[0].contains("reserved") ? 1 : 0) + (gpus[1].contains("drained") ? 2 : 0);
  };
  EXPECT_EQ(in_force(), 3);
  EXPECT_EQ(rig.stop(), 0);
  set(14 * 365 * kDay);
  rig.start();
  const int next = rig.submit("true", test::kNoGpus);
  EXPECT_EQ(rig.wait_end(next)["state"], "done");
  EXPECT_LT(rig.job(next)["submitted_at"].get<double>(), now + 3600);
  EXPECT_EQ(rig.job(begins)["state"], "deferred");
  EXPECT_EQ(in_force(), 3);
  EXPECT_EQ(rig.log(ended), "words\n");
  EXPECT_EQ(rig.job(ended)["state"], "done");
  EXPECT_EQ(rig.stop(), 0);
  rig.start({"--trust-clock"});  // it is right, somebody says
  EXPECT_EQ(rig.wait_end(begins)["state"], "done");
  eventually("all are over", [&] { return in_force() == 0; });
  EXPECT_EQ(rig.stop(), 0);
  set(0);
  rig.start({"--trust-clock"});  // it was not
  EXPECT_EQ(in_force(), 3);
}

TEST_F(ErrorsClock, BeyondAllTimesItIsNamedAndNothingIsChanged) {
  rig_.start();
  const int first = rig_.submit("true");
  rig_.wait_end(first);
  EXPECT_EQ(rig_.stop(), 0);
  set(300 * 365 * kDay);
  const auto refused = rig_.start_refused();
  EXPECT_EQ(refused.exit_code, 125);
  EXPECT_THAT(refused.err, testing::HasSubstr("berthd keeps times up to 2200-01-01 00:00:00 UTC"));
  set(0);
  rig_.start();
  EXPECT_EQ(rig_.job(first)["state"], "done");
}

// ---- The clock by itself ---------------------------------------------------------------------

TEST(Clock, GoesOnFromTheJournalWhereThatIsAhead) {
  const Instant last = Clock(kStart).now() + hours(24 * 365);
  const Clock clock(last);
  EXPECT_GE(clock.now(), last);
  EXPECT_LT(clock.now(), last + hours(1));
  const Instant before = clock.now();
  eventually("it goes on", [&] { return clock.now() > before; });
}

TEST(Clock, OfAnotherBootOrOfNonsenseIsNotBelieved) {
  const test::ScratchFolder folder;
  const std::string path = folder / "clock";
  const Instant now = Clock(kStart).now();
  for (const char* text : {"", "x", "another-boot 99999999999999999\n", "another-boot\n"}) {
    folder.write("clock", text);
    EXPECT_LT(Clock::as_before(kStart, path).now(), now + hours(1)) << text;
    EXPECT_GE(Clock::as_before(kStart, path).now(), now) << text;
  }
  Clock(now + hours(100)).keep(path);
  EXPECT_GE(Clock::as_before(kStart, path).now(), now + hours(100));
}

}  // namespace
}  // namespace berth
