// Goal: a GPU's clock is read whole while others publish it, waits end when they should, and past
// work keeps its effect when its owner is gone.
#include "emu/state/clock.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "emu/state/region.hpp"
#include "emu/support.hpp"

namespace berth::emu {
namespace {

TEST(GpuClock, IsNeverReadTorn) {
  const test::Machine machine;
  const auto region = Region::open(machine.state());
  auto& layout = region->layout();
  layout.header.slot_high = 2;
  const auto start = monotonic_nanoseconds();
  std::atomic<bool> done = false;
  std::atomic<int> torn = 0;
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      const GpuClock clock(layout, 0);
      while (!done) {
        const auto reading = clock.read();
        // Busy time includes all virtual time and is part of real time, in every whole point.
        if (reading.virtual_nanoseconds > reading.busy_nanoseconds) ++torn;
        if (reading.busy_nanoseconds > monotonic_nanoseconds() - start) ++torn;
      }
    });
  }
  GpuClock clock(layout, 0);
  for (int kernel = 0; kernel < 300000; ++kernel) clock.enqueue(1, 10000);
  done = true;
  readers.clear();
  EXPECT_EQ(torn, 0);
}

TEST(GpuClock, QueueIsServedInOrderAndWaitedFor) {
  const test::Machine machine;
  const auto region = Region::open(machine.state());
  auto& layout = region->layout();
  const auto slot = *claim_slot(layout, *key_of(::getpid()));
  GpuClock clock(layout, 0);
  const auto first = clock.enqueue(slot, 2000000);
  const auto second = clock.enqueue(slot, 3000000);
  EXPECT_EQ(second, first + 3000000);
  EXPECT_EQ(clock.wait_until(second), WaitEnd::Reached);
  EXPECT_GE(clock.read().virtual_nanoseconds, second);
  EXPECT_EQ(clock.served_nanoseconds(slot), 5000000U);
  EXPECT_EQ(clock.read().busy_nanoseconds, 5000000U);
  const auto first_end = clock.past_time_of(first);
  EXPECT_FALSE(first_end && *first_end > *clock.past_time_of(second));
}

TEST(GpuClock, EndedWorkStaysInThePast) {
  const test::Machine machine;
  const auto region = Region::open(machine.state());
  auto& layout = region->layout();
  const auto key = *key_of(::getpid());
  const auto slot = *claim_slot(layout, key);
  GpuClock clock(layout, 0);
  clock.enqueue(slot, 3600000000000);
  const auto before = clock.read();
  clock.end_work_of(slot, key ^ 1);  // not the owner: nothing happens
  EXPECT_GT(clock.finish_of(slot), clock.read().virtual_nanoseconds);
  clock.end_work_of(slot, key);
  const auto after = clock.read();
  EXPECT_GE(after.busy_nanoseconds, before.busy_nanoseconds);
  EXPECT_EQ(clock.read().busy_nanoseconds, after.busy_nanoseconds);
}

}  // namespace
}  // namespace berth::emu
