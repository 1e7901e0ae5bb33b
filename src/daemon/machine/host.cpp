#include "daemon/machine/host.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "daemon/attempts/launcher.hpp"
#include "daemon/attempts/snapshot_child.hpp"
#include "daemon/loop/clock.hpp"
#include "daemon/machine/executor.hpp"
#include "posix/descriptor.hpp"
#include "posix/error.hpp"

namespace berth::daemon {

Expected<Bytes> Host::room_near(const std::string& path) {
  struct statvfs disk{};
  if (::statvfs(path.c_str(), &disk) != 0) return io_error(path);
  // Some file systems have no such limit, and say 0 of 0.
  if (disk.f_files > 0 && disk.f_favail < kFewestFiles) {
    return fail(ErrorCode::Io, path + ": its disk has room for " + std::to_string(disk.f_favail) +
                                   " files (df -i), jobs are taken in from " +
                                   std::to_string(kFewestFiles) + " on");
  }
  return Bytes(static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize));
}

Expected<std::unique_ptr<live::StateCopy>> Host::copy(const Engine& engine) {
  return SnapshotChild::begin(engine);
}

/// As Conductor::recover() has it, for when the places that jobs held are there no more.
live::Remains Host::remains_of(const Job& job) {
  const AttemptLeft left = look_for_attempt(folder() + "/attempts", job.id, job.attempt);
  if (left.lives) return {.trace = live::Trace::Lives, .ending = {}};
  if (!left.record) {
    return {.trace = live::Trace::Over,
            .ending = {.outcome = Outcome::Lost,
                       .at = Clock(kStart).now(),
                       .note = "its attempt file is gone"}};
  }
  if (!left.record->go && !left.record->exit) return {.trace = live::Trace::None, .ending = {}};
  const Clock clock(kStart);
  if (left.record->exit) {
    const std::string log = folder() + "/logs/" + std::to_string(job.id.value()) + ".log";
    const auto words = [&] { return read_tail(log, left.record->log_from, kTail); };
    const Outcome outcome = outcome_of(*left.record->exit, oom_words_, words, unwatched(job));
    return {.trace = live::Trace::Over,
            .ending = ending_of(*left.record->exit, outcome, "", clock)};
  }
  return {.trace = live::Trace::Over,
          .ending = {.outcome = Outcome::Lost,
                     .at = clock.now(),
                     .note = "its shim died while no berthd ran"}};
}

std::string Host::keep_aside(const std::string& name, const std::string& text) {
  const std::string aside = folder() + "/aside";
  ::mkdir(aside.c_str(), 0700);
  const std::string path = aside + "/" + name;
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool is_whole = file.is_open() && ::write(file.number(), text.data(), text.size()) ==
                                              static_cast<ssize_t>(text.size());
  return is_whole ? path : path + ", which cannot be written: " + std::strerror(errno);
}

}  // namespace berth::daemon
