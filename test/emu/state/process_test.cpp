// Goal: a process is known by pid and start time, and counts as dead from its exit on.
// Method: children that end, stay as zombies, or are another process than the one meant.
#include "emu/state/process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "emu/state/ledger.hpp"
#include "emu/state/region.hpp"
#include "emu/support.hpp"

namespace berth::emu {
namespace {

TEST(ProcessKey, OfOneselfIsAlive) {
  const auto key = key_of(::getpid());
  ASSERT_TRUE(key);
  EXPECT_EQ(pid_of(*key), ::getpid());
  EXPECT_TRUE(is_alive(*key));
}

TEST(ProcessKey, AnotherStartTimeIsAnotherProcess) {
  EXPECT_FALSE(is_alive(*key_of(::getpid()) ^ 1));
}

TEST(ProcessKey, ZombieIsDead) {
  test::Process child([] { ::pause(); });
  const auto key = key_of(child.pid());
  ASSERT_TRUE(key);
  child.signal(SIGKILL);
  EXPECT_TRUE(test::eventually([&] { return !is_alive(*key); }));  // not collected yet
  EXPECT_FALSE(key_of(child.pid()));
}

TEST(ProcessKey, StoppedIsAlive) {
  const test::Process child([] { ::pause(); });
  const auto key = key_of(child.pid());
  child.signal(SIGSTOP);
  EXPECT_TRUE(is_alive(*key));
}

TEST(Slots, AreReusedWhenTheOwnerIsDead) {
  const test::Machine machine;
  const auto region = Region::open(machine.state());
  auto& layout = region->layout();
  for (int round = 0; round < 5; ++round) {
    test::in_child({}, [&] { EXPECT_EQ(claim_slot(layout, *key_of(::getpid())), 0U); });
  }
  EXPECT_EQ(used_slots(layout), 1U);
}

TEST(Slots, AllInUseIsAnswered) {
  const test::Machine machine;
  const auto region = Region::open(machine.state());
  const auto self = *key_of(::getpid());
  region->layout().header.slot_high = kSlots;
  for (auto& owner : region->layout().owners) owner = self;
  EXPECT_FALSE(claim_slot(region->layout(), self));
  region->layout().owners[700] = 0;
  EXPECT_EQ(claim_slot(region->layout(), self), 700U);
}

}  // namespace
}  // namespace berth::emu
