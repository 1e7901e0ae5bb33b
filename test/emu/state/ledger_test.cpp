// Goal: the sum of what processes hold never exceeds the capacity, a request that fits is never
// refused because of one that does not, and a process may die or stop between any two instructions.
// Method: threads and processes hammer one ledger; processes are killed and stopped at seeded
// random moments while the sum is watched.
#include "emu/state/ledger.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <random>
#include <thread>

#include "emu/state/clock.hpp"
#include "emu/state/region.hpp"
#include "emu/support.hpp"

namespace berth::emu {
namespace {

constexpr std::uint64_t kCapacity = 500;  // granules: (1024 MiB - 24 MiB) / 2 MiB

Region open(const test::Machine& machine) {
  auto region = Region::open(machine.state());
  EXPECT_TRUE(region) << region.error().message;
  return std::move(*region);
}

std::uint32_t own_slot(Layout& layout) { return claim_slot(layout, *key_of(::getpid())).value(); }

TEST(Ledger, RefusesWhatDoesNotFitAndChangesNothing) {
  const test::Machine machine;
  const auto region = open(machine);
  Ledger ledger(region.layout(), 0);
  const auto slot = own_slot(region.layout());
  EXPECT_EQ(ledger.capacity_granules(), kCapacity);
  EXPECT_TRUE(ledger.change(slot, 400));
  EXPECT_FALSE(ledger.change(slot, 101));
  EXPECT_TRUE(ledger.change(slot, 100));
  EXPECT_EQ(ledger.used_granules(), kCapacity);
  EXPECT_TRUE(ledger.change(slot, -500));
  EXPECT_EQ(ledger.used_granules(), 0U);
  EXPECT_EQ(Ledger(region.layout(), 1).used_granules(), 0U);
}

TEST(Ledger, MemoryOfTheDeadComesBackWhenItIsNeeded) {
  const test::Machine machine;
  const auto region = open(machine);
  test::in_child(
      {}, [&] { EXPECT_TRUE(Ledger(region.layout(), 0).change(own_slot(region.layout()), 450)); });
  Ledger ledger(region.layout(), 0);
  EXPECT_EQ(ledger.used_granules(), 450U);  // not reaped yet
  EXPECT_TRUE(ledger.change(own_slot(region.layout()), 500));
}

TEST(Ledger, ChangeNumbersMayWrap) {
  const test::Machine machine;
  const auto region = open(machine);
  region.layout().header.slot_high = 2;
  Ledger ledger(region.layout(), 0);
  ASSERT_TRUE(ledger.change(1, 1));
  // The next change of slot 1 would get the number of its last one.
  for (int change = 1; change < 1 << 22; ++change) {
    ASSERT_TRUE(ledger.change(0, change % 2 == 0 ? -1 : 1));
  }
  ASSERT_TRUE(ledger.change(1, 7));
  EXPECT_EQ(ledger.granules_of(1), 8U);
}

TEST(Ledger, ThreadsNeverExceedTheCapacity) {
  const test::Machine machine;
  const auto region = open(machine);
  auto& layout = region.layout();
  layout.header.slot_high = 8;
  std::atomic<bool> exceeded = false;
  std::latch ready(8);
  std::vector<std::jthread> threads;
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    threads.emplace_back([&, slot] {
      Ledger ledger(layout, 0);
      std::mt19937_64 random(slot);
      std::uint64_t held = 0;
      ready.arrive_and_wait();
      for (int round = 0; round < 400000; ++round) {
        const auto wanted = random() % 120;
        const auto change = static_cast<std::int64_t>(wanted) - static_cast<std::int64_t>(held);
        if (ledger.change(slot, change)) held = wanted;
        if (ledger.used_granules() > kCapacity || ledger.granules_of(slot) != held) exceeded = true;
      }
      ledger.change(slot, -static_cast<std::int64_t>(held));
    });
  }
  threads.clear();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(Ledger(layout, 0).used_granules(), 0U);
}

TEST(Ledger, RefusedRequestsDisturbNobody) {
  const test::Machine machine;
  const auto region = open(machine);
  auto& layout = region.layout();
  layout.header.slot_high = 5;
  std::atomic<int> running = 4;
  std::atomic<int> refused = 0;
  std::vector<std::jthread> threads;
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    threads.emplace_back([&, slot] {
      Ledger ledger(layout, 0);
      for (int round = 0; round < 100000; ++round) {
        if (!ledger.change(slot, kCapacity / 4)) ++refused;
        ledger.change(slot, -static_cast<std::int64_t>(kCapacity / 4));
      }
      --running;
    });
  }
  Ledger greedy(layout, 0);
  while (running > 0) EXPECT_FALSE(greedy.change(4, kCapacity + 1));
  threads.clear();
  EXPECT_EQ(refused, 0);
}

/// Changes memory on both GPUs and queues kernels, as fast as it goes, for ever.
void hammer(Layout& layout, std::uint64_t seed) {
  const auto slot = own_slot(layout);
  std::mt19937_64 random(seed);
  std::uint64_t held[2] = {};
  for (;;) {
    const auto gpu = static_cast<std::uint32_t>(random() % 2);
    const auto wanted = random() % 200;
    const auto change = static_cast<std::int64_t>(wanted) - static_cast<std::int64_t>(held[gpu]);
    if (Ledger(layout, gpu).change(slot, change)) held[gpu] = wanted;
    GpuClock(layout, gpu).enqueue(slot, random() % 1000);
  }
}

TEST(Ledger, SurvivesKillsAtAnyInstruction) {
  const std::uint64_t seed = 20260919;
  const test::Machine machine;
  const auto region = open(machine);
  auto& layout = region.layout();
  std::mt19937_64 random(seed);
  std::vector<test::Process> tenants;
  const auto spawn = [&] {
    return test::Process([&layout, own = random()] { hammer(layout, own); });
  };
  for (int tenant = 0; tenant < 6; ++tenant) tenants.push_back(spawn());
  for (int kill = 0; kill < 100; ++kill) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    auto& victim = tenants[random() % tenants.size()];
    victim.signal(SIGKILL);
    victim = spawn();  // the old one is collected here
    for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
      ASSERT_LE(Ledger(layout, gpu).used_granules(), kCapacity) << "kill " << kill;
    }
  }
  tenants.clear();
  reap_dead(layout);
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    EXPECT_EQ(Ledger(layout, gpu).used_granules(), 0U);
    EXPECT_TRUE(Ledger(layout, gpu).change(own_slot(layout), kCapacity));
    EXPECT_EQ(GpuClock(layout, gpu).wait_until(0), WaitEnd::Reached);
  }
  for (const auto& owner : layout.owners) {
    EXPECT_TRUE(owner.load() == 0 || pid_of(owner.load()) == ::getpid());
  }
}

TEST(Ledger, StoppedProcessesHoldNobodyUp) {
  const test::Machine machine;
  const auto region = open(machine);
  auto& layout = region.layout();
  std::mt19937_64 random(3);
  std::vector<test::Process> tenants;
  for (int tenant = 0; tenant < 4; ++tenant) {
    tenants.push_back(test::Process([&layout, own = random()] { hammer(layout, own); }));
  }
  const auto slot = own_slot(layout);
  for (int round = 0; round < 50; ++round) {
    for (auto& tenant : tenants) tenant.signal(SIGSTOP);
    // Whatever they were doing, a small change and a kernel go through.
    const auto taken = Ledger(layout, 0).change(slot, 1);
    if (taken) Ledger(layout, 0).change(slot, -1);
    GpuClock clock(layout, 0);
    EXPECT_EQ(clock.wait_until(clock.enqueue(slot, 1000)), WaitEnd::Reached);
    ASSERT_LE(Ledger(layout, 0).used_granules(), kCapacity);
    for (auto& tenant : tenants) tenant.signal(SIGCONT);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
  }
}

}  // namespace
}  // namespace berth::emu
