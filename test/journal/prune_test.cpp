// Goal: a job that is dropped leaves nothing behind and takes nothing of others along; one that has
// not ended stays; dropped blobs are stored again when they are needed again; no number is used
// again. Method: rows in a file that is closed and opened between, looked at by SQL.
#include <gmock/gmock.h>

#include "engine/sample.hpp"
#include "journal/store.hpp"
#include "journal/support.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using namespace berth::journal;
using testing::ElementsAre;

class Pruned : public testing::Test {
 protected:
  void add(std::uint64_t id, std::optional<Instant> ended) {
    in_transaction(*store_, [&] {
      JobRow row{.job = JobId(id), .spec = Sampler().make<JobSpec>()};
      row.spec.user = UserId(7);
      if (ended) row.end = End{.at = *ended, .outcome = Outcome::Done};
      need(store_->add_job(row));
      need(store_->add_attempt({.job = JobId(id), .attempt = Attempt(1), .gpus = {GpuId(0)}}));
      need(store_->set_report(JobId(id), {"step", 1, kStart}));
      need(store_->set_peak({.job = JobId(id),
                             .attempt = Attempt(1),
                             .user = UserId(7),
                             .what = Fingerprint(3),
                             .bytes = Bytes(5),
                             .is_whole = true}));
    });
  }
  std::string count(const std::string& table) {
    return Sql(path_).value("SELECT count(*) FROM " + table);
  }

  ScratchFolder scratch_;
  std::string path_ = scratch_ / "journal.db";
  std::optional<Store> store_ = need_store(path_);
};

TEST_F(Pruned, AJobLeavesWithAllItsRowsAndOneThatHasNotEndedStays) {
  add(1, kStart + seconds(10));
  add(2, std::nullopt);
  add(3, kStart + seconds(30));
  EXPECT_THAT(need(store_->ended_after(JobId(0), 10)),
              ElementsAre(std::pair(JobId(1), kStart + seconds(10)),
                          std::pair(JobId(3), kStart + seconds(30))));
  EXPECT_THAT(need(store_->ended_after(JobId(1), 10)),
              ElementsAre(std::pair(JobId(3), kStart + seconds(30))));
  EXPECT_THAT(need(store_->jobs_after(JobId(0), 2)), ElementsAre(JobId(1), JobId(2)));
  in_transaction(*store_, [&] {
    for (const JobId id : {JobId(1), JobId(2), JobId(99)}) need(store_->drop_job(id));
  });
  EXPECT_FALSE(need(store_->job(JobId(1))).has_value());
  EXPECT_TRUE(need(store_->job(JobId(2))).has_value());
  EXPECT_EQ(need(store_->attempts(JobId(2))).size(), 1U);
  for (const char* table : {"jobs", "attempts", "reports", "peaks"}) EXPECT_EQ(count(table), "2");
}

TEST_F(Pruned, TheNumberOfTheLastJobIsNotUsedAgain) {
  add(8, kStart + seconds(1));
  need(store_->sync());
  in_transaction(*store_, [&] { need(store_->drop_job(JobId(8))); });
  need(store_->sync());
  store_.reset();
  store_.emplace(need_store(path_));
  EXPECT_EQ(count("jobs"), "0");
  EXPECT_EQ(store_->last_number(), JobId(8));
}

TEST_F(Pruned, ADroppedBlobIsStoredAgain) {
  BlobId first;
  BlobId second;
  in_transaction(*store_, [&] {
    first = need(store_->add_blob("one"));
    second = need(store_->add_blob("two"));
  });
  EXPECT_EQ(need(store_->last_blob()), second);
  EXPECT_THAT(need(store_->blobs_after(first, 10)), ElementsAre(second));
  in_transaction(*store_, [&] { need(store_->drop_blob(first)); });
  EXPECT_FALSE(store_->blob(first));
  in_transaction(*store_, [&] {
    const BlobId again = need(store_->add_blob("one"));  // it is known to be recent
    EXPECT_EQ(need(store_->blob(again)), "one");
    store_->forget_recent_blobs();
    EXPECT_NE(need(store_->add_blob("two")), second);
  });
  EXPECT_EQ(need(store_->blob(second)), "two");
}

TEST_F(Pruned, SpaceThatIsLeftIsCounted) {
  in_transaction(*store_, [&] { need(store_->add_blob(std::string(100'000, 'x'))); });
  EXPECT_EQ(need(store_->unused()), Bytes(0));
  in_transaction(*store_, [&] { need(store_->drop_blob(need(store_->last_blob()))); });
  EXPECT_GE(need(store_->unused()), Bytes(90'000));
}

}  // namespace
}  // namespace berth::test
