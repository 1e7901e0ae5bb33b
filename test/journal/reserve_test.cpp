// Goal: what a disk sets aside for the log cannot be taken by others, and changes nothing else.
// Method: the blocks and the size of the log's file. A disk that refuses: daemon/errors_disk_test.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "journal/support.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using journal::kReserve;
using journal::Store;

struct stat status_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status;
}

TEST(Reserve, GivesTheLogBlocksAndLeavesItsSize) {
  const ScratchFolder scratch;
  const std::string path = scratch / "journal.db";
  Store store = need_store(path);
  const auto before = status_of(path + "-wal");
  for (int twice = 0; twice < 2; ++twice) need(store.reserve());
  const auto after = status_of(path + "-wal");
  EXPECT_EQ(after.st_size, before.st_size);
  if (after.st_blocks == before.st_blocks) GTEST_SKIP() << "this file system sets nothing aside";
  EXPECT_GE(after.st_blocks * 512, kReserve.raw());
  in_transaction(store, [&] { need(store.add_inputs(1, kStart, "in")); });
  EXPECT_EQ(need(store.entries(0, 9)).size(), 1U);
  EXPECT_FALSE(Store::open(path)) << "its locks are gone";
}

}  // namespace
}  // namespace berth::test
