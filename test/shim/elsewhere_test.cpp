// Goal: what a job that failed wrote past the shim, into files of its own, ends its log.
// Method: the real program, with a test in place of the daemon. What a process has open that is
// left behind is looked at before it is ended, so no test depends on when the shim looks next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "shim/support.hpp"
#include "support/reader_watch.hpp"

namespace berth::shim::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// The log of a job with this script.
std::string log_of(const std::string& script) {
  Daemon daemon;
  daemon.run(daemon.shell(script));
  return daemon.log();
}

std::size_t count(const std::string& text, const std::string& words) {
  std::size_t found = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    ++found;
  }
  return found;
}

TEST(Elsewhere, ErrorsOfAFailedJobFollowInItsLog) {
  Daemon daemon;
  daemon.run(daemon.shell("exec 2>err; echo out; echo no room >&2; sleep 100 & exit 3"));
  EXPECT_EQ(daemon.log(), "out\nberth: its errors went to " + (daemon.folder() / "err") +
                              ", which ends so:\nno room\n");
}

TEST(Elsewhere, ErrorsOfAnyOfItsProcessesDo) {
  EXPECT_THAT(log_of("mkfifo told; (exec 2>err; echo no room >&2; echo >told; sleep 100) & "
                     "read x <told; exit 3"),
              EndsWith("/err, which ends so:\nno room\n"));
}

TEST(Elsewhere, NothingFollowsWhereAllIsWell) {
  EXPECT_EQ(log_of("exec 2>err; echo no room >&2; sleep 100 &"), "");
}

TEST(Elsewhere, NothingFollowsOfAJobThatIsEnded) {
  Daemon daemon;
  Fifo told(daemon.folder() / "told");
  daemon.start(
      daemon.shell("trap 'sleep 100 & echo >told; exit 3' TERM; exec 2>err; echo no room >&2; "
                   "echo >told; while :; do sleep 0.01; done"));
  daemon.started();
  told.line();
  daemon.signal(kStopSignal);
  told.line();
  daemon.signal(kKillSignal);
  daemon.ended();
  EXPECT_EQ(daemon.log(), "");
}

/// Runs that append to one file: only what this one says is its own.
TEST(Elsewhere, WhatWasInTheFileBeforeIsNotShown) {
  Daemon daemon;
  const std::string path = daemon.folder() / "err";
  std::ofstream(path) << "yesterday: out of memory\n";
  Fifo gate(daemon.folder() / "gate");
  const berth::test::ReaderWatch looks(path);
  daemon.start(daemon.shell("exec 2>>err; read x <gate; echo today: no key >&2; exit 3"));
  daemon.started();
  ASSERT_TRUE(looks.wait()) << "nobody asks how long the file is";
  gate.write("go\n");
  daemon.ended();
  EXPECT_THAT(daemon.log(), EndsWith("/err, which ends so:\ntoday: no key\n"));
  EXPECT_THAT(daemon.log(), Not(HasSubstr("yesterday")));
}

TEST(Elsewhere, OfALongFileTheEndIsShownFromTheBeginningOfALine) {
  const std::string log =
      log_of("exec 2>err; seq -f 'line %06g of many' 10000 >&2; sleep 100 & exit 3");
  EXPECT_THAT(log, EndsWith("line 010000 of many\n"));
  EXPECT_THAT(log, HasSubstr(", which ends so:\nline 00"));
  EXPECT_LT(log.size(), 34'000U);
}

/// The ranks of a job have a file each: 16 of them have room.
TEST(Elsewhere, FilesOfManyProcessesShareTheRoom) {
  const std::string log = log_of(
      "mkfifo told; exec 3<>told; "
      "for i in $(seq 20); do (exec 2>err$i; seq -f 'rank %g' 10000 >&2; "
      "echo no room in $i >&2; echo >told; sleep 100) & read x <&3; done; exit 3");
  EXPECT_EQ(count(log, "no room in "), 16U) << log;
  EXPECT_LT(log.size(), 36'000U);
}

TEST(Elsewhere, WhatIsNoFileOfTextIsNotShown) {
  EXPECT_EQ(log_of("exec 2>err; printf 'a\\0b' >&2; sleep 100 & exit 3"), "");
  EXPECT_EQ(log_of("exec 2>/dev/null; echo no room >&2; sleep 100 & exit 3"), "");
  EXPECT_EQ(log_of("exec 2>err; echo no room >&2; rm err; sleep 100 & exit 3"), "");
  EXPECT_EQ(log_of("exec 2>err; echo no room >&2; rm err; echo other >err; sleep 100 & exit 3"),
            "");
  EXPECT_EQ(log_of("mkfifo pipe; exec 2<>pipe; echo no room >&2; sleep 100 & exit 3"), "");
}

TEST(Elsewhere, WhatItsUserMayNotReadIsNotShown) {
  if (!is_root()) GTEST_SKIP() << "needs root, to run a job as somebody else";
  Daemon daemon;
  chmod(daemon.folder().path().c_str(), 0777);
  Order order = daemon.shell("exec 2>err; echo no room >&2; chmod 200 err; sleep 100 & exit 3");
  order.user = order.group = kSomebody;
  daemon.run(order);
  EXPECT_EQ(daemon.log(), "");
}

}  // namespace
}  // namespace berth::shim::test
