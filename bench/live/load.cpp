#include "live/load.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

namespace berth::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSilence = 30'000;  ///< Milliseconds without any answer.
constexpr std::string_view kSerial = "SERIAL=";
constexpr int kDigits = 12;

std::unexpected<Error> system_error(const std::string& what) {
  return fail(ErrorCode::Io, what + ": " + std::strerror(errno));
}

/// A whole request with 12 digits in its environment that make it one of its own.
std::string request_text() {
  Words environment = usual_environment();
  environment.push_back(std::string(kSerial) + std::string(kDigits, '0'));
  const nlohmann::json body = {{"command", {"python", "train.py", "--epochs", "10"}},
                               {"directory", "/"},
                               {"environment", environment},
                               {"name", "train"},
                               {"vram_bytes", std::int64_t{20} << 30}};
  const std::string text = body.dump();
  return "POST /v1/jobs HTTP/1.1\r\nHost: berth\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(text.size()) + "\r\n\r\n" + text;
}

class Connection {
 public:
  Connection() : request_(request_text()), serial_(request_.find(kSerial) + kSerial.size()) {}
  ~Connection() {
    if (socket_ >= 0) close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Expected<void> connect_to(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
      return fail(ErrorCode::InvalidArgument, path + ": too long for a socket");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return system_error("socket");
    const auto* const at = reinterpret_cast<const sockaddr*>(&address);
    if (connect(socket_, at, sizeof address) != 0) return system_error(path);
    return {};
  }

  /// Blocks while the server has not taken what was sent, which a socket's buffer makes rare.
  Expected<void> send_request(Environments environments, int number) {
    if (environments == Environments::Distinct) {
      std::array<char, kDigits + 1> digits{};
      std::snprintf(digits.data(), digits.size(), "%0*d", kDigits, number);
      std::memcpy(request_.data() + serial_, digits.data(), kDigits);
    }
    answer_.clear();
    sent_ = Clock::now();
    const ssize_t sent = send(socket_, request_.data(), request_.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(request_.size())) return {};
    return system_error("a request was not sent");
  }

  /// Takes in what has come. Returns: whether the answer is whole.
  Expected<bool> receive() {
    std::array<char, 4096> bytes;
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) return fail(ErrorCode::Io, "berthd closed a connection");
    answer_.append(bytes.data(), static_cast<std::size_t>(got));
    if (!is_whole()) return false;
    if (answer_.starts_with("HTTP/1.1 201 ")) return true;
    return fail(ErrorCode::Conflict, "berthd answered " + answer_);
  }

  int socket_number() const { return socket_; }
  Clock::time_point sent() const { return sent_; }

 private:
  bool is_whole() const {
    const std::size_t head = answer_.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t length = answer_.find(kLength);
    if (length == std::string::npos) return false;
    const int size = std::atoi(answer_.c_str() + length + kLength.size());
    return answer_.size() >= head + 4 + static_cast<std::size_t>(size);
  }

  int socket_ = -1;
  std::string request_;
  std::size_t serial_;
  std::string answer_;
  Clock::time_point sent_;
};

class Load {
 public:
  explicit Load(const LoadPlan& plan)
      : plan_(plan),
        events_(epoll_create1(EPOLL_CLOEXEC)),
        connections_(static_cast<std::size_t>(plan.connections)) {}
  ~Load() { close(events_); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  Expected<LoadResult> run() {
    for (Connection& connection : connections_) {
      if (auto done = enter(connection); !done) return std::unexpected(done.error());
    }
    const auto from = Clock::now();
    for (Connection& connection : connections_) {
      if (auto done = send_next(connection); !done) return std::unexpected(done.error());
    }
    const auto submits = static_cast<std::size_t>(plan_.submits);
    while (result_.latencies_ms.size() < submits) {
      if (auto done = wait(); !done) return std::unexpected(done.error());
    }
    result_.took = Clock::now() - from;
    return std::move(result_);
  }

 private:
  Expected<void> enter(Connection& connection) {
    if (auto done = connection.connect_to(plan_.socket); !done) return done;
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.ptr = &connection;
    if (epoll_ctl(events_, EPOLL_CTL_ADD, connection.socket_number(), &event) == 0) return {};
    return system_error("epoll_ctl");
  }

  Expected<void> send_next(Connection& connection) {
    if (sent_ == plan_.submits) return {};
    return connection.send_request(plan_.environments, plan_.first + sent_++);
  }

  Expected<void> wait() {
    std::array<epoll_event, 64> ready;
    const int count = epoll_wait(events_, ready.data(), static_cast<int>(ready.size()), kSilence);
    if (count == 0) return fail(ErrorCode::Io, "berthd has not answered for half a minute");
    for (int i = 0; i < count; ++i) {
      auto& connection = *static_cast<Connection*>(ready[static_cast<std::size_t>(i)].data.ptr);
      if (auto done = take_answer(connection); !done) return done;
    }
    return {};
  }

  Expected<void> take_answer(Connection& connection) {
    const auto whole = connection.receive();
    if (!whole) return std::unexpected(whole.error());
    if (!*whole) return {};
    const std::chrono::duration<double, std::milli> took = Clock::now() - connection.sent();
    result_.latencies_ms.push_back(took.count());
    return send_next(connection);
  }

  const LoadPlan& plan_;
  int events_;
  std::vector<Connection> connections_;
  int sent_ = 0;
  LoadResult result_;
};

}  // namespace

Expected<LoadResult> submit_from_many(const LoadPlan& plan) { return Load(plan).run(); }

}  // namespace berth::bench
