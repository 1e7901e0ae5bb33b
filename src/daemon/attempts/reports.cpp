#include "daemon/attempts/reports.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

#include "posix/error.hpp"

namespace berth::daemon {

namespace {

constexpr Duration kFlushAfter = Duration(250'000);
constexpr std::size_t kMostKey = 64;
constexpr std::size_t kMostWaiting = 10'000;
constexpr int kAtOnce = 100;         ///< Then others have their turn, however many more come.
constexpr double kMostValue = 9e12;  ///< In millionths it fits 63 bits.

bool is_key(std::string_view key) {
  if (key.empty() || key.size() > kMostKey) return false;
  for (const char c : key) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '-';
    if (!plain) return false;
  }
  return true;
}

std::string_view next_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(word.size());
  return word;
}

template <class Number>
bool read(std::string_view word, Number& number) {
  const auto done = std::from_chars(word.data(), word.data() + word.size(), number);
  return done.ec == std::errc() && done.ptr == word.data() + word.size();
}

struct Received {
  std::string text;
  uid_t user = 0;
};

/// One datagram with its sender; nothing if there is none, or it has no credentials.
std::optional<Received> receive_one(int socket) {
  std::array<char, 512> text{};
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return std::nullopt;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  ucred sender{};
  sender.uid = static_cast<uid_t>(-1);
  if (header != nullptr && header->cmsg_type == SCM_CREDENTIALS) {
    std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
  }
  return Received{std::string(text.data(), static_cast<std::size_t>(got)), sender.uid};
}

/// True if a process receives there.
bool is_served(const sockaddr_un& address) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
         0;
}

/// What is not a socket is not ours to remove.
Expected<void> remove_socket(const std::string& path) {
  struct stat file{};
  if (::lstat(path.c_str(), &file) != 0) return {};  // binding will tell what is wrong there
  if (!S_ISSOCK(file.st_mode)) {
    return fail(ErrorCode::Io, path + ": exists and is not a socket; it is left as it is");
  }
  ::unlink(path.c_str());
  return {};
}

/// A socket that receives there. Errors: as Reports::open.
Expected<Descriptor> bind_at(const std::string& path, mode_t mode) {
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(ErrorCode::Io, path + ": " + std::to_string(path.size()) +
                                   " bytes, the most for a socket is " +
                                   std::to_string(sizeof address.sun_path - 1));
  }
  path.copy(address.sun_path, path.size());
  if (is_served(address)) return fail(ErrorCode::Conflict, path + ": another berthd serves there");
  if (auto removed = remove_socket(path); !removed) return std::unexpected(removed.error());
  const int on = 1;
  const mode_t before = ::umask(0777 & ~mode);
  const bool bound =
      socket.is_open() &&
      ::setsockopt(socket.number(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
      ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::umask(before);
  if (!bound) return io_error(path);
  return socket;
}

}  // namespace

Expected<Reported> parse_report(std::string_view text) {
  std::uint64_t job = 0;
  double value = 0;
  const std::string_view number = next_word(text);
  const std::string_view key = next_word(text);
  const std::string_view amount = next_word(text);
  const bool good = read(number, job) && is_key(key) && read(amount, value) &&
                    std::abs(value) <= kMostValue && next_word(text).empty();
  if (!good) return fail(ErrorCode::BadData, "a report is `JOB KEY VALUE`");
  return Reported{JobId(job), std::string(key), std::llround(value * 1e6)};
}

Reports::Reports(Loop& loop, Place place, Descriptor socket, MayReport may_report, Deliver deliver)
    : loop_(loop),
      place_(std::move(place)),
      may_report_(std::move(may_report)),
      deliver_(std::move(deliver)),
      flush_alarm_(loop, [this] { flush(); }) {
  watch(std::move(socket));
}

void Reports::watch(Descriptor socket) {
  watch_.reset();
  socket_ = std::move(socket);
  watch_.emplace(loop_, socket_.number(), [this] { receive(); });
}

void Reports::come_back() {
  struct stat there{};
  if (::lstat(place_.path.c_str(), &there) == 0 || errno != ENOENT) return;
  receive();
  if (auto socket = bind_at(place_.path, place_.mode)) watch(std::move(*socket));
}

Reports::~Reports() { ::unlink(place_.path.c_str()); }

Expected<std::unique_ptr<Reports>> Reports::open(Loop& loop, const std::string& path, mode_t mode,
                                                 MayReport may_report, Deliver deliver) {
  auto socket = bind_at(path, mode);
  if (!socket) return std::unexpected(socket.error());
  return std::unique_ptr<Reports>(new Reports(loop, {path, mode}, std::move(*socket),
                                              std::move(may_report), std::move(deliver)));
}

void Reports::receive() {
  for (int i = 0; i < kAtOnce; ++i) {
    const auto received = receive_one(socket_.number());
    if (!received) return;
    const auto report = parse_report(received->text);
    if (!report || !may_report_(report->job, received->user)) continue;
    if (waiting_.size() >= kMostWaiting) continue;
    if (waiting_.empty()) flush_alarm_.set(kFlushAfter);
    waiting_[{report->job, report->key}] = report->value;
  }
}

void Reports::flush() {
  std::vector<Input> inputs;
  for (auto& [key, value] : waiting_) inputs.emplace_back(Reported{key.first, key.second, value});
  waiting_.clear();
  deliver_(std::move(inputs));
}

}  // namespace berth::daemon
