// Goal: where run times are stated honestly and nothing else arrives, a predicted start is the very
// instant at which the engine starts the job.
// Method: seeded random worlds under every policy that starts jobs for good; after the last arrival
// the start of each waiting job is predicted from a copy, then the world goes on to the end.
#include "engine/forecast.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/text/text.hpp"
#include "policy/registry.hpp"
#include "property/world.hpp"

namespace berth::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kForeseenWorlds = 10;
#elif defined(NDEBUG)
constexpr std::uint64_t kForeseenWorlds = 150;
#else
constexpr std::uint64_t kForeseenWorlds = 20;
#endif

std::unique_ptr<Policy> placed_policy(std::string_view name, std::uint64_t seed) {
  const auto all = placers();
  return *make_policy(name, all[seed % all.size()].name);
}

struct Seen {
  Engine engine;
  std::map<JobId, Instant> starts;

  const Effects& step(World& world) {
    const Effects& effects = engine.step(world.now(), world.inputs());
    for (const Effect& effect : effects.list) {
      if (const auto* launch = std::get_if<Launch>(&effect)) {
        starts.emplace(launch->job, world.now());
      }
    }
    return effects;
  }
};

class Forecasts : public testing::TestWithParam<const char*> {};

TEST_P(Forecasts, ComeTrueWhereNothingElseArrives) {
  std::size_t predicted = 0;
  for (std::uint64_t seed = 1; seed <= kForeseenWorlds; ++seed) {
    World world({.seed = seed, .jobs = 20, .whole_gpus = seed % 5 == 0, .honest = true});
    Seen seen{Engine(world.cluster(), world.engine_options(), placed_policy(GetParam(), seed)), {}};
    std::map<JobId, Instant> expected;
    const Instant last = world.jobs().back().submit;
    while (world.next()) {
      world.perform(seen.step(world));
      if (world.now() < last || !expected.empty() || world.more_now()) continue;
      const std::string state = seen.engine.save();
      seen.engine.view().for_each_pending([&](const JobView& job) {
        auto copy = Engine::restore(state, placed_policy(GetParam(), seed));
        ASSERT_TRUE(copy);
        const Forecast found = forecast(std::move(*copy), job.id(), {.now = world.now()});
        ASSERT_TRUE(found.start) << found.text;
        ASSERT_EQ(found.confidence, Confidence::Bound);
        expected.emplace(job.id(), *found.start);
      });
    }
    for (const auto& [job, start] : expected) {
      ASSERT_TRUE(seen.starts.contains(job)) << "seed " << seed << " job " << job.value();
      ASSERT_EQ(seconds_text(seen.starts[job]), seconds_text(start))
          << "seed " << seed << " job " << job.value();
    }
    predicted += expected.size();
  }
  EXPECT_GT(predicted, kForeseenWorlds);  // worlds in which no job waits prove nothing
}

std::string forecast_test_name(const testing::TestParamInfo<const char*>& policy) {
  std::string name = policy.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Property, Forecasts,
                         testing::Values("headroom", "fifo", "fifo-skip", "easy", "exclusive",
                                         "sjf", "smallest-first", "fair-share"),
                         forecast_test_name);

}  // namespace
}  // namespace berth::test
