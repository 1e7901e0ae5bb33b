// Goal: what is kept from pass to pass of when jobs leave is what a look at all of them would find.
// Method: random runs with and without limits, estimates and classes, that end, outlive what was
// foreseen and change; after each step all is compared with a look at every job, and whether
// plans hold with what Outlook finds.
#include "policy/kit/departures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.hpp"
#include "policy/kit/outlook.hpp"
#include "policy/scene.hpp"

namespace berth::test {
namespace {

constexpr std::uint32_t kDepartures = 12;

class DeparturesTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  JobSpec random_spec() {
    const auto draw = [&] { return rng_.one_in(3) ? kForever : minutes(rng_.between(1, 90)); };
    JobSpec spec = whole(1, draw());
    spec.time_limit = rng_.one_in(2) ? kForever : draw();
    spec.duration_class = DurationClass(rng_.between(0, 3));
    return spec;
  }

  void grow(Job& job) {
    Share& share = job.grant.shares.front();
    scene_.state().ledger.grow(scene_.state().cluster, share, share.charge + Bytes(1));
    share.charge += Bytes(1);
  }

  /// Something happens to some jobs; some events name them.
  std::vector<Event> step() {
    scene_.at(now_ += minutes(rng_.between(0, 20)));
    std::vector<Event> events;
    const std::vector<JobId> running(scene_.view().running().begin(),
                                     scene_.view().running().end());
    for (const JobId id : running) {
      if (!rng_.one_in(6)) continue;
      Job& job = scene_.job(id);
      switch (rng_.between(0, 3)) {
        case 0:
          scene_.end(id, minutes(1));
          events.push_back({EventKind::Ended, id});
          break;
        case 1:
          job.state = JobState::Stopping;
          events.push_back({EventKind::Preempted, id});
          break;
        case 2:
          job.spec.time_limit = minutes(rng_.between(1, 90));
          events.push_back({EventKind::Changed, id});
          break;
        default:
          grow(job);
          events.push_back({EventKind::Changed, id});
      }
    }
    return events;
  }

  struct Found {
    Instant at;
    std::uint64_t number;
    auto operator<=>(const Found&) const = default;
  };
  std::vector<Found> by_looking() const {
    const ClusterView view = scene_.view();
    std::vector<Found> all;
    for (const JobId id : view.running()) {
      const JobView job = view.job(id);
      all.push_back({plans_.foreseen_end(job, view.now()), job.grant_number()});
    }
    std::ranges::sort(all);
    return all;
  }
  std::vector<Found> as_kept() const {
    const ClusterView view = scene_.view();
    Leavers leavers = departures_.leavers(view, {}, plans_);
    std::vector<Found> all;
    for (std::size_t i = 0; i < leavers.size(); ++i) {
      all.push_back({leavers.at(i).at, leavers.at(i).grant_number});
    }
    return all;
  }

  Rng rng_{GetParam()};
  Instant now_ = kStart;
  Scene scene_{uniform(kDepartures, 1)};
  Plans plans_;
  Departures departures_;
  Outlook outlook_;
};

TEST_P(DeparturesTest, AreThoseThatALookAtEachJobWouldFind) {
  for (std::uint32_t i = 0; i < kDepartures; ++i) scene_.run(random_spec(), {i});
  departures_.follow(scene_.view(), {}, plans_, true);
  outlook_.follow(scene_.view());
  for (int i = 0; i < 40; ++i) {
    const std::vector<Event> events = step();
    const ClusterView view = scene_.view();
    const bool holds = departures_.follow(view, events, plans_, false);
    EXPECT_EQ(holds, outlook_.follow(view) == Outlook::Change::None) << "step " << i;
    ASSERT_EQ(as_kept(), by_looking()) << "step " << i;
    const Instant until = now_ + minutes(rng_.between(0, 120));
    EXPECT_EQ(departures_.first_doubt(until, view, {}, plans_),
              first_doubt(view, {}, plans_, until))
        << "step " << i;
    const auto leaves_then = [&](JobId id) {
      const JobView job = view.job(id);
      return is_guess(job) && plans_.foreseen_end(job, now_) == until;
    };
    EXPECT_EQ(departures_.is_guessed(until, view, {}, plans_),
              std::ranges::any_of(view.running(), leaves_then));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeparturesTest, testing::Range<std::uint64_t>(1, 41));

/// What a policy started is foreseen from the pass on that decided it, and forgotten where the
/// engine did not grant it.
TEST(DeparturesOfAPass, IncludeWhatWasStartedInIt) {
  Scene scene(uniform(1, 2));
  scene.run(whole(1, minutes(30)), {0});
  const JobId starts = scene.wait(whole(1, minutes(10)));
  const ClusterView view = scene.view();
  Departures departures;
  departures.follow(view, {}, {}, true);
  const Placement place{.gpus = {GpuId(1)}, .host = NodeId(0)};
  const Grant grant = view.use().grant_for(view.cluster(), ask_of(view.job(starts)), place);
  const std::vector<Fresh> started{{minutes(10), grant, starts}};
  Leavers leavers = departures.leavers(view, started, {});
  ASSERT_EQ(leavers.size(), 2U);
  EXPECT_EQ(leavers.at(0).at, kStart + minutes(10));
  EXPECT_EQ(leavers.at(1).at, kStart + minutes(30));
  EXPECT_EQ(departures.first_doubt(kStart + minutes(10), view, started, {}), kStart + minutes(10));
  departures.add(view, started, {});
  EXPECT_FALSE(departures.follow(view, {}, {}, false)) << "it was foreseen, and does not run";
  EXPECT_EQ(departures.leavers(view, {}, {}).size(), 1U);
  EXPECT_TRUE(departures.follow(view, {}, {}, false));
}

TEST(DeparturesOfAPass, HoldNoMoreOnceAGpuIsOutOfService) {
  Scene scene(uniform(1, 2));
  scene.run(whole(1, minutes(30)), {0});
  Departures departures;
  departures.follow(scene.view(), {}, {}, true);
  EXPECT_TRUE(departures.follow(scene.view(), {}, {}, false));
  GpuUse use = scene.view().use().gpu(GpuId(1));
  use.utilisation = 50;
  scene.state().ledger.set_gpu(scene.state().cluster, GpuId(1), use);
  EXPECT_TRUE(departures.follow(scene.view(), {}, {}, false)) << "no plan rests on that";
  use.healthy = false;
  scene.state().ledger.set_gpu(scene.state().cluster, GpuId(1), use);
  EXPECT_FALSE(departures.follow(scene.view(), {}, {}, false));
}

}  // namespace
}  // namespace berth::test
