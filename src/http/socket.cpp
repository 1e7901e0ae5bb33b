#include "http/socket.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

namespace berth::http {

namespace {

constexpr std::size_t kPathSpace = sizeof(sockaddr_un::sun_path);
constexpr std::size_t kMostName = kPathSpace - sizeof("/proc/self/fd/1234/");
constexpr int kQueue = 4096;  // the kernel lowers it to net.core.somaxconn

std::string words(int error) { return std::generic_category().message(error); }

Error error_at(const std::string& path, int error) {
  return {ErrorCode::Io, path + ": " + words(error)};
}

struct Split {
  std::string folder;
  std::string name;
};

Split split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

/// The path itself where it fits, else a short way to the same file through its open folder.
std::string short_path(const std::string& path, int folder) {
  if (path.size() < kPathSpace) return path;
  return "/proc/self/fd/" + std::to_string(folder) + "/" + split(path).name;
}

bool fits(const std::string& path) {
  return path.size() < kPathSpace || split(path).name.size() <= kMostName;
}

/// Errors: ENAMETOOLONG.
std::expected<Address, int> address_of(const std::string& path, int folder) {
  const std::string reached = short_path(path, folder);
  if (!fits(path) || reached.size() >= kPathSpace) return std::unexpected(ENAMETOOLONG);
  Address address;
  address.value.sun_family = AF_UNIX;
  std::memcpy(address.value.sun_path, reached.c_str(), reached.size() + 1);
  return address;
}

std::expected<Descriptor, int> new_socket(Blocking blocking) {
  const int flags = SOCK_STREAM | SOCK_CLOEXEC | (blocking == Blocking::Yes ? 0 : SOCK_NONBLOCK);
  Descriptor socket(::socket(AF_UNIX, flags, 0));
  if (!socket.is_open()) return std::unexpected(errno);
  return socket;
}

int connect_whole(int socket, const Address& address) {
  while (::connect(socket, address.get(), sizeof(address.value)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// Two servers that start at once must not remove each other's new file as a stale one. They lock a
/// file that no other user can open, because every user who may read a folder can lock it. The file
/// exists as long as the lock is held.
class StartLock {
 public:
  static Expected<StartLock> take(int folder, const std::string& path,
                                  Listener::Patience patience) {
    const int tries = patience == Listener::Patience::Some ? 200 : 1;
    StartLock lock(folder, split(path).name + ".lock");
    for (int i = 0; i < tries; ++i) {
      if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const auto locked = lock.try_once(path + ".lock");
      if (!locked) return std::unexpected(locked.error());
      if (*locked) return lock;
    }
    return fail(ErrorCode::Io, path + ".lock: another berthd has locked it for 2 seconds");
  }
  StartLock(StartLock&&) noexcept = default;
  StartLock& operator=(StartLock&&) = delete;
  ~StartLock() {
    if (is_held_ && file_.is_open()) unlinkat(folder_, name_.c_str(), 0);
  }

 private:
  StartLock(int folder, std::string name) : folder_(folder), name_(std::move(name)) {}

  Expected<bool> try_once(const std::string& path) {
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    file_ = Descriptor(openat(folder_, name_.c_str(), flags, 0600));
    struct stat ours = {};
    if (!file_.is_open() || fstat(file_.number(), &ours) != 0) {
      return std::unexpected(error_at(path, errno));
    }
    if (!S_ISREG(ours.st_mode) || ours.st_uid != geteuid()) {
      return fail(ErrorCode::Io, path + ": exists and is of another user; it is left as it is");
    }
    if (fchmod(file_.number(), 0600) != 0) return std::unexpected(error_at(path, errno));
    if (flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK || errno == EINTR) return false;
      return std::unexpected(error_at(path, errno));
    }
    // The holder before has removed it by now, and another server may have made the next one.
    struct stat there = {};
    const bool found = fstatat(folder_, name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
    is_held_ = found && there.st_ino == ours.st_ino && there.st_dev == ours.st_dev;
    return is_held_;
  }

  int folder_;
  std::string name_;
  Descriptor file_;
  bool is_held_ = false;
};

/// Removes a socket file without a listener; leaves any other file.
Expected<void> make_way(const std::string& path, int folder, const std::string& name) {
  struct stat file = {};
  if (fstatat(folder, name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return std::unexpected(error_at(path, errno));
  }
  if (!S_ISSOCK(file.st_mode)) {
    return fail(ErrorCode::Io, path + ": exists and is not a socket; it is left as it is");
  }
  const auto probe = connect_to(path, Blocking::No);
  const bool answers = probe || probe.error() == EAGAIN || probe.error() == EPROTOTYPE;
  if (answers) return fail(ErrorCode::Conflict, path + ": another berthd answers there");
  if (probe.error() == ENOENT) return {};
  if (probe.error() != ECONNREFUSED) return std::unexpected(error_at(path, probe.error()));
  if (unlinkat(folder, name.c_str(), 0) == 0) return {};
  return std::unexpected(error_at(path, errno));
}

}  // namespace

std::expected<Descriptor, int> connect_to(const std::string& path, Blocking blocking,
                                          Duration patience) {
  Descriptor folder;
  if (path.size() >= kPathSpace) {
    folder = Descriptor(open(split(path).folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder.is_open()) return std::unexpected(errno);
  }
  const auto address = address_of(path, folder.number());
  if (!address) return std::unexpected(address.error());
  auto socket = new_socket(blocking);
  if (!socket) return socket;
  const timeval most{.tv_sec = micros(patience) / 1'000'000,
                     .tv_usec = micros(patience) % 1'000'000};
  setsockopt(socket->number(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
  if (const int error = connect_whole(socket->number(), *address)) return std::unexpected(error);
  return socket;
}

Expected<Listener> Listener::open(const std::string& path, mode_t mode, Patience patience) {
  auto [folder_path, name] = split(path);
  Descriptor folder(::open(folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) {
    return fail(ErrorCode::Io, path + ": its folder cannot be opened: " + words(errno));
  }
  const auto address = address_of(path, folder.number());
  if (!address || name.empty()) {
    return fail(ErrorCode::Io, path + ": its name has " + std::to_string(name.size()) +
                                   " characters; a socket's has from 1 to " +
                                   std::to_string(kMostName) + " in a folder as deep");
  }
  Listener listener(path, mode, std::move(folder), std::move(name));
  const auto lock = StartLock::take(listener.folder_.number(), path, patience);
  if (!lock) return std::unexpected(lock.error());
  auto listening = listener.listen(*address);
  if (!listening) return std::unexpected(std::move(listening.error()));
  return listener;
}

Expected<void> Listener::listen(const Address& address) {
  if (auto free = make_way(path_, folder_.number(), name_); !free) return free;
  auto socket = new_socket(Blocking::No);
  if (!socket) return std::unexpected(error_at(path_, socket.error()));
  socket_ = std::move(*socket);
  if (const int error = bind_with_mode(address)) return std::unexpected(error_at(path_, error));
  if (::listen(socket_.number(), kQueue) != 0) return std::unexpected(error_at(path_, errno));
  return {};
}

int Listener::bind_with_mode(const Address& address) {
  if (fchmod(socket_.number(), mode_) != 0) return errno;
  if (::bind(socket_.number(), address.get(), sizeof(address.value)) != 0) return errno;
  const int at = folder_.number();
  if (fstatat(at, name_.c_str(), &file_, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  return fchmodat(at, name_.c_str(), mode_, 0) == 0 ? 0 : errno;
}

bool Listener::is_gone() const {
  struct stat there = {};
  return lstat(path_.c_str(), &there) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

void Listener::remove_file() {
  struct stat now = {};
  if (file_.st_ino == 0 || !folder_.is_open()) return;
  const bool found = fstatat(folder_.number(), name_.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0;
  const bool is_ours = found && now.st_ino == file_.st_ino && now.st_dev == file_.st_dev;
  if (is_ours) unlinkat(folder_.number(), name_.c_str(), 0);
  file_ = {};
}

Peer peer_of(int socket) {
  Peer peer;
  ucred who = {};
  socklen_t size = sizeof(who);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0) {
    peer = {.pid = who.pid, .user = who.uid, .group = who.gid};
  }
  std::vector<gid_t> groups(32);
  for (;;) {
    size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0) break;
    if (errno != ERANGE) return peer;
    groups.resize(size / sizeof(gid_t));
  }
  groups.resize(size / sizeof(gid_t));
  groups.shrink_to_fit();
  peer.groups = std::move(groups);
  return peer;
}

}  // namespace berth::http
