// Goal: with hide_arguments nothing that a user wrote is shown to others, and what berthd itself
// did to a job is.
//
// Method: the texts that answers have, as their owner, another user and an administrator see them.
#include "daemon/answers/hiding.hpp"

#include <gtest/gtest.h>

namespace berth::daemon {
namespace {

constexpr Viewer kOther{.user = UserId(2), .sees_all = false, .is_admin = false};

TEST(Sight, OfAnotherUsersJobHasNoWordOfTheirs) {
  const Sight sight(UserId(1), kOther);
  EXPECT_FALSE(sight.sees_words());
  EXPECT_EQ(sight.command("/opt/python train.py --key x"), "python …");
  EXPECT_EQ(sight.word("sweep-7"), "");
  for (const char* secret :
       {"/data/ann/x: No such file or directory", "cannot write to /data/ann/o",
        "could not be started: its folder /data/ann/p is gone"}) {
    EXPECT_EQ(sight.note(secret), "") << secret;
  }
}

TEST(Sight, OfAnotherUsersJobHasWhatBerthdDid) {
  const Sight sight(UserId(1), kOther);
  EXPECT_EQ(
      sight.note("because of idle_suspend: it has run no kernel since 12:00:00; berth resume"),
      "because of idle_suspend: it has run no kernel since 12:00:00");
  for (const char* const end : {"cancelled, because bob (uid 7) asked for that",
                                "ended, because it had run no kernel since 12:00:00 (idle_end)"}) {
    EXPECT_EQ(sight.note(std::string(end) + "; cannot write to /data/ann/o"), end);
  }
  EXPECT_EQ(sight.note("preempted by job 7; cannot write to /data/ann/o"), "preempted by job 7");
}

TEST(Sight, OfOnesOwnAndOfAnAdministratorIsWhole) {
  const Viewer owner{.user = UserId(1), .sees_all = false, .is_admin = false};
  for (const Viewer& viewer : {owner, Viewer{}}) {
    const Sight sight(UserId(1), viewer);
    EXPECT_TRUE(sight.sees_words());
    EXPECT_EQ(sight.command("python train.py"), "python train.py");
    EXPECT_EQ(sight.note("cannot write to /data/ann/o"), "cannot write to /data/ann/o");
    EXPECT_EQ(sight.word("sweep-7"), "sweep-7");
  }
}

}  // namespace
}  // namespace berth::daemon
