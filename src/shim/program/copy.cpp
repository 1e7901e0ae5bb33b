#include "shim/program/copy.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace berth::shim {

namespace {

constexpr std::size_t kMostWritten = std::size_t{64} * 1024;
constexpr std::chrono::milliseconds kLook{20};

// ---- In the process of the user's ------------------------------------------------------------

/// It says an errno twice: once the file is open, or is not, and at its end. 0: all is well.
bool say(int error) {
  return send(STDIN_FILENO, &error, sizeof error, MSG_NOSIGNAL) == sizeof error;
}

int open_without_magic(const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.mode = 0666;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  const long file = syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how);
  // A container may not know the call. What is open here is a socket of berth's and /dev/null.
  const bool is_unknown = file < 0 && (errno == ENOSYS || errno == EPERM);
  return is_unknown ? open(path.c_str(), flags, how.mode) : static_cast<int>(file);
}

/// As `mkdir -p` does. What cannot be made the opening of the file tells.
void make_folders_of(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != path.npos; at = path.find('/', at + 1)) {
    mkdir(path.substr(0, at).c_str(), 0777);
  }
}

Descriptor open_when_there(const std::string& path, int flags, const std::string& directory) {
  const auto end = Clock::now() + Copy::kLateFolder;
  for (;;) {
    Descriptor file(open_without_magic(path, flags));
    const bool is_late = !file.is_open() && (errno == ENOENT || errno == ESTALE);
    // What other processes have open is not there in this one, and does not come.
    if (is_late && path.starts_with("/proc/")) errno = ELOOP;
    if (errno == ELOOP || !is_late) return file;
    if (Clock::now() >= end) break;
    usleep(std::chrono::microseconds(kLook).count());
  }
  // A job whose own directory is not there is not to run in an empty one.
  if (access(directory.c_str(), F_OK) == 0) make_folders_of(path);
  return Descriptor(open_without_magic(path, flags));
}

/// Until the shim has no more, or there is no room for it. Returns: an errno, or 0.
int write_all_of(int file) {
  const auto buffer = std::make_unique_for_overwrite<char[]>(kMostWritten);
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, buffer.get(), kMostWritten);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return close(file) == 0 ? 0 : errno;  // some servers tell only then
    std::string_view rest(buffer.get(), static_cast<std::size_t>(got));
    while (!rest.empty()) {
      const ssize_t written = write(file, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno;
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }
}

int write_file(const Order& order) {
  umask(order.umask);
  const std::string path =
      order.output.starts_with('/') ? order.output : order.directory + "/" + order.output;
  const int begins = order.attempt == Attempt(1) ? O_TRUNC : 0;
  Descriptor file = open_when_there(
      path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | begins,
      order.directory);
  if (!file.is_open()) return say(errno) ? 0 : 1;
  fcntl(file.number(), F_SETFL, O_APPEND);  // one with a slow reader loses nothing
  if (!say(0)) return 1;
  return say(write_all_of(file.release())) ? 0 : 1;
}

// ---- In the shim -----------------------------------------------------------------------------

/// Returns: false after this time without any of the events.
bool wait_for(int file, short events, std::chrono::milliseconds most) {
  pollfd waiting{.fd = file, .events = events, .revents = 0};
  return poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(most.count(), 0))) > 0;
}

std::string took_nothing(std::chrono::seconds time) {
  return "it took nothing for " + std::to_string(time.count()) + " s";
}

}  // namespace

Attempted<Copy> Copy::begin(const Order& order) {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return std::unexpected(Failure{Step::Pipes, errno});
  }
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  auto helper =
      Helper::begin(user_of(order), theirs.number(), [&order] { return write_file(order); });
  if (!helper) return std::unexpected(helper.error());
  return Copy(std::move(*helper), std::move(ours));
}

Failure Copy::wait_open(bool (*is_wanted)()) {
  const auto end = Clock::now() + kOpening;
  while (is_wanted() && Clock::now() < end) {
    if (!wait_for(number(), POLLIN, kLook)) continue;
    const auto said = hear();
    if (!said) return {Step::User, EPERM};
    return *said == 0 ? Failure{} : Failure{Step::Output, *said};
  }
  helper_.kill();
  return {Step::Output, is_wanted() ? ETIMEDOUT : ECANCELED};
}

void Copy::send(std::string_view bytes) {
  if (!socket_.is_open() || bytes.empty()) return;
  if (unsent_.empty()) taken_at_ = Clock::now();
  unsent_ += bytes;
  move();
}

/// What it says next; nothing if it says nothing more.
std::optional<int> Copy::hear() {
  int error = 0;
  const ssize_t got = recv(number(), &error, sizeof error, MSG_DONTWAIT);
  return got == sizeof error ? std::optional(error) : std::nullopt;
}

void Copy::move() {
  while (socket_.is_open() && !unsent_.empty()) {
    const ssize_t sent =
        ::send(number(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) break;
    unsent_.erase(0, static_cast<std::size_t>(sent));
    taken_at_ = Clock::now();
  }
  if (socket_.is_open() && wait_for(number(), POLLIN, std::chrono::milliseconds(0))) {
    const int error = hear().value_or(EPIPE);
    return give_up(error == EPIPE ? "its writer was ended" : strerrordesc_np(error));
  }
  if (timeout() == 0) give_up(took_nothing(kTaking));
}

int Copy::timeout() const {
  if (!socket_.is_open() || unsent_.empty()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(taken_at_ + kTaking - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void Copy::give_up(std::string problem) {
  problem_ = std::move(problem);
  unsent_.clear();
  socket_.close();
  helper_.kill();
}

void Copy::finish() {
  auto end = Clock::now() + kEnding;
  while (has_unsent() && Clock::now() < end) {
    const std::size_t before = unsent_.size();
    if (wait_for(number(), POLLOUT, kLook)) move();
    if (unsent_.size() < before) end = Clock::now() + kEnding;
  }
  if (!socket_.is_open()) return;
  shutdown(number(), SHUT_WR);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  if (has_unsent() || !wait_for(number(), POLLIN, left)) return give_up(took_nothing(kEnding));
  const int error = hear().value_or(EPIPE);
  if (error != 0) return give_up(error == EPIPE ? "its writer was ended" : strerrordesc_np(error));
  socket_.close();
}

}  // namespace berth::shim
