// Goal: a job that is dropped leaves nothing behind and takes nothing of others along; one that has
// not ended stays; dropped blobs are stored again when they are needed again; no number is used
// again; the file becomes shorter without a stall. Method: rows in a file that is closed and opened
// between, looked at by SQL.
#include <gmock/gmock.h>

#include <filesystem>

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

// ---- The file's size -------------------------------------------------------------------------

class Shrinking : public Pruned {
 protected:
  /// Blobs of a page and a bit each, so that what stays lies between what goes.
  void fill(int blobs) {
    in_transaction(*store_, [&] {
      for (int i = 0; i < blobs; ++i) {
        ids_.push_back(need(store_->add_blob(std::to_string(i) + std::string(6'000, 'x'))));
      }
    });
  }
  /// All but each eighth.
  void drop_most() {
    in_transaction(*store_, [&] {
      for (std::size_t i = 0; i < ids_.size(); ++i) {
        if (i % 8 != 7) need(store_->drop_blob(ids_[i]));
      }
    });
  }
  /// Returns: how many transactions it took.
  int cut() {
    bool is_more = true;
    int passes = 0;
    for (; is_more && passes < 100'000; ++passes) {
      in_transaction(*store_, [&] { is_more = need(store_->cut_some()); });
    }
    return passes;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(std::filesystem::file_size(path_)); }
  std::int64_t unused() { return need(store_->unused()).raw(); }
  void expect_the_rest() {
    for (std::size_t i = 7; i < ids_.size(); i += 8) {
      EXPECT_EQ(need(store_->blob(ids_[i])), std::to_string(i) + std::string(6'000, 'x'));
    }
    EXPECT_EQ(Sql(path_).value("PRAGMA integrity_check"), "ok");
  }

  std::vector<BlobId> ids_;
};

TEST_F(Shrinking, FreePagesAreCutOffAFewAtATimeAndTheRestStays) {
  EXPECT_TRUE(need(store_->can_be_cut()));
  fill(4'000);
  need(store_->checkpoint());
  const std::int64_t before = size();
  EXPECT_GT(before, 20'000'000);
  drop_most();
  const std::int64_t free_before = unused();
  bool is_more = false;
  in_transaction(*store_, [&] { is_more = need(store_->cut_some()); });
  EXPECT_TRUE(is_more);
  EXPECT_GE(unused(), free_before - 20 * 4096) << "so few at a time";
  EXPECT_GT(cut(), 100);
  EXPECT_LE(unused(), kSpare.raw());
  EXPECT_GT(unused(), kSpare.raw() - 20 * 4096) << "what is spared stays";
  EXPECT_TRUE(store_->needs_checkpoint());
  need(store_->checkpoint());
  EXPECT_FALSE(store_->needs_checkpoint());
  EXPECT_LT(size(), before / 2);
  expect_the_rest();
  EXPECT_EQ(cut(), 1) << "there is nothing more to cut";
  EXPECT_FALSE(store_->needs_checkpoint());
  store_.reset();
  store_.emplace(need_store(path_));
  EXPECT_THAT(store_->notes(), testing::IsEmpty());
  expect_the_rest();
}

TEST_F(Shrinking, ACutThatIsRolledBackChangesNothing) {
  fill(2'000);
  drop_most();
  const std::int64_t free_before = unused();
  need(store_->begin());
  EXPECT_TRUE(need(store_->cut_some()));
  store_->rollback();
  EXPECT_EQ(unused(), free_before);
  expect_the_rest();
}

TEST_F(Shrinking, AFileThatWasMadeOfADumpDoesSoAfterItIsRewrittenOnce) {
  fill(2'000);
  add(1, kStart + seconds(10));
  store_.reset();
  Sql(path_).run("PRAGMA auto_vacuum = NONE; VACUUM");  // as in a file made of a dump
  store_.emplace(need_store(path_));
  EXPECT_FALSE(need(store_->can_be_cut()));
  drop_most();
  const std::int64_t free_before = unused();
  EXPECT_EQ(cut(), 1);
  EXPECT_EQ(unused(), free_before);
  need(store_->sync());
  store_.reset();
  const std::int64_t before = size();
  Sql(path_).run("PRAGMA auto_vacuum = INCREMENTAL; VACUUM");  // doc/journal-format.md
  store_.emplace(need_store(path_));
  EXPECT_THAT(store_->notes(), testing::IsEmpty());
  EXPECT_TRUE(need(store_->can_be_cut()));
  EXPECT_LT(size(), before / 2);
  EXPECT_TRUE(need(store_->job(JobId(1))).has_value());
  expect_the_rest();
}

}  // namespace
}  // namespace berth::test
