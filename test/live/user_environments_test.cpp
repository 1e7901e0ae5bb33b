// Goal: what a user's commands and environments take is never counted too low, and what the journal
// keeps once counts once. Method: a keeper on a file of its own, two users, made-up instants.
#include "live/user_environments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "live/host.hpp"
#include "support/process.hpp"

namespace berth::live {
namespace {

using testing::HasSubstr;

constexpr std::size_t kHundredK = 100 * 1024;

Instant second_of(std::int64_t second) { return kStart + seconds(second); }

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

class UserEnvironmentsTest : public testing::Test {
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
  std::string submit(UserEnvironments& environments, std::int64_t second,
                     const Submission& submission) {
    if (environments.may_have_less(keeper_, submission, second_of(second))) {
      UserEnvironments::Count count{.user = submission.spec.user, .began = second_of(second)};
      while (environments.count(count, keeper_, [] { return false; })) {
      }
    }
    const auto taken = environments.take(keeper_, submission);
    if (!taken) return taken.error().message;
    const auto stepped =
        keeper_.step(second_of(second), {.inputs = {}, .submissions = {submission}});
    EXPECT_TRUE(stepped) << stepped.error().message;
    return "";
  }
  void finish(std::int64_t second, JobId id) {
    const Attempt attempt = keeper_.engine().view().find(id)->attempt;
    const std::vector<Input> inputs = {Started{id, attempt}, Exited{id, attempt, Outcome::Done, 0},
                                       Released{id, attempt}};
    EXPECT_TRUE(keeper_.step(second_of(second), {.inputs = inputs, .submissions = {}}));
  }

  test::Host host_;
  const test::ScratchFolder folder_;
  Keeper keeper_ = open(folder_ / "journal.db");
};

TEST_F(UserEnvironmentsTest, DifferentOnesAddUpForTheirUserAlone) {
  UserEnvironments environments(kib(250));
  EXPECT_EQ(submit(environments, 10, job_with('a')), "");
  EXPECT_EQ(submit(environments, 10, job_with('b')), "");
  EXPECT_THAT(submit(environments, 10, job_with('c')),
              testing::MatchesRegex("commands and environments of the jobs of uid 1000 that wait "
                                    "or run take 200(\\.[0-9])? KiB, this job's 100(\\.[0-9])? KiB "
                                    "more; the most is 250 KiB \\(user_environments_size\\)"));
  EXPECT_EQ(submit(environments, 10, job_with('c', 1001)), "");
  EXPECT_THAT(submit(environments, 20, job_with('c')), HasSubstr("uid 1000"))
      << "also counted again";
}

TEST_F(UserEnvironmentsTest, EqualOnesCountOnce) {
  UserEnvironments environments(kib(150));
  for (int i = 0; i < 20; ++i) {
    Submission one = job_with('a');
    one.command.arguments = {"echo", std::to_string(i)};  // a command of its own
    EXPECT_EQ(submit(environments, 10 + 2 * i, one), "") << i;
  }
  EXPECT_NE(submit(environments, 100, job_with('b')), "");
}

TEST_F(UserEnvironmentsTest, OfAnotherUserAreNoRoomOfThisOnes) {
  UserEnvironments environments(kib(150));
  EXPECT_EQ(submit(environments, 10, job_with('a', 1001)), "");
  EXPECT_EQ(submit(environments, 10, job_with('b')), "");
  // The journal has these bytes already, but for another user: they would stay for this one.
  EXPECT_NE(submit(environments, 20, job_with('a')), "");
}

TEST_F(UserEnvironmentsTest, AnArrayCountsOnce) {
  UserEnvironments environments(kib(250));
  Submission array = job_with('a');
  for (int task = 0; task < 100; ++task) array.tasks.push_back(task);
  EXPECT_EQ(submit(environments, 10, array), "");
  EXPECT_EQ(submit(environments, 20, job_with('b')), "");
  UserEnvironments next(kib(250));
  next.count_all(keeper_, second_of(30));
  EXPECT_THAT(submit(next, 30, job_with('c')), HasSubstr("take 200"));
}

TEST_F(UserEnvironmentsTest, AnEndMakesRoomWithinASecond) {
  UserEnvironments environments(kib(150));
  EXPECT_EQ(submit(environments, 10, job_with('a')), "");
  EXPECT_NE(submit(environments, 11, job_with('b')), "");
  finish(11, JobId(1));
  EXPECT_NE(submit(environments, 11, job_with('b')), "") << "it was counted in this second";
  EXPECT_EQ(submit(environments, 12, job_with('b')), "");
}

TEST_F(UserEnvironmentsTest, WhatIsThereAtTheStartCounts) {
  UserEnvironments first(kib(250));
  EXPECT_EQ(submit(first, 10, job_with('a')), "");
  EXPECT_EQ(submit(first, 10, job_with('b')), "");
  UserEnvironments next(kib(250));
  next.count_all(keeper_, second_of(20));
  EXPECT_THAT(submit(next, 20, job_with('c')), HasSubstr("take 200"));
}

TEST_F(UserEnvironmentsTest, WithoutALimitNothingIsRefused) {
  UserEnvironments environments(Bytes(0));
  environments.count_all(keeper_, second_of(1));
  for (char letter = 'a'; letter < 'f'; ++letter) {
    EXPECT_EQ(submit(environments, 10, job_with(letter)), "");
  }
}

}  // namespace
}  // namespace berth::live
