// Goal: the sum of what is left to do is what a look at each running job would find.
// Method: random runs that go on, end, stop and change, looked at after each step.
#include "policy/order/running_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/rng.hpp"
#include "policy/kit/classes.hpp"
#include "policy/scene.hpp"

namespace berth::test {
namespace {

constexpr std::uint32_t kRuns = 8;

class RunningWorkTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  static Keys keys() {
    static constexpr auto kKeys =
        std::to_array<Key>({kShortBoundKey, kMediumBoundKey, kLiarAfterKey});
    return Keys(kKeys);
  }
  Work by_looking() const {
    const ClusterView view = scene_.view();
    Work sum = 0;
    for (const JobId id : view.running()) {
      const JobView job = view.job(id);
      const Duration run = supposed_run(job, judge_.class_of(job), judge_.bounds());
      const Duration left = std::max(run - job.progressed(), Duration::zero());
      sum += part_of(ask_of(job), view.cluster()) * Work{micros(left)};
    }
    return sum;
  }

  Rng rng_{GetParam()};
  Scene scene_{uniform(kRuns, 1)};
  ClassJudge judge_{keys()};
  RunningWork work_;
};

TEST_P(RunningWorkTest, IsTheSumOfAll) {
  for (std::uint32_t i = 0; i < kRuns; ++i) {
    JobSpec spec = whole(1, rng_.one_in(2) ? kForever : minutes(rng_.between(1, 300)));
    spec.duration_class = DurationClass(rng_.between(0, 2));
    scene_.run(spec, {i});
  }
  Instant now = kStart;
  std::vector<Event> events;
  for (int i = 0; i < 40; ++i) {
    scene_.at(now += minutes(rng_.between(0, 30)));
    for (const JobId id :
         std::vector(scene_.view().running().begin(), scene_.view().running().end())) {
      if (!rng_.one_in(10)) continue;
      events.push_back({EventKind::Changed, id});
      if (rng_.one_in(2)) {
        scene_.job(id).spec.estimate = minutes(rng_.between(1, 300));
      } else if (rng_.one_in(2)) {
        scene_.job(id).ended = now;
      } else {
        scene_.end(id, minutes(1));
      }
    }
    judge_.judge(scene_.view(), events);
    work_.follow(scene_.view(), events, judge_, i == 0);
    ASSERT_EQ(work_.left(now), by_looking()) << "step " << i;
    events.clear();
    for (const auto& [id, is] : judge_.judged()) {  // the engine follows
      scene_.job(id).spec.duration_class = is;
      events.push_back({EventKind::Changed, id});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RunningWorkTest, testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace berth::test
