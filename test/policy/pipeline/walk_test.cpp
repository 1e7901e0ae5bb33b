// Goal: the next job of a lane that is brief enough is the one that a look at each job would find.
#include "policy/pipeline/walk.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/base/rng.hpp"
#include "policy/kit/outlook.hpp"
#include "policy/order_named.hpp"
#include "policy/policies.hpp"
#include "policy/scene.hpp"

namespace berth::test {
namespace {

class WalkTest : public testing::Test {
 protected:
  /// One lane, its jobs in the order of their arrival.
  void wait(int jobs, std::uint64_t seed) {
    Rng rng(seed);
    for (int i = 0; i < jobs; ++i) {
      const bool has_none = rng.one_in(8);
      const Duration run = has_none ? kForever : minutes(rng.between(1, 40));
      index_.update(scene_.wait(whole(1, run)), scene_.view(), *order_);
    }
  }
  PassContext context(const ClusterView& view) {
    return {.view = view,
            .events = {},
            .order = *order_,
            .placer = *placer_,
            .options = options_,
            .gates = gates_,
            .index = index_};
  }
  /// The job that the walk comes to after this one; job 0 at the end.
  JobId next_within(JobId after, Duration longest) {
    const ClusterView view = scene_.view();
    Walk walk(context(view));
    walk.pass_on_within(*walk.head_of(after), longest);
    const auto head = walk.next();
    return head ? head->job() : JobId(0);
  }
  JobId next_by_looking(JobId after, Duration longest) {
    const auto& jobs = index_.lane_of(after)->jobs;
    auto at = jobs.find(index_.position_of(after));
    do ++at;
    while (at != jobs.end() && Plans{}.counted_on(scene_.look(at->job)) > longest);
    return at == jobs.end() ? JobId(0) : at->job;
  }

  Scene scene_{uniform(1, 1)};
  std::unique_ptr<Order> order_ = order_named("fifo");
  std::unique_ptr<Placer> placer_ = first_fit({});
  PipelineOptions options_;
  Gates gates_;
  PendingIndex index_;
};

TEST_F(WalkTest, PassesOnToTheNextJobThatIsBriefEnough) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    index_.clear({.by_run = true});
    wait(60, seed);
    for (const Duration longest :
         {minutes(0), minutes(2), minutes(20), minutes(40), hours(24 * 365)}) {
      for (const Position& from : std::set(index_.lanes().begin()->second.jobs)) {
        EXPECT_EQ(next_within(from.job, longest), next_by_looking(from.job, longest));
      }
    }
  }
}

TEST_F(WalkTest, EndsUntilItBeginsAgain) {
  index_.clear({});
  wait(1, 1);
  const ClusterView view = scene_.view();
  Walk walk(context(view));
  walk.begin_all();
  const auto head = walk.next();
  ASSERT_TRUE(head);
  EXPECT_DEATH(walk.pass_on_within(*head, minutes(1)), "by_run");
  walk.end();
  EXPECT_DEATH(walk.pass_on(*head), "has_ended_");
  EXPECT_DEATH(walk.next(), "has_ended_");
  walk.begin_open();
  EXPECT_TRUE(walk.next());
}

}  // namespace
}  // namespace berth::test
