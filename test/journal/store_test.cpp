// Goal: what is written is read back whole, in the order that is promised, or not at all.
//
// Method: rows with no field at its default go through a file that is closed and opened between;
// transactions are committed, rolled back and broken; pruning and blobs are looked at by SQL.
#include "journal/store.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "engine/sample.hpp"
#include "journal/support.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using namespace berth::journal;
using testing::HasSubstr;

class Stored : public testing::Test {
 protected:
  void reopen() {
    store_.reset();
    store_.emplace(need_store(path_));
  }
  Store& store() { return *store_; }
  template <class Work>
  void commit(Work work) {
    in_transaction(*store_, work);
  }
  void add_entry(std::int64_t number) {
    need(store().add_inputs(number, instant_from_micros(number), "in " + std::to_string(number)));
    need(store().add_decisions(number, "out " + std::to_string(number)));
  }
  std::string sql(const std::string& text) { return Sql(path_).value(text); }

  ScratchFolder scratch_;
  std::string path_ = scratch_ / "journal.db";
  std::optional<Store> store_ = need_store(path_);
};

End some_end(Outcome outcome) {
  return {.at = instant_from_micros(77), .outcome = outcome, .code = -9, .note = "why\n\"not\""};
}

JobRow full_job(std::uint64_t id, std::uint32_t user = 7) {
  JobRow row{.job = JobId(id), .spec = Sampler().make<JobSpec>()};
  row.spec.user = UserId(user);
  row.submitted = instant_from_micros(1'700'000'000'000'000 + static_cast<std::int64_t>(id));
  row.name = std::string("na\0me", 5);
  row.command = "python -c 'print(\"\xc3\xa9\xff\")'";
  row.started = instant_from_micros(-5);
  row.gpus = {GpuId(0), GpuId(7), GpuId(~0U)};
  row.end = some_end(Outcome::Oom);
  return row;
}

void expect_equal(const std::optional<End>& got, const std::optional<End>& wanted) {
  ASSERT_EQ(got.has_value(), wanted.has_value());
  if (!got) return;
  EXPECT_EQ(got->at, wanted->at);
  EXPECT_EQ(got->outcome, wanted->outcome);
  EXPECT_EQ(got->code, wanted->code);
  EXPECT_EQ(got->note, wanted->note);
}

void expect_equal(const JobRow& got, const JobRow& wanted) {
  EXPECT_EQ(got.job, wanted.job);
  EXPECT_EQ(got.spec, wanted.spec);
  EXPECT_EQ(got.submitted, wanted.submitted);
  EXPECT_EQ(got.name, wanted.name);
  EXPECT_EQ(got.command, wanted.command);
  EXPECT_EQ(got.started, wanted.started);
  EXPECT_EQ(got.gpus, wanted.gpus);
  expect_equal(got.end, wanted.end);
}

// ---- Round trips
// ---------------------------------------------------------------------------------

TEST_F(Stored, IsItsOwnersOnly) {
  struct stat seen{};
  for (const char* tail : {"", "-wal"}) {
    ASSERT_EQ(stat((path_ + tail).c_str(), &seen), 0);
    EXPECT_EQ(seen.st_mode & 0777, 0600U) << tail;
  }
}

TEST_F(Stored, IsEmptyAtFirst) {
  const Recovered recovered = need(store().recover());
  EXPECT_FALSE(recovered.snapshot.has_value());
  EXPECT_TRUE(recovered.entries.empty());
  EXPECT_EQ(need(store().last_job()), JobId(0));
  EXPECT_TRUE(need(store().history({})).empty());
}

TEST_F(Stored, SnapshotsAndEntries) {
  const std::string bytes("\0state\xff", 7);
  commit([&] {
    need(store().add_snapshot({.after = 0, .policy = "p", .place = "q", .build = "b"}));
    add_entry(1);
    need(store().add_snapshot({.after = 1,
                               .policy = "sjf",
                               .place = "yarn",
                               .build = "0.1",
                               .continuity = Continuity::Same,
                               .state = bytes}));
    need(store().add_inputs(2, Instant::min(), ""));
    need(store().add_decisions(2, bytes));
    need(store().add_inputs(3, kNever, bytes));
  });
  reopen();
  const Recovered recovered = need(store().recover());
  ASSERT_TRUE(recovered.snapshot.has_value());
  EXPECT_EQ(recovered.snapshot->after, 1);
  EXPECT_EQ(recovered.snapshot->policy, "sjf");
  EXPECT_EQ(recovered.snapshot->place, "yarn");
  EXPECT_EQ(recovered.snapshot->build, "0.1");
  EXPECT_EQ(recovered.snapshot->state, bytes);
  EXPECT_EQ(recovered.snapshot->continuity, Continuity::Same);
  ASSERT_EQ(recovered.entries.size(), 2U);
  EXPECT_EQ(recovered.entries[0].number, 2);
  EXPECT_EQ(recovered.entries[0].now, Instant::min());
  EXPECT_EQ(recovered.entries[0].inputs, "");
  EXPECT_EQ(recovered.entries[0].decisions, bytes);
  EXPECT_EQ(recovered.entries[1].now, kNever);
  EXPECT_EQ(recovered.entries[1].inputs, bytes);
  EXPECT_EQ(recovered.entries[1].decisions, std::nullopt);

  const auto list = need(store().snapshots());
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1].state, "");
  EXPECT_EQ(need(store().snapshot(1)).state, bytes);
  EXPECT_EQ(store().snapshot(9).error().code, ErrorCode::NotFound);
  EXPECT_EQ(need(store().entries(0, 2)).size(), 2U);
}

TEST_F(Stored, Jobs) {
  const JobRow ended = full_job(5);
  JobRow fresh{.job = JobId(6)};
  commit([&] {
    need(store().add_job(ended));
    need(store().add_job(fresh));
  });
  reopen();
  expect_equal(*need(store().job(JobId(5))), ended);
  expect_equal(*need(store().job(JobId(6))), fresh);
  EXPECT_EQ(need(store().job(JobId(7))), std::nullopt);
  EXPECT_EQ(need(store().last_job()), JobId(6));
}

TEST_F(Stored, AJobsLife) {
  JobRow row = full_job(1);
  row.started = kNever;
  row.gpus.clear();
  row.end.reset();
  AttemptRow first{.job = row.job, .attempt = Attempt(1), .granted = instant_from_micros(10)};
  first.gpus = {GpuId(2)};
  AttemptRow second = first;
  second.attempt = Attempt(2);
  second.gpus = {GpuId(3), GpuId(4)};
  commit([&] {
    need(store().add_job(row));
    need(store().add_attempt(first));
    need(store().set_started(row.job, Attempt(1), instant_from_micros(11)));
    need(store().end_attempt(row.job, Attempt(1), some_end(Outcome::Lost)));
    need(store().add_attempt(second));
    need(store().set_started(row.job, Attempt(2), instant_from_micros(20)));
    need(store().set_started(row.job, Attempt(2), instant_from_micros(30)));  // told again
    need(store().end_job(row.job, some_end(Outcome::Timeout)));
  });
  reopen();
  row.started = instant_from_micros(11);  // the first attempt's
  row.gpus = second.gpus;
  row.end = some_end(Outcome::Timeout);
  expect_equal(*need(store().job(row.job)), row);
  const auto attempts = need(store().attempts(row.job));
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].attempt, Attempt(1));
  EXPECT_EQ(attempts[0].granted, instant_from_micros(10));
  EXPECT_EQ(attempts[0].started, instant_from_micros(11));
  EXPECT_EQ(attempts[0].gpus, first.gpus);
  expect_equal(attempts[0].end, some_end(Outcome::Lost));
  EXPECT_EQ(attempts[1].gpus, second.gpus);
  EXPECT_FALSE(attempts[1].end.has_value());
  EXPECT_EQ(need(store().history({.user = row.spec.user})).size(), 1U);
  EXPECT_TRUE(need(store().history({.user = UserId(99)})).empty());
}

TEST_F(Stored, ReportsKeepTheLatestValue) {
  commit([&] {
    need(store().add_job(full_job(1)));
    need(store().set_report(JobId(1), {.key = "loss", .value = 5, .at = instant_from_micros(1)}));
    need(store().set_report(JobId(1), {.key = "epoch", .value = 1, .at = instant_from_micros(2)}));
    need(store().set_report(JobId(1), {.key = "loss", .value = -4, .at = instant_from_micros(3)}));
  });
  reopen();
  const auto reports = need(store().reports(JobId(1)));
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].key, "epoch");
  EXPECT_EQ(reports[1].key, "loss");
  EXPECT_EQ(reports[1].value, -4);
  EXPECT_EQ(reports[1].at, instant_from_micros(3));
}

TEST_F(Stored, HistoryIsPagedFromNewToOld) {
  commit([&] {
    for (std::uint64_t id = 1; id <= 30; ++id) {
      JobRow row = full_job(id, static_cast<std::uint32_t>(id % 3));
      if (id % 2 == 0) row.end.reset();
      need(store().add_job(row));
    }
  });
  std::vector<std::uint64_t> ids;
  PageQuery query{.most = 4};
  for (auto page = need(store().history(query)); !page.empty();
       page = need(store().history(query))) {
    EXPECT_LE(page.size(), 4U);
    for (const JobRow& row : page) ids.push_back(row.job.value());
    query.before = page.back().job;
  }
  EXPECT_EQ(ids,
            (std::vector<std::uint64_t>{29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1}));
  const auto of_user = need(store().history({.before = JobId(27), .user = UserId(0)}));
  ASSERT_EQ(of_user.size(), 4U);
  EXPECT_EQ(of_user.front().job, JobId(21));
  EXPECT_EQ(of_user.back().job, JobId(3));
}

// ---- Transactions
// --------------------------------------------------------------------------------

TEST_F(Stored, ARollbackLeavesNothing) {
  commit([&] {
    need(store().add_snapshot(plain_snapshot(0)));
    add_entry(1);
  });
  need(store().begin());
  add_entry(2);
  need(store().add_job(full_job(1)));
  need(store().add_blob("bytes"));
  store().rollback();
  EXPECT_EQ(need(store().recover()).entries.size(), 1U);
  EXPECT_EQ(need(store().last_job()), JobId(0));
  EXPECT_EQ(sql("SELECT count(*) FROM blobs"), "0");
  commit([&] { add_entry(2); });  // its number is free again
  store().rollback();             // outside a transaction: nothing
  EXPECT_EQ(need(store().recover()).entries.size(), 2U);
}

TEST_F(Stored, AClosedStoreRollsBack) {
  need(store().begin());
  need(store().add_job(full_job(1)));
  reopen();
  EXPECT_EQ(need(store().last_job()), JobId(0));
}

TEST_F(Stored, WhatIsWrittenIsReadInsideTheTransaction) {
  need(store().begin());
  const BlobId blob = need(store().add_blob("bytes"));
  EXPECT_EQ(need(store().blob(blob)), "bytes");
  EXPECT_EQ(need(store().add_blob("bytes")), blob);
  EXPECT_EQ(store().find_blob("bytes"), blob);
  EXPECT_EQ(store().find_blob("others"), std::nullopt);
  store().forget_recent_blobs();
  EXPECT_EQ(store().find_blob("bytes"), std::nullopt) << "it would be stored again";
}

TEST_F(Stored, AFailedWriteFailsTheCommit) {
  need(store().begin());
  need(store().add_job(full_job(1)));
  EXPECT_EQ(store().end_job(JobId(2), some_end(Outcome::Done)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(store().add_job(full_job(3)).error().code, ErrorCode::NotFound);  // the same again
  const auto done = store().commit();
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, path_ + ": job 2: not there, or not this attempt of it");
  EXPECT_EQ(need(store().last_job()), JobId(0));
  commit([&] { need(store().add_job(full_job(1))); });
}

TEST_F(Stored, WritesNeedATransaction) {
  EXPECT_EQ(store().add_inputs(1, kStart, "").error().code, ErrorCode::Conflict);
  EXPECT_EQ(store().add_blob("").error().code, ErrorCode::Conflict);
  EXPECT_EQ(store().commit().error().message, path_ + ": no transaction is open");
  need(store().begin());
  EXPECT_THAT(store().begin().error().message, HasSubstr("a transaction is open"));
  store().rollback();
}

using Write = Expected<void> (*)(Store&);
struct Wrong {
  const char* name;
  Write write;
  ErrorCode code;
};
class WrongWrites : public testing::TestWithParam<Wrong> {};

TEST_P(WrongWrites, AreRefused) {
  const ScratchFolder scratch;
  Store store = need_store(scratch / "journal.db");
  in_transaction(store, [&] {
    need(store.add_inputs(1, kStart, ""));
    need(store.add_decisions(1, ""));
    need(store.add_job(full_job(1)));
  });
  need(store.begin());
  const auto done = GetParam().write(store);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, GetParam().code) << done.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongWrites,
    testing::Values(
        Wrong{"AGap", [](Store& s) { return s.add_inputs(3, kStart, ""); },
              ErrorCode::InvalidArgument},
        Wrong{"ANumberTwice", [](Store& s) { return s.add_inputs(1, kStart, ""); },
              ErrorCode::InvalidArgument},
        Wrong{"DecisionsTwice", [](Store& s) { return s.add_decisions(1, "x"); },
              ErrorCode::Conflict},
        Wrong{"DecisionsOfNothing", [](Store& s) { return s.add_decisions(2, "x"); },
              ErrorCode::Conflict},
        Wrong{"AnEarlySnapshot", [](Store& s) { return s.add_snapshot(plain_snapshot(0)); },
              ErrorCode::InvalidArgument},
        Wrong{"AJobTwice", [](Store& s) { return s.add_job(full_job(1)); }, ErrorCode::Conflict},
        Wrong{"JobZero", [](Store& s) { return s.add_job(full_job(0)); },
              ErrorCode::InvalidArgument},
        Wrong{"AJobBeyondTheLast",
              [](Store& s) { return s.add_job(full_job(kLastJob.value() + 1)); },
              ErrorCode::InvalidArgument},
        Wrong{"AnUnknownAttempt",
              [](Store& s) { return s.set_started(JobId(1), Attempt(1), kStart); },
              ErrorCode::NotFound},
        Wrong{"AnAttemptOfNoJob", [](Store& s) { return s.add_attempt({.job = JobId(2)}); },
              ErrorCode::NotFound},
        Wrong{"AReportOfNoJob", [](Store& s) { return s.set_report(JobId(2), {.key = "k"}); },
              ErrorCode::NotFound}),
    [](const auto& wrong) { return wrong.param.name; });

// ---- Pruning
// -------------------------------------------------------------------------------------

TEST_F(Stored, TwoSnapshotsAndWhatFollowsThemStay) {
  std::int64_t number = 0;
  for (int round = 0; round < 5; ++round) {
    commit([&] {
      need(store().add_snapshot(plain_snapshot(number, "state " + std::to_string(number))));
      for (int i = 0; i < 10; ++i) add_entry(++number);
    });
  }
  reopen();
  const auto list = need(store().snapshots());
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].after, 30);
  EXPECT_EQ(list[1].after, 40);
  EXPECT_EQ(sql("SELECT min(number) || '-' || max(number) FROM entries"), "31-50");
  const Recovered recovered = need(store().recover());
  EXPECT_EQ(recovered.snapshot->state, "state 40");
  EXPECT_EQ(recovered.entries.size(), 10U);
}

TEST_F(Stored, OneSnapshotKeepsAllEntries) {
  commit([&] {
    add_entry(1);
    add_entry(2);
    need(store().add_snapshot(plain_snapshot(2)));
    need(store().add_inputs(3, kStart, ""));
  });
  EXPECT_EQ(need(store().recover()).entries.size(), 1U);
  EXPECT_EQ(sql("SELECT count(*) FROM snapshots"), "1");
}

TEST_F(Stored, NumbersGoOnAfterPruning) {
  commit([&] {
    add_entry(1);
    need(store().add_snapshot(plain_snapshot(1)));
    need(store().add_snapshot(plain_snapshot(1, "later")));
  });
  reopen();
  EXPECT_EQ(need(store().snapshot(1)).state, "later");
  commit([&] { add_entry(2); });
}

TEST_F(Stored, ASecondSnapshotIsTheSameOnlyIfTheFirstIs) {
  const journal::Snapshot changed = plain_snapshot(0);
  journal::Snapshot same = plain_snapshot(0);
  same.continuity = Continuity::Same;
  commit([&] { need(store().add_snapshot(same)); });
  EXPECT_EQ(need(store().snapshot(0)).continuity, Continuity::Same);
  commit([&] { need(store().add_snapshot(changed)); });
  commit([&] { need(store().add_snapshot(same)); });
  EXPECT_EQ(need(store().snapshot(0)).continuity, Continuity::Changed);
}

// ---- Blobs
// ---------------------------------------------------------------------------------------

TEST_F(Stored, EqualBlobsAreOne) {
  std::vector<std::string> bytes = {"", std::string("\0", 1), "a", std::string(100'000, 'x')};
  std::vector<BlobId> ids;
  commit([&] {
    for (const std::string& blob : bytes) ids.push_back(need(store().add_blob(blob)));
  });
  reopen();
  commit([&] {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_EQ(need(store().add_blob(bytes[i])), ids[i]);
      EXPECT_EQ(need(store().blob(ids[i])), bytes[i]);
    }
  });
  EXPECT_EQ(sql("SELECT count(*) FROM blobs"), "4");
  EXPECT_EQ(store().blob(BlobId(5)).error().code, ErrorCode::NotFound);
  EXPECT_EQ(store().blob(BlobId(~std::uint64_t{0})).error().code, ErrorCode::NotFound);
}

/// Others in between, fewer than are remembered and many more: the store keeps to its bounds.
TEST_F(Stored, OnlyBlobsOfLateAreFoundAgain) {
  BlobId first;
  int others = 0;
  const auto after = [&](int more) {
    for (int i = 0; i < more; ++i) need(store().add_blob("other " + std::to_string(++others)));
    return need(store().add_blob("first"));
  };
  commit([&] {
    first = need(store().add_blob("first"));
    EXPECT_EQ(after(1000), first);
    EXPECT_EQ(after(1000), first) << "found anew each time, so never forgotten";
    EXPECT_NE(after(10'000), first);
  });
}

TEST_F(Stored, ABlobRolledBackIsStoredAgain) {
  need(store().begin());
  need(store().add_blob("gone"));
  store().rollback();
  BlobId other;
  BlobId again;
  commit([&] {
    other = need(store().add_blob("other"));  // it has the number of the one that is gone
    again = need(store().add_blob("gone"));
  });
  EXPECT_NE(again, other);
  EXPECT_EQ(need(store().blob(again)), "gone");
}

TEST_F(Stored, AnEqualSumIsNotAnEqualBlob) {
  BlobId first;
  BlobId second;
  commit([&] {
    first = need(store().add_blob("first"));
    second = need(store().add_blob("second"));
  });
  store_.reset();
  {
    Sql sql(path_);  // now `first` is found where `second` is looked for
    sql.run("UPDATE blobs SET sum = (SELECT sum FROM blobs WHERE id = 2) WHERE id = 1");
    sql.run("DELETE FROM blobs WHERE id = 2");
  }
  store_.emplace(need_store(path_));
  commit([&] { second = need(store().add_blob("second")); });
  EXPECT_NE(second, first);
  EXPECT_EQ(need(store().blob(second)), "second");
  EXPECT_EQ(sql("SELECT count(DISTINCT sum) || ' of ' || count(*) FROM blobs"), "1 of 2");
  EXPECT_EQ(store().blob(first).error().code, ErrorCode::BadData);  // its sum is not its own
}

// ---- Speed by design
// -----------------------------------------------------------------------------

TEST_F(Stored, HistoryNeverScansOrSorts) {
  for (const char* where : {"INDEXED BY ended_jobs WHERE ended IS NOT NULL AND id < 9",
                            "INDEXED BY ended_jobs_by_user"
                            " WHERE ended IS NOT NULL AND user = 1 AND id < 9"}) {
    const std::string plan = sql(std::string("EXPLAIN QUERY PLAN SELECT id, spec FROM jobs ") +
                                 where + " ORDER BY id DESC LIMIT 5");
    EXPECT_EQ(plan.find("SCAN"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("B-TREE"), std::string::npos) << plan;
  }
}

}  // namespace
}  // namespace berth::test
