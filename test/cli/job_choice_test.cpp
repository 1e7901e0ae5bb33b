// Goal: jobs are named by number, range, name and user, and what fits none is said.
// Method: a daemon of canned answers, and the pure parts.
#include "cli/job_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/fake_daemon.hpp"
#include "cli/job_filter.hpp"
#include "cli/suggest.hpp"

namespace berth::cli {
namespace {

using testing::HasSubstr;
using Ids = std::vector<std::uint64_t>;

TEST(Patterns, FitAsAShellsDo) {
  EXPECT_TRUE(is_like("train-7", "train-*"));
  EXPECT_TRUE(is_like("train-7", "*-?"));
  EXPECT_TRUE(is_like("aab", "*ab"));
  EXPECT_TRUE(is_like("", "*"));
  EXPECT_FALSE(is_like("train", "train-*"));
  EXPECT_FALSE(is_like("abc", "ab"));
  EXPECT_FALSE(is_like("ab", "ab?"));
}

TEST(States, AreNamedOrAllOfAKind) {
  JobFilter filter;
  ASSERT_TRUE(add_states(filter, {"queued,oom", "running"}));
  EXPECT_EQ(filter.states, (std::set<std::string>{"oom", "queued", "running"}));
  JobFilter ended;
  ASSERT_TRUE(add_states(ended, {"ended"}));
  EXPECT_TRUE(ended.wants_ended());
  EXPECT_FALSE(ended.wants_live());
  const auto wrong = add_states(filter, {"gone"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message,
              HasSubstr("--state gone: no such state; valid states: queued, held"));
}

TEST(Ranges, AreTwoNumbers) {
  const auto range = parse_range("5-10");
  ASSERT_TRUE(range && *range);
  EXPECT_EQ((*range)->first, 5U);
  EXPECT_EQ((*range)->last, 10U);
  EXPECT_EQ(*parse_range("train-5"), std::nullopt);
  EXPECT_EQ(*parse_range("5"), std::nullopt);
  EXPECT_EQ(parse_range("10-5").error().message,
            "10-5: the first number of a range is larger than the last");
}

TEST(Suggestions, AreNearAndOnlyNear) {
  const std::vector<std::string> words = {"submit", "show", "ls", "logs"};
  EXPECT_EQ(nearest("sumbit", words), "submit");
  EXPECT_EQ(nearest("log", words), "logs");
  EXPECT_EQ(nearest("lst", words), "ls");
  EXPECT_EQ(nearest("frobnicate", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(did_you_mean("shwo", words), "; did you mean show?");
}

class Choice : public testing::Test {
 protected:
  Choice() {
    const std::string own = std::to_string(geteuid());
    daemon_.answer("GET /v1/jobs", R"({"jobs":[
        {"id":3,"state":"running","user":)" +
                                       own + R"(,"name":"train"},
        {"id":5,"state":"queued","user":)" +
                                       own + R"(,"name":"train"},
        {"id":6,"state":"queued","user":77777,"name":"train"},
        {"id":9,"state":"queued","user":77777,"name":"other"}]})");
  }
  Expected<Ids> choose(const JobChoice& choice, Among among = Among::Live) const {
    auto daemon = Daemon::open(daemon_.socket());
    return choose_jobs(*daemon, choice, among);
  }

  test::FakeDaemon daemon_;
};

TEST_F(Choice, NumbersNeedNoDaemon) {
  daemon_.answer("GET /v1/jobs", "nonsense");
  EXPECT_EQ(choose({.typed = {"7", "2", "7"}}), (Ids{7, 2}));
}

TEST_F(Choice, ARangeIsThoseThatAreThere) {
  EXPECT_EQ(choose({.typed = {"4-8"}}), (Ids{5, 6}));
  EXPECT_EQ(choose({.typed = {"10-12"}}).error().message,
            "10-12: no job of these has not ended yet");
}

TEST_F(Choice, ANameIsOnesOwnJobs) {
  EXPECT_EQ(choose({.typed = {"train"}}), (Ids{3, 5}));
  EXPECT_EQ(choose({.typed = {"tr*"}, .users = {"77777"}}), Ids{6});
  EXPECT_EQ(choose({.typed = {"other"}}).error().message,
            "other: is not a job number, and no job of yours that has not ended has this name");
}

TEST_F(Choice, AUserAloneIsAllOfTheirs) {
  EXPECT_EQ(choose({.users = {"77777"}}), (Ids{6, 9}));
  EXPECT_THAT(choose({.users = {"no such user"}}).error().message,
              HasSubstr("user 'no such user': no such user on this machine"));
}

TEST_F(Choice, ANameOfAJobThatHasEndedIsTheLatest) {
  daemon_.answer("GET /v1/jobs", {{.body = R"({"jobs":[]})"},
                                  {.body = R"({"jobs":[{"id":8,"state":"done","name":"x","user":)" +
                                           std::to_string(geteuid()) + "}]}"}});
  EXPECT_EQ(choose({.typed = {"x"}}, Among::All), Ids{8});
}

}  // namespace
}  // namespace berth::cli
