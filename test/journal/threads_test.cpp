// Goal: syncs, checkpoints, a log that is made longer, and readers, all beside the writer, change
// nothing it writes and lose nothing.
//
// Method: real threads on one store, and read-only stores beside it; the thread sanitizer watches.
#include <atomic>
#include <filesystem>
#include <thread>

#include "journal/store.hpp"
#include "journal/support.hpp"
#include "journal/verify.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using namespace berth::journal;

class Threads : public testing::Test {
 protected:
  void commit_one(std::int64_t number, std::size_t size) {
    in_transaction(store_, [&] {
      need(store_.add_inputs(number, instant_from_micros(number), std::string(size, 'i')));
      need(store_.add_decisions(number, "decided"));
    });
  }

  ScratchFolder scratch_;
  std::string path_ = scratch_ / "journal.db";
  Store store_ = need_store(path_);
};

TEST_F(Threads, SyncsAndCheckpointsBesideTheWriter) {
  in_transaction(store_, [&] { need(store_.add_snapshot(plain_snapshot(0))); });
  std::atomic<bool> over = false;
  std::atomic<int> failures = 0;
  const auto work = [&] {
    do {
      if (!store_.sync() || !store_.checkpoint()) ++failures;
      store_.lengthen_log();
    } while (!over);
  };
  std::thread first(work);
  std::thread second(work);
  constexpr std::int64_t kCommits = 120;
  for (std::int64_t n = 1; n <= kCommits; ++n) commit_one(n, 200'000);  // 24 MB: a checkpoint
  over = true;
  first.join();
  second.join();
  EXPECT_EQ(failures, 0);
  const Recovered recovered = need(store_.recover());
  ASSERT_EQ(std::ssize(recovered.entries), kCommits);
  EXPECT_EQ(recovered.entries.back().inputs, std::string(200'000, 'i'));
}

TEST_F(Threads, TheLogStartsAnewAfterACheckpoint) {
  in_transaction(store_, [&] { need(store_.add_snapshot(plain_snapshot(0))); });
  for (std::int64_t n = 1; n <= 250; ++n) {
    commit_one(n, 200'000);
    need(store_.sync());
    need(store_.checkpoint());
  }
  EXPECT_LT(std::filesystem::file_size(path_ + "-wal"), 20U << 20);  // of the 50 MB written
}

TEST_F(Threads, AReaderSeesOneMoment) {
  in_transaction(store_, [&] { need(store_.add_snapshot(plain_snapshot(0))); });
  commit_one(1, 10);
  Store reader = need_store(path_, Access::ReadOnly);
  need(reader.begin());
  EXPECT_EQ(need(reader.recover()).entries.size(), 1U);
  commit_one(2, 10);
  in_transaction(store_, [&] { need(store_.add_snapshot(plain_snapshot(2))); });
  in_transaction(store_, [&] { need(store_.add_snapshot(plain_snapshot(2))); });
  EXPECT_EQ(need(reader.recover()).entries.size(), 1U);
  need(reader.commit());
  const Recovered later = need(reader.recover());
  EXPECT_EQ(later.snapshot->after, 2);
  EXPECT_TRUE(later.entries.empty());
}

TEST_F(Threads, VerifyBesideTheWriter) {
  const std::string path = scratch_ / "other.db";
  Journaled journaled(path, "fifo-skip", 2);
  std::atomic<bool> over = false;
  std::atomic<int> failures = 0;
  std::thread verifier([&] {
    do {
      if (!verify(path)) ++failures;
    } while (!over);
  });
  for (int part = 0; part < 6; ++part) {
    journaled.go_on(25);
    journaled.snapshot();
  }
  over = true;
  verifier.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace berth::test
