#include "daemon/attempts/snapshot_child.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "posix/error.hpp"

namespace berth::daemon {

namespace {

constexpr int kNice = 10;  ///< It is in no hurry.
constexpr int kOnlyFile = 3;

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Holds on to nothing of its parent's: a lock or a connection that it has must end when it does.
[[noreturn]] void run_child(const Engine& engine, int file, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool is_alone = ::dup2(file, kOnlyFile) == kOnlyFile &&
                        ::close_range(kOnlyFile + 1, ~0U, 0) == 0 && ::getppid() == parent;
  if (!is_alone) ::_exit(1);
  ::setpriority(PRIO_PROCESS, 0, kNice);
  ::_exit(write_all(kOnlyFile, engine.save()) ? 0 : 1);
}

}  // namespace

Expected<std::unique_ptr<SnapshotChild>> SnapshotChild::begin(const Engine& engine) {
  Descriptor file(::memfd_create("berth-snapshot", MFD_CLOEXEC));
  if (!file.is_open()) {
    return io_error("no file for a snapshot");
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) run_child(engine, file.number(), parent);
  if (child < 0) {
    return io_error("no process for a snapshot");
  }
  return std::unique_ptr<SnapshotChild>(new SnapshotChild(child, std::move(file)));
}

SnapshotChild::~SnapshotChild() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

SnapshotChild::Progress SnapshotChild::look() {
  if (child_ < 0) return is_whole_ ? Progress::Done : Progress::Failed;
  int status = 0;
  if (::waitpid(child_, &status, WNOHANG) == 0) return Progress::Busy;
  child_ = -1;
  struct stat file{};
  is_whole_ = WIFEXITED(status) && WEXITSTATUS(status) == 0 && ::fstat(file_.number(), &file) == 0;
  size_ = file.st_size;
  return look();
}

Expected<std::string> SnapshotChild::read(std::int64_t offset, std::size_t most) const {
  std::string bytes(most, '\0');
  const ssize_t got = ::pread(file_.number(), bytes.data(), most, offset);
  if (got <= 0) return fail(ErrorCode::Io, "the state of a snapshot cannot be read again");
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace berth::daemon
