// A daemon that was given a policy with a memory of its own (tiresias/...) and crashed before a job
// came or went forgot the jobs it had: they waited for ever.
// The memory of a policy that has seen nothing yet is now restored as just that.
#include <gtest/gtest.h>

#include "engine/rig.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

TEST(Issue001, APolicyThatHasSeenNothingIsRestoredAsSuch) {
  Engine engine(nodes_of(1, 1), {}, *make_policy("fifo", "first-fit"));
  engine.step(kStart,
              std::vector<Input>{Submitted{JobId(1), whole(1)}, Submitted{JobId(2), whole(1)}});
  engine.set_policy(*make_policy("tiresias/sjf", "first-fit"));
  auto restored = Engine::restore(engine.save(), *make_policy("tiresias/sjf", "first-fit"));
  ASSERT_TRUE(restored) << restored.error().message;
  const std::vector<Input> over = {Exited{JobId(1), Attempt(1)}, Released{JobId(1), Attempt(1)}};
  for (Engine* const one : {&engine, &*restored}) {
    one->step(kStart + seconds(1), over);
    EXPECT_EQ(one->view().find(JobId(2))->state, JobState::Starting);
  }
  EXPECT_EQ(restored->save(), engine.save());
}

/// One that has seen everything there was, and nothing is left of it, is another thing.
TEST(Issue001, NoJobAtAllIsRemembered) {
  Engine engine(nodes_of(1, 1), {}, *make_policy("tiresias/sjf", "first-fit"));
  engine.step(kStart, {});
  auto restored = Engine::restore(engine.save(), *make_policy("tiresias/sjf", "first-fit"));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->save(), engine.save());
}

}  // namespace
}  // namespace berth::test
