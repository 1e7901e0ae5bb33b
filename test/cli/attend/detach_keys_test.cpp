// Goal: keys that detach are found however they arrive, and every other byte reaches the job.
#include "cli/attend/detach_keys.hpp"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

DetachKeys keys(std::string_view text) {
  const auto parsed = DetachKeys::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(DetachKeys());
}

/// What reaches the job, with a ! where it was detached; whole, and byte by byte.
std::string passed(std::string_view with, std::string_view bytes) {
  DetachKeys whole = keys(with);
  const DetachKeys::Typed at_once = whole.take(bytes);
  DetachKeys pieces = keys(with);
  DetachKeys::Typed sum;
  for (const char byte : bytes) {
    if (sum.detaches) break;
    const DetachKeys::Typed one = pieces.take(std::string_view(&byte, 1));
    sum.for_job += one.for_job;
    sum.detaches = one.detaches;
  }
  EXPECT_EQ(at_once.for_job, sum.for_job);
  EXPECT_EQ(at_once.detaches, sum.detaches);
  return at_once.for_job + (at_once.detaches ? "!" : "");
}

TEST(DetachKeys, OfALineCountAtItsBeginningOnly) {
  EXPECT_EQ(passed("~d", "~d"), "!");
  EXPECT_EQ(passed("~d", "ls\r~dx"), "ls\r!");
  EXPECT_EQ(passed("~d", "a~d"), "a~d");
  EXPECT_EQ(passed("~d", "~x~d"), "~x~d");
  EXPECT_EQ(passed("~d", "~~d"), "~d") << "~~ is ~, as in ssh";
  EXPECT_EQ(passed("~d", "\n~\n~d"), "\n~\n!");
}

TEST(DetachKeys, AsASequenceCountAnywhere) {
  EXPECT_EQ(passed("ctrl-p,ctrl-q", "a\x10\x11z"), "a!");
  EXPECT_EQ(passed("ctrl-p,ctrl-q", "\x10\x10\x11"), "\x10!") << "the later beginning counts";
  EXPECT_EQ(passed("ctrl-p,ctrl-q", "\x10x"), "\x10x");
  EXPECT_EQ(passed("ctrl-\\", "a\x1c"), "a!");
  EXPECT_EQ(passed("a,a,b", "aaab"), "a!");
  EXPECT_EQ(passed("none", "~d\x10\x11"), "~d\x10\x11");
}

TEST(DetachKeys, ThatAreNoneAreRefused) {
  for (const char* text : {"", "~~", "ctrl-", "ctrl-1", "ab", "a,,b", "a,b,c,d,e,f,g,h,i"}) {
    EXPECT_FALSE(DetachKeys::parse(text)) << text;
  }
}

}  // namespace
}  // namespace berth::cli
