// Goal: who ended a job is read from its note as it was written there, and a rule of berth's is
// nobody; a wish to cancel many jobs comes back as it was. Method: notes as berthd writes them, and
// such as it does not.
#include "live/who_asked.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::live {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr UserId kOwner{1000};

std::optional<UserId> by(const std::string& note, Outcome outcome = Outcome::Cancelled) {
  return cancelled_by({.outcome = outcome, .note = note}, kOwner);
}

TEST(WhoAsked, IsTheOwnerWhereNobodyElseIsNamed) {
  EXPECT_EQ(by(""), kOwner);
  EXPECT_EQ(by("log capped at 1 GiB"), kOwner);
  EXPECT_EQ(by("", Outcome::Failed), std::nullopt);
}

TEST(WhoAsked, IsTheUserThatTheNoteNames) {
  EXPECT_EQ(cancel_note("ada (uid 7)"), "cancelled, because ada (uid 7) asked for that");
  EXPECT_EQ(by(cancel_note("ada (uid 7)")), UserId(7));
  EXPECT_EQ(by(cancel_note("uid 4294967295")), UserId(4294967295U));
  EXPECT_EQ(by(cancel_note("uid 7") + "; log capped at 1 GiB"), UserId(7));
  for (const char* const who : {"ada", "uid ", "uid 4294967296", "uid 7x", "(uid 7) and bob"}) {
    EXPECT_EQ(by(cancel_note(who)), std::nullopt) << who;
  }
}

TEST(WhoAsked, IsNobodyWhereARuleEndedIt) {
  EXPECT_EQ(by("ended, because it had run no kernel since 12:00:00 (idle_end)"), std::nullopt);
  EXPECT_EQ(by("never started: job 7 failed"), std::nullopt);
}

TEST(WhoAsked, StaysInFrontOfANote) {
  EXPECT_TRUE(says_who_ended(cancel_note("uid 7")));
  EXPECT_TRUE(says_who_ended("ended, because of a rule"));
  EXPECT_FALSE(says_who_ended("ended: it held 2 GiB"));
  EXPECT_EQ(without_who_ended(cancel_note("uid 7")), "");
  EXPECT_EQ(without_who_ended(cancel_note("uid 7") + "; a; b"), "a; b");
  EXPECT_EQ(without_who_ended("a; b"), "a; b");
}

TEST(CancelWish, ComesBack) {
  const std::string note =
      wish_note("ada (uid 7)", {JobId(2), JobId(3), JobId(4), JobId(9), JobId(11), JobId(12)});
  EXPECT_EQ(note, "because ada (uid 7) asked to cancel it, and jobs 2-4,9,11-12");
  const auto wish = wish_in(note);
  ASSERT_TRUE(wish);
  EXPECT_EQ(wish->who, "ada (uid 7)");
  EXPECT_EQ(wish->user, UserId(7));
  EXPECT_THAT(wish->jobs, ElementsAre(Pair(JobId(2), JobId(4)), Pair(JobId(9), JobId(9)),
                                      Pair(JobId(11), JobId(12))));
}

TEST(CancelWish, IsInNoOtherNote) {
  for (const char* const note :
       {"", "because ada (uid 7) asked for that", "because ada asked to cancel it, and jobs 2",
        "because ada (uid 7) asked to cancel it, and jobs ",
        "because ada (uid 7) asked to cancel it, and jobs 4-2",
        "because ada (uid 7) asked to cancel it, and jobs 2;3",
        "because ada (uid 7) asked to cancel it, and jobs 2,",
        "x because ada (uid 7) asked to cancel it, and jobs 2"}) {
    EXPECT_FALSE(wish_in(note)) << note;
  }
}

}  // namespace
}  // namespace berth::live
