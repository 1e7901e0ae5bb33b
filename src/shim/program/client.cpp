#include "shim/program/client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "shim/proc.hpp"
#include "shim/program/helper.hpp"

namespace berth::shim {

namespace {

constexpr std::chrono::seconds kConnecting{5};  ///< The socket's folder may be anywhere.

/// Connects without waiting: `berth run` listens for this one connection. Returns: 0 or an errno.
int connect_by(int socket, const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  Descriptor named;
  std::string reached = path;
  if (path.size() >= sizeof address.sun_path) {
    named = Descriptor(open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!named.is_open()) return errno;
    reached = "/proc/self/fd/" + std::to_string(named.number());
  }
  std::ranges::copy(reached, address.sun_path);
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  return connect(socket, any, sizeof address) == 0 ? 0 : errno;
}

/// What stands behind `/proc/7/root`, by which a client names a file as it sees it itself. Where
/// its number or that path means nothing here the folders may be the same all the same.
std::string seen_from_here(const std::string& path) {
  constexpr std::string_view kProcesses = "/proc/";
  constexpr std::string_view kRoot = "root/";
  if (!path.starts_with(kProcesses)) return "";
  const std::size_t slash = path.find('/', kProcesses.size());
  if (slash == path.npos || path.compare(slash + 1, kRoot.size(), kRoot) != 0) return "";
  return path.substr(slash + kRoot.size());
}

int connect_to(int socket, const std::string& path) {
  const int error = connect_by(socket, path);
  const std::string here = error == 0 ? "" : seen_from_here(path);
  return here.empty() ? error : connect_by(socket, here);
}

Outputs outputs_of(pid_t pid) {
  const std::string output = name_of(pid, STDOUT_FILENO);
  const bool is_one = !output.empty() && name_of(pid, STDERR_FILENO) == output;
  return is_one ? Outputs::InOne : Outputs::Apart;
}

Attempted<Client> made_sure(Descriptor socket, uid_t user) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return std::unexpected(Failure{Step::Client, errno});
  }
  if (peer.uid != user) return std::unexpected(Failure{Step::Stranger, EPERM});
  return Client(std::move(socket), outputs_of(peer.pid));
}

}  // namespace

Attempted<Client> connect_client(const Order& order, const Attach& attach) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return std::unexpected(Failure{Step::Client, errno});
  const auto helper = Helper::begin(user_of(order), socket.number(),
                                    [&attach] { return connect_to(STDIN_FILENO, attach.socket); });
  if (!helper) return std::unexpected(helper.error());
  const auto error = helper->wait_until(Clock::now() + kConnecting);
  if (error == Helper::kNotTheUser) return std::unexpected(Failure{Step::User, EPERM});
  if (error != 0) return std::unexpected(Failure{Step::Client, error.value_or(ETIMEDOUT)});
  return made_sure(std::move(socket), order.user);
}

std::optional<Attach> take_attach_request(int attempt_file) {
  const std::string path = name_of(getpid(), attempt_file);
  if (path.empty()) return std::nullopt;
  const std::string name = path + std::string(kAttachSuffix);
  const Descriptor file(open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  std::array<char, 8192> bytes;
  const Moved got = read_some(file.number(), bytes.data(), bytes.size());
  unlink(name.c_str());
  auto request = decode_attach({bytes.data(), got.bytes});
  return request ? std::optional(std::move(*request)) : std::nullopt;
}

bool Client::flush() {
  while (!unsent_.empty()) {
    const Moved sent = write_some(socket_.number(), unsent_);  // SIGPIPE is ignored
    if (sent.flow != Flow::Some) return sent.flow == Flow::Full;
    unsent_.erase(0, sent.bytes);
  }
  return true;
}

void Client::flush_until(Clock::time_point end) {
  while (flush() && has_unsent()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd writable{.fd = number(), .events = POLLOUT, .revents = 0};
    if (left <= 0 || poll(&writable, 1, static_cast<int>(left)) < 0) return;
  }
}

bool Client::receive() {
  std::array<char, 16 * 1024> bytes;
  const Moved got = read_some(socket_.number(), bytes.data(), bytes.size());
  if (got.flow == Flow::Some) reader_.add({bytes.data(), got.bytes});
  return got.flow != Flow::Ended;
}

}  // namespace berth::shim
