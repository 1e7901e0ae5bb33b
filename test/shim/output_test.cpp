// Goal: the file of a job's output (`--output`) is the user's business, and never the shim's: it is
// opened and written as the user, waited for within limits, and whole. Method: the real program,
// with a test in place of the daemon; as root other users and file systems that do not answer.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "shim/proc.hpp"
#include "shim/support.hpp"
#include "support/unanswered.hpp"

namespace berth::shim::test {
namespace {

using berth::test::Unanswered;
using ::testing::HasSubstr;

std::string content_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Order with_output(const Daemon& daemon, const std::string& script, const std::string& output) {
  Order order = daemon.shell(script);
  order.output = output;
  return order;
}

/// Of one that does not start.
Ended refused(Daemon& daemon, const Order& order) {
  daemon.start(order);
  return daemon.ended();
}

/// A signal before its order would be none of the job's.
void wait_for_order(const Daemon& daemon) {
  while (!daemon.record().shim) usleep(1000);
}

/// In a folder that everybody may use.
Order as_somebody(const Daemon& daemon, const std::string& script, const std::string& output,
                  uid_t user = kSomebody) {
  chmod(daemon.folder().path().c_str(), 0777);
  Order order = with_output(daemon, script, output);
  order.user = order.group = user;
  return order;
}

TEST(Output, GoesToTheFileAsWell) {
  Daemon daemon;
  const Ended ended = daemon.run(with_output(daemon, "echo one; echo two >&2", "out"));
  EXPECT_EQ(ended.note, "");
  EXPECT_EQ(content_of(daemon.folder() / "out"), "one\ntwo\n");
  EXPECT_EQ(daemon.log(), "one\ntwo\n");
}

TEST(Output, IsWholeHoweverMuchItIs) {
  Daemon daemon;
  const std::string much = "head -c 20000000 /dev/zero | tr '\\0' x";
  EXPECT_EQ(daemon.run(with_output(daemon, much, "out")).note, "");
  EXPECT_EQ(std::filesystem::file_size(daemon.folder() / "out"), 20'000'000U);
}

TEST(Output, IsNewForTheFirstAttemptAndGoesOnForOthers) {
  const berth::test::ScratchFolder place;
  const std::string file = place.write("out", "before\n");
  for (std::uint32_t attempt = 1; attempt <= 2; ++attempt) {
    Daemon daemon;
    Order order = with_output(daemon, "echo now", file);
    order.attempt = Attempt(attempt);
    daemon.run(order);
  }
  EXPECT_EQ(content_of(file), "now\nnow\n");
}

/// Programs that submit make it once they know the job's number.
TEST(Output, WaitsForItsFolder) {
  Daemon daemon;
  daemon.start(with_output(daemon, "echo here", "late/folder/out"));
  usleep(200'000);
  std::filesystem::create_directories(daemon.folder() / "late/folder");
  daemon.started();
  EXPECT_EQ(daemon.ended().note, "");
  EXPECT_EQ(content_of(daemon.folder() / "late/folder/out"), "here\n");
}

TEST(Output, ThatIsWaitedForHoldsNoEndUp) {
  Daemon daemon;
  daemon.start(with_output(daemon, "echo here", "never/out"));
  wait_for_order(daemon);
  daemon.signal(kStopSignal);
  const Ended ended = daemon.ended();
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Setup);
  EXPECT_THAT(ended.note,
              testing::EndsWith("/never/out': was not open yet when the job was ended"));
  EXPECT_EQ(daemon.gone(), 0);
}

/// It is its user's, and the daemon's output is not.
TEST(Output, IsWrittenByAProcessWithNothingOfTheDaemons) {
  Daemon daemon;
  daemon.start(with_output(daemon, "sleep 60", "out"));
  daemon.started();
  std::vector<std::string> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto stat = stat_of(std::atoi(entry.path().filename().c_str()));
    if (!stat || !is_helper(*stat, daemon.shim())) continue;
    for (const auto& file : std::filesystem::directory_iterator(entry.path() / "fd")) {
      open.push_back(std::filesystem::read_symlink(file).string());
    }
  }
  std::ranges::sort(open);
  EXPECT_THAT(open, testing::ElementsAre("/dev/null", "/dev/null", daemon.folder() / "out",
                                         HasSubstr("socket:")));
  daemon.signal(kKillSignal);
  daemon.ended();
}

/// What other processes have open is not theirs to name: the job's log, the daemon's socket.
TEST(Output, FollowsNoLinkOfProc) {
  for (const std::string name : {"/dev/stdout", "/proc/self/fd/6", "SHIM", "link"}) {
    Daemon daemon;
    const std::string shim = "/proc/" + std::to_string(daemon.shim()) + "/fd/6";
    EXPECT_EQ(symlink(shim.c_str(), (daemon.folder() / "link").c_str()), 0);
    const Ended ended =
        refused(daemon, with_output(daemon, "echo here", name == "SHIM" ? shim : name));
    EXPECT_EQ(ended.exit.kind, Exit::Kind::Setup) << name;
    EXPECT_THAT(ended.note, HasSubstr("is a link of /proc"));
  }
}

TEST(Output, MayBeADeviceOrAPipe) {
  Daemon device;
  EXPECT_EQ(device.run(with_output(device, "echo here", "/dev/null")).note, "");
  Daemon full;
  EXPECT_EQ(full.run(with_output(full, "echo here", "/dev/full")).note,
            "output file is not whole: No space left on device");
  Daemon lonely;
  mkfifo((lonely.folder() / "out").c_str(), 0600);
  EXPECT_THAT(refused(lonely, with_output(lonely, "echo here", "out")).note,
              HasSubstr("is a pipe that nobody reads"));
  Daemon read;
  const Fifo pipe(read.folder() / "out");
  EXPECT_EQ(read.run(with_output(read, "echo here", "out")).note, "");
}

/// More than a pipe holds: the job waits for its reader.
TEST(Output, OfAPipeWithASlowReaderIsWhole) {
  Daemon daemon;
  const std::string path = daemon.folder() / "out";
  mkfifo(path.c_str(), 0600);
  const File reader(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  daemon.start(with_output(daemon, "head -c 4000000 /dev/zero", "out"));
  daemon.started();
  std::size_t size = 0;
  std::vector<char> bytes(65536);
  while (size < 4'000'000U && can_read(reader.number())) {
    const ssize_t got = read(reader.number(), bytes.data(), bytes.size());
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  EXPECT_EQ(daemon.ended().note, "");
  EXPECT_EQ(size, 4'000'000U);
}

/// Its writer is none of the job's processes.
TEST(Output, HasAWriterThatIsLeftAlone) {
  Daemon daemon;
  // Two processes that are seen to run before the job's own ends.
  Order order = with_output(daemon,
                            "(trap '' TERM; sh -c 'echo >ready; exec sleep 1000'; echo no) &"
                            "while ! [ -e ready ]; do sleep 0.01; done; echo here",
                            "out");
  order.grace_millis = 100;
  EXPECT_EQ(daemon.run(order).note, "ended 2 processes left behind");
  EXPECT_EQ(content_of(daemon.folder() / "out"), "here\n");
  Daemon killed;
  killed.start(with_output(killed, "echo here; sleep 1000", "out"));
  killed.started();
  while (content_of(killed.folder() / "out").empty()) usleep(1000);
  killed.signal(kKillSignal);
  EXPECT_EQ(killed.ended().note, "");
}

class OutputOfOthers : public testing::Test {
 protected:
  static void SetUpTestSuite() { Unanswered::has_own_mounts(); }
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs root";
  }
  Daemon daemon_;
};

TEST_F(OutputOfOthers, IsOpenedWithTheirRights) {
  Order order = as_somebody(daemon_, "echo here", "out");
  order.umask = 027;
  EXPECT_EQ(daemon_.run(order).note, "");
  struct stat status{};
  ASSERT_EQ(stat((daemon_.folder() / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, kSomebody);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  Daemon other;
  EXPECT_THAT(refused(other, as_somebody(other, "true", "/etc/berth-out")).note,
              HasSubstr("Permission denied"));
}

TEST_F(OutputOfOthers, WhoEndTheirOwnProcessesIsNotWhole) {
  constexpr uid_t kOfNoOtherTest = 54324;  // whose processes would end here as well
  daemon_.start(as_somebody(daemon_, "echo here; kill -9 -1", "out", kOfNoOtherTest));
  daemon_.started();
  const Ended ended = daemon_.ended();
  EXPECT_EQ(ended.exit.number, 0) << "its caller is spared by kill(-1)";
  EXPECT_EQ(ended.note, "output file is not whole: its writer was ended");
  EXPECT_EQ(daemon_.log(), "here\n");
}

TEST_F(OutputOfOthers, MayBeWhereOnlyTheyMayLook) {
  mkdir((daemon_.folder() / "home").c_str(), 0755);
  const Unanswered home(daemon_.folder() / "home",
                        {.silent_to = Unanswered::To::Nothing, .owner = kSomebody});
  if (!home.is_there()) GTEST_SKIP() << "needs FUSE";
  EXPECT_EQ(open(home.file().c_str(), O_WRONLY | O_CLOEXEC), -1) << "root may not";
  EXPECT_EQ(daemon_.run(as_somebody(daemon_, "echo here", home.file())).note, "");
  EXPECT_EQ(home.written(), 5U);
}

TEST_F(OutputOfOthers, OnAFileSystemThatDoesNotOpenItHoldsNoEndUp) {
  for (const auto silent : {Unanswered::To::Open, Unanswered::To::Lookup}) {
    Daemon daemon;
    mkdir((daemon.folder() / "home").c_str(), 0755);
    const Unanswered home(daemon.folder() / "home", {.silent_to = silent});
    if (!home.is_there()) GTEST_SKIP() << "needs FUSE";
    daemon.start(with_output(daemon, "echo here", home.file()));
    wait_for_order(daemon);
    usleep(100'000);  // it hangs by now, or it is told before
    daemon.signal(kKillSignal);
    EXPECT_THAT(daemon.ended().note, HasSubstr("was not open yet when the job was ended"));
    EXPECT_EQ(daemon.gone(), 0);
  }
}

}  // namespace
}  // namespace berth::shim::test
