// A policy asks to be woken for what time alone changes.
//
// Method: random worlds, and between what happens in them an engine that is told every minute that
// time passed. Such a tick starts and stops no job: if it did, an engine without ticks would do so
// later, or never. A policy with a quantum examines waiting jobs only that often, so there
// a tick may only bring forward what the quantum brings. Some published simulators are late, and
// their policies here with them.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/engine.hpp"
#include "policy/registry.hpp"
#include "property/registered.hpp"
#include "property/world.hpp"
#include "support/choice.hpp"

namespace berth::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr std::uint64_t kTickedWorlds = 8;
#else
constexpr std::uint64_t kTickedWorlds = 60;
#endif

class EveryPolicyOnTicks : public testing::TestWithParam<std::string> {
 protected:
  std::string_view place(std::uint64_t seed) const {
    return chosen(placers(), GetParam(), seed).name;
  }
  /// How often it looks, by its rule.
  Duration quantum() const {
    const Keys keys = choose(GetParam())->keys;
    if (keys.has("period")) return keys.time("period");
    return keys.has("quantum") ? keys.time("quantum") : Duration::zero();
  }

  /// Returns: false if the run may end here, because a tick brought something forward.
  void run(World& world, Engine& engine) const {
    std::optional<Instant> wake_at;
    Instant last = kStart;
    while (world.next()) {
      for (Instant tick = last + minutes(1); tick < world.now(); tick += minutes(1)) {
        const Effects& effects = engine.step(tick, std::vector<Input>{Ticked{}});
        if (effects.list.empty()) continue;
        ASSERT_TRUE(wake_at && *wake_at <= tick + quantum()) << "at " << micros(tick) / 1'000'000;
        return;  // from here on the two would differ
      }
      last = world.now();
      const Effects& effects = engine.step(world.now(), world.inputs());
      wake_at = effects.wake_at;
      world.perform(effects);
    }
  }
};

/// What the peer's own starts and ends show (test/sim/tiresias_oracle_test.cpp); else empty.
std::string why_late(const std::string& policy) {
  const bool fixed = policy.ends_with("+fixjump");
  if (policy.starts_with("tiresias/dlas-gpu") && !fixed) return "its demotions are reckoned late";
  if (policy == "tiresias/shortest-gpu") return "it looks at what happens, not at the time";
  return "";
}

TEST_P(EveryPolicyOnTicks, DoesNothingEarlier) {
  if (const std::string why = why_late(GetParam()); !why.empty()) GTEST_SKIP() << why;
  for (std::uint64_t seed = 1; seed <= kTickedWorlds; ++seed) {
    SCOPED_TRACE(GetParam() + " with " + std::string(place(seed)) + ", seed " +
                 std::to_string(seed));
    World world({.seed = seed,
                 .jobs = static_cast<int>(12 + seed % 20),
                 .delays = seed % 3 == 0,
                 .whole_gpus = seed % 5 == 0,
                 .honest = seed % 4 == 0});
    EngineOptions options = world.engine_options();
    options.settings.service_half_life = minutes(10);  // so that ranks move within a world
    Engine engine(world.cluster(), options, *make_policy(GetParam(), place(seed)));
    run(world, engine);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryPolicyOnTicks, testing::ValuesIn(registered_policies()),
                         policy_test_name);

}  // namespace
}  // namespace berth::test
