// Goal: a job whose user allows it is charged what it held and a margin, and the next job gets the
// rest; a job whose user does not keeps its charge. Method: a real berthd with a short warm-up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::eventually;
using test::Json;
using test::kGiB;
using test::Rig;

const std::string kShortWarmUp =
    "probe = \"100ms\"\ngrace = \"500ms\"\npolicy = \"fifo-skip\"\nvram_shrink_after = \"300ms\"\n";

Json asks_for(std::int64_t gib) { return {{"vram_bytes", gib * kGiB}}; }

std::string holds(std::int64_t gib) {
  return test::load("--vram " + std::to_string(gib) + "G --steps 0 --step-ms 10");
}

std::int64_t charge_of(Rig& rig, int id) { return rig.job(id)["charge_bytes"].get<std::int64_t>(); }

TEST(Shrink, AChargeFallsToTheUseAndTheRoomGoesToTheNext) {
  Rig rig({.gpus = "1x24GiB", .config = kShortWarmUp});
  rig.start();
  Json allows = asks_for(20);
  allows["vram_shrink"] = true;
  const int first = rig.submit(holds(5), allows);
  rig.wait_for(first, "running");
  const int second = rig.submit(test::kUntilGo, asks_for(12));
  rig.wait_for(second, "running");
  const std::int64_t charge = charge_of(rig, first);
  EXPECT_GT(charge, 5 * kGiB);
  EXPECT_LT(charge, 7 * kGiB);
  EXPECT_EQ(rig.job(first)["state"], "running");
}

TEST(Shrink, NotWithoutTheUsersWord) {
  Rig rig({.gpus = "1x24GiB", .config = kShortWarmUp});
  rig.start();
  Json allows = asks_for(10);
  allows["vram_shrink"] = true;
  const int other = rig.submit(holds(3), allows);
  const int id = rig.submit(holds(3), asks_for(10));
  rig.wait_for(id, "running");
  eventually("the other's has fallen", [&] { return charge_of(rig, other) < 5 * kGiB; });
  EXPECT_GE(charge_of(rig, id), 10 * kGiB);
}

TEST(Shrink, AnAdministratorAllowsItForUsersWhoMayDecline) {
  Rig rig({.gpus = "1x24GiB",
           .config = kShortWarmUp + "vram_shrink = [\"" + std::to_string(::getuid()) + "\"]\n"});
  rig.start();
  Json declines = asks_for(10);
  declines["vram_shrink"] = false;
  const int kept = rig.submit(holds(3), declines);
  const int id = rig.submit(holds(3), asks_for(10));
  rig.wait_for(kept, "running");
  eventually("its charge has fallen", [&] { return charge_of(rig, id) < 5 * kGiB; });
  EXPECT_GE(charge_of(rig, kept), 10 * kGiB);
}

}  // namespace
}  // namespace berth
