// Goal: of a user's jobs that wait and never ran, those with larger priorities have the earlier
// places in line, and nobody else's place changes.
// Method: the places after each input, worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;
using testing::ElementsAre;

constexpr UserId kSomeoneElse{8};

JobSpec ranked(std::int32_t priority, UserId user = UserId(7)) {
  JobSpec spec = shared(1, 4_GiB);
  spec.user = user;
  spec.priority = priority;
  return spec;
}

class OwnLine : public testing::Test {
 protected:
  JobId submit_at(std::int64_t second, const JobSpec& spec) { return rig_.at(second).submit(spec); }
  void give(JobId id, std::int32_t priority) {
    JobSpec spec = rig_.job(id).spec;
    spec.priority = priority;
    rig_.tell({Updated{.job = id, .spec = spec, .name = {}}});
  }
  /// In seconds after the start.
  std::int64_t place(JobId id) const {
    return (rig_.engine().view().job(id).in_line_since() - kStart) / seconds(1);
  }
  /// As an order by arrival has them.
  std::vector<std::uint64_t> line() const {
    std::vector<std::pair<Instant, JobId>> jobs;
    rig_.engine().view().for_each_pending(
        [&](const JobView& job) { jobs.emplace_back(job.in_line_since(), job.id()); });
    std::ranges::sort(jobs);
    std::vector<std::uint64_t> ids;
    for (const auto& [at, id] : jobs) ids.push_back(id.value());
    return ids;
  }

  Rig rig_{nodes_of(1, 2), {.own_priority = true}};
};

TEST_F(OwnLine, ALargerPriorityTakesTheEarliestPlaceAndTheOthersMoveUpBehindIt) {
  const JobId first = submit_at(1, ranked(0));
  const JobId stranger = submit_at(2, ranked(0, kSomeoneElse));
  const JobId second = submit_at(3, ranked(0));
  const JobId urgent = submit_at(4, ranked(5));
  EXPECT_EQ(place(urgent), 1);
  EXPECT_EQ(place(first), 3);
  EXPECT_EQ(place(second), 4);
  EXPECT_EQ(place(stranger), 2);
  EXPECT_EQ(rig_.engine().view().job(first).submitted(), kStart + seconds(1));
}

TEST_F(OwnLine, EqualsStayInTheOrderOfSubmission) {
  for (const std::int32_t priority : {1, 3, 1, 3, 0}) submit_at(1, ranked(priority));
  EXPECT_THAT(line(), ElementsAre(2, 4, 1, 3, 5));
}

TEST_F(OwnLine, AnUpdateMovesAJobAndTakesItBack) {
  submit_at(1, ranked(0));
  submit_at(2, ranked(0));
  const JobId last = submit_at(3, ranked(0));
  give(last, 2);
  EXPECT_THAT(line(), ElementsAre(3, 1, 2));
  give(last, 0);
  EXPECT_THAT(line(), ElementsAre(1, 2, 3));
  EXPECT_EQ(place(last), 3);
}

TEST_F(OwnLine, APlaceThatWasTakenIsGone) {
  const JobId first = submit_at(1, ranked(0));
  const JobId urgent = submit_at(4, ranked(5));
  rig_.start(urgent, {0});
  EXPECT_EQ(place(first), 4) << "others come before it that were behind it";
  const JobId again = submit_at(5, ranked(5));
  EXPECT_EQ(place(again), 4);
  EXPECT_EQ(place(first), 5);
}

TEST_F(OwnLine, AJobThatRanKeepsItsPlace) {
  const JobId ran = rig_.at(1).run(ranked(0), {0});
  rig_.preempt(ran, PreemptHow::Requeue);
  rig_.exited(ran, Outcome::Failed, 143);
  rig_.released(ran);
  ASSERT_EQ(rig_.state(ran), JobState::Queued);
  submit_at(2, ranked(0));
  submit_at(3, ranked(5));
  EXPECT_EQ(place(ran), 1);
  EXPECT_THAT(line(), ElementsAre(1, 3, 2));
}

TEST_F(OwnLine, AJobThatIsHeldTakesAPlaceOnlyWhenItIsReleased) {
  const JobId first = submit_at(1, ranked(0));
  rig_.at(2).tell({Submitted{.job = JobId(9), .spec = ranked(5), .held = true}});
  EXPECT_EQ(place(first), 1);
  rig_.at(3).tell({ReleaseAsked{JobId(9)}});
  EXPECT_EQ(place(JobId(9)), 1);
  EXPECT_EQ(place(first), 2);
}

TEST_F(OwnLine, OtherUsersJobsStayWhateverTheirPriorities) {
  submit_at(1, ranked(0));
  submit_at(2, ranked(9, kSomeoneElse));
  EXPECT_THAT(line(), ElementsAre(1, 2));
}

TEST_F(OwnLine, ASnapshotHasThePlaces) {
  submit_at(1, ranked(0));
  const JobId urgent = submit_at(2, ranked(5));
  const auto restored = Engine::restore(rig_.engine().save(), std::make_unique<Script>());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->view().job(urgent).in_line_since(), kStart + seconds(1));
}

TEST(OwnLineOfOldJournals, StaysInTheOrderOfSubmission) {
  Rig rig(nodes_of(1, 1));
  rig.at(1).submit(ranked(0));
  const JobId urgent = rig.at(2).submit(ranked(5));
  EXPECT_EQ(rig.engine().view().job(urgent).in_line_since(), kStart + seconds(2));
}

}  // namespace
}  // namespace berth::test
