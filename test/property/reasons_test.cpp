// Goal: no policy leaves a job without a reason. A job that waits while a GPU would take it is told
// what it waits for, and a gate that refuses says what it wants.
// Method: every registered policy in random worlds; after every step each waiting job is explained.
#include <gtest/gtest.h>

#include "engine/brief.hpp"
#include "engine/explain.hpp"
#include "property/lockstep.hpp"
#include "property/registered.hpp"

namespace berth::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kReasonWorlds = 4;
#else
constexpr std::uint64_t kReasonWorlds = 20;
#endif

class EveryWait : public testing::TestWithParam<std::string> {
 protected:
  /// Returns: how many jobs wait while a GPU would take them.
  std::size_t check(const Engine& engine, std::uint64_t seed) {
    std::size_t with_room = 0;
    const ClusterView view = engine.view();
    view.for_each_pending([&](const JobView& job) {
      const Explanation found = explain(view, job.id(), engine.refused(job.id()));
      if (found.fitting == 0) return;
      ++with_room;
      const bool is_unnamed = found.why == Why::Patience && found.gate.what == GateWord::What::None;
      EXPECT_FALSE(found.why == Why::Fits || is_unnamed)
          << GetParam() << ", seed " << seed << ", at " << micros(view.now()) << ": " << found.text;
      EXPECT_NE(brief_text(found, job, view, {}), "") << found.text;
    });
    return with_room;
  }
};

TEST_P(EveryWait, HasAReason) {
  std::size_t with_room = 0;
  for (std::uint64_t seed = 1; seed <= kReasonWorlds && !HasFailure(); ++seed) {
    World world(rough(seed));
    Engine engine(world.cluster(), world.engine_options(), policy_for(GetParam(), seed));
    while (world.next()) {
      world.perform(engine.step(world.now(), world.inputs()));
      with_room += check(engine, seed);
    }
  }
  EXPECT_GT(with_room, 0U) << "worlds without such a job prove nothing";
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryWait, testing::ValuesIn(registered_policies()),
                         policy_test_name);

}  // namespace
}  // namespace berth::test
