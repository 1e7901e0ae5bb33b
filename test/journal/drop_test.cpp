// Goal: what a snapshot made needless goes in small parts, by its size, and all of it goes.
// Method: entries of two sizes before a snapshot, and what is left after each part.
#include <gtest/gtest.h>

#include "journal/support.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using journal::Store;

/// Two snapshots after as many entries of this size. Returns: the most that one part dropped.
std::size_t most_dropped(std::size_t size, std::int64_t count) {
  const ScratchFolder scratch;
  Store store = need_store(scratch / "journal.db");
  in_transaction(store, [&] {
    for (std::int64_t n = 1; n <= count; ++n) {
      need(store.add_inputs(n, kStart, std::string(size, 'i')));
    }
  });
  for (const std::int64_t after : {count - 1, count}) {
    in_transaction(store, [&] {
      need(store.add_part(after, 0, "state"));
      need(
          store.add_snapshot_of_parts({.after = after, .policy = "fifo", .place = "first-fit"}, 1));
    });
  }
  std::size_t most = 0;
  std::size_t before = need(store.entries(0, count)).size();
  for (bool more = true; more;) {
    in_transaction(store, [&] { more = need(store.drop_some()); });
    const std::size_t left = need(store.entries(0, count)).size();
    most = std::max(most, before - left);
    before = left;
  }
  EXPECT_LE(before, 1U) << "what is before both snapshots is gone";
  return most;
}

TEST(Drop, TakesManySmallEntriesOrFewLargeOnes) {
  EXPECT_EQ(most_dropped(100, 500), 200U);
  EXPECT_LE(most_dropped(200'000, 20), 3U);
  EXPECT_EQ(most_dropped(2'000'000, 5), 1U);
}

}  // namespace
}  // namespace berth::test
