// Goal: a reader gets a log's bytes from where it asked, once each and in order, and the end when
// the log ends. Method: an http::Server whose handler hands its exchanges to Logs; files written
// by the test as a shim would.
#include "daemon/attempts/logs.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>

#include "daemon/rig.hpp"
#include "http/client.hpp"
#include "support/process.hpp"

namespace berth::daemon {
namespace {

using test::eventually;

/// A reader on a thread of its own.
class Reading {
 public:
  Reading(const std::string& socket, const std::string& target)
      : whole_(std::async(std::launch::async, [this, socket, target] {
          auto client = http::Client::open(socket);
          const auto answer = client->stream("GET", target, [&](std::string_view piece) {
            const std::lock_guard lock(mutex_);
            text_ += piece;
            return !is_over_;
          });
          return answer ? answer->status : 0;
        })) {}
  ~Reading() { is_over_ = true; }

  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  /// Waits for the end of the answer.
  std::string whole() {
    EXPECT_EQ(whole_.get(), 200);
    return text();
  }
  bool has_ended() { return whole_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }

 private:
  std::mutex mutex_;
  std::string text_;
  std::atomic<bool> is_over_ = false;
  std::future<int> whole_;
};

class LogsTest : public testing::Test {
 protected:
  void SetUp() override {
    logs_ = std::move(*Logs::open(folder_.path().string()));
    server_ = std::move(*http::Server::open(
        {.path = folder_ / "s", .mode = 0600, .limits = {}},
        [this](const std::shared_ptr<http::Exchange>& exchange) {
          const auto offset = exchange->request().parameter("offset").value_or("0");
          const bool follows = exchange->request().parameter("follow").has_value();
          logs_->send(exchange, exchange->request().path.substr(1), std::stoull(offset),
                      follows ? Follow::UntilEnd : Follow::No);
          ++asked_;
        }));
  }
  void TearDown() override {
    server_.reset();
    logs_.reset();
  }

  std::unique_ptr<Reading> read(const std::string& target) {
    const int before = asked_;
    auto reading = std::make_unique<Reading>(folder_ / "s", target);
    eventually("the reader is there", [&] { return asked_ > before; });
    return reading;
  }
  void append(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name, std::ios::app | std::ios::binary) << text;
  }

  const test::ScratchFolder folder_;
  std::unique_ptr<Logs> logs_;
  std::unique_ptr<http::Server> server_;
  std::atomic<int> asked_ = 0;
};

TEST_F(LogsTest, AFileIsSentFromItsOffset) {
  append("1.log", "0123456789");
  EXPECT_EQ(read("/1.log")->whole(), "0123456789");
  EXPECT_EQ(read("/1.log?offset=7")->whole(), "789");
  EXPECT_EQ(read("/1.log?offset=10")->whole(), "");
  EXPECT_EQ(read("/1.log?offset=4611686018427387904")->whole(), "");
}

TEST_F(LogsTest, BytesStayBytes) {
  const std::string bytes("a\0\xff\r\n", 5);
  append("1.log", bytes);
  EXPECT_EQ(read("/1.log")->whole(), bytes);
}

TEST_F(LogsTest, OneThatIsNotThereIsEmpty) { EXPECT_EQ(read("/2.log")->whole(), ""); }

TEST_F(LogsTest, AFollowerSeesWhatComes) {
  append("1.log", "one ");
  const auto reading = read("/1.log?follow");
  eventually("what is there comes", [&] { return reading->text() == "one "; });
  append("1.log", "two ");
  eventually("what is added comes", [&] { return reading->text() == "one two "; });
  EXPECT_FALSE(reading->has_ended());
  append("1.log", "three");
  logs_->ended("1.log");
  EXPECT_EQ(reading->whole(), "one two three");
}

TEST_F(LogsTest, AFollowerWaitsForAFileThatIsNotThereYet) {
  const auto reading = read("/1.log?follow");
  append("1.log", "hello");
  eventually("it comes", [&] { return reading->text() == "hello"; });
  logs_->ended("1.log");
  EXPECT_EQ(reading->whole(), "hello");
}

TEST_F(LogsTest, OneThatNeverComesEndsTheSame) {
  const auto reading = read("/1.log?follow");
  logs_->ended("1.log");
  EXPECT_EQ(reading->whole(), "");
}

TEST_F(LogsTest, AFollowerMayBeginPastTheEnd) {
  append("1.log", "0123");
  const auto reading = read("/1.log?follow&offset=6");
  append("1.log", "456789");
  eventually("it comes", [&] { return reading->text() == "6789"; });
  logs_->ended("1.log");
  EXPECT_EQ(reading->whole(), "6789");
}

TEST_F(LogsTest, EachLogEndsByItself) {
  append("1.log", "one");
  append("2.log", "two");
  const auto first = read("/1.log?follow");
  const auto again = read("/1.log?follow");
  const auto second = read("/2.log?follow");
  logs_->ended("1.log");
  EXPECT_EQ(first->whole(), "one");
  EXPECT_EQ(again->whole(), "one");
  EXPECT_FALSE(second->has_ended());
  append("2.log", "!");
  eventually("the other goes on", [&] { return second->text() == "two!"; });
  logs_->ended("2.log");
  EXPECT_EQ(second->whole(), "two!");
}

/// More than a stream may hold: a reader that is slower than a disk is waited for, not dropped.
TEST_F(LogsTest, ALongLogComesWhole) {
  std::string text(8 << 20, 'x');
  for (std::size_t i = 0; i < text.size(); i += 1000) text[i] = '\n';
  append("1.log", text);
  EXPECT_EQ(read("/1.log?offset=5")->whole(), text.substr(5));
}

TEST_F(LogsTest, AReaderThatGoesLeavesTheOthers) {
  append("1.log", "one");
  const auto stays = read("/1.log?follow");
  {
    auto client = http::Client::open(folder_ / "s");
    const auto stopped =
        client->stream("GET", "/1.log?follow", [](std::string_view) { return false; });
  }
  append("1.log", " two");
  logs_->ended("1.log");
  EXPECT_EQ(stays->whole(), "one two");
}

TEST_F(LogsTest, NoLinkLeadsElsewhere) {
  folder_.write("secret", "secret");
  std::filesystem::create_symlink(folder_ / "secret", folder_.path() / "1.log");
  EXPECT_EQ(read("/1.log")->whole(), "");
}

TEST_F(LogsTest, TheEndOfTheServiceEndsFollowers) {
  append("1.log", "one");
  const auto reading = read("/1.log?follow");
  eventually("it comes", [&] { return reading->text() == "one"; });
  logs_.reset();
  EXPECT_EQ(reading->whole(), "one");
}

}  // namespace
}  // namespace berth::daemon
