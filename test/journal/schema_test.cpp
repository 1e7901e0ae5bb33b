// Goal: a file of an older schema becomes one of today with everything in it; a newer one and one
// of something else are refused and stay as they are.
//
// Method: schema1.sql and schema5.sql are files of these schemas as text, made when they were the
// latest; they never change.
#include <gmock/gmock.h>

#include "engine/engine.hpp"
#include "engine/journal.hpp"
#include "engine/sample.hpp"
#include "journal/store.hpp"
#include "journal/support.hpp"
#include "journal/verify.hpp"
#include "policy/registry.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using namespace berth::journal;

class Schema : public testing::Test {
 protected:
  void make_version_1() {
    Sql(path_).run(read_file(source_dir() / "test" / "journal" / "schema1.sql"));
  }
  std::string sql(const std::string& text) { return Sql(path_).value(text); }
  void expect_refused(const std::string& why) {
    const std::string before = read_file(path_);
    for (const Access access : {Access::ReadWrite, Access::ReadOnly}) {
      const auto opened = Store::open(path_, access);
      ASSERT_FALSE(opened.has_value());
      EXPECT_EQ(opened.error().code, ErrorCode::BadData);
      EXPECT_EQ(opened.error().message, path_ + ": " + why);
      EXPECT_EQ(read_file(path_), before);
    }
  }

  ScratchFolder scratch_;
  std::string path_ = scratch_ / "journal.db";
};

TEST_F(Schema, ANewFileIsOfToday) {
  need_store(path_);
  EXPECT_EQ(sql("PRAGMA user_version"), std::to_string(kSchema));
  EXPECT_EQ(sql("PRAGMA application_id"), "1651668072");
  EXPECT_EQ(sql("PRAGMA journal_mode"), "wal");
}

TEST_F(Schema, AnUpgradedFileHasTheTablesOfANewOne) {
  constexpr auto kTables =
      "SELECT name || ': ' || replace(replace(sql, ' ', ''), char(10), '') FROM sqlite_schema"
      " WHERE sql IS NOT NULL ORDER BY name";
  make_version_1();
  need_store(path_);
  const std::string upgraded = sql(kTables);
  path_ = scratch_ / "new.db";
  need_store(path_);
  EXPECT_EQ(upgraded, sql(kTables));
}

TEST_F(Schema, VersionOneKeepsEverything) {
  make_version_1();
  std::optional<Store> store = need_store(path_);
  EXPECT_EQ(sql("PRAGMA user_version"), std::to_string(kSchema));

  const auto snapshots = need(store->snapshots());
  ASSERT_EQ(snapshots.size(), 2U);
  EXPECT_EQ(snapshots[0].continuity, Continuity::Changed);
  const Recovered recovered = need(store->recover());
  EXPECT_EQ(recovered.snapshot->after, 3);
  EXPECT_EQ(recovered.snapshot->policy, "srtf");
  EXPECT_EQ(recovered.snapshot->place, "best-fit");
  EXPECT_EQ(recovered.snapshot->build, "0.1.0");
  EXPECT_EQ(recovered.snapshot->state, std::string("\0state\xff", 7));
  EXPECT_EQ(recovered.snapshot->continuity, Continuity::Same);
  ASSERT_EQ(recovered.entries.size(), 2U);
  EXPECT_EQ(recovered.entries[0].number, 4);
  EXPECT_EQ(recovered.entries[0].now, instant_from_micros(4'000'000));
  EXPECT_EQ(recovered.entries[0].inputs, "inputs 4");
  EXPECT_EQ(recovered.entries[0].decisions, "decisions 4");
  EXPECT_EQ(recovered.entries[1].decisions, std::nullopt);

  // As the sampler made it then, when jobs had a kind and requests a MIG profile.
  JobSpec spec = Sampler().make<JobSpec>();
  const JobRow then = need(store->job(JobId(1))).value();
  EXPECT_EQ(then.spec.request.gpu.types, 9U);
  EXPECT_EQ(then.spec.request.gpu.max, GpuCount(12));
  EXPECT_EQ(then.spec.duration_class, DurationClass::Long);
  EXPECT_EQ(then.spec.command, BlobId(19));
  EXPECT_EQ(then.spec.group, "");
  spec = then.spec;
  EXPECT_EQ(need(store->last_job()), JobId(2));
  const JobRow ended = need(store->job(JobId(1))).value();
  EXPECT_EQ(ended.spec, spec);
  EXPECT_EQ(ended.submitted, instant_from_micros(1'700'000'000'000'000));
  EXPECT_EQ(ended.name, "train");
  EXPECT_EQ(ended.command, "python train.py");
  EXPECT_EQ(ended.started, instant_from_micros(1'700'000'001'000'000));
  EXPECT_EQ(ended.gpus, (std::vector{GpuId(2), GpuId(3)}));
  EXPECT_EQ(ended.end->outcome, Outcome::Failed);
  EXPECT_EQ(ended.end->code, 3);
  EXPECT_EQ(ended.end->note, "it's over");
  const JobRow queued = need(store->job(JobId(2))).value();
  EXPECT_EQ(queued.started, kNever);
  EXPECT_EQ(queued.end, std::nullopt);
  ASSERT_EQ(need(store->history({.user = spec.user})).size(), 1U);
  const auto attempts = need(store->attempts(JobId(1)));
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].end->outcome, Outcome::Lost);
  EXPECT_EQ(attempts[1].gpus, ended.gpus);
  EXPECT_EQ(need(store->blob(BlobId(1))), std::string("argv\0env", 8));
  EXPECT_TRUE(need(store->reports(JobId(1))).empty());
  for (const JobRow& row : {ended, queued}) EXPECT_FALSE(row.is_damaged);
  for (const AttemptRow& row : attempts) EXPECT_FALSE(row.is_damaged);

  in_transaction(*store, [&] {
    need(store->add_decisions(5, "late"));
    need(store->add_inputs(6, kStart, ""));
    need(store->set_report(JobId(1), {.key = "loss", .value = 1}));
    EXPECT_EQ(need(store->add_blob(std::string_view("argv\0env", 8))), BlobId(1));
  });
}

/// Requests, inputs, decisions and the snapshot are in the layout before 6; jobs had a kind then.
TEST_F(Schema, WhatAnOlderLayoutSaysIsDecidedOnAsItWas) {
  Sql(path_).run(read_file(source_dir() / "test" / "journal" / "schema5.sql"));
  std::optional<Store> store = need_store(path_);
  const JobRow first = need(store->job(JobId(1))).value();
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.spec.request.gpu.count, GpuCount(1));
  EXPECT_EQ(first.spec.request.gpu.vram, Bytes(std::int64_t{10} << 30));
  EXPECT_EQ(first.spec.duration_class, DurationClass::Long);
  EXPECT_EQ(first.spec.time_limit, hours(1));
  EXPECT_FALSE(first.is_damaged);
  EXPECT_EQ(need(store->job(JobId(3)))->end->code, 3);
  EXPECT_EQ(need(store->job(JobId(4)))->end->outcome, Outcome::Cancelled);

  const Recovered recovered = need(store->recover());
  auto engine = Engine::restore(recovered.snapshot->state,
                                std::move(*make_policy("gittins-learned", "least-shared")));
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  ASSERT_EQ(recovered.entries.size(), 9U);
  for (const Entry& entry : recovered.entries) {
    const Effects& effects = engine->step(entry.now, need(decode_inputs(entry.inputs)));
    const auto then = need(decode_decisions(entry.decisions.value()));
    EXPECT_EQ(encode_decisions(effects.decisions), encode_decisions(then)) << entry.number;
  }
  EXPECT_EQ(engine->check(), std::nullopt);
  const JobView job = engine->view().job(JobId(1));
  EXPECT_EQ(job.attained(), GpuCount(1) * job.ran());
  EXPECT_EQ(engine->view().finished(), 1U) << "the job that exited with 3";
  store.reset();
  EXPECT_EQ(need(verify(path_)).entries, 9);
}

/// A row's new checksum is over what is there: it must not make good what its old one says is bad.
TEST_F(Schema, ARequestThatWasDamagedBeforeTheUpgradeStaysSo) {
  make_version_1();
  Sql(path_).run("UPDATE jobs SET spec = x'00' WHERE id = 1");
  const Store store = need_store(path_);
  EXPECT_TRUE(need(store.job(JobId(1)))->is_damaged);
  EXPECT_FALSE(need(store.job(JobId(2)))->is_damaged);
}

TEST_F(Schema, AnOlderOneIsNotReadWithoutAnUpgrade) {
  make_version_1();
  const auto opened = Store::open(path_, Access::ReadOnly);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().message, path_ + ": schema 1, this berth reads " +
                                        std::to_string(kSchema) +
                                        ": the next start of berthd upgrades it");
  EXPECT_EQ(sql("PRAGMA user_version"), "1");
}

TEST_F(Schema, AnUpgradeThatFailsLeavesTheOldFile) {
  make_version_1();
  Sql(path_).run("CREATE TABLE reports (unexpected)");
  const auto opened = Store::open(path_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::BadData);
  EXPECT_EQ(opened.error().message, path_ + ": table reports already exists");
  EXPECT_EQ(sql("PRAGMA user_version"), "1");
}

TEST_F(Schema, ANewerOneIsRefused) {
  need_store(path_);
  const std::string newer = std::to_string(kSchema + 1);
  Sql(path_).run("PRAGMA user_version = " + newer);
  expect_refused("schema " + newer + ", this berthd knows up to " + std::to_string(kSchema) +
                 ": upgrade berth");
}

TEST_F(Schema, AForeignFileIsRefused) {
  Sql(path_).run("CREATE TABLE cookies (name TEXT)");
  expect_refused("is not a journal of berth (application id 0, expected 1651668072)");
  Sql(path_).run("PRAGMA application_id = 5");
  expect_refused("is not a journal of berth (application id 5, expected 1651668072)");
}

TEST_F(Schema, AFileThatIsNoDatabaseIsRefused) {
  scratch_.write("journal.db", std::string(10'000, 'x'));
  expect_refused("file is not a database");
}

TEST_F(Schema, AnEmptyFileIsANewJournalButNotToRead) {
  scratch_.write("journal.db", "");
  const auto opened = Store::open(path_, Access::ReadOnly);
  EXPECT_EQ(opened.error().message,
            path_ + ": is not a journal of berth (application id 0, expected 1651668072)");
  need_store(path_);
  EXPECT_EQ(sql("PRAGMA user_version"), std::to_string(kSchema));
}

TEST_F(Schema, AMarkedFileWithoutTablesIsBadData) {
  need_store(path_);
  Sql(path_).run("DROP TABLE entries");
  const auto opened = Store::open(path_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::BadData);
  EXPECT_EQ(opened.error().message, path_ + ": no such table: entries");
}

}  // namespace
}  // namespace berth::test
