// Goal: a report is read as it was written or dropped, comes from the job's user or not at all, and
// a flood of them delays no user. Method: texts for the parser; a socket with datagrams of our own
// for the rest.
#include "daemon/attempts/reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>

#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::daemon {
namespace {

using testing::HasSubstr;

std::int64_t value_of(const std::string& text) {
  const auto report = parse_report(text);
  EXPECT_TRUE(report) << text;
  return report ? report->value : -1;
}

TEST(ParseReport, ReadsJobKeyAndValue) {
  const auto report = parse_report("42 step 120");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->job, JobId(42));
  EXPECT_EQ(report->key, "step");
  EXPECT_EQ(report->value, 120'000'000);
  EXPECT_TRUE(parse_report("  42   step\n120 \n"));
  EXPECT_TRUE(parse_report("1 " + std::string(64, 'k') + " 1"));
  EXPECT_EQ(parse_report("1 Val.loss_2-x 1")->key, "Val.loss_2-x");
}

TEST(ParseReport, KeepsMillionths) {
  EXPECT_EQ(value_of("1 loss 0.25"), 250'000);
  EXPECT_EQ(value_of("1 loss -1e-6"), -1);
  EXPECT_EQ(value_of("1 loss 4.9e-7"), 0);
  EXPECT_EQ(value_of("1 loss 9e12"), 9'000'000'000'000'000'000);
  EXPECT_EQ(value_of("1 loss -9e12"), -9'000'000'000'000'000'000);
}

TEST(ParseReport, DropsEverythingElse) {
  const std::string nul("1 a\0b 1", 7);
  for (const std::string& text : {std::string(),
                                  std::string("42"),
                                  std::string("42 step"),
                                  std::string("42 step 1 2"),
                                  std::string("x step 1"),
                                  std::string("-1 step 1"),
                                  std::string("1.5 step 1"),
                                  std::string("18446744073709551616 step 1"),
                                  std::string("1 step one"),
                                  std::string("1 step 1x"),
                                  std::string("1 step 0x10"),
                                  std::string("1 step nan"),
                                  std::string("1 step inf"),
                                  std::string("1 step -inf"),
                                  std::string("1 step 9.1e12"),
                                  std::string("1 step 1e999"),
                                  std::string("1 s/p 1"),
                                  std::string("1 ä 1"),
                                  std::string("1 " + std::string(65, 'k') + " 1"),
                                  nul,
                                  std::string("1\tstep\t1")}) {
    const auto report = parse_report(text);
    ASSERT_FALSE(report) << text;
    EXPECT_EQ(report.error().code, ErrorCode::BadData);
  }
}

/// Sends datagrams to a path.
class Sender {
 public:
  explicit Sender(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    is_connected_ = ::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address),
                              sizeof address) == 0;
  }
  bool is_connected() const { return is_connected_; }
  /// Returns: false if there is no room for it now.
  bool send(const std::string& text) {
    return ::send(socket_.number(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  }

 private:
  Descriptor socket_;
  bool is_connected_ = false;
};

class ReportsTest : public testing::Test {
 protected:
  std::unique_ptr<Reports> open() {
    auto reports = Reports::open(
        loop_, path_, 0600,
        [this](JobId job, uid_t user) { return user == ::geteuid() && job != forbidden_; },
        [this](std::vector<Input> inputs) {
          ++deliveries_;
          for (const Input& input : inputs) delivered_.push_back(std::get<Reported>(input));
          loop_.stop();
        });
    EXPECT_TRUE(reports) << reports.error().message;
    return reports ? std::move(*reports) : nullptr;
  }

  const test::ScratchFolder folder_;
  const std::string path_ = folder_ / "report";
  Loop loop_;
  JobId forbidden_{7};
  int deliveries_ = 0;
  std::vector<Reported> delivered_;
};

TEST_F(ReportsTest, TheLatestValueOfEachKeyIsToldTogether) {
  const auto reports = open();
  Sender sender(path_);
  for (const char* text : {"1 step 1", "1 step 2", "garbage", "1 loss 0.5", "2 step 9"}) {
    EXPECT_TRUE(sender.send(text));
  }
  loop_.run([] {});
  EXPECT_EQ(deliveries_, 1);
  ASSERT_EQ(delivered_.size(), 3U);
  EXPECT_EQ(delivered_[0].key, "loss");
  EXPECT_EQ(delivered_[1].value, 2'000'000);
  EXPECT_EQ(delivered_[2].job, JobId(2));
}

TEST_F(ReportsTest, WhoMayNotReportIsNotHeard) {
  const auto reports = open();
  Sender sender(path_);
  EXPECT_TRUE(sender.send("7 step 1"));
  EXPECT_TRUE(sender.send("1 step 1"));
  loop_.run([] {});
  ASSERT_EQ(delivered_.size(), 1U);
  EXPECT_EQ(delivered_[0].job, JobId(1));
}

/// A sender that always has more must not keep the engine from its steps.
TEST_F(ReportsTest, AFloodLeavesTheLoopItsTurns) {
  const auto reports = open();
  Sender sender(path_);
  int turns = 0;
  int sent = 0;
  // Whoever decides whether a report is taken sends the next one: there is always one more.
  Loop loop;
  const std::string path = folder_ / "flood";
  std::optional<Sender> flood;
  auto flooded = Reports::open(
      loop, path, 0600,
      [&](JobId, uid_t) {
        if (++sent == 1'000'000) loop.stop();
        flood->send("1 step 1");
        return true;
      },
      [](const std::vector<Input>&) {});
  ASSERT_TRUE(flooded) << flooded.error().message;
  flood.emplace(path);
  EXPECT_TRUE(flood->send("1 step 1"));
  loop.run([&] {
    if (++turns == 3) loop.stop();
  });
  EXPECT_LT(sent, 1'000'000);
}

TEST_F(ReportsTest, TheSocketHasItsModeAndGoes) {
  {
    const auto reports = open();
    struct stat status{};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ReportsTest, ASocketThatWasDeletedComesBack) {
  const auto reports = open();
  reports->come_back();
  EXPECT_TRUE(Sender(path_).send("1 step 1"));  // it is there: nothing to do
  ASSERT_TRUE(std::filesystem::remove(path_));
  reports->come_back();
  Sender sender(path_);
  EXPECT_TRUE(sender.is_connected());
  EXPECT_TRUE(sender.send("1 loss 2"));
  loop_.run([] {});
  EXPECT_EQ(delivered_.size(), 2U);
}

TEST_F(ReportsTest, ASocketLeftThereIsReplaced) {
  {
    const Descriptor left(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(left.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
  }
  const auto reports = open();
  EXPECT_TRUE(Sender(path_).is_connected());
}

TEST_F(ReportsTest, WhatIsNoSocketIsLeftAlone) {
  folder_.write("report", "somebody's");
  const auto reports = Reports::open(
      loop_, path_, 0600, [](JobId, uid_t) { return true; }, [](const std::vector<Input>&) {});
  ASSERT_FALSE(reports);
  EXPECT_EQ(reports.error().message, path_ + ": exists and is not a socket; it is left as it is");
  EXPECT_EQ(test::read_file(path_), "somebody's");
}

TEST_F(ReportsTest, OneThatSomebodyListensAtIsNot) {
  const auto reports = open();
  const auto second = Reports::open(
      loop_, path_, 0600, [](JobId, uid_t) { return true; }, [](const std::vector<Input>&) {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Conflict);
  EXPECT_THAT(second.error().message, HasSubstr(path_));
  Sender sender(path_);
  EXPECT_TRUE(sender.is_connected());
  EXPECT_TRUE(sender.send("1 step 1"));
  loop_.run([] {});
  EXPECT_EQ(delivered_.size(), 1U);
}

TEST_F(ReportsTest, PathsThatFitNoSocketAreRefused) {
  const std::string path = folder_ / std::string(120, 'x');
  const auto reports = Reports::open(
      loop_, path, 0600, [](JobId, uid_t) { return true; }, [](const std::vector<Input>&) {});
  ASSERT_FALSE(reports);
  EXPECT_THAT(reports.error().message, HasSubstr("the most for a socket is 107"));
  const auto nowhere = Reports::open(
      loop_, folder_ / "no/s", 0600, [](JobId, uid_t) { return true; },
      [](const std::vector<Input>&) {});
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("No such file"));
}

}  // namespace
}  // namespace berth::daemon
