// Goal: of a user's jobs that ask for the same, the one with the largest priority starts first; the
// place stays that user's, and nobody else's job starts later for it.
// Method: a policy that says what the test tells it to, and the launches that come of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace literals;
using testing::ElementsAre;

constexpr UserId kOtherUser(8);

JobSpec wish(std::int32_t priority) {
  JobSpec spec = shared(1, 4_GiB);
  spec.priority = priority;
  return spec;
}

class OwnPriority : public testing::Test {
 protected:
  std::vector<std::uint64_t> launched(const Effects& effects) const {
    std::vector<std::uint64_t> jobs;
    for (const Effect& effect : effects.list) {
      if (const auto* launch = std::get_if<Launch>(&effect)) jobs.push_back(launch->job.value());
    }
    return jobs;
  }
  Start start_of(std::uint64_t job, std::uint32_t gpu) const {
    return {.job = JobId(job), .placement = on(rig_.cluster(), {gpu})};
  }
  std::vector<std::uint64_t> start(std::vector<Decision> decisions) {
    return launched(rig_.decide(std::move(decisions)));
  }
  std::uint64_t submit(const JobSpec& spec) { return rig_.submit(spec).value(); }

  Rig rig_{nodes_of(1, 2), {.own_priority = true}};
};

TEST_F(OwnPriority, TakesThePlaceThatThePolicyGaveToAnother) {
  submit(wish(0));
  submit(wish(1));
  submit(wish(5));
  const Effects& effects = rig_.decide({start_of(1, 1)});
  EXPECT_THAT(launched(effects), ElementsAre(3));
  ASSERT_EQ(effects.decisions.size(), 1U);
  EXPECT_EQ(std::get<Start>(effects.decisions[0]).job, JobId(3)) << "what the journal keeps";
  EXPECT_EQ(rig_.engine().view().job(JobId(3)).grant().shares[0].gpu, GpuId(1));
  EXPECT_EQ(effects.wake_at, kStart + Duration(1)) << "the policy looks again";
  EXPECT_EQ(rig_.engine().dropped(), 0U);
  EXPECT_THAT(start({start_of(1, 1)}), ElementsAre(2));
  EXPECT_THAT(start({start_of(1, 1)}), ElementsAre(1));
}

TEST_F(OwnPriority, LeavesThoseAloneThatStartAnyway) {
  submit(wish(3));
  submit(wish(0));
  submit(wish(5));
  submit(wish(9));
  // Two places; 9 is not proposed and takes the one of 0, though it is named last.
  EXPECT_THAT(start({start_of(3, 0), start_of(1, 0), start_of(2, 1)}), ElementsAre(3, 1, 4));
  EXPECT_EQ(rig_.engine().dropped(), 0U);
}

TEST_F(OwnPriority, IsNotForAnotherUsersJobsOrOtherRequests) {
  submit(wish(0));
  JobSpec other = wish(9);
  other.user = kOtherUser;
  submit(other);
  JobSpec more = wish(9);
  more.request.gpu.vram = 5_GiB;
  submit(more);
  JobSpec brief = wish(9);
  brief.duration_class = DurationClass::Short;
  submit(brief);
  JobSpec picky = wish(9);
  picky.request.gpu.only = set_of(GpuId(1));
  submit(picky);
  EXPECT_THAT(start({start_of(1, 0)}), ElementsAre(1));
}

TEST_F(OwnPriority, ALongerJobGoesFirstWhereNobodyElseWaits) {
  JobSpec brief = wish(0);
  brief.time_limit = minutes(5);
  const std::uint64_t first = submit(brief);
  const std::uint64_t second = submit(brief);
  const std::uint64_t longer = submit(wish(5));
  JobSpec other = wish(0);
  other.user = kOtherUser;
  const std::uint64_t others = submit(other);
  EXPECT_THAT(start({start_of(first, 0)}), ElementsAre(first));
  EXPECT_THAT(start({start_of(others, 0)}), ElementsAre(others));
  EXPECT_THAT(start({start_of(second, 0)}), ElementsAre(longer));
}

TEST_F(OwnPriority, NoJobThatRanOrHasADeadlineGivesWay) {
  const JobId ran = rig_.run(wish(0), {0});
  rig_.preempt(ran, PreemptHow::Kill);
  rig_.released(ran);
  JobSpec due = wish(0);
  due.deadline = kStart + hours(1);
  const std::uint64_t hurried = submit(due);
  const std::uint64_t wanted = submit(wish(5));
  EXPECT_THAT(start({start_of(ran.value(), 0)}), ElementsAre(ran.value()));
  EXPECT_THAT(start({start_of(hurried, 1)}), ElementsAre(hurried));
  EXPECT_THAT(start({start_of(wanted, 1)}), ElementsAre(wanted));
}

TEST_F(OwnPriority, AJobThatCannotStartTakesNoPlace) {
  rig_.tell({Submitted{.job = JobId(90), .spec = wish(9), .held = true}});
  JobSpec later = wish(8);
  later.conditions.edit().begin = kStart + hours(1);
  rig_.tell({Submitted{.job = JobId(91), .spec = later}});
  const std::uint64_t first = submit(wish(0));
  EXPECT_THAT(start({start_of(first, 0)}), ElementsAre(first));
}

TEST_F(OwnPriority, FollowsAnUpdateAndOutlivesASnapshot) {
  const std::uint64_t first = submit(wish(4));
  const std::uint64_t second = submit(wish(2));
  rig_.tell({Updated{.job = JobId(second), .spec = wish(7)}});
  auto again = Engine::restore(rig_.engine().save(), std::make_unique<Script>());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->check(), std::nullopt);
  EXPECT_THAT(start({start_of(first, 0)}), ElementsAre(second));
  rig_.tell({CancelAsked{JobId(first)}});
  EXPECT_EQ(rig_.engine().check(), std::nullopt);
}

TEST_F(OwnPriority, CountsOnlyWhereItIsAskedFor) {
  Rig rig(nodes_of(1, 2));
  rig.submit(wish(0));
  rig.submit(wish(5));
  EXPECT_THAT(launched(rig.start(JobId(1), {0})), ElementsAre(1));
}

}  // namespace
}  // namespace berth::test
