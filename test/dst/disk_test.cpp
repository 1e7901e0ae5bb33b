// Goal: the made-up disk forgets what a real one may forget and nothing else;
// and a store on it keeps what it has promised when a wait for the disk failed
// before. Method: the real store, a commit at a time, and a power loss with
// many seeds.
#include "dst/disk.hpp"

#include <gtest/gtest.h>

#include "journal/store.hpp"

namespace berth::dst {
namespace {

using journal::Store;

class DiskTest : public testing::Test {
 protected:
  Store open() {
    auto store = Store::open(disk_.journal());
    if (!store) throw std::runtime_error(store.error().message);  // fails the test
    return std::move(*store);
  }
  static bool commit(Store& store, std::int64_t number) {
    if (!store.begin()) return false;
    if (number == 1) {
      const journal::Snapshot first{.policy = "fifo", .place = "first-fit", .build = "1"};
      static_cast<void>(store.add_snapshot(first));
    }
    static_cast<void>(store.add_inputs(number, kStart, "inputs " + std::to_string(number)));
    static_cast<void>(store.add_decisions(number, ""));
    return store.commit().has_value();
  }
  static std::int64_t entries(const Store& store) {
    const auto recovered = store.recover();
    return recovered ? std::ssize(recovered->entries) : -1;
  }

  Agenda agenda_;
  Report report_{agenda_};
  Fate fate_{report_};
  Disk disk_{fate_};
};

TEST_F(DiskTest, APowerLossTakesWhatWasNotSynced) {
  std::set<std::int64_t> left;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    {
      Store store = open();
      const std::int64_t before = entries(store);
      for (std::int64_t n = 1; n <= 4; ++n) ASSERT_TRUE(commit(store, before + n));
      if (before == 0) {
        ASSERT_TRUE(store.sync());
      }
      fate_.strike();
    }
    fate_.revive();
    disk_.lose_power(Rng(seed));
    left.insert(entries(open()) - 4);
  }
  EXPECT_GE(*left.begin(), 0) << "the first four were synced";
  EXPECT_GT(left.size(), 2U);
}

TEST_F(DiskTest, ADeadDaemonWritesNothing) {
  {
    Store store = open();
    ASSERT_TRUE(commit(store, 1));
    fate_.strike();
    EXPECT_FALSE(commit(store, 2));
    EXPECT_FALSE(store.sync());
  }
  fate_.revive();
  EXPECT_EQ(entries(open()), 1);
}

TEST_F(DiskTest, AFullOneRefusesAndClears) {
  Store store = open();
  ASSERT_TRUE(commit(store, 1));
  disk_.fill();
  EXPECT_FALSE(commit(store, 2));
  disk_.clear();
  EXPECT_TRUE(commit(store, 2));
  EXPECT_EQ(entries(store), 2);
}

/// After a wait that failed the system no longer knows what it owes: the next
/// daemon, which can read it all, must not build on it before it has written it
/// once more.
TEST_F(DiskTest, AFailedSyncIsMadeGoodByTheNextDaemon) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::int64_t count = 0;
    {
      Store store = open();
      count = entries(store);
      ASSERT_TRUE(commit(store, count + 1));
      disk_.fail_sync();
      EXPECT_FALSE(store.sync());
      fate_.strike();  // before it could clean up
    }
    fate_.revive();
    {
      Store store = open();
      ASSERT_EQ(entries(store), count + 1);
      ASSERT_TRUE(commit(store, count + 2));
      ASSERT_TRUE(store.sync());
      fate_.strike();
    }
    fate_.revive();
    disk_.lose_power(Rng(seed));
    ASSERT_EQ(entries(open()), count + 2) << seed;
  }
}

}  // namespace
}  // namespace berth::dst
