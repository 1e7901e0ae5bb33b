#include "cli/attend/rendezvous.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "posix/small_file.hpp"

namespace berth::cli {

namespace {

constexpr auto kPrefix = "berth-run-";
constexpr auto kTail = "/berth-run-XXXXXX/s";
constexpr std::time_t kNewFor =
    60;  ///< Seconds in which its `berth run` may still be about to bind.

/// A `berth run` that was killed with SIGKILL leaves its folder. Which sockets are bound the kernel
/// tells; to connect would disturb a run that lives.
void remove_left_behind(const std::filesystem::path& parent) {
  std::error_code ignored;
  std::optional<std::string> bound;
  for (std::filesystem::directory_iterator at(parent, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::filesystem::path& folder = at->path();
    if (!folder.filename().string().starts_with(kPrefix)) continue;
    struct stat status{};
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    if (status.st_uid != geteuid() || status.st_mtime + kNewFor > std::time(nullptr)) continue;
    if (!bound) bound = read_small_file("/proc/net/unix");
    const std::string socket = folder.string() + "/s";
    if (bound->empty() || bound->contains(socket + "\n")) continue;
    unlink(socket.c_str());
    rmdir(folder.c_str());
  }
}

std::optional<std::string> private_folder(const std::string& parent) {
  if (!parent.starts_with('/') ||
      parent.size() + std::strlen(kTail) >= sizeof(sockaddr_un::sun_path)) {
    return std::nullopt;
  }
  remove_left_behind(parent);
  std::string folder = parent + "/berth-run-XXXXXX";
  return mkdtemp(folder.data()) == nullptr ? std::nullopt : std::optional(folder);
}

std::optional<std::string> private_folder() {
  const char* const own = std::getenv("XDG_RUNTIME_DIR");
  auto folder = private_folder(own == nullptr ? "" : own);
  return folder ? folder : private_folder("/tmp");
}

/// Of this user, made again where it is gone.
bool has_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) == 0) return true;
  struct stat status{};
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid();
}

Descriptor new_socket() {
  return Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool listens(int socket, const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
         listen(socket, 8) == 0;
}

}  // namespace

Expected<Rendezvous> Rendezvous::open() {
  const auto folder = private_folder();
  if (!folder) return fail(ErrorCode::Io, std::string("a folder in /tmp: ") + std::strerror(errno));
  Rendezvous made;
  made.file_ = *folder + "/s";
  made.socket_ = new_socket();
  if (!listens(made.descriptor(), made.file_)) {
    return fail(ErrorCode::Io, made.file_ + ": " + std::strerror(errno));
  }
  return made;
}

void Rendezvous::keep() {
  struct stat status{};
  if (lstat(file_.c_str(), &status) == 0 || errno != ENOENT) return;
  if (!has_folder(file_.substr(0, file_.rfind('/')))) return;
  Descriptor again = new_socket();
  if (listens(again.number(), file_)) socket_ = std::move(again);
}

Rendezvous::~Rendezvous() {
  if (file_.empty()) return;  // moved from
  unlink(file_.c_str());
  rmdir(file_.substr(0, file_.rfind('/')).c_str());
}

std::string Rendezvous::path() const {
  return "/proc/" + std::to_string(getpid()) + "/root" + file_;
}

std::optional<Descriptor> Rendezvous::accept() const {
  Descriptor peer(accept4(descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!peer.is_open()) return std::nullopt;
  const uid_t user = http::peer_of(peer.number()).user;
  if (user != 0 && user != geteuid()) return std::nullopt;
  return peer;
}

}  // namespace berth::cli
