// Goal: a file of an older schema becomes one of today with everything in it; one of any other
// schema and one of something else are refused and stay as they are.
//
// Method: the steps of today, and one more, as a change of the tables would add it.
#include "journal/schema.hpp"

#include <gmock/gmock.h>

#include "journal/store.hpp"
#include "journal/support.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using namespace berth::journal;

/// Today's steps and a change of a table that has rows.
std::vector<const char*> steps_with(const char* next) {
  const Steps today = schema_steps();
  std::vector<const char*> steps(today.begin(), today.end());
  steps.push_back(next);
  return steps;
}
constexpr char kNext[] =
    "ALTER TABLE jobs ADD COLUMN width INTEGER NOT NULL DEFAULT 0;"
    " UPDATE jobs SET width = length(name);";

Connection connection(const std::string& path) {
  auto opened = Connection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (!opened) throw std::runtime_error(opened.error().message);  // fails the test
  return std::move(*opened);
}

class Schema : public testing::Test {
 protected:
  /// A journal of today with one job.
  void make_journal() {
    Store store = need_store(path_);
    in_transaction(store, [&] {
      need(store.add_job({.job = JobId(1), .spec = {}, .name = "train", .command = "true"}));
    });
  }
  std::string sql(const std::string& text) { return Sql(path_).value(text); }
  std::string tables() {
    return sql("SELECT name || ': ' || sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name");
  }
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

TEST_F(Schema, AStepMakesTheNextOfAFileWithEverythingInIt) {
  make_journal();
  const std::vector<const char*> steps = steps_with(kNext);
  {
    const Connection db = connection(path_);
    need(check_schema(db, Access::ReadWrite, steps));
    need(upgrade(db, steps));
    need(check_schema(db, Access::ReadOnly, steps));
    need(upgrade(db, steps));  // nothing is left to do
  }
  EXPECT_EQ(sql("PRAGMA user_version"), std::to_string(kSchema + 1));
  EXPECT_EQ(sql("SELECT name FROM jobs"), "train");
  EXPECT_EQ(sql("SELECT width FROM jobs"), "5");
  const std::string upgraded = tables();
  path_ = scratch_ / "new.db";
  need(upgrade(connection(path_), steps));
  EXPECT_EQ(tables(), upgraded) << "as of a file that took all steps at once";
}

TEST_F(Schema, AnOlderOneIsNotReadWithoutAnUpgrade) {
  make_journal();
  const std::vector<const char*> steps = steps_with(kNext);
  const auto checked = check_schema(connection(path_), Access::ReadOnly, steps);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().message, path_ + ": schema " + std::to_string(kSchema) +
                                         ", this berth reads " + std::to_string(kSchema + 1) +
                                         ": the next start of berthd upgrades it");
}

TEST_F(Schema, AnUpgradeThatFailsLeavesTheOldFile) {
  make_journal();
  const std::string before = tables();
  const std::vector<const char*> steps =
      steps_with("CREATE TABLE more (id INTEGER); CREATE TABLE reports (unexpected);");
  const auto upgraded = upgrade(connection(path_), steps);
  ASSERT_FALSE(upgraded.has_value());
  EXPECT_EQ(upgraded.error().message, path_ + ": table reports already exists");
  EXPECT_EQ(sql("PRAGMA user_version"), std::to_string(kSchema));
  EXPECT_EQ(tables(), before);
}

TEST_F(Schema, AnyOtherOneIsRefused) {
  need_store(path_);
  for (const int other : {0, kSchema + 1, 17}) {
    const std::string number = std::to_string(other);
    Sql(path_).run("PRAGMA user_version = " + number);
    expect_refused("schema " + number + ", this berth reads " + std::to_string(kSchema) +
                   ": start the berth that wrote it, or this one with an empty state folder "
                   "(--state); jobs that run are not touched");
  }
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
