// Goal: what jobs took of their GPUs' energy is recorded and shown, never more than the GPUs took,
// through a restart of berthd; and nothing is said where the driver tells nothing. Peaks that the
// driver's accounts tell of count.
// Method: a real berthd on emulated GPUs, which have counters of energy and an accounting mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::Json;
using test::kGiB;
using test::load;
using test::Rig;
using testing::HasSubstr;
using testing::Not;

/// Uses the GPU until there is a file `go`, and a little longer.
std::string busy(const std::string& more = "") {
  return load("--vram 2G --steps 0 --step-ms 2 --report 0 " + more) +
         " & while [ ! -e go ]; do sleep 0.01; done; sleep 0.4; kill $!; exit 0";
}

double energy_of(Rig& rig, int id) { return rig.job(id).value("energy_joules", 0.0); }

double counter(Rig& rig) {
  const Json gpu = rig.request("GET", "/v1/gpus").body["gpus"][0];
  return gpu["energy_joules"].is_number() ? gpu["energy_joules"].get<double>() : 0.0;
}

/// The default policy would not put a second job on a busy GPU.
TEST(JobEnergy, IsASharedGpusInPartsAndSurvivesARestart) {
  Rig rig({.gpus = "1x24GiB",
           .config = "probe = \"100ms\"\ngrace = \"500ms\"\npolicy = \"fifo\"\n"
                     "place = \"first-fit\"\n"});
  rig.start();
  test::eventually("the counter is read", [&] { return counter(rig) > 0; });
  const double before = counter(rig);
  const int one = rig.submit(busy(), {{"vram_bytes", 4 * kGiB}});
  const int two = rig.submit(busy(), {{"vram_bytes", 4 * kGiB}});
  test::eventually("both took some",
                   [&] { return energy_of(rig, one) > 0 && energy_of(rig, two) > 0; });
  rig.kill();
  rig.start();
  const double at_restart = energy_of(rig, one);
  rig.folder().write("go", "");
  const Json first = rig.wait_end(one);
  const Json second = rig.wait_end(two);
  test::eventually("their energy is written", [&] {
    return rig.job(one)["attempts"][0]["energy_joules"].is_number() &&
           rig.job(two)["attempts"][0]["energy_joules"].is_number();
  });
  const double of_one = energy_of(rig, one);
  const double of_two = energy_of(rig, two);
  EXPECT_GT(of_one, 0.0);
  EXPECT_GE(of_one, at_restart);
  EXPECT_GT(of_two, 0.0);
  EXPECT_EQ(rig.job(one)["attempts"][0]["energy_joules"], of_one);
  double after = 0.0;
  test::eventually("the counter goes on", [&] {
    after = counter(rig);
    return after - before >= of_one + of_two;
  });
  const Json groups = rig.request("GET", "/v1/usage?since=0").body["groups"];
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_NEAR(groups[0]["energy_joules"].get<double>(), of_one + of_two, 0.01);
  EXPECT_THAT(rig.text("/metrics"), HasSubstr("berth_gpu_energy_joules_total{gpu=\"0\""));
  EXPECT_THAT(rig.request("GET", "/v1/doctor").body.dump(), HasSubstr("told by the driver"));
}

TEST(JobEnergy, IsLeftOutWhereTheDriverDoesNotTell) {
  Rig rig({.gpus = "1x24GiB,energy=no"});
  rig.start();
  const int id = rig.submit("exit 0", {{"vram_bytes", 4 * kGiB}});
  rig.wait_end(id);
  EXPECT_FALSE(rig.job(id).contains("energy_joules"));
  EXPECT_TRUE(rig.job(id)["attempts"][0]["energy_joules"].is_null());
  EXPECT_TRUE(rig.request("GET", "/v1/usage?since=0").body["groups"][0]["energy_joules"].is_null());
  EXPECT_THAT(rig.text("/metrics"), Not(HasSubstr("berth_gpu_energy_joules_total{")));
  EXPECT_THAT(rig.request("GET", "/v1/doctor").body.dump(), HasSubstr("told of 0 of 1 GPUs"));
}

/// 8 GiB are held for 10 ms of every 50 ms.
TEST(Accounts, TellOfPeaksBetweenTwoLooks) {
  Rig rig({.gpus = "1x24GiB,accounting=yes"});
  rig.start();
  EXPECT_THAT(rig.request("GET", "/v1/doctor").body.dump(),
              HasSubstr("on: peaks between two looks"));
  const int id = rig.submit(busy("--spike 6G/50ms"), {{"vram_bytes", 12 * kGiB}});
  test::eventually("it is seen",
                   [&] { return rig.job(id).value("peak_bytes", std::int64_t{0}) >= 2 * kGiB; });
  rig.folder().write("go", "");
  rig.wait_end(id);
  test::eventually("its peak is that of the accounts",
                   [&] { return rig.job(id).value("peak_bytes", std::int64_t{0}) >= 8 * kGiB; });
}

TEST(Accounts, AreTurnedOnWhereTheConfigurationSaysSoOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root turns them on";
  {
    Rig rig;
    rig.start();
    EXPECT_THAT(rig.request("GET", "/v1/doctor").body.dump(),
                HasSubstr("off: the peaks of jobs are what looks saw"));
  }
  Rig rig({.config = "probe = \"100ms\"\naccounting = true\n"});
  rig.start();
  EXPECT_THAT(rig.request("GET", "/v1/doctor").body.dump(),
              HasSubstr("on: peaks between two looks"));
}

}  // namespace
}  // namespace berth
