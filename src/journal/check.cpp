#include "journal/check.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "journal/frames.hpp"
#include "journal/row_sum.hpp"
#include "posix/error.hpp"

namespace berth::journal {

namespace {

/// Larger files are not read through at the start, which would take seconds: what is wrong in them
/// is found where it is read.
constexpr Bytes kSmall{std::int64_t{64} << 20};
constexpr int kMostNamed = 20;

std::int64_t size_of(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : -1;
}

/// `PATH.lost`, or the first with a number behind it that is not there.
std::string free_name(const std::string& path) {
  std::string name = path + ".lost";
  for (int i = 2; ::access(name.c_str(), F_OK) == 0; ++i) name = path + ".lost" + std::to_string(i);
  return name;
}

Expected<void> copy(int from, const std::string& to) {
  const Descriptor file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return io_error(to);
  std::array<char, 1 << 16> part{};
  ssize_t got = 0;
  for (off_t at = 0; (got = ::pread(from, part.data(), part.size(), at)) > 0; at += got) {
    if (::write(file.number(), part.data(), static_cast<std::size_t>(got)) != got) got = -1;
    if (got < 0) break;
  }
  if (got < 0 || ::fsync(file.number()) != 0) return io_error(to);
  return {};
}

/// Where the journal ends, and why there.
std::string words_of(const std::string& path, const LogEnd& end) {
  const std::string log = path + "-wal: ";
  if (end.damaged == 0) return log + "its header is damaged";
  if (end.damaged) {
    return log + "frame " + std::to_string(*end.damaged) + " of " + std::to_string(end.frames) +
           " is damaged";
  }
  if (end.whole > 0) return log + "ends after frame " + std::to_string(end.whole);
  return path + ": is older than what was answered, and there is nothing in its log";
}

std::string beyond(const Reach& there, const Mark& mark) {
  const std::string last = std::to_string(mark.reach.entry);
  if (there.entry == mark.reach.entry) {
    return "what was decided of entry " + last + ", and answered, cannot be read";
  }
  return "entry " + last + " was answered, the last that can be read is " +
         std::to_string(there.entry);
}

std::string older(const std::string& path) {
  return path + ": is older than its log " + path + "-wal";
}

/// Statements of SQLite's own check of a file, without those that rows' checksums find, too.
Expected<std::vector<std::string>> complaints(const Connection& db) {
  std::vector<std::string> list;
  Query query(db, "PRAGMA integrity_check(1000000)");  // the grave ones may be the last
  while (query.next()) {
    const std::string text(query.text(0));
    if (text != "ok" && !text.contains(" value in ")) list.push_back(text);
  }
  if (auto done = query.finish(); !done) return std::unexpected(done.error());
  return list;
}

/// What an index says twice stands in its table, too.
bool is_of_index(const std::string& complaint) {
  return complaint.starts_with("wrong # of entries in index") ||
         complaint.contains(" missing from index ");
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

Expected<std::uint32_t> changes_of_file(const Connection& db) {
  constexpr int kAt = 24;
  sqlite3_file* file = nullptr;
  int code =
      sqlite3_file_control(db.raw(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  std::array<unsigned char, 4> bytes{};
  if (code == SQLITE_OK) code = file->pMethods->xRead(file, bytes.data(), bytes.size(), kAt);
  if (code == SQLITE_IOERR_SHORT_READ) return 0;
  if (code != SQLITE_OK) return std::unexpected(db.error(code));
  std::uint32_t changes = 0;
  for (const unsigned char byte : bytes) changes = changes << 8 | byte;
  return changes;
}

Expected<Reach> reach_of(const Connection& db) {
  Query version(db, "PRAGMA user_version");
  const bool has_tables = version.next() && version.integer(0) != 0;
  if (auto done = version.finish(); !done) return std::unexpected(done.error());
  if (!has_tables) return Reach{};
  // Without its row an entry is in a snapshot, so it was decided.
  Query last(db,
             "SELECT last, ifnull((SELECT decisions IS NOT NULL FROM entries WHERE number = last),"
             " 1) FROM (SELECT max(ifnull((SELECT max(number) FROM entries), 0),"
             " ifnull((SELECT max(after) FROM snapshots), 0)) AS last)");
  Reach reach;
  if (last.next()) reach = {.entry = last.integer(0), .decided = last.integer(1) != 0};
  if (auto done = last.finish(); !done) return std::unexpected(done.error());
  return reach;
}

Expected<void> check_to_read(const Connection& db, const std::optional<Mark>& mark) {
  if (!mark) return {};
  const auto changes = changes_of_file(db);
  if (!changes) return std::unexpected(changes.error());
  if (*changes < mark->changes) return fail(ErrorCode::BadData, older(db.path()));
  const auto there = reach_of(db);
  if (!there) return std::unexpected(there.error());
  if (*there >= mark->reach) return {};
  return fail(ErrorCode::BadData, db.path() + ": " + beyond(*there, *mark));
}

/// Where the loss was accepted it is told, else it is the error.
Expected<void> Check::lose(const std::string& what) {
  if (loss_ == Loss::Refused) {
    return fail(ErrorCode::BadData, what + "; restore " + path_ +
                                        " with its -wal from one copy, or go on without what is "
                                        "lost: berthd --accept-loss");
  }
  notes_.push_back(what + "; goes on without what is lost");
  return {};
}

Expected<void> Check::move_log_aside() {
  const std::string log = path_ + "-wal";
  const std::string name = free_name(log);
  if (::rename(log.c_str(), name.c_str()) != 0) return io_error(log);
  notes_.push_back(log + ": belongs to no journal that is there, it is now " + name);
  return {};
}

Expected<void> Check::begin() {
  auto mark = read_mark(mark_path(path_));
  if (!mark && mark.error().code != ErrorCode::BadData) return std::unexpected(mark.error());
  if (mark) mark_ = *mark;
  if (!mark) {
    notes_.push_back(mark.error().message +
                     ": whether the journal holds all that was answered is not known");
  }
  const std::int64_t size = size_of(path_);
  is_small_ = size <= kSmall.raw();
  if (size > 0) return {};
  if (mark_ && mark_->reach.entry > 0) {
    const std::string what = path_ + (size < 0 ? ": is not there" : ": is empty");
    if (auto done = lose(what + "; " + beyond({}, *mark_)); !done) return done;
  }
  return size_of(path_ + "-wal") > 0 ? move_log_aside() : Expected<void>();
}

Expected<void> Check::file(const Connection& db) {
  if (!mark_ || size_of(path_) <= 0) return {};
  const auto changes = changes_of_file(db);
  if (!changes) return std::unexpected(changes.error());
  if (*changes >= mark_->changes) return {};
  if (auto done = lose(older(path_)); !done) return done;
  return size_of(path_ + "-wal") > 0 ? move_log_aside() : Expected<void>();
}

Expected<void> Check::log(const Connection& db, int log) {
  const std::string name = path_ + "-wal";
  const auto end = find_end(log, name);
  if (!end) return std::unexpected(end.error());
  const auto there = reach_of(db);
  if (!there) return std::unexpected(there.error());
  const std::string what = words_of(path_, *end);
  if (mark_ && *there < mark_->reach) {
    if (auto done = lose(what + "; " + beyond(*there, *mark_)); !done) return done;
    const std::string kept = free_name(name);
    notes_.push_back("it is saved as " + kept);
    return copy(log, kept);
  }
  if (!end->damaged) return {};
  // A transaction that failed on a full disk leaves such frames, too.
  notes_.push_back(what + (mark_ ? " or was never whole; nothing that was answered is lost"
                                 : " or was never whole; what stands behind it is left out"));
  return {};
}

Expected<void> Check::structure(const Connection& db) {
  if (!is_small_) return {};
  const auto list = complaints(db);
  if (!list) return std::unexpected(list.error());
  const auto grave = std::ranges::find_if_not(*list, is_of_index);
  needs_indices_ = !list->empty();
  if (grave == list->end()) return {};
  return fail(ErrorCode::BadData, path_ + ": is damaged: " + one_line(*grave) +
                                      "; restore it with its -wal from one " +
                                      "copy, or make another of what can be read: sqlite3 " +
                                      path_ + " .recover | sqlite3 NEW");
}

Expected<void> Check::mend(const Connection& db) {
  if (needs_indices_) {
    if (auto done = db.run("REINDEX"); !done) return done;
    notes_.push_back(path_ + ": an index did not agree with its table and was rebuilt");
  }
  if (!is_small_) return {};
  static const std::string sql = std::string("SELECT id FROM jobs WHERE sum IS NOT ") + kJobSum +
                                 " LIMIT " + std::to_string(kMostNamed);
  Query damaged(db, sql.c_str());
  while (damaged.next()) {
    notes_.push_back(path_ + ": job " + std::to_string(damaged.integer(0)) +
                     ": its row is damaged");
  }
  return damaged.finish();
}

}  // namespace berth::journal
