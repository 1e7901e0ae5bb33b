// Goal: a file of a job's output that never comes, never opens or takes nothing costs the job some
// seconds and no more. Method: as output_test.cpp; slow, since each is given these seconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "shim/support.hpp"
#include "support/unanswered.hpp"

namespace berth::shim::test {
namespace {

using berth::test::Unanswered;
using ::testing::HasSubstr;

class OutputThatHangs : public testing::Test {
 protected:
  static void SetUpTestSuite() { Unanswered::has_own_mounts(); }
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs root";
    mkdir((daemon_.folder() / "home").c_str(), 0755);
  }
  Order with_output(const std::string& script, const std::string& output) const {
    Order made = daemon_.shell(script);
    made.output = output;
    return made;
  }
  Daemon daemon_;
};

TEST(OutputThatIsLate, GetsItsFolderInTheEnd) {
  Daemon daemon;
  Order order = daemon.shell("echo here");
  order.output = "never/made/out";
  order.umask = 027;
  const Ended ended = daemon.run(order);
  EXPECT_EQ(shell_code(ended.exit), 0);
  const std::filesystem::path folder = daemon.folder() / "never/made";
  std::string line;
  EXPECT_TRUE(std::getline(std::ifstream(folder / "out"), line)) << "no file";
  EXPECT_EQ(line, "here");
  EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms(0750));
}

/// What stands in the way of the folder, or the job's own directory, is not there: the job would
/// run in an empty one.
TEST(OutputThatIsLate, IsToldOfAFolderThatCannotBeMade) {
  Daemon daemon;
  std::filesystem::create_symlink("gone/away", daemon.folder() / "link");
  Order order = daemon.shell("true");
  order.output = "link/out";
  daemon.start(order);
  const Ended ended = daemon.ended();
  EXPECT_EQ(shell_code(ended.exit), 125);
  EXPECT_THAT(ended.note, testing::EndsWith("/link/out': its folder was not there, nor within "
                                            "10 s, and could not be made"));

  Daemon other;
  Order lost = other.shell("true");
  lost.directory = other.folder() / "gone";
  lost.output = "out";
  other.start(lost);
  EXPECT_EQ(shell_code(other.ended().exit), 125);
  EXPECT_FALSE(std::filesystem::exists(other.folder() / "gone"));
}

TEST_F(OutputThatHangs, AtItsOpeningIsGivenUp) {
  const Unanswered home(daemon_.folder() / "home", {.silent_to = Unanswered::To::Open});
  if (!home.is_there()) GTEST_SKIP() << "needs FUSE";
  daemon_.start(with_output("true", home.file()));
  const Ended ended = daemon_.ended();
  EXPECT_EQ(ended.exit.kind, Exit::Kind::Setup);
  EXPECT_EQ(ended.note,
            "output file '" + home.file() + "': its file system did not open it within 20 s");
  EXPECT_EQ(daemon_.gone(), 0);
}

TEST_F(OutputThatHangs, AtWritingIsNotWhole) {
  const Unanswered home(daemon_.folder() / "home");
  if (!home.is_there()) GTEST_SKIP() << "needs FUSE";
  const Ended ended = daemon_.run(with_output("echo here; exit 3", home.file()));
  EXPECT_EQ(ended.exit.number, 3);
  EXPECT_EQ(ended.note, "output file is not whole: it took nothing for 10 s");
  EXPECT_EQ(daemon_.log(), "here\n");
  EXPECT_EQ(daemon_.gone(), 0);
}

TEST_F(OutputThatHangs, AtMuchWritingLetsTheJobGoOn) {
  const Unanswered home(daemon_.folder() / "home");
  if (!home.is_there()) GTEST_SKIP() << "needs FUSE";
  const Ended ended = daemon_.run(with_output("head -c 4000000 /dev/zero; exit 3", home.file()));
  EXPECT_EQ(ended.exit.number, 3);
  EXPECT_EQ(ended.note, "output file is not whole: it took nothing for 30 s");
  EXPECT_EQ(daemon_.log().size(), 4'000'000U);
}

TEST_F(OutputThatHangs, AClientBehindAFileSystemThatDoesNotAnswerIsGivenUp) {
  const Unanswered home(daemon_.folder() / "home", {.silent_to = Unanswered::To::Lookup});
  if (!home.is_there()) GTEST_SKIP() << "needs FUSE";
  Order order = daemon_.shell("echo here");
  order.attach = Attach{.socket = home.file()};
  daemon_.start(order);
  EXPECT_THAT(daemon_.ended().note, HasSubstr("its `berth run` is gone: Connection timed out"));
  EXPECT_EQ(daemon_.gone(), 0);
}

}  // namespace
}  // namespace berth::shim::test
