// Goal: jobs are named by number, range, name and user, and what fits none is said.
// Method: a daemon of canned answers, and the pure parts.
#include "cli/ask/job_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/ask/job_filter.hpp"
#include "cli/fake_daemon.hpp"
#include "core/base/suggest.hpp"
#include "core/text/handle.hpp"

namespace berth::cli {
namespace {

using testing::HasSubstr;
using Ids = std::vector<std::string>;

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

TEST(Suggestions, AreNearAndOnlyNear) {
  const std::vector<std::string> words = {"submit", "show", "ls", "logs"};
  EXPECT_EQ(nearest("sumbit", words), "submit");
  EXPECT_EQ(nearest("log", words), "logs");
  EXPECT_EQ(nearest("lst", words), "ls");
  EXPECT_EQ(nearest("frobnicate", words), "");
  EXPECT_EQ(nearest("", words), "");
  const std::vector<std::string> keys = {"time_limit_seconds", "log", "mem_bytes", "mem_most"};
  EXPECT_EQ(nearest("time", keys), "time_limit_seconds");
  EXPECT_EQ(nearest("mem", keys), "") << "two begin so";
  EXPECT_EQ(nearest("ti", keys), "") << "too short";
  EXPECT_EQ(did_you_mean("shwo", words), "; did you mean show?");
}

TEST(Filters, TakeTasksByTheNameOfTheirArray) {
  const JobFilter filter{.users = {}, .states = {}, .names = {"sweep"}};
  EXPECT_TRUE(filter.takes({{"name", "sweep"}}));
  EXPECT_TRUE(filter.takes({{"name", "sweep[3]"}, {"array_task", 3}}));
  EXPECT_FALSE(filter.takes({{"name", "sweep[3]"}}));
}

class Choice : public testing::Test {
 protected:
  Expected<Ids> choose(const JobChoice& choice, Arrays arrays = Arrays::InTasks) const {
    auto daemon = Daemon::open(daemon_.socket());
    const auto rows = chosen_rows(*daemon, choice, arrays);
    if (!rows) return std::unexpected(rows.error());
    Ids ids;
    for (const Json& row : *rows) ids.push_back(handle_of(row));
    return ids;
  }
  using Query = std::vector<std::pair<std::string, std::string>>;

  test::FakeDaemon daemon_;
};

TEST_F(Choice, NumbersOfWholeThingsNeedNoDaemon) {
  daemon_.answer("GET /v1/jobs", "nonsense");
  EXPECT_EQ(choose({.typed = {"7", "2", "7"}}, Arrays::Whole), (Ids{"7", "2"}));
}

TEST_F(Choice, IsLookedUpByTheDaemon) {
  daemon_.answer("GET /v1/jobs", R"({"jobs":[{"id":3},{"id":643,"handle":"643_1"},{"id":3}]})");
  EXPECT_EQ(choose({.typed = {"3", "tr *"}, .users = {"77777"}}), (Ids{"3", "643_1"}));
  EXPECT_EQ(daemon_.take("GET /v1/jobs").query, (Query{{"chosen", "true"},
                                                       {"all", "true"},
                                                       {"user", "77777"},
                                                       {"jobs", "3"},
                                                       {"jobs", "tr *"}}));
  choose({.typed = {}, .users = {"77777"}});
  EXPECT_EQ(daemon_.take("GET /v1/jobs").query, (Query{{"chosen", "true"}, {"user", "77777"}}));
}

TEST_F(Choice, OfThousandsIsLookedUpInParts) {
  daemon_.answer("GET /v1/jobs",
                 {{.body = R"({"jobs":[{"id":1}]})"}, {.body = R"({"jobs":[{"id":2}]})"}});
  JobChoice choice;
  for (int i = 1; i <= 500; ++i) choice.typed.push_back(std::to_string(i));
  EXPECT_EQ(choose(choice), (Ids{"1", "2"}));
}

TEST_F(Choice, SaysWhatMakesNoSense) {
  EXPECT_EQ(choose({}).error().message,
            "no job is named; give a number, a range, a name such as 'train-*', or "
            "-u USER for all of theirs");
  EXPECT_THAT(choose({.users = {"no such user"}}).error().message,
              HasSubstr("user 'no such user': no such user on this machine"));
  EXPECT_THAT(choose({.typed = {"10-5"}}).error().message,
              HasSubstr("10-5: the first number of a range is larger than the last"));
}

}  // namespace
}  // namespace berth::cli
