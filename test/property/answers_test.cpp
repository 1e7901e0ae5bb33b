// Goal: where run times are stated and nothing else arrives, what `must end` names ends in the
// prediction and in the world before the job starts; and following a hint starts the job when it
// says.
// Method: seeded random worlds under policies that start jobs for good; after the last arrival
// every waiting job is asked about on copies, then one hint of one job is followed in the world's
// own engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/text/text.hpp"
#include "engine/hint.hpp"
#include "policy/registry.hpp"
#include "property/world.hpp"

namespace berth::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kAnsweredWorlds = 6;
#elif defined(NDEBUG)
constexpr std::uint64_t kAnsweredWorlds = 100;
#else
constexpr std::uint64_t kAnsweredWorlds = 12;
#endif

class AnsweredWorld {
 public:
  AnsweredWorld(std::string policy, std::uint64_t seed)
      : policy_(std::move(policy)),
        seed_(seed),
        world_({.seed = seed, .jobs = 16, .whole_gpus = seed % 5 == 0, .honest = true}),
        engine_(world_.cluster(), world_.engine_options(), fresh()) {}

  /// Up to the last arrival; false if no job waits then.
  bool run_to_the_last() {
    const Instant last = world_.jobs().back().submit;
    while (world_.next()) {
      step(world_.inputs());
      if (world_.now() < last || world_.more_now()) continue;
      engine_.view().for_each_pending([&](const JobView& job) { waiting_.push_back(job.id()); });
      state_ = engine_.save();
      return !waiting_.empty();
    }
    return false;
  }

  void check_must_end() {
    for (const JobId id : waiting_) {
      const Forecast found = forecast(copy(), id, {.now = world_.now(), .most_listed = 100'000});
      ASSERT_TRUE(found.start) << found.text;
      must_end_[id] = found.must_end;
      std::set<JobId> ends;
      for (const Milestone& one : found.before) {
        if (one.what != Milestone::What::Starts) ends.insert(one.job);
      }
      for (const JobId job : found.must_end) {
        EXPECT_TRUE(ends.contains(job))
            << policy_ << " seed " << seed_ << " job " << id.value() << ": " << job.value();
      }
      named_ += found.must_end.size();
    }
  }

  /// The first hint of the n-th waiting job, in this very engine. Returns: whether there was one.
  bool follow_a_hint(std::size_t nth) {
    const JobId id = waiting_[nth % waiting_.size()];
    const auto found = hints(id);
    if (found.empty()) return false;
    const Hint& hint = found[(seed_ / 2) % found.size()];
    step({Updated{.job = id, .spec = hint.spec}});
    run_to_the_end();
    EXPECT_EQ(seconds_text(starts_[id]), seconds_text(hint.start))
        << policy_ << " seed " << seed_ << " job " << id.value() << " hint "
        << static_cast<int>(hint.what);
    return true;
  }

  void run_to_the_end() {
    while (world_.next()) step(world_.inputs());
  }

  /// After run_to_the_end() without a hint.
  void check_the_world() {
    for (const auto& [id, jobs] : must_end_) {
      for (const JobId job : jobs) {
        EXPECT_LE(ends_.at(job), starts_.at(id))
            << policy_ << " seed " << seed_ << " job " << id.value() << ": " << job.value();
      }
    }
  }
  std::size_t named() const { return named_; }

 private:
  std::unique_ptr<Policy> fresh() const {
    const auto all = placers();
    return *make_policy(policy_, all[seed_ % all.size()].name);
  }
  Engine copy() const {
    auto made = Engine::restore(state_, fresh());
    EXPECT_TRUE(made);
    return std::move(*made);
  }

  void step(const std::vector<Input>& inputs) {
    const Effects& effects = engine_.step(world_.now(), inputs);
    for (const Effect& effect : effects.list) {
      if (const auto* launch = std::get_if<Launch>(&effect)) {
        starts_.emplace(launch->job, world_.now());
      }
      if (const auto* finished = std::get_if<Finished>(&effect)) {
        ends_[finished->job] = world_.now();
      }
    }
    world_.perform(effects);
  }

  std::vector<Hint> hints(JobId id) const {
    const ClusterView view = engine_.view();
    const Job& job = *view.find(id);
    const auto at_once = [&](const JobSpec& changed) -> std::optional<Answered> {
      auto place = placed_at_once(copy(), Updated{.job = id, .spec = changed}, id, world_.now());
      return place ? std::optional(Answered{world_.now(), *place}) : std::nullopt;
    };
    const auto ahead = [&](const JobSpec& changed) -> std::optional<Answered> {
      ForwardRun run(copy(), Updated{.job = id, .spec = changed}, {.now = world_.now()});
      while (run.advance()) {
      }
      const Forecast& found = run.forecast();
      if (!found.start) return std::nullopt;
      return Answered{*found.start, found.placement};
    };
    return hints_for({.spec = job.spec,
                      .view = view,
                      .now = world_.now(),
                      .start = forecast(copy(), id, {.now = world_.now()}).start,
                      .next_priority = priority_above_own(view, job.spec, id)},
                     {.at_once = at_once, .ahead = ahead});
  }

  std::string policy_;
  std::uint64_t seed_;
  World world_;
  Engine engine_;
  std::string state_;
  std::vector<JobId> waiting_;
  std::map<JobId, std::vector<JobId>> must_end_;
  std::map<JobId, Instant> starts_;
  std::map<JobId, Instant> ends_;
  std::size_t named_ = 0;
};

class Answers : public testing::TestWithParam<const char*> {};

TEST_P(Answers, WhatMustEndEndsBeforeTheStart) {
  std::size_t named = 0;
  for (std::uint64_t seed = 1; seed <= kAnsweredWorlds; ++seed) {
    AnsweredWorld world(GetParam(), seed);
    if (!world.run_to_the_last()) continue;
    world.check_must_end();
    world.run_to_the_end();
    world.check_the_world();
    named += world.named();
  }
  EXPECT_GT(named, kAnsweredWorlds);  // worlds in which no job must end prove nothing
}

TEST_P(Answers, AHintThatIsFollowedStartsTheJobWhenItSays) {
  std::size_t followed = 0;
  for (std::uint64_t seed = 1; seed <= kAnsweredWorlds; ++seed) {
    for (std::size_t nth = 0; nth < 3; ++nth) {
      AnsweredWorld world(GetParam(), seed);
      if (world.run_to_the_last() && world.follow_a_hint(nth)) ++followed;
    }
  }
  EXPECT_GT(followed, kAnsweredWorlds / 4);
}

std::string answers_test_name(const testing::TestParamInfo<const char*>& policy) {
  std::string name = policy.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Property, Answers,
                         testing::Values("headroom", "fifo", "fifo-skip", "easy", "exclusive",
                                         "sjf", "fair-share"),
                         answers_test_name);

}  // namespace
}  // namespace berth::test
