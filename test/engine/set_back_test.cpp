// Goal: whatever a clock said once, a state can be kept, and time can be set back to what the clock
// says now. Method: random pasts, then a jump to the last instant of all, and back.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/limits.hpp"
#include "engine/engine.hpp"
#include "engine/history.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

class SetBack : public testing::TestWithParam<std::string_view> {};

/// Goes on for a while, with nothing but time.
void expect_sound(Engine engine) {
  EXPECT_EQ(engine.check(), std::nullopt);
  engine.step(engine.now() + seconds(1), std::vector<Input>{Ticked{}});
  EXPECT_EQ(engine.check(), std::nullopt);
}

TEST_P(SetBack, AStateOfTheLastInstantOfAllIsKept) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    History history(GetParam(), seed);
    history.go_on(60);
    auto engine = Engine::restore(history.engine().save(), history.fresh_policy());
    ASSERT_TRUE(engine.has_value()) << seed;
    for (const Instant jump : {kStart + hours(24 * 365 * 100), limits::kLastInstant}) {
      engine->step(jump, std::vector<Input>{Ticked{}});
      engine->step(jump, history.next());
      auto restored = Engine::restore_state(engine->save(), history.fresh_policy());
      ASSERT_TRUE(restored.has_value()) << seed << ": " << restored.error().message;
      expect_sound(std::move(*restored));
    }
  }
}

TEST_P(SetBack, GoesOnFromWhereTheClockIs) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    History history(GetParam(), seed);
    history.go_on(50);
    const Instant right = history.now();
    auto engine = Engine::restore(history.engine().save(), history.fresh_policy());
    ASSERT_TRUE(engine.has_value()) << seed;
    const Instant wrong = right + hours(24 * 365 * 14);
    engine->step(wrong, history.next());
    engine->step(wrong + minutes(5), history.next());
    for (const Duration ago : {Duration(0), Duration(1), minutes(3), hours(24 * 365 * 14)}) {
      const Instant to = std::max(kStart, wrong + minutes(5) - ago);
      auto back = engine->set_back(to, history.fresh_policy());
      ASSERT_TRUE(back.has_value()) << seed << ": " << back.error().message;
      EXPECT_EQ(back->now(), to);
      EXPECT_EQ(back->view().job_count(), engine->view().job_count());
      EXPECT_TRUE(std::ranges::equal(back->view().running(), engine->view().running()));
      back->view().for_each_job([&](const Job& job) {
        const Job& was = *engine->view().find(job.id);
        EXPECT_LE(job.submitted, was.submitted);
        EXPECT_EQ(ran_of(job, to), was.since > to ? ran_of(was, engine->now()) : ran_of(job, to));
      });
      expect_sound(std::move(*back));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, SetBack,
                         testing::Values("fifo", "easy", "conservative", "headroom", "fair-share",
                                         "srtf", "multifactor"),
                         [](const auto& test) {
                           std::string name(test.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace berth::test
