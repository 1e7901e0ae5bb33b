// A server in a folder of its own, and a peer that sends any bytes it likes.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "http/client.hpp"
#include "http/server.hpp"
#include "http/socket.hpp"
#include "support/process.hpp"

namespace berth::http::test {

constexpr auto kPatience = std::chrono::seconds(20);  // only what is broken takes as long

/// Waits until `condition` holds. Returns: false if it never did.
inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Sends and receives bytes, whatever they mean.
class RawPeer {
 public:
  explicit RawPeer(const std::string& path) {
    auto socket = connect_to(path, Blocking::Yes);
    if (socket) socket_ = std::move(*socket);
    EXPECT_TRUE(socket) << path;
  }

  /// Returns: false if the other side does not take it.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// What has come so far, once it holds `end`; else what came before the connection closed.
  std::string receive_until(std::string_view end) {
    while (received_.find(end) == std::string::npos && receive_some()) {
    }
    const std::size_t at = received_.find(end);
    const std::size_t size = at == std::string::npos ? received_.size() : at + end.size();
    std::string result = received_.substr(0, size);
    received_.erase(0, size);
    return result;
  }

  /// Everything up to the other side's end.
  std::string receive_all() {
    while (receive_some()) {
    }
    return std::exchange(received_, {});
  }

  void finish_sending() { shutdown(socket_.number(), SHUT_WR); }
  void close() { socket_.close(); }

 private:
  bool receive_some() {
    pollfd waiting = {.fd = socket_.number(), .events = POLLIN, .revents = 0};
    const int milliseconds = static_cast<int>(std::chrono::milliseconds(kPatience).count());
    if (poll(&waiting, 1, milliseconds) != 1) {
      ADD_FAILURE() << "nothing comes";
      return false;
    }
    std::array<char, 16384> bytes;
    const ssize_t got = recv(socket_.number(), bytes.data(), bytes.size(), 0);
    if (got > 0) received_.append(bytes.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  Descriptor socket_;
  std::string received_;
};

/// What every test needs; its handler runs on the server's thread.
class Http : public ::testing::Test {
 protected:
  void serve(Handler handler, const Limits& limits = {}) {
    auto opened = Server::open({.path = path_, .limits = limits}, std::move(handler));
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
  }

  /// Answers every request with its own parts, one per line.
  void serve_echo(const Limits& limits = {}) {
    serve([](const std::shared_ptr<Exchange>& exchange) { exchange->respond(echo(*exchange)); },
          limits);
  }

  static Response echo(const Exchange& exchange) {
    const Request& request = exchange.request();
    std::string text = request.method + " " + request.path + "\n";
    for (const auto& [key, value] : request.query) text += key + "=" + value + "\n";
    return {.body = text + request.body, .content_type = "text/plain"};
  }

  Client client() {
    auto opened = Client::open(path_);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }

  const berth::test::ScratchFolder folder_;
  const std::string path_ = folder_ / "berth.sock";
  std::unique_ptr<Server> server_;
};

/// Holds what the handler was given, for other threads to answer.
class Held {
 public:
  Handler handler() {
    return [this](std::shared_ptr<Exchange> exchange) {
      const std::lock_guard lock(mutex_);
      exchange_ = std::move(exchange);
    };
  }

  /// Waits for the next request.
  std::shared_ptr<Exchange> take() {
    std::shared_ptr<Exchange> taken;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex_);
      taken = std::move(exchange_);
      return taken != nullptr;
    }));
    return taken;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace berth::http::test
