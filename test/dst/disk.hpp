// The disk under the journal: real SQLite on a file system that can be full,
// whose writes can be the last thing a daemon does, and that forgets what was
// not synced when the power goes.
//
// It is SQLite's default file system while it lives, so one lives at a time.
// Files are real and lie in a folder of their own; beside them stands what a
// power loss would leave of them.
#pragma once

#include <sqlite3.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/rng.hpp"
#include "dst/fate.hpp"

// The linker puts these between the tests and the system (--wrap).
extern "C" int __wrap_fdatasync(int descriptor);
extern "C" ssize_t __wrap_pwrite(int descriptor, const void* bytes, size_t size, off_t at);
extern "C" int __wrap_fallocate(int descriptor, int mode, off_t at, off_t size);

namespace berth::dst {

struct OpenFile;  ///< As SQLite holds it.

class Disk {
 public:
  explicit Disk(Fate& fate);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  std::string journal() const { return folder_ + "/journal.db"; }

  /// Nothing grows on a full disk.
  void fill() { is_full_ = true; }
  void clear() { is_full_ = false; }
  bool is_full() const { return is_full_; }

  /// The next wait for the log fails, and the system forgets which pages it did
  /// not write: only a new write of them will make them stay. It reports that
  /// once to each process that has the log open.
  void fail_sync() { sync_fails_ = true; }
  void spare_sync() { sync_fails_ = false; }
  int failed_syncs() const { return failed_syncs_; }
  /// It says that it has synced, and has not.
  void lie() { lies_ = true; }
  /// Of what was not synced each write stays, goes or is torn. Requires: no
  /// file is open.
  void lose_power(Rng rng);

 private:
  /// One that may be lost: a write, or a new length.
  struct Change {
    std::int64_t at = 0;
    std::string bytes;
    std::optional<std::int64_t> length;
  };
  struct File {
    std::string synced;  ///< What stays.
    std::vector<Change> since;
    std::int64_t length = 0;  ///< With what came since.
  };

  static void apply(const Change& change, std::string& to);
  static void sync(File& file);
  Change torn(const Change& change, Rng& rng) const;
  int write(OpenFile& open, std::string_view bytes, std::int64_t at);
  int truncate(OpenFile& open, std::int64_t length);
  bool fails(const char* what, const std::string& path);

  // The store's side, past SQLite: it waits for the log itself.
  static bool is_log(int descriptor);
  int wait_for_log();
  void wrote_log(std::string_view bytes, std::int64_t at);
  friend int ::__wrap_fdatasync(int);
  friend auto ::__wrap_pwrite(int, const void*, size_t, off_t) -> ssize_t;
  friend int ::__wrap_fallocate(int, int, off_t, off_t);

  // SQLite's side.
  static int open_file(sqlite3_vfs*, sqlite3_filename, sqlite3_file*, int, int*);
  static int remove_file(sqlite3_vfs*, const char*, int);
  static int close_file(sqlite3_file*);
  static int write_file(sqlite3_file*, const void*, int, sqlite3_int64);
  static int truncate_file(sqlite3_file*, sqlite3_int64);
  static int sync_file(sqlite3_file*, int);
  static const sqlite3_io_methods kMethods;

  Fate& fate_;
  std::string folder_;
  sqlite3_vfs* const real_;
  sqlite3_vfs vfs_;
  std::map<std::string, File> files_;
  std::set<OpenFile*> open_logs_;
  bool is_full_ = false;
  bool sync_fails_ = false;
  int failed_syncs_ = 0;
  bool lies_ = false;
  static Disk* the_one;  ///< That lives.
};

}  // namespace berth::dst
