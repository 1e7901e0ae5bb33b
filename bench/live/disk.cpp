#include "live/disk.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>

namespace berth::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWaits = 300;
constexpr int kCommits = 1000;
constexpr int kGroup = 32;
constexpr std::size_t kRow = 250;

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

std::unexpected<Error> sqlite_failed(sqlite3* db) {
  return fail(ErrorCode::Io, std::string("SQLite: ") + sqlite3_errmsg(db));
}

bool run(sqlite3* db, const char* sql) {
  return sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

bool insert_group(sqlite3* db, sqlite3_stmt* insert) {
  bool good = run(db, "BEGIN");
  for (int i = 0; good && i < kGroup; ++i) {
    good = sqlite3_step(insert) == SQLITE_DONE && sqlite3_reset(insert) == SQLITE_OK;
  }
  return good && run(db, "COMMIT");
}

}  // namespace

Expected<double> fdatasync_us(const Bed& bed, Seconds pause) {
  const std::string path = bed / "page";
  const std::string page(4096, 'x');
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  std::vector<double> waits;
  bool good = file >= 0;
  for (int i = 0; good && i < kWaits; ++i) {
    if (pause > Seconds(0)) std::this_thread::sleep_for(pause);
    const auto from = Clock::now();
    good = pwrite(file, page.data(), page.size(), 0) > 0 && fdatasync(file) == 0;
    waits.push_back(std::chrono::duration<double, std::micro>(Clock::now() - from).count());
  }
  close(file);
  if (!good) return fail(ErrorCode::Io, path + ": cannot be written");
  std::ranges::nth_element(waits, waits.begin() + kWaits / 2);
  return waits[kWaits / 2];
}

Expected<double> sqlite_rows_per_s(const Bed& bed) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open((bed / "rows.db").c_str(), &raw);
  const std::unique_ptr<sqlite3, Close> db(raw);
  const bool set =
      opened == SQLITE_OK && run(raw,
                                 "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                                 "CREATE TABLE rows (id INTEGER PRIMARY KEY, bytes BLOB)");
  if (!set) return sqlite_failed(raw);
  sqlite3_stmt* made = nullptr;
  sqlite3_prepare_v2(raw, "INSERT INTO rows (bytes) VALUES (?)", -1, &made, nullptr);
  const std::unique_ptr<sqlite3_stmt, Close> insert(made);
  const std::string row(kRow, 'r');
  sqlite3_bind_blob64(made, 1, row.data(), row.size(), SQLITE_STATIC);
  const auto from = Clock::now();
  for (int i = 0; i < kCommits; ++i) {
    if (!insert_group(raw, made)) return sqlite_failed(raw);
  }
  return kCommits * kGroup / Seconds(Clock::now() - from).count();
}

}  // namespace berth::bench
