#include "daemon/receiver.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

namespace berth::test {

namespace {

constexpr auto kGenerous = std::chrono::seconds(60);

/// The bytes of the body, by `Content-Length: `; 0 without it.
std::size_t length_in(const std::string& head) {
  constexpr std::string_view kLength = "Content-Length: ";
  const std::size_t at = head.find(kLength);
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + kLength.size()));
}

}  // namespace

Receiver::Receiver()
    : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      ending_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  auto* const address = reinterpret_cast<sockaddr*>(&where);
  const bool listens = ::bind(listening_.number(), address, size) == 0 &&
                       ::listen(listening_.number(), 16) == 0 &&
                       ::getsockname(listening_.number(), address, &size) == 0;
  EXPECT_TRUE(listens) << std::strerror(errno);
  port_ = ::ntohs(where.sin_port);
  thread_ = std::thread([this] { serve(); });
}

Receiver::~Receiver() {
  ::eventfd_write(ending_.number(), 1);
  thread_.join();
}

std::string Receiver::address(const std::string& path) const {
  return "http://127.0.0.1:" + std::to_string(port_) + path;
}

void Receiver::answer_next(std::string answer) {
  const std::lock_guard lock(mutex_);
  answers_.push_back(std::move(answer));
}

void Receiver::never_answer() {
  const std::lock_guard lock(mutex_);
  is_silent_ = true;
}

Receiver::Received Receiver::next() {
  std::unique_lock lock(mutex_);
  const bool came = arrived_.wait_for(lock, kGenerous, [this] { return !received_.empty(); });
  EXPECT_TRUE(came) << "no request came";
  if (!came) return {.line = "", .head = "", .body = "{}"};
  Received first = std::move(received_.front());
  received_.pop_front();
  return first;
}

std::size_t Receiver::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void Receiver::serve() {
  for (;;) {
    std::array<pollfd, 2> fds = {pollfd{listening_.number(), POLLIN, 0},
                                 pollfd{ending_.number(), POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    if (fds[1].revents != 0) return;
    if (fds[0].revents == 0) continue;
    const int connection = ::accept4(listening_.number(), nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) take(connection);
  }
}

/// One request of the connection, which is closed after the answer.
void Receiver::take(int number) {
  Descriptor connection(number);
  std::string bytes;
  std::array<char, 4096> part;
  std::size_t end = std::string::npos;
  while (end == std::string::npos || bytes.size() < end + 4 + length_in(bytes.substr(0, end))) {
    const ssize_t got = ::read(number, part.data(), part.size());
    if (got <= 0) return;
    bytes.append(part.data(), static_cast<std::size_t>(got));
    end = bytes.find("\r\n\r\n");
  }
  const std::size_t line = bytes.find("\r\n");
  const std::lock_guard lock(mutex_);
  received_.push_back({.line = bytes.substr(0, line),
                       .head = bytes.substr(line + 2, end - line),
                       .body = bytes.substr(end + 4)});
  ++count_;
  arrived_.notify_all();
  if (is_silent_) {
    unanswered_.push_back(std::move(connection));
    return;
  }
  std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  if (!answers_.empty()) {
    answer = std::move(answers_.front());
    answers_.pop_front();
  }
  EXPECT_EQ(::send(number, answer.data(), answer.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(answer.size()));
}

}  // namespace berth::test
