// A policy that took over at a start of berthd was told what had happened in the last step under
// the former one; an engine that is restored from the snapshot of that moment tells it of nothing,
// so the two decided in another order and the journal did not verify (seed 108874 of the swarm).
#include <gtest/gtest.h>

#include "engine/rig.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

class Hears final : public Policy {
 public:
  explicit Hears(std::size_t& events) : events_(events) {}
  Decisions decide(const ClusterView&, std::span<const Event> events) override {
    events_ += events.size();
    return {};
  }

 private:
  std::size_t& events_;
};

Cluster one_gpu() {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 1, .vram = Bytes(1) * (std::int64_t{24} << 30)});
  return cluster;
}

TEST(Issue006, APolicyThatTakesOverHearsOfNothingThatWasBefore) {
  std::size_t heard = 0;
  Engine engine(one_gpu(), {}, *make_policy("fifo", "count"));
  const Effects& effects = engine.step(kStart, std::vector<Input>{Submitted{JobId(1), whole(1)}});
  ASSERT_EQ(engine.view().running().size(), 1U);
  ASSERT_FALSE(effects.decisions.empty());
  engine.set_policy(std::make_unique<Hears>(heard));
  engine.step(kStart + seconds(1), {});
  EXPECT_EQ(heard, 0U);
  engine.step(kStart + seconds(2), std::vector<Input>{Submitted{JobId(2), whole(1)}});
  EXPECT_GT(heard, 0U) << "as usual from then on";
}

/// A journal that another build wrote is applied, not decided again.
TEST(Issue006, NorDoesOneAfterARecovery) {
  std::size_t heard = 0;
  Engine engine(one_gpu(), {}, std::make_unique<Hears>(heard));
  engine.replay(kStart, std::vector<Input>{Submitted{JobId(1), whole(1)}}, {});
  engine.forget_events();
  engine.step(kStart + seconds(1), {});
  EXPECT_EQ(heard, 0U);
}

}  // namespace
}  // namespace berth::test
