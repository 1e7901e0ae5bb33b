// Goal: of a row that users see, nothing that a disk has changed is taken for true: the row is
// named and the others are shown.
//
// Method: every column of every row is changed by SQL behind the store's back, as a turned bit
// would change it; then rows go on through their lives, and a damaged one must not become a good
// one.
#include <gmock/gmock.h>

#include "journal/store.hpp"
#include "journal/support.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using namespace berth::journal;

class Rows : public testing::Test {
 protected:
  void SetUp() override {
    Store store = need_store(path_);
    in_transaction(store, [&] {
      for (std::uint64_t id = 1; id <= 3; ++id) live(store, JobId(id));
    });
  }
  static void live(Store& store, JobId job) {
    need(store.add_job({.job = job, .spec = {.user = UserId(7)}, .name = "n", .command = "c"}));
    need(store.add_attempt({.job = job, .attempt = Attempt(1), .gpus = {GpuId(1)}}));
    need(store.set_started(job, Attempt(1), instant_from_micros(5)));
    need(store.set_report(job, {.key = "loss", .value = 1}));
    need(store.end_attempt(job, Attempt(1), {.at = instant_from_micros(9), .note = "x"}));
    need(store.end_job(job, {.at = instant_from_micros(9), .note = "x"}));
  }
  void sql(const std::string& text) { Sql(path_).run(text); }
  /// Which of the ended jobs are damaged.
  std::vector<std::uint64_t> damaged() {
    std::vector<std::uint64_t> ids;
    const Store store = need_store(path_, Access::ReadOnly);
    for (const JobRow& row : need(store.history({}))) {
      if (row.is_damaged) ids.push_back(row.job.value());
    }
    return ids;
  }

  ScratchFolder scratch_;
  std::string path_ = scratch_ / "journal.db";
};

TEST_F(Rows, AsTheyWereWrittenAreWhole) {
  const Store store = need_store(path_);
  EXPECT_EQ(need(store.history({})).size(), 3U);
  EXPECT_TRUE(damaged().empty());
  EXPECT_FALSE(need(store.attempts(JobId(1))).at(0).is_damaged);
  EXPECT_FALSE(need(store.reports(JobId(1))).at(0).is_damaged);
  EXPECT_EQ(need(store.history({.user = UserId(7)})).size(), 3U);
}

TEST_F(Rows, OfAJobWithAnyColumnChangedAreNamedAndTheOthersShown) {
  for (const char* const change :
       {"submitted = submitted + 1", "name = 'm'", "command = ''", "spec = x'00'", "started = NULL",
        "started = 6", "gpus = x'00'", "ended = 8", "outcome = 1", "code = 1", "note = 'y'",
        "note = NULL", "user = 8", "sum = sum + 1"}) {
    const std::string text = std::string("UPDATE jobs SET ") + change + " WHERE id = 2";
    const std::string before = Sql(path_).value("SELECT quote(sum) FROM jobs WHERE id = 2");
    const std::string column = text.substr(16, text.find(' ', 16) - 16);
    const std::string value = Sql(path_).value("SELECT quote(" + column + ") FROM jobs WHERE id=2");
    sql(text);
    EXPECT_THAT(damaged(), testing::ElementsAre(2)) << change;
    sql("UPDATE jobs SET " + column + " = " + value + " WHERE id = 2");
    EXPECT_TRUE(damaged().empty()) << change;
  }
}

TEST_F(Rows, OfAttemptsAndReportsHaveTheirOwn) {
  sql("UPDATE attempts SET granted = 1 WHERE job = 1");
  sql("UPDATE attempts SET ended = NULL WHERE job = 2");
  sql("UPDATE reports SET value = 2 WHERE job = 1");
  sql("UPDATE reports SET key = 'gain' WHERE job = 2");
  const Store store = need_store(path_);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(need(store.attempts(JobId(id))).at(0).is_damaged, id < 3) << id;
    EXPECT_EQ(need(store.reports(JobId(id))).at(0).is_damaged, id < 3) << id;
  }
  EXPECT_TRUE(damaged().empty());
}

/// An update sums what it changes, not what it finds.
TEST_F(Rows, ThatAreDamagedStaySoWhateverIsWrittenToThem) {
  {
    Store store = need_store(path_);
    in_transaction(store, [&] { need(store.add_job({.job = JobId(4), .name = "good"})); });
  }
  sql("UPDATE jobs SET name = 'evil' WHERE id = 4");
  Store store = need_store(path_);
  in_transaction(store, [&] {
    need(store.add_attempt({.job = JobId(4), .attempt = Attempt(1), .gpus = {GpuId(1)}}));
    need(store.set_started(JobId(4), Attempt(1), kStart));
    need(store.end_job(JobId(4), {.at = kStart}));
  });
  EXPECT_TRUE(need(store.job(JobId(4)))->is_damaged);
}

/// SQLite finds such a record itself, and would end the whole list there.
TEST_F(Rows, ThatSqliteCannotReadAreNamedToo) {
  sql("UPDATE jobs SET name = 'findthis' WHERE id = 2");
  sql("PRAGMA wal_checkpoint(TRUNCATE)");
  std::string bytes = read_file(path_);
  const std::size_t name = bytes.rfind("findthis");
  ASSERT_NE(name, std::string::npos);
  for (std::size_t at = name - 16; at < name;
       ++at) {  // before it: its header, and the end of row 3
    std::string torn = bytes;
    torn[at] = '\xff';
    scratch_.write("journal.db", torn);
    EXPECT_THAT(damaged(), testing::IsSubsetOf({2U, 3U}));
    EXPECT_EQ(need(need_store(path_, Access::ReadOnly).history({})).size(), 3U) << at;
  }
}

}  // namespace
}  // namespace berth::test
