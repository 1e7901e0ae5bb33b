#include "daemon/host.hpp"

#include <sys/statvfs.h>

#include "daemon/snapshot_child.hpp"
#include "posix/error.hpp"

namespace berth::daemon {

Expected<Bytes> Host::free_room() const {
  struct statvfs disk{};
  if (::statvfs(path_.c_str(), &disk) != 0) return io_error(path_);
  return Bytes(static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize));
}

Expected<std::unique_ptr<live::StateCopy>> Host::copy(const Engine& engine) {
  return SnapshotChild::begin(engine);
}

}  // namespace berth::daemon
