// A disk of a few MiB in memory, to be filled and to be made read-only, where we may mount.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <string>

#include "posix/descriptor.hpp"

namespace berth::test {

class SmallDisk {
 public:
  /// In a mount namespace of this process, so that no other sees it; see is_there().
  SmallDisk(std::string folder, const std::string& size) : folder_(std::move(folder)) {
    static const bool own = ::unshare(CLONE_NEWNS) == 0 &&
                            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    const std::string options = "mode=0700,size=" + size;
    is_there_ = own && ::mount("disk", folder_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (is_there_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// False where we may not mount: without root, or in a container without that right.
  bool is_there() const { return is_there_; }
  const std::string& folder() const { return folder_; }

  /// To the last byte, by a file of another program.
  void fill() const {
    const Descriptor file(
        ::open(filler().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    static const std::array<char, 4096> page{};
    while (::write(file.number(), page.data(), page.size()) > 0) {
    }
  }
  void make_room() const { ::unlink(filler().c_str()); }

  /// While no process has a file of it open for writing.
  bool make_read_only() const {
    return ::mount("disk", folder_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  bool make_writable() const {
    return ::mount("disk", folder_.c_str(), nullptr, MS_REMOUNT, nullptr) == 0;
  }

 private:
  std::string filler() const { return folder_ + "/filler"; }

  std::string folder_;
  bool is_there_ = false;
};

}  // namespace berth::test
