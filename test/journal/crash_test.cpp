// Goal: after a crash exactly what was committed is there, and whatever the disk does to a file, it
// is told as an error and not taken for a journal.
//
// Method: children that are killed inside and between transactions; the log cut at every sector;
// pages overwritten and bits turned; a full disk (the log's descriptors become /dev/full), limits,
// a second writer.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "core/base/rng.hpp"
#include "journal/store.hpp"
#include "journal/support.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using namespace berth::journal;
using testing::HasSubstr;

std::string inputs_of(std::int64_t number) {
  return "inputs " + std::to_string(number) + std::string(static_cast<std::size_t>(number), 'i');
}

/// Commit number n: entry n and job n, together.
void commit_one(Store& store, std::int64_t number) {
  in_transaction(store, [&] {
    need(store.add_inputs(number, instant_from_micros(number), inputs_of(number)));
    need(store.add_decisions(number, "decided"));
    const JobId job(static_cast<std::uint64_t>(number));
    need(store.add_job({.job = job, .spec = {.command = need(store.add_blob("environment"))}}));
  });
}

/// How many of those commits there are; each must be whole, and none missing before the last.
std::int64_t whole_commits(const Store& store) {
  const Recovered recovered = need(store.recover());
  if (!recovered.snapshot) return -1;
  for (const Entry& entry : recovered.entries) {
    EXPECT_EQ(entry.inputs, inputs_of(entry.number));
    EXPECT_EQ(entry.decisions, "decided");
  }
  const std::int64_t entries = std::ssize(recovered.entries);
  EXPECT_EQ(need(store.last_job()), JobId(static_cast<std::uint64_t>(entries)));
  return entries;
}

class Crash : public testing::Test {
 protected:
  void SetUp() override {
    Store store = need_store(path_);
    in_transaction(store, [&] { need(store.add_snapshot(plain_snapshot(0))); });
  }

  ScratchFolder scratch_;
  std::string path_ = scratch_ / "journal.db";
};

// ---- Killed
// --------------------------------------------------------------------------------------

TEST_F(Crash, KilledAfterCommits) {
  const int status = in_child([&] {
    Store store = need_store(path_);
    for (std::int64_t n = 1; n <= 5; ++n) commit_one(store, n);
    raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(whole_commits(need_store(path_)), 5);
}

/// What is written ahead holds nothing: commits go over it, and a reader stops where they end.
TEST_F(Crash, KilledAfterCommitsIntoALongerLog) {
  const int status = in_child([&] {
    Store store = need_store(path_);
    commit_one(store, 1);
    EXPECT_TRUE(store.wants_longer_log());
    store.lengthen_log();
    EXPECT_FALSE(store.wants_longer_log());
    const auto size = std::filesystem::file_size(path_ + "-wal");
    for (std::int64_t n = 2; n <= 5; ++n) commit_one(store, n);
    need(store.sync());
    EXPECT_EQ(std::filesystem::file_size(path_ + "-wal"), size);
    if (!testing::Test::HasFailure()) raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  Store store = need_store(path_);
  EXPECT_THAT(store.notes(), testing::IsEmpty());
  EXPECT_EQ(whole_commits(store), 5);
  commit_one(store, 6);
  EXPECT_EQ(whole_commits(store), 6);
}

TEST_F(Crash, TheLogIsWrittenAheadNoFurtherThanItsReserve) {
  Store store = need_store(path_);
  commit_one(store, 1);
  const auto size = [&] {
    return static_cast<std::int64_t>(std::filesystem::file_size(path_ + "-wal"));
  };
  for (int i = 0; i < 100 && size() < kReserve.raw(); ++i) {
    in_transaction(store,
                   [&] { need(store.add_blob(std::string(1 << 20, static_cast<char>(i)))); });
    const std::int64_t before = size();
    store.lengthen_log();
    EXPECT_LE(size(), std::max(before, kReserve.raw()));
  }
  EXPECT_GE(size(), kReserve.raw());
  EXPECT_FALSE(store.wants_longer_log());
}

TEST_F(Crash, KilledInsideATransaction) {
  const int status = in_child([&] {
    Store store = need_store(path_);
    commit_one(store, 1);
    need(store.begin());
    need(store.add_inputs(2, kStart, inputs_of(2)));
    need(store.add_job({.job = JobId(2)}));
    raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  Store store = need_store(path_);
  EXPECT_EQ(whole_commits(store), 1);
  commit_one(store, 2);
  EXPECT_EQ(whole_commits(store), 2);
}

/// More than the cache holds: pages of the open transaction are in the log already.
TEST_F(Crash, KilledInsideALargeTransaction) {
  const int status = in_child([&] {
    Store store = need_store(path_);
    commit_one(store, 1);
    need(store.begin());
    for (char c = 'a'; c < 'a' + 12; ++c) need(store.add_blob(std::string(1 << 20, c)));
    need(store.add_inputs(2, kStart, inputs_of(2)));
    raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_GT(std::filesystem::file_size(path_ + "-wal"), 3U << 20);
  Store store = need_store(path_);
  EXPECT_EQ(whole_commits(store), 1);
  EXPECT_EQ(store.blob(BlobId(2)).error().code, ErrorCode::NotFound);
}

TEST_F(Crash, KilledAtAnyMoment) {
  std::int64_t before = 0;
  for (int round = 0; round < 10; ++round) {
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      Store store = need_store(path_);
      for (std::int64_t n = before + 1;; ++n) {
        commit_one(store, n);
        if (write(pipe_ends[1], &n, sizeof n) != sizeof n) _exit(1);
      }
    }
    close(pipe_ends[1]);
    std::int64_t told = 0;
    for (int i = 0; i < 1 + round * 3; ++i) {
      ASSERT_EQ(read(pipe_ends[0], &told, sizeof told), ssize_t{sizeof told});
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(pipe_ends[0]);
    const std::int64_t found = whole_commits(need_store(path_));
    EXPECT_GE(found, told);
    before = found;
  }
}

/// Between inputs and decisions: the entry is there, undecided, and can be decided later.
TEST_F(Crash, BetweenInputsAndDecisions) {
  in_child([&] {
    Store store = need_store(path_);
    in_transaction(store, [&] { need(store.add_inputs(1, kStart, "in")); });
    raise(SIGKILL);
  });
  Store store = need_store(path_);
  const Recovered recovered = need(store.recover());
  ASSERT_EQ(recovered.entries.size(), 1U);
  EXPECT_EQ(recovered.entries[0].decisions, std::nullopt);
  in_transaction(store, [&] { need(store.add_decisions(1, "out")); });
  EXPECT_EQ(need(store.recover()).entries[0].decisions, "out");
}

// ---- A torn log
// ----------------------------------------------------------------------------------

/// The file and its log as a crash left them, with the log cut to `size`.
class Torn {
 public:
  Torn(const std::string& file, const std::string& log) : file_(file), log_(log) {}
  std::size_t log_size() const { return log_.size(); }
  std::int64_t commits_with(std::size_t size, Access access = Access::ReadWrite) const {
    const ScratchFolder scratch;
    const std::string path = scratch.write("journal.db", file_);
    scratch.write("journal.db-wal", log_.substr(0, size));
    return whole_commits(need_store(path, access));
  }

 private:
  std::string file_;
  std::string log_;
};

/// Every size that is a multiple of `step`; sizes that are one of `write_step` are opened for
/// writing, as the daemon does it, and the others, which is faster, only for reading.
void expect_prefixes(const Torn& torn, std::size_t step, std::size_t write_step) {
  std::int64_t before = -1;
  for (std::size_t size = 0; size < torn.log_size(); size += step) {
    const Access access = size % write_step == 0 ? Access::ReadWrite : Access::ReadOnly;
    const std::int64_t found = torn.commits_with(size, access);
    EXPECT_GE(found, before) << size;
    before = found;
  }
}

TEST_F(Crash, ALogTornAtAnySectorHoldsAPrefix) {
  in_child([&] {
    Store store = need_store(path_);
    for (std::int64_t n = 1; n <= 4; ++n) commit_one(store, n);
    _exit(0);
  });
  const Torn torn(read_file(path_), read_file(path_ + "-wal"));
  EXPECT_EQ(torn.commits_with(0), 0);
  EXPECT_EQ(torn.commits_with(torn.log_size()), 4);
  expect_prefixes(torn, 512, 5120);
}

/// With the same salts a new frame could make old ones behind it valid again, and with
/// them commits that recovery has taken for lost.
TEST_F(Crash, ALogWithoutAWholeFrameGetsOtherSalts) {
  const std::string log = path_ + "-wal";
  const auto salts = [&] { return read_file(log).substr(16, 8); };
  const auto commit_and_die = [&](std::int64_t number) {
    in_child([&] {
      Store store = need_store(path_);
      commit_one(store, number);
      _exit(0);
    });
  };
  commit_and_die(1);
  commit_and_die(2);  // in a restarted log: a first one has random salts
  const std::string before = salts();
  std::string torn = read_file(log);
  torn[40] = static_cast<char>(~torn[40]);  // in the header of the first frame
  std::ofstream(log, std::ios::binary | std::ios::trunc) << torn;
  ASSERT_EQ(whole_commits(need_store(path_, Access::ReadOnly)), 1);
  commit_and_die(2);
  EXPECT_NE(salts(), before);
}

/// Nothing but the mark of the mode is in the file yet: the tables themselves are in the log.
TEST_F(Crash, ANewFileWithATornLogIsNewOrWhole) {
  const std::string fresh = scratch_ / "fresh.db";
  in_child([&] {
    Store store = need_store(fresh);
    in_transaction(store, [&] { need(store.add_snapshot(plain_snapshot(0))); });
    commit_one(store, 1);
    _exit(0);
  });
  const Torn torn(read_file(fresh), read_file(fresh + "-wal"));
  EXPECT_EQ(torn.commits_with(torn.log_size()), 1);
  expect_prefixes(torn, 4096 + 24, 4096 + 24);
}

// ---- Damage
// --------------------------------------------------------------------------------------

/// A closed journal in memory, and copies of it with something overwritten.
class Damaged : public Crash {
 protected:
  void SetUp() override {
    Crash::SetUp();
    Store store = need_store(path_);
    for (std::int64_t n = 1; n <= 60; ++n) commit_one(store, n);
  }
  /// The error of opening or reading everything; nothing if all was as it had been.
  std::optional<Error> read_all(const std::string& bytes, Access access = Access::ReadOnly) {
    const ScratchFolder scratch;
    const auto store = Store::open(scratch.write("journal.db", bytes), access);
    if (!store) return store.error();
    const auto recovered = store->recover();
    if (!recovered) return recovered.error();
    const auto blob = store->blob(BlobId(1));
    if (!blob) return blob.error();
    EXPECT_EQ(*blob, "environment");
    for (const Entry& entry : recovered->entries) {
      EXPECT_EQ(entry.inputs, inputs_of(entry.number));
    }
    for (std::uint64_t id = 1; id <= 60; ++id) {
      const auto job = store->job(JobId(id));
      if (!job) return job.error();
      if (!*job || (*job)->is_damaged) continue;
      EXPECT_EQ((*job)->spec, JobSpec{.command = BlobId(1)}) << id;
    }
    return std::nullopt;
  }
};

TEST_F(Damaged, AnOverwrittenPageIsBadData) {
  const std::string whole = read_file(path_);
  ASSERT_EQ(read_all(whole), std::nullopt);
  int refused = 0;
  Rng rng(1);
  for (std::size_t at = 0; at < whole.size(); at += 4096) {
    std::string noise(4096, '\0');
    for (char& byte : noise) byte = static_cast<char>(rng.between(0, 255));
    for (const std::string& page : {std::string(4096, '\0'), std::string(4096, '\xff'), noise}) {
      std::string bytes = whole;
      bytes.replace(at, page.size(), page);
      const auto error = read_all(bytes, at == 0 ? Access::ReadWrite : Access::ReadOnly);
      if (!error) continue;
      EXPECT_EQ(error->code, ErrorCode::BadData) << error->message;
      EXPECT_THAT(error->message, HasSubstr("journal.db: "));
      ++refused;
    }
  }
  EXPECT_GT(refused, 15);
}

TEST_F(Damaged, ATurnedBitIsNeverTakenForContent) {
  const std::string whole = read_file(path_);
  Rng rng(2);
  for (int round = 0; round < 150; ++round) {
    std::string bytes = whole;
    const auto at = static_cast<std::size_t>(rng.between(100, std::ssize(whole) - 1));
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.between(0, 7)));
    if (const auto error = read_all(bytes)) {
      EXPECT_EQ(error->code, ErrorCode::BadData) << error->message << " at " << at;
    }
  }
}

TEST_F(Damaged, ACutFileIsBadData) {
  const std::string whole = read_file(path_);
  for (const std::size_t size : {std::size_t{2}, std::size_t{100}, std::size_t{4096},
                                 std::size_t{8192}, whole.size() - 4096}) {
    const auto error = read_all(whole.substr(0, size), Access::ReadWrite);
    ASSERT_TRUE(error.has_value()) << size;
    EXPECT_EQ(error->code, ErrorCode::BadData) << error->message;
  }
}

TEST_F(Damaged, WhatRecoveryRefuses) {
  const auto message_after = [&](const std::string& sql) {
    const ScratchFolder scratch;
    const std::string path = scratch.write("journal.db", read_file(path_));
    Sql(path).run(sql);
    const auto recovered = need_store(path).recover();
    EXPECT_EQ(recovered.error().code, ErrorCode::BadData);
    return recovered.error().message.substr(scratch.path().string().size() + 1);
  };
  EXPECT_EQ(message_after("DELETE FROM entries WHERE number = 7"), "journal.db: entry 7: missing");
  EXPECT_EQ(message_after("DELETE FROM snapshots"), "journal.db: entry 1: no snapshot");
  EXPECT_EQ(message_after("UPDATE entries SET decisions = NULL WHERE number = 7"),
            "journal.db: entry 7: has no decisions and is not the last");
  EXPECT_EQ(message_after("UPDATE entries SET inputs = x'00' WHERE number = 7"),
            "journal.db: entry 7: its inputs do not have their checksum");
  EXPECT_EQ(message_after("UPDATE entries SET decisions = x'00' WHERE number = 7"),
            "journal.db: entry 7: its decisions do not have their checksum");
  EXPECT_EQ(message_after("UPDATE snapshots SET state = x'00'"),
            "journal.db: the snapshot after entry 0 does not have its checksum");
}

// ---- The system says no
// --------------------------------------------------------------------------

/// From now on every write to the log finds the disk full, and waiting for it fails.
void fill_disk_under(const std::string& log) {
  const int full = open("/dev/full", O_RDWR | O_CLOEXEC);
  ASSERT_GE(full, 0);
  for (int number = 3; number < 64; ++number) {
    std::error_code none;
    const auto name =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(number), none);
    if (name != log) continue;
    ASSERT_EQ(dup2(full, number), number);
  }
  close(full);
}

TEST_F(Crash, AFullDiskIsAnErrorAndNoMore) {
  {
    Store store = need_store(path_);
    fill_disk_under(path_ + "-wal");
    for (int trial = 0; trial < 2; ++trial) {
      need(store.begin());
      need(store.add_inputs(1, kStart, "in"));
      const auto done = store.commit();
      ASSERT_FALSE(done.has_value());
      EXPECT_EQ(done.error().code, ErrorCode::Io);
      EXPECT_EQ(done.error().message, path_ + ": database or disk is full");
      EXPECT_EQ(whole_commits(store), 0);
    }
  }
  Store store = need_store(path_);
  EXPECT_EQ(whole_commits(store), 0);
  commit_one(store, 1);
}

TEST_F(Crash, AFailedSyncIsFinal) {
  Store store = need_store(path_);
  commit_one(store, 1);
  need(store.sync());
  commit_one(store, 2);
  fill_disk_under(path_ + "-wal");
  for (int trial = 0; trial < 2; ++trial) {
    const auto done = store.sync();
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, ErrorCode::Io);
    EXPECT_EQ(done.error().message, path_ + "-wal: no sync: Invalid argument");
  }
}

/// A file may not grow beyond a limit: what the system says is told, and the store goes on after.
TEST_F(Crash, AFileSizeLimitIsAnError) {
  Store store = need_store(path_);
  commit_one(store, 1);
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 100'000, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  need(store.begin());
  need(store.add_inputs(2, kStart, std::string(300'000, 'x')));
  const auto done = store.commit();
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, path_ + ": disk I/O error");
  EXPECT_EQ(whole_commits(store), 1);
  commit_one(store, 2);
  EXPECT_EQ(whole_commits(store), 2);
}

TEST_F(Crash, OneWriterAtATime) {
  std::optional<Store> store = need_store(path_);
  const auto second = Store::open(path_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::Conflict);
  EXPECT_EQ(second.error().message, path_ + ": another process is writing it");
  store.reset();
  EXPECT_TRUE(Store::open(path_).has_value());
}

TEST_F(Crash, AForeignWriterIsWaitedForAndThenNamed) {
  Store store = need_store(path_);
  Sql foreign(path_);
  foreign.run("BEGIN IMMEDIATE");
  const auto begun = store.begin();
  ASSERT_FALSE(begun.has_value());
  EXPECT_EQ(begun.error().message, path_ + ": another process is writing it");
  foreign.run("ROLLBACK");
  commit_one(store, 1);
}

TEST_F(Crash, MissingFoldersAndFiles) {
  const auto missing = Store::open(scratch_ / "no/journal.db");
  EXPECT_EQ(missing.error().code, ErrorCode::Io);
  EXPECT_THAT(missing.error().message, HasSubstr("cannot be made: No such file or directory"));
  const auto unread = Store::open(scratch_ / "no.db", Access::ReadOnly);
  EXPECT_EQ(unread.error().code, ErrorCode::Io);
  EXPECT_THAT(unread.error().message, HasSubstr("No such file or directory"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "no.db"));
  EXPECT_EQ(Store::open(scratch_.path().string()).error().code, ErrorCode::Io);
}

TEST_F(Crash, AReaderWritesNothing) {
  Store reader = need_store(path_, Access::ReadOnly);
  need(reader.begin());
  EXPECT_EQ(reader.add_inputs(1, kStart, "").error().message, path_ + ": read-only");
  EXPECT_EQ(whole_commits(reader), 0);
  need(reader.commit());
  need(reader.sync());
  need(reader.checkpoint());
}

}  // namespace
}  // namespace berth::test
