// Goal: what a user's jobs take is never counted too low, is right at once after an end, and what
// the journal keeps once counts once. Method: a keeper on a file of its own, two users, made-up
// instants.
#include "live/user_totals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "live/host.hpp"
#include "support/process.hpp"

namespace berth::live {
namespace {

using testing::HasSubstr;

constexpr std::size_t kHundredK = 100 * 1024;

Submission job_with(char letter, std::uint32_t user = 1000) {
  Submission submission;
  submission.spec.user = UserId(user);
  submission.spec.request.gpu = {
      .count = GpuCount(1), .vram = Bytes(std::int64_t{1} << 30), .sharing = Sharing::Alone};
  submission.command.arguments = {"true"};
  submission.command.directory = "/";
  submission.environment = encode_environment({"A=" + std::string(kHundredK, letter)});
  return submission;
}

Bytes kib(std::int64_t count) { return Bytes(count << 10); }

class UserTotalsTest : public testing::Test {
 protected:
  Keeper open(const std::string& path) {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 1, .vram = Bytes(std::int64_t{24} << 30)});
    auto keeper = Keeper::open(host_, {.path = path}, cluster, {});
    if (!keeper) throw std::runtime_error(keeper.error().message);  // fails the test
    return std::move(*keeper);
  }
  /// As the daemon does it. Returns: why not; "" if it was taken.
  std::string take(UserTotals& totals, Submission& submission) {
    if (totals.may_have_less(keeper_, submission)) {
      UserTotals::Count count{.user = submission.spec.user};
      while (totals.count(count, keeper_, [] { return false; })) {
      }
    }
    const auto taken = totals.take(keeper_, submission);
    return taken ? "" : taken.error().message;
  }
  std::string submit(UserTotals& totals, Submission submission) {
    std::string why_not = take(totals, submission);
    if (why_not.empty()) arrive(std::move(submission));
    return why_not;
  }
  void arrive(const Submission& submission) {
    now_ += seconds(1);
    const auto stepped = keeper_.step(now_, {.inputs = {}, .submissions = {submission}});
    EXPECT_TRUE(stepped) << stepped.error().message;
  }
  void finish(JobId id) {
    now_ += seconds(1);
    const Attempt attempt = keeper_.engine().view().find(id)->attempt;
    const std::vector<Input> inputs = {Started{id, attempt}, Exited{id, attempt, Outcome::Done, 0},
                                       Released{id, attempt}};
    EXPECT_TRUE(keeper_.step(now_, {.inputs = inputs, .submissions = {}}));
  }

  test::Host host_;
  const test::ScratchFolder folder_;
  Keeper keeper_ = open(folder_ / "journal.db");
  Instant now_ = kStart + seconds(10);
};

TEST_F(UserTotalsTest, DifferentOnesAddUpForTheirUserAlone) {
  UserTotals environments({.bytes = kib(250)});
  EXPECT_EQ(submit(environments, job_with('a')), "");
  EXPECT_EQ(submit(environments, job_with('b')), "");
  EXPECT_THAT(submit(environments, job_with('c')),
              testing::MatchesRegex("commands and environments of your jobs that wait "
                                    "or run take 200(\\.[0-9])? KiB, this job's 100(\\.[0-9])? KiB "
                                    "more; the most is 250 KiB \\(user_environments_size\\)"));
  EXPECT_EQ(submit(environments, job_with('c', 1001)), "");
  EXPECT_THAT(submit(environments, job_with('c')), HasSubstr("your jobs")) << "also counted again";
}

TEST_F(UserTotalsTest, EqualOnesCountOnce) {
  UserTotals environments({.bytes = kib(150)});
  for (int i = 0; i < 20; ++i) {
    Submission one = job_with('a');
    one.command.arguments = {"echo", std::to_string(i)};  // a command of its own
    EXPECT_EQ(submit(environments, one), "") << i;
  }
  EXPECT_NE(submit(environments, job_with('b')), "");
}

TEST_F(UserTotalsTest, OfAnotherUserAreNoRoomOfThisOnes) {
  UserTotals environments({.bytes = kib(150)});
  EXPECT_EQ(submit(environments, job_with('a', 1001)), "");
  EXPECT_EQ(submit(environments, job_with('b')), "");
  // The journal has these bytes already, but for another user: they would stay for this one.
  EXPECT_NE(submit(environments, job_with('a')), "");
}

TEST_F(UserTotalsTest, AnArrayCountsOnce) {
  UserTotals environments({.bytes = kib(250)});
  Submission array = job_with('a');
  for (int task = 0; task < 100; ++task) array.tasks.push_back(task);
  EXPECT_EQ(submit(environments, array), "");
  EXPECT_EQ(submit(environments, job_with('b')), "");
  UserTotals next({.bytes = kib(250)});
  next.count_all(keeper_);
  EXPECT_THAT(submit(next, job_with('c')), HasSubstr("take 200"));
}

TEST_F(UserTotalsTest, AnEndMakesRoomAtOnce) {
  UserTotals totals({.bytes = kib(150)});
  EXPECT_EQ(submit(totals, job_with('a')), "");
  EXPECT_NE(submit(totals, job_with('b')), "");
  EXPECT_NE(submit(totals, job_with('b')), "");
  finish(JobId(1));
  EXPECT_EQ(submit(totals, job_with('b')), "");
}

TEST_F(UserTotalsTest, OneJobIsToldOfAsOne) {
  UserTotals totals({.jobs = 1});
  EXPECT_EQ(submit(totals, job_with('a')), "");
  EXPECT_EQ(submit(totals, job_with('a')),
            "you have 1 job that waits or runs and ask for 1 more, the most is 1 "
            "(user_queue)");
}

TEST_F(UserTotalsTest, JobsAreCountedByUserAndAnEndMakesRoomAtOnce) {
  UserTotals totals({.jobs = 2});
  EXPECT_EQ(submit(totals, job_with('a')), "");
  EXPECT_EQ(submit(totals, job_with('a')), "");
  EXPECT_EQ(submit(totals, job_with('a')),
            "you have 2 jobs that wait or run and ask for 1 more, the most is 2 (user_queue)");
  EXPECT_EQ(submit(totals, job_with('a', 1001)), "");
  finish(JobId(1));
  EXPECT_EQ(submit(totals, job_with('a')), "");
  EXPECT_NE(submit(totals, job_with('a')), "");
}

/// It is in no count of what is there.
TEST_F(UserTotalsTest, WhatIsTakenAndNotThereYetCountsInEveryCount) {
  UserTotals totals({.jobs = 2, .bytes = kib(250)});
  EXPECT_EQ(submit(totals, job_with('a')), "");
  Submission comes = job_with('b');
  EXPECT_EQ(take(totals, comes), "");
  EXPECT_NE(submit(totals, job_with('c')), "");
  finish(JobId(1));
  EXPECT_EQ(submit(totals, job_with('d')), "") << "there is room for one";
  EXPECT_THAT(submit(totals, job_with('e')), HasSubstr("have 2 jobs"));
  arrive(std::exchange(comes, {}));
  EXPECT_THAT(submit(totals, job_with('e')), HasSubstr("have 2 jobs"));
  finish(JobId(2));
  EXPECT_EQ(submit(totals, job_with('e')), "");
}

TEST_F(UserTotalsTest, WhatWasTakenAndDoesNotComeLeavesItsRoomAtOnce) {
  UserTotals totals({.jobs = 1});
  Submission lost = job_with('a');
  EXPECT_EQ(take(totals, lost), "");
  EXPECT_NE(submit(totals, job_with('a')), "");
  lost = {};
  EXPECT_EQ(submit(totals, job_with('a')), "");
}

TEST_F(UserTotalsTest, JobsToWaitForAreCountedForEachJob) {
  UserTotals totals({.jobs = 0, .bytes = Bytes(0), .after = 5});
  EXPECT_EQ(submit(totals, job_with('a')), "");
  Submission waits = job_with('b');
  waits.spec.conditions = Conditions{.after = {{.job = JobId(1)}, {.job = JobId(1)}}};
  EXPECT_EQ(submit(totals, waits), "");
  EXPECT_EQ(submit(totals, waits), "");
  EXPECT_THAT(submit(totals, waits),
              HasSubstr("after: your jobs have 4 others to wait for, each job its own, "
                        "and this one adds 2; the most is 5"));
  EXPECT_EQ(submit(totals, job_with('c')), "") << "it waits for none";
  finish(JobId(1));
  EXPECT_EQ(submit(totals, waits), "") << "nobody waits for it any more";
}

TEST_F(UserTotalsTest, WhatIsThereAtTheStartCounts) {
  UserTotals first({.bytes = kib(250)});
  EXPECT_EQ(submit(first, job_with('a')), "");
  EXPECT_EQ(submit(first, job_with('b')), "");
  UserTotals next({.bytes = kib(250)});
  next.count_all(keeper_);
  EXPECT_THAT(submit(next, job_with('c')), HasSubstr("take 200"));
}

TEST_F(UserTotalsTest, WithoutALimitNothingIsRefused) {
  UserTotals environments({.bytes = Bytes(0)});
  environments.count_all(keeper_);
  for (char letter = 'a'; letter < 'f'; ++letter) {
    EXPECT_EQ(submit(environments, job_with(letter)), "");
  }
}

}  // namespace
}  // namespace berth::live
