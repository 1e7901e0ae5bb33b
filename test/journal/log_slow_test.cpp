// Goal: the log stays bounded without calls of checkpoint(). Method: writes more than the bound.
#include <filesystem>

#include "journal/store.hpp"
#include "journal/support.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

TEST(Log, IsBoundedWithoutCheckpoints) {
  const ScratchFolder scratch;
  const std::string path = scratch / "journal.db";
  journal::Store store = need_store(path);
  in_transaction(store, [&] { need(store.add_snapshot(plain_snapshot(0))); });
  constexpr std::int64_t kCommits = 100;
  for (std::int64_t n = 1; n <= kCommits; ++n) {
    in_transaction(store, [&] {
      need(store.add_inputs(n, kStart, std::string(2'000'000, 'i')));
      need(store.add_decisions(n, ""));
    });
  }
  EXPECT_LT(std::filesystem::file_size(path + "-wal"), 140U << 20);  // of 200 MB
  EXPECT_EQ(std::ssize(need(store.recover()).entries), kCommits);
}

}  // namespace
}  // namespace berth::test
