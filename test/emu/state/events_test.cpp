// Goal: every reader sees every Xid event once, in order, also beside a writer that died half-way.
#include "emu/state/events.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "emu/state/clock.hpp"
#include "emu/state/region.hpp"
#include "emu/support.hpp"

namespace berth::emu {
namespace {

TEST(Events, AreReadInOrderFromOnesOwnPosition) {
  const test::Machine machine;
  const auto region = Region::open(machine.state());
  auto& layout = region->layout();
  post_xid(layout, {.gpu = 0, .xid = 13});
  EventCursor cursor(layout);
  EXPECT_FALSE(cursor.take());
  post_xid(layout, {.gpu = 1, .xid = 31});
  post_xid(layout, {.gpu = 0, .xid = 43});
  EXPECT_EQ(cursor.take()->xid, 31U);
  EXPECT_EQ(cursor.take()->xid, 43U);
  EXPECT_FALSE(cursor.take());
}

TEST(Events, GapOfADeadWriterIsSkippedWhenTheNextEventComes) {
  const test::Machine machine;
  const auto region = Region::open(machine.state());
  auto& layout = region->layout();
  EventCursor cursor(layout);
  layout.events.next.fetch_add(1);  // took a number and died
  EXPECT_FALSE(cursor.take());
  post_xid(layout, {.gpu = 0, .xid = 48});
  EXPECT_EQ(cursor.take()->xid, 48U);
}

TEST(Events, SlowReaderLosesTheOldest) {
  const test::Machine machine;
  const auto region = Region::open(machine.state());
  EventCursor cursor(region->layout());
  for (std::uint32_t xid = 1; xid <= kEventRing + 10; ++xid) {
    post_xid(region->layout(), {.gpu = 0, .xid = xid});
  }
  EXPECT_EQ(cursor.take()->xid, 11U);
}

TEST(Events, WaiterIsWoken) {
  const test::Machine machine;
  const auto region = Region::open(machine.state());
  EventCursor cursor(region->layout());
  const std::jthread writer([&] { post_xid(region->layout(), {.gpu = 1, .xid = 79}); });
  const auto event = cursor.wait(monotonic_nanoseconds() + 30000000000);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->gpu, 1U);
  EXPECT_EQ(region->layout().gpus[1].lost.load(), 1U);
}

}  // namespace
}  // namespace berth::emu
