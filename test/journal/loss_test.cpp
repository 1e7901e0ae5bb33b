// Goal: a journal that has lost an answered request is not opened as if it were whole; requests
// without an answer may be missing, as after any crash.
//
// Method: a child commits, waits for the disk after each commit but the last ones, and dies; then
// its files are changed, exchanged for older ones, and removed.
#include <gmock/gmock.h>

#include <filesystem>

#include "core/base/rng.hpp"
#include "journal/mark.hpp"
#include "journal/store.hpp"
#include "journal/support.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

namespace fs = std::filesystem;
using namespace berth::journal;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr auto kHint =
    " with its -wal from one copy, or go on without what is lost: "
    "berthd --accept-loss";

class LossTest : public testing::Test {
 protected:
  enum class Wait { AfterEach, Never };

  static void commit(Store& store, std::int64_t number) {
    in_transaction(store, [&] {
      need(store.add_inputs(number, instant_from_micros(number), "in"));
      need(store.add_decisions(number, "out"));
      const JobId job(static_cast<std::uint64_t>(number));
      need(store.add_job({.job = job, .name = "job " + std::to_string(number)}));
      if (number % 2 == 0) need(store.end_job(job, {.at = instant_from_micros(number)}));
    });
  }
  /// Entries and jobs `from` to `to`, by a process that dies after the last.
  void live(std::int64_t from, std::int64_t to, Wait wait = Wait::AfterEach) {
    in_child([&] {
      Store store = need_store(path_);
      if (from == 1) in_transaction(store, [&] { need(store.add_snapshot(plain_snapshot(0))); });
      for (std::int64_t number = from; number <= to; ++number) {
        commit(store, number);
        if (wait == Wait::AfterEach) need(store.sync());
      }
      _exit(0);
    });
  }
  std::string refusal() {
    const auto opened = Store::open(path_);
    if (opened) return "opened";
    EXPECT_EQ(opened.error().code, ErrorCode::BadData);
    return opened.error().message;
  }
  Store accepted() {
    auto store = Store::open(path_, Access::ReadWrite, Loss::Accepted);
    if (!store) throw std::runtime_error(store.error().message);
    return std::move(*store);
  }
  static std::int64_t jobs_in(const Store& store) {
    const std::int64_t entries = std::ssize(need(store.recover()).entries);
    EXPECT_EQ(need(store.last_job()), JobId(static_cast<std::uint64_t>(entries)));
    return entries;
  }
  void write(const char* end, const std::string& bytes) {
    scratch_.write("journal.db" + std::string(end), bytes);
  }
  std::string read(const char* end) { return read_file(path_ + end); }

  ScratchFolder scratch_;
  std::string path_ = scratch_ / "journal.db";
  std::string log_ = path_ + "-wal";
};

TEST_F(LossTest, ATurnedByteInTheLogIsNamedWithItsFrameAndNothingIsChanged) {
  live(1, 20);
  const std::string log = read("-wal");
  const std::string file = read("");
  Rng rng(1);
  for (int round = 0; round < 40; ++round) {
    std::string turned = log;
    const auto at = static_cast<std::size_t>(rng.between(0, std::ssize(log) - 1));
    turned[at] = static_cast<char>(turned[at] ^ (1 << rng.between(0, 7)));
    write("-wal", turned);
    const std::string frame = at < 32
                                  ? "its header is damaged"
                                  : "frame " + std::to_string((at - 32) / 4120 + 1) + " of " +
                                        std::to_string((log.size() - 32) / 4120) + " is damaged";
    const std::string said = refusal();
    EXPECT_THAT(said, StartsWith(log_ + ": ")) << at;
    EXPECT_THAT(said, HasSubstr("; entry 20 was answered, the last that can be read is ")) << at;
    EXPECT_THAT(said, HasSubstr("; restore " + path_ + kHint));
    const bool of_its_salts = at >= 32 && (at - 32) % 4120 >= 8 && (at - 32) % 4120 < 16;
    if (!of_its_salts) {
      EXPECT_THAT(said, HasSubstr(frame)) << at;
    }
    EXPECT_EQ(read("-wal"), turned);
    EXPECT_EQ(read(""), file);
    EXPECT_EQ(Store::open(path_, Access::ReadOnly).error().code, ErrorCode::BadData);
  }
  write("-wal", log);
  EXPECT_EQ(jobs_in(need_store(path_)), 20);
}

TEST_F(LossTest, ThatIsAcceptedIsToldAndNoNumberIsUsedAgain) {
  live(1, 20);
  std::string log = read("-wal");
  log[log.size() / 2] ^= 1;
  write("-wal", log);
  {
    Store store = accepted();
    ASSERT_EQ(store.notes().size(), 2U);
    EXPECT_THAT(store.notes()[0],
                HasSubstr("entry 20 was answered, the last that can be read is "));
    EXPECT_THAT(store.notes()[0], HasSubstr("; goes on without what is lost"));
    EXPECT_EQ(store.notes()[1], "it is saved as " + log_ + ".lost");
    EXPECT_EQ(read("-wal.lost"), log);
    EXPECT_LT(jobs_in(store), 20);
    EXPECT_EQ(store.last_number(), JobId(20));
  }
  const Store store = need_store(path_);
  EXPECT_THAT(store.notes(), IsEmpty());
  EXPECT_EQ(store.last_number(), JobId(20));
}

TEST_F(LossTest, OfWhatNobodyWasAnsweredIsToldAndNoMore) {
  live(1, 10);
  need_store(path_);  // its log goes
  live(11, 12, Wait::Never);
  std::string log = read("-wal");
  log[log.size() - 100] ^= 1;
  write("-wal", log);
  const Store store = need_store(path_);
  ASSERT_EQ(store.notes().size(), 1U);
  EXPECT_THAT(store.notes()[0], HasSubstr("or was never whole; nothing that was answered is lost"));
  EXPECT_EQ(jobs_in(store), 11);
}

/// The decisions of an entry come in a transaction of their own.
TEST_F(LossTest, OfTheLastDecisionsIsRefused) {
  live(1, 5);
  need_store(path_);  // its log goes
  in_child([&] {
    Store store = need_store(path_);
    in_transaction(store, [&] { need(store.add_inputs(6, kStart, "in")); });
    in_transaction(store, [&] { need(store.add_decisions(6, "out")); });
    need(store.sync());
    _exit(0);
  });
  std::string log = read("-wal");
  log.resize(log.size() - 1);
  write("-wal", log);
  EXPECT_THAT(refusal(),
              HasSubstr("; what was decided of entry 6, and answered, cannot be read; "));
}

TEST_F(LossTest, AfterAnyCrashThereIsNothingToSay) {
  live(1, 10);
  EXPECT_THAT(need_store(path_).notes(), IsEmpty());
  live(11, 20, Wait::Never);
  EXPECT_THAT(need_store(path_).notes(), IsEmpty());
  const Store store = need_store(path_);
  EXPECT_THAT(store.notes(), IsEmpty());
  EXPECT_EQ(jobs_in(store), 20);
}

TEST_F(LossTest, OfTheWholeLogIsRefused) {
  live(1, 20);
  fs::remove(log_);
  EXPECT_THAT(refusal(), HasSubstr("entry 20 was answered, the last that can be read is 0"));
  write("-wal", "");
  EXPECT_THAT(refusal(), HasSubstr("entry 20 was answered, the last that can be read is 0"));
}

TEST_F(LossTest, OfTheFileIsRefusedAndItsLogIsLeft) {
  live(1, 20);
  const std::string log = read("-wal");
  for (const bool is_empty : {false, true}) {
    fs::remove(path_);
    if (is_empty) write("", "");
    EXPECT_THAT(refusal(), StartsWith(path_ + (is_empty ? ": is empty; " : ": is not there; ") +
                                      "entry 20 was answered, the last that can be read is 0"));
    EXPECT_EQ(read("-wal"), log);
  }
  const Store store = accepted();
  EXPECT_EQ(read("-wal.lost"), log);
  EXPECT_EQ(store.last_number(), JobId(20));
  EXPECT_EQ(need(store.last_job()), JobId(0));
}

TEST_F(LossTest, OfFileAndMarkLeavesTheLogAside) {
  live(1, 20);
  const std::string log = read("-wal");
  fs::remove(path_);
  fs::remove(mark_path(path_));
  const Store store = need_store(path_);
  EXPECT_THAT(
      store.notes(),
      ElementsAre(log_ + ": belongs to no journal that is there, it is now " + log_ + ".lost"));
  EXPECT_EQ(read("-wal.lost"), log);
}

/// Its log goes on where a later file ended; together they would be neither.
TEST_F(LossTest, ByAnOlderFileUnderItsLogIsRefused) {
  live(1, 10);
  live(11, 12);
  const std::string older = read("");
  live(13, 20);
  const std::string log = read("-wal");
  write("", older);
  EXPECT_EQ(refusal(), path_ + ": is older than its log " + log_ + "; restore " + path_ + kHint);
  EXPECT_EQ(read("-wal"), log);
  EXPECT_EQ(Store::open(path_, Access::ReadOnly).error().message,
            path_ + ": is older than its log " + log_);
  const Store store = accepted();
  EXPECT_EQ(jobs_in(store), 10);
  EXPECT_EQ(read("-wal.lost"), log);
}

TEST_F(LossTest, ByAnOlderLogIsRefused) {
  live(1, 10);
  const std::string older = read("-wal");
  live(11, 20);
  write("-wal", older);
  EXPECT_THAT(refusal(), HasSubstr("entry 20 was answered, the last that can be read is "));
}

TEST_F(LossTest, ByAnOlderFileOfACleanEndIsRefused) {
  live(1, 10);
  need_store(path_);  // moves the log
  const std::string older = read("");
  {
    Store store = need_store(path_);
    for (std::int64_t number = 11; number <= 20; ++number) commit(store, number);
    need(store.sync());
  }
  EXPECT_FALSE(fs::exists(log_));
  write("", older);
  EXPECT_THAT(refusal(), HasSubstr("entry 20 was answered, the last that can be read is 10"));
}

/// While a log is full and moved, again and again: an older file is older than any later log.
TEST_F(LossTest, ByAFileFromBeforeACheckpointIsRefused) {
  in_child([&] {
    Store store = need_store(path_);
    in_transaction(store, [&] { need(store.add_snapshot(plain_snapshot(0))); });
    for (std::int64_t number = 1; number <= 3; ++number) {
      in_transaction(store, [&] {
        need(store.add_inputs(number, kStart, std::string(std::size_t{20} << 20, 'x')));
      });
      in_transaction(store, [&] { need(store.add_decisions(number, "out")); });
      need(store.sync());
      if (number == 2) fs::copy_file(path_, path_ + ".copy");
      need(store.checkpoint());
    }
    commit(store, 4);
    need(store.sync());
    _exit(0);
  });
  EXPECT_THAT(need_store(path_, Access::ReadOnly).path(), path_);
  fs::rename(path_ + ".copy", path_);
  EXPECT_THAT(refusal(), StartsWith(path_ + ": is older than its log"));
}

TEST_F(LossTest, OfTheMarkIsTold) {
  live(1, 5);
  std::string mark = read("-mark");
  mark[20] ^= 1;
  write("-mark", mark);
  {
    const Store store = need_store(path_);
    EXPECT_THAT(store.notes(),
                ElementsAre(mark_path(path_) + ": is damaged: whether the journal holds all that "
                                               "was answered is not known"));
    EXPECT_EQ(jobs_in(store), 5);
  }
  EXPECT_THAT(need_store(path_).notes(), IsEmpty());
  fs::remove(mark_path(path_));
  EXPECT_EQ(jobs_in(need_store(path_)), 5);
  EXPECT_EQ(need(read_mark(mark_path(path_)))->reach.entry, 5);
}

// ---- The file itself
// -----------------------------------------------------------------------------

/// Pages of an index can be rebuilt, unused ones do not matter; of entries and snapshots each has
/// its checksum, which recovery looks at.
TEST_F(LossTest, ByPagesThatChangedPlacesIsFound) {
  live(1, 300);
  need_store(path_);
  const std::string whole = read("");
  int refused = 0;
  for (std::size_t page = 1; (page + 2) * 4096 <= whole.size(); ++page) {
    std::string bytes = whole;
    for (std::size_t i = 0; i < 4096; ++i) {
      std::swap(bytes[page * 4096 + i], bytes[(page + 1) * 4096 + i]);
    }
    if (bytes == whole) continue;  // two empty ones
    write("", bytes);
    const auto store = Store::open(path_);
    const auto recovered = store ? store->recover() : std::unexpected(store.error());
    if (recovered) {
      EXPECT_FALSE(store->notes().empty()) << page;
    } else {
      EXPECT_EQ(recovered.error().code, ErrorCode::BadData) << page;
      ++refused;
    }
  }
  EXPECT_GT(refused, 5);
}

TEST_F(LossTest, OfAnIndexIsMadeGood) {
  live(1, 20);
  need_store(path_);
  const auto value = [&](const std::string& column) {
    return Sql(path_).value("SELECT " + column + " FROM sqlite_schema WHERE name = 'ended_jobs'");
  };
  const std::string row =
      "('index', 'ended_jobs', 'jobs', " + value("rootpage") + ", '" + value("sql") + "')";
  Sql(path_).run(
      "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'ended_jobs'");
  Sql(path_).run("DELETE FROM jobs WHERE id = 20");
  Sql(path_).run("PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES " + row);
  const Store store = need_store(path_);
  EXPECT_THAT(store.notes(), ElementsAre(path_ + ": an index did not agree with its table and was "
                                                 "rebuilt"));
  EXPECT_EQ(need(store.history({})).size(), 9U);
}

TEST_F(LossTest, OfARowIsNamedAtTheStart) {
  live(1, 5);
  need_store(path_);
  Sql(path_).run("UPDATE jobs SET name = 'x' WHERE id = 3");
  EXPECT_THAT(need_store(path_).notes(), ElementsAre(path_ + ": job 3: its row is damaged"));
}

}  // namespace
}  // namespace berth::test
