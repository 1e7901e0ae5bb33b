// A file system of one file, `file`, that does not answer one kind of request: a process with such
// a one waits for as long as this lives.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "posix/descriptor.hpp"

namespace berth::test {

class Unanswered {
 public:
  enum class To { Write, Open, Lookup, Nothing };
  /// Whose it is: nobody else may look at it, not even root. Nobody's is everybody's.
  struct Mount {
    To silent_to = To::Write;
    std::optional<uid_t> owner = std::nullopt;
  };
  /// Gives this process a mount namespace, which those have that it starts from then on: only they
  /// see one of these. Returns: false where we may not.
  static bool has_own_mounts() {
    static const bool own = ::unshare(CLONE_NEWNS) == 0 &&
                            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    return own;
  }
  /// See is_there().
  explicit Unanswered(std::string folder) : Unanswered(std::move(folder), Mount{}) {}
  Unanswered(std::string folder, Mount mount) : folder_(std::move(folder)), mount_(mount) {
    if (!has_own_mounts()) return;
    kernel_ = Descriptor(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!kernel_.is_open()) return;
    const std::string owner = std::to_string(mount_.owner.value_or(0));
    const std::string options = "fd=" + std::to_string(kernel_.number()) +
                                ",rootmode=40000,user_id=" + owner + ",group_id=" + owner +
                                (mount_.owner ? "" : ",allow_other");
    is_there_ =
        ::mount("test", folder_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
    if (is_there_) server_ = std::thread([this] { serve(); });
  }
  ~Unanswered() {
    die();
    if (is_there_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  Unanswered(const Unanswered&) = delete;
  Unanswered& operator=(const Unanswered&) = delete;

  /// Stays mounted without its server: who waits, and whoever asks from now on, gets ENOTCONN.
  void die() {
    over_ = true;
    if (server_.joinable()) server_.join();
    kernel_ = Descriptor();
  }
  /// False where we may not mount, or there is no FUSE.
  bool is_there() const { return is_there_; }
  std::string file() const { return folder_ + "/file"; }
  /// How much was written there.
  std::size_t written() const { return written_; }

 private:
  static constexpr std::uint64_t kFile = 2;
  static constexpr std::uint32_t kPage = 4096;

  static fuse_attr attributes_of(std::uint64_t node) {
    fuse_attr attributes{};
    attributes.ino = node;
    attributes.mode = node == kFile ? S_IFREG | 0666 : S_IFDIR | 0755;
    attributes.nlink = 1;
    attributes.size = node == kFile ? kPage : 0;
    attributes.blksize = kPage;
    return attributes;
  }
  template <class Body>
  void answer(const fuse_in_header& asked, const Body& body) const {
    answer(asked, 0, &body, sizeof body);
  }
  void answer(const fuse_in_header& asked, int error, const void* body, std::size_t size) const {
    fuse_out_header header{.len = static_cast<std::uint32_t>(sizeof header + size),
                           .error = error,
                           .unique = asked.unique};
    const std::array parts = {iovec{&header, sizeof header}, iovec{const_cast<void*>(body), size}};
    if (::writev(kernel_.number(), parts.data(), parts.size()) < 0) return;  // it asks no more
  }
  void serve() {
    alignas(fuse_in_header) static std::array<char, 256 * 1024> bytes;
    while (!over_) {
      pollfd asked{.fd = kernel_.number(), .events = POLLIN, .revents = 0};
      constexpr int kLook = 20;
      if (::poll(&asked, 1, kLook) <= 0) continue;
      if (::read(kernel_.number(), bytes.data(), bytes.size()) <= 0) continue;
      fuse_in_header header{};
      std::memcpy(&header, bytes.data(), sizeof header);
      take(header, bytes.data() + sizeof header);
    }
  }
  bool is_silent_to(std::uint32_t request) const {
    switch (mount_.silent_to) {
      case To::Write:
        return request == FUSE_WRITE;
      case To::Open:
        return request == FUSE_OPEN;
      case To::Lookup:
        return request == FUSE_LOOKUP;
      case To::Nothing:
        return false;
    }
    return false;
  }
  void take(const fuse_in_header& asked, const char* body) {
    if (is_silent_to(asked.opcode)) return;
    switch (asked.opcode) {
      case FUSE_INIT:
        return answer(asked, greeting(body));
      case FUSE_LOOKUP: {
        if (std::strcmp(body, "file") != 0) return answer(asked, -ENOENT, nullptr, 0);
        fuse_entry_out entry{};
        entry.nodeid = kFile;
        entry.attr = attributes_of(kFile);
        return answer(asked, entry);
      }
      case FUSE_GETATTR:
      case FUSE_SETATTR: {
        fuse_attr_out attributes{};
        attributes.attr = attributes_of(asked.nodeid);
        return answer(asked, attributes);
      }
      case FUSE_OPEN: {
        fuse_open_out opened{};
        opened.open_flags = FOPEN_DIRECT_IO;  // a second mapping first writes what is not written
        return answer(asked, opened);
      }
      case FUSE_READ: {
        static const std::array<char, kPage> zeros{};
        return answer(asked, zeros);
      }
      case FUSE_WRITE: {
        fuse_write_in wanted{};
        std::memcpy(&wanted, body, sizeof wanted);
        written_ += wanted.size;
        fuse_write_out taken{};
        taken.size = wanted.size;
        return answer(asked, taken);
      }
      case FUSE_FLUSH:
      case FUSE_RELEASE:
        return answer(asked, 0, nullptr, 0);
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT:
        return;
      default:
        return answer(asked, -ENOSYS, nullptr, 0);
    }
  }
  static fuse_init_out greeting(const char* body) {
    constexpr std::uint64_t kDirectMappings = std::uint64_t{1} << 36;  // Linux 6.6 and later
    fuse_init_in offered{};
    std::memcpy(&offered, body, sizeof offered);
    fuse_init_out taken{};
    taken.major = FUSE_KERNEL_VERSION;
    taken.minor = std::min<std::uint32_t>(offered.minor, FUSE_KERNEL_MINOR_VERSION);
    taken.flags = FUSE_INIT_EXT;
    taken.flags2 = static_cast<std::uint32_t>(kDirectMappings >> 32);
    taken.max_write = kPage;
    taken.max_background = 16;
    taken.congestion_threshold = 12;
    return taken;
  }

  std::string folder_;
  Mount mount_;
  std::atomic<std::size_t> written_ = 0;
  Descriptor kernel_;
  bool is_there_ = false;
  std::atomic<bool> over_ = false;
  std::thread server_;
};

}  // namespace berth::test
