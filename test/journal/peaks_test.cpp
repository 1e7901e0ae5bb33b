// Goal: peaks of attempts are kept, found by program, and a damaged one is not believed.
// Method: a store on disk.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "journal/store.hpp"
#include "support/process.hpp"

namespace berth::journal {
namespace {

using namespace berth::literals;

class Peaks : public testing::Test {
 protected:
  Peaks() : store_(std::move(*Store::open(path()))) {}

  std::string path() const { return folder_ / "journal.db"; }
  void add(std::uint64_t job, std::uint32_t attempt, Bytes bytes, bool is_whole = true) {
    ASSERT_TRUE(store_.begin());
    if (attempt == 1) {
      ASSERT_TRUE(store_.add_job({.job = JobId(job), .spec = {.user = UserId(7)}}));
    }
    ASSERT_TRUE(store_.set_peak({.job = JobId(job),
                                 .attempt = Attempt(attempt),
                                 .user = UserId(7),
                                 .what = Fingerprint(~std::uint64_t{0}),
                                 .bytes = bytes,
                                 .is_whole = is_whole}));
    ASSERT_TRUE(store_.commit());
  }
  std::vector<Bytes> of_program(std::size_t most) const {
    return *store_.peaks_of(UserId(7), Fingerprint(~std::uint64_t{0}), most);
  }

  test::ScratchFolder folder_;
  Store store_;
};

TEST_F(Peaks, OfAJobAreItsAttempts) {
  add(1, 1, 2_GiB, false);
  add(1, 2, 3_GiB);
  const auto peaks = store_.peaks(JobId(1));
  ASSERT_TRUE(peaks);
  ASSERT_EQ(peaks->size(), 2U);
  EXPECT_EQ((*peaks)[1].attempt, Attempt(2));
  EXPECT_EQ((*peaks)[1].bytes, 3_GiB);
  EXPECT_FALSE((*peaks)[0].is_whole);
  EXPECT_EQ((*store_.job(JobId(1)))->peak, 3_GiB);
}

TEST_F(Peaks, OfAProgramAreTheLatestWholeRuns) {
  add(1, 1, 1_GiB);
  add(2, 1, 2_GiB);
  add(3, 1, 9_GiB, false);
  EXPECT_EQ(of_program(5), (std::vector{2_GiB, 1_GiB}));
  EXPECT_EQ(of_program(1), std::vector{2_GiB});
  EXPECT_TRUE(store_.peaks_of(UserId(8), Fingerprint(~std::uint64_t{0}), 5)->empty());
  EXPECT_TRUE(store_.peaks_of(UserId(7), Fingerprint(3), 5)->empty());
}

TEST_F(Peaks, ThatAreDamagedAreNotBelieved) {
  add(1, 1, 1_GiB);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, "UPDATE peaks SET bytes = 5", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_TRUE(of_program(5).empty());
  EXPECT_TRUE(store_.peaks(JobId(1))->empty());
  EXPECT_EQ((*store_.job(JobId(1)))->peak, Bytes(0));
}

}  // namespace
}  // namespace berth::journal
