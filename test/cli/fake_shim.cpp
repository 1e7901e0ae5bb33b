#include "cli/fake_shim.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>

#include "cli/program.hpp"

namespace berth::test {

FakeShim::FakeShim(const std::string& socket) {
  auto connected = http::connect_to(socket, http::Blocking::Yes);
  EXPECT_TRUE(connected) << socket;
  if (connected) socket_ = std::move(*connected);
}

void FakeShim::send(shim::FrameKind kind, const std::string& bytes) {
  send_while([] {}, kind, bytes);
}

void FakeShim::send_while(const std::function<void()>& meanwhile, shim::FrameKind kind,
                          const std::string& bytes) {
  std::string frame = shim::encode_frame(kind, bytes);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!frame.empty() && std::chrono::steady_clock::now() < end) {
    const ssize_t sent =
        ::send(socket_.number(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) frame.erase(0, static_cast<std::size_t>(sent));
    if (!frame.empty()) meanwhile();
  }
  EXPECT_TRUE(frame.empty()) << "nobody reads what the shim sends";
}

std::string FakeShim::take(shim::FrameKind kind) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    for (auto frame = frames_.next(); frame && *frame; frame = frames_.next()) {
      if ((*frame)->kind == kind) return (*frame)->bytes;
    }
    pollfd ready{.fd = socket_.number(), .events = POLLIN, .revents = 0};
    poll(&ready, 1, 100);
    std::array<char, 65536> bytes;
    const ssize_t got = recv(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) frames_.add({bytes.data(), static_cast<std::size_t>(got)});
    if (got == 0) break;
  }
  ADD_FAILURE() << "no frame of kind " << static_cast<int>(kind);
  return "";
}

}  // namespace berth::test
