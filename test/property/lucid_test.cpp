// Goal: `lucid` packs in an engine as its rule says, and has nothing to add to its own decisions.
// Method: random jobs of models with labels 0 to 2 on a small cluster, step by step; after each
// step another one at the same instant, without news.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "core/base/rng.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"
#include "policy/whole/lucid_rule.hpp"

namespace berth {
namespace {

/// Model m has label m.
Speeds lucid_speeds() {
  Speeds speeds;
  speeds.add_pair("0", 0, "1", Rate(990'000));
  speeds.add_pair("1", 0, "1", Rate(900'000));
  speeds.add_pair("2", 0, "1", Rate(600'000));
  return speeds;
}

class LucidWorld {
 public:
  LucidWorld() : engine_(test::uniform(2, 4), {}, *make_policy("lucid:pack_above=0", "")) {
    step({Profiled{lucid_speeds()}});
  }

  void arrive(std::uint64_t id, Rng& rng) {
    JobSpec spec{.user = UserId(1), .model = std::to_string(rng.between(0, 2))};
    spec.estimate = seconds(rng.between(60, 600));
    spec.request.gpu = {.count = GpuCount(rng.between(1, 6)),
                        .vram = Bytes(rng.between(2, 14) << 30)};
    step({Submitted{.job = JobId(id), .spec = spec}});
  }
  /// One of those that run, whichever.
  void end_one(Rng& rng) {
    const auto running = engine_.view().running();
    if (running.empty()) return;
    const JobId id = running[static_cast<std::size_t>(rng.between(0, std::ssize(running) - 1))];
    const Attempt attempt = engine_.view().find(id)->attempt;
    step({Exited{.job = id, .attempt = attempt}, Released{id, attempt}});
  }
  std::size_t packed() const { return packed_; }

 private:
  void step(std::vector<Input> inputs) {
    now_ = later(now_, seconds(1));
    inputs = starts(engine_.step(now_, inputs));
    check_pairs();
    const Effects& again = engine_.step(now_, inputs);
    EXPECT_TRUE(starts(again).empty()) << "a second pass at one instant";
    EXPECT_EQ(engine_.dropped(), 0U);
  }
  static std::vector<Input> starts(const Effects& effects) {
    std::vector<Input> started;
    for (const Effect& effect : effects.list) {
      if (const auto* const launch = std::get_if<Launch>(&effect)) {
        started.emplace_back(Started{launch->job, launch->attempt});
      }
    }
    return started;
  }
  static int label(const JobView& job) { return std::stoi(job.spec().model.text()); }

  void check_pairs() {
    const ClusterView view = engine_.view();
    for (const JobId id : view.running()) {
      for (const Share& share : view.job(id).grant().shares) {
        const auto tenants = view.tenants_of(share.gpu);
        ASSERT_LE(tenants.size(), 2U);
        if (tenants.size() < 2) continue;
        const JobView one = view.job(tenants.front());
        const JobView other = view.job(tenants.back());
        EXPECT_EQ(placement_of(one.grant()), placement_of(other.grant()));
        EXPECT_LE(label(one) + label(other), kLucidMostLabels);
        ++packed_;
      }
    }
  }

  Engine engine_;
  Instant now_ = kStart;
  std::size_t packed_ = 0;
};

TEST(LucidPacking, PacksByItsRuleAndDecidesNothingTwice) {
  std::size_t packed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    LucidWorld world;
    for (std::uint64_t id = 1; id <= 60; ++id) {
      world.arrive(id, rng);
      if (rng.one_in(2)) world.end_one(rng);
    }
    packed += world.packed();
  }
  EXPECT_GT(packed, 1000U);
}

}  // namespace
}  // namespace berth
