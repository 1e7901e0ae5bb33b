#include "dst/disk.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>
#include <utility>
namespace berth::dst {

namespace {

constexpr std::int64_t kSector = 512;

/// In memory where the system has such a place: nothing here waits for a real
/// disk.
std::string make_folder() {
  const char* const memory = "/dev/shm";
  const std::string parent = ::access(memory, W_OK) == 0
                                 ? std::string(memory)
                                 : std::filesystem::temp_directory_path().string();
  std::string name = parent + "/berth-dst-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + " cannot be made");
  return name;
}

bool is_kept(int flags) {
  return (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
}

/// `journal.db-wal`.
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

/// The real file's own structure follows it in memory.
struct OpenFile {
  sqlite3_file base;
  Disk* disk;
  const std::string* path;  ///< Null for one that no crash matters to.
  bool owes_error = false;  ///< The next sync tells of one that failed.

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

namespace {

OpenFile& of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }

/// What goes to the real file as it is.
template <auto Method, class... Values>
int pass(sqlite3_file* file, Values... values) {
  sqlite3_file* const real = of(file).real();
  return (real->pMethods->*Method)(real, values...);
}

void pass_barrier(sqlite3_file* file) {
  sqlite3_file* const real = of(file).real();
  real->pMethods->xShmBarrier(real);
}

}  // namespace

Disk::Disk(Fate& fate)
    : fate_(fate), folder_(make_folder()), real_(sqlite3_vfs_find("unix")), vfs_(*real_) {
  vfs_.zName = "berth-dst";
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(sizeof(OpenFile)) + real_->szOsFile;
  vfs_.xOpen = &Disk::open_file;
  vfs_.xDelete = &Disk::remove_file;
  sqlite3_vfs_register(&vfs_, 1);
  the_one = this;
}

Disk::~Disk() {
  the_one = nullptr;
  sqlite3_vfs_unregister(&vfs_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

// ---- What stays -----------------------------------------------------------------------------

void Disk::apply(const Change& change, std::string& to) {
  if (change.length) return to.resize(static_cast<std::size_t>(*change.length));
  const auto at = static_cast<std::size_t>(change.at);
  if (to.size() < at + change.bytes.size()) to.resize(at + change.bytes.size());
  to.replace(at, change.bytes.size(), change.bytes);
}

void Disk::sync(File& file) {
  for (const Change& change : file.since) apply(change, file.synced);
  file.since.clear();
}

Disk::Change Disk::torn(const Change& change, Rng& rng) const {
  Change left = change;
  const std::int64_t sectors = std::ssize(change.bytes) / kSector;
  left.bytes.resize(static_cast<std::size_t>(kSector * rng.between(0, sectors)));
  return left;
}

void Disk::lose_power(Rng rng) {
  for (auto& [path, file] : files_) {
    // Either up to some moment, or here and there: a system writes in any
    // order.
    const std::int64_t until = rng.between(0, std::ssize(file.since));
    const bool in_order = rng.one_in(2);
    for (std::int64_t i = 0; i < std::ssize(file.since); ++i) {
      const Change& change = file.since[static_cast<std::size_t>(i)];
      const bool stays = in_order ? i < until : rng.one_in(2);
      if (stays) apply(rng.one_in(8) ? torn(change, rng) : change, file.synced);
    }
    file.since.clear();
    file.length = std::ssize(file.synced);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << file.synced;
  }
  std::filesystem::remove(journal() + "-shm");
}

// ---- What the store asks for ----------------------------------------------------------------

Disk* Disk::the_one = nullptr;

bool Disk::is_log(int descriptor) {
  struct stat asked{};
  struct stat log{};
  return the_one != nullptr && ::fstat(descriptor, &asked) == 0 &&
         ::stat((the_one->journal() + "-wal").c_str(), &log) == 0 && asked.st_ino == log.st_ino;
}

/// Returns: 0, or what is wrong.
int Disk::wait_for_log() {
  const std::string path = journal() + "-wal";
  if (fails("wait for ", path)) return EIO;
  if (!std::exchange(sync_fails_, false)) {
    if (!lies_) sync(files_[path]);
    return 0;
  }
  ++failed_syncs_;
  files_[path].since.clear();
  for (OpenFile* const open : open_logs_) open->owes_error = true;
  return EIO;
}

void Disk::wrote_log(std::string_view bytes, std::int64_t at) {
  files_[journal() + "-wal"].since.push_back({.at = at, .bytes = std::string(bytes), .length = {}});
}

// ---- What SQLite asks for -------------------------------------------------------------------

bool Disk::fails(const char* what, const std::string& path) {
  return fate_.is_dead() || fate_.strikes(what + name_of(path));
}

int Disk::write(OpenFile& open, std::string_view bytes, std::int64_t at) {
  File& file = files_[*open.path];
  const bool was_dead = fate_.is_dead();
  if (fails("write of ", *open.path)) {
    if (was_dead) return SQLITE_IOERR_WRITE;
    bytes = bytes.substr(0, bytes.size() / 2);  // its last word
  } else if (is_full_ && at + std::ssize(bytes) > file.length) {
    return SQLITE_FULL;
  }
  const int size = static_cast<int>(bytes.size());
  const int code = open.real()->pMethods->xWrite(open.real(), bytes.data(), size, at);
  file.since.push_back({.at = at, .bytes = std::string(bytes), .length = {}});
  file.length = std::max(file.length, at + std::ssize(bytes));
  return fate_.is_dead() ? SQLITE_IOERR_WRITE : code;
}

int Disk::truncate(OpenFile& open, std::int64_t length) {
  if (fails("truncation of ", *open.path)) return SQLITE_IOERR_TRUNCATE;
  File& file = files_[*open.path];
  file.since.push_back({.at = 0, .bytes = {}, .length = length});
  file.length = length;
  return open.real()->pMethods->xTruncate(open.real(), length);
}

int Disk::open_file(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags,
                    int* got) {
  auto& disk = *static_cast<Disk*>(vfs->pAppData);
  OpenFile& open =
      *new (file) OpenFile{.base = {.pMethods = nullptr}, .disk = &disk, .path = nullptr};
  const bool is_gone = is_kept(flags) && ::access(name, F_OK) != 0;
  if (is_gone) disk.files_.erase(name);  // the store has moved it away
  if (is_kept(flags)) open.path = &disk.files_.try_emplace(name).first->first;
  const int code = disk.real_->xOpen(disk.real_, name, open.real(), flags, got);
  if (open.real()->pMethods == nullptr) return code;
  open.base.pMethods = &kMethods;
  if ((flags & SQLITE_OPEN_WAL) != 0) disk.open_logs_.insert(&open);
  return code;
}

int Disk::close_file(sqlite3_file* file) {
  of(file).disk->open_logs_.erase(&of(file));
  return pass<&sqlite3_io_methods::xClose>(file);
}

int Disk::remove_file(sqlite3_vfs* vfs, const char* name, int sync_folder) {
  auto& disk = *static_cast<Disk*>(vfs->pAppData);
  if (disk.fails("removal of ", name)) return SQLITE_IOERR_DELETE;
  disk.files_.erase(name);
  return disk.real_->xDelete(disk.real_, name, sync_folder);
}

int Disk::write_file(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  OpenFile& open = of(file);
  if (open.path == nullptr) return SQLITE_IOERR_WRITE;  // temporary files are in memory
  const std::string_view bytes(static_cast<const char*>(from), static_cast<std::size_t>(size));
  return open.disk->write(open, bytes, at);
}

int Disk::truncate_file(sqlite3_file* file, sqlite3_int64 length) {
  OpenFile& open = of(file);
  return open.path == nullptr ? SQLITE_IOERR_TRUNCATE : open.disk->truncate(open, length);
}

int Disk::sync_file(sqlite3_file* file, int) {
  OpenFile& open = of(file);
  if (open.path == nullptr || open.disk->fails("sync of ", *open.path)) return SQLITE_IOERR_FSYNC;
  if (std::exchange(open.owes_error, false)) return SQLITE_IOERR_FSYNC;
  sync(open.disk->files_[*open.path]);
  return SQLITE_OK;
}

// Version 2: without memory maps, which would write past us.
const sqlite3_io_methods Disk::kMethods = {
    .iVersion = 2,
    .xClose = &Disk::close_file,
    .xRead = &pass<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>,
    .xWrite = &Disk::write_file,
    .xTruncate = &Disk::truncate_file,
    .xSync = &Disk::sync_file,
    .xFileSize = &pass<&sqlite3_io_methods::xFileSize, sqlite3_int64*>,
    .xLock = &pass<&sqlite3_io_methods::xLock, int>,
    .xUnlock = &pass<&sqlite3_io_methods::xUnlock, int>,
    .xCheckReservedLock = &pass<&sqlite3_io_methods::xCheckReservedLock, int*>,
    .xFileControl = &pass<&sqlite3_io_methods::xFileControl, int, void*>,
    .xSectorSize = &pass<&sqlite3_io_methods::xSectorSize>,
    .xDeviceCharacteristics = &pass<&sqlite3_io_methods::xDeviceCharacteristics>,
    .xShmMap = &pass<&sqlite3_io_methods::xShmMap, int, int, int, void volatile**>,
    .xShmLock = &pass<&sqlite3_io_methods::xShmLock, int, int, int>,
    .xShmBarrier = &pass_barrier,
    .xShmUnmap = &pass<&sqlite3_io_methods::xShmUnmap, int>,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

}  // namespace berth::dst

// ---- Between the store and the system -------------------------------------------------------

extern "C" int __real_fdatasync(int descriptor);
extern "C" ssize_t __real_pwrite(int descriptor, const void* bytes, size_t size, off_t at);
extern "C" int __real_fallocate(int descriptor, int mode, off_t at, off_t size);

int __wrap_fdatasync(int descriptor) {
  if (!berth::dst::Disk::is_log(descriptor)) return __real_fdatasync(descriptor);
  errno = berth::dst::Disk::the_one->wait_for_log();
  return errno == 0 ? 0 : -1;
}

ssize_t __wrap_pwrite(int descriptor, const void* bytes, size_t size, off_t at) {
  const ssize_t written = __real_pwrite(descriptor, bytes, size, at);
  if (written > 0 && berth::dst::Disk::is_log(descriptor)) {
    const auto count = static_cast<std::size_t>(written);
    berth::dst::Disk::the_one->wrote_log({static_cast<const char*>(bytes), count}, at);
  }
  return written;
}

/// What is set aside for the log is only counted: a full disk has none.
int __wrap_fallocate(int descriptor, int mode, off_t at, off_t size) {
  if (!berth::dst::Disk::is_log(descriptor)) return __real_fallocate(descriptor, mode, at, size);
  errno = berth::dst::Disk::the_one->is_full() ? ENOSPC : 0;
  return errno == 0 ? 0 : -1;
}
