// Properties of every registered policy under `guarantee`.
//
// Method: 1,000 random workloads each (fewer under sanitizers), with faults and delays; after every
// step the invariants are computed again, independently of the engine's own arithmetic. A failure
// prints policy, placement and seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/engine.hpp"
#include "engine/journal.hpp"
#include "policy/registry.hpp"
#include "property/world.hpp"

namespace berth::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kWorlds = 60;
#elif defined(NDEBUG)
constexpr std::uint64_t kWorlds = 1000;
#else
constexpr std::uint64_t kWorlds = 100;
#endif

/// Every policy with a placement that varies with the seed.
std::unique_ptr<Policy> policy_for(std::string_view name, std::uint64_t seed,
                                   bool rebuild = false) {
  const auto all = placers();
  const std::string_view place = all[seed % all.size()].name;
  auto policy = make_policy(name, place, {.rebuild = rebuild});
  EXPECT_TRUE(policy.has_value());
  return std::move(*policy);
}

WorldOptions rough(std::uint64_t seed) {
  return {.seed = seed,
          .jobs = static_cast<int>(12 + seed % 20),
          .faults = seed % 2 == 0,
          .delays = seed % 3 == 0,
          .whole_gpus = seed % 5 == 0};
}

/// The inequality for GPUs that got a new tenant in this step, from first principles.
std::string broken_inequality(const Engine& engine, const Effects& effects) {
  const Occupancy& use = engine.view().use();
  std::string broken;
  const auto look = [&](JobId job, const Grant& grant) {
    for (const Share& share : grant.shares) {
      const GpuUse& gpu = use.gpu(share.gpu);
      const GpuSpec& spec = engine.view().cluster().gpu(share.gpu);
      const Bytes guard = std::max(Bytes(512 << 20), Bytes(spec.capacity.raw() / 50));
      const Bytes free_of = spec.capacity - gpu.foreign - gpu.charged;
      const bool memory = free_of >= (gpu.tenants > 1 ? guard : Bytes(0));
      const bool tenancy = gpu.tenants <= std::max<std::uint16_t>(1, spec.slots) &&
                           (!gpu.alone || gpu.tenants == 1) && gpu.milli.raw() <= 1000;
      if (!memory || !tenancy || !gpu.healthy) {
        broken =
            "job " + std::to_string(job.value()) + " on GPU " + std::to_string(share.gpu.value());
      }
    }
  };
  for (const Effect& effect : effects.list) {
    if (const auto* launch = std::get_if<Launch>(&effect)) look(launch->job, launch->grant);
    if (const auto* resume = std::get_if<Continue>(&effect)) look(resume->job, resume->grant);
  }
  return broken;
}

/// The guarantee itself: while nobody outgrows a charge and foreign use does not grow, all charges
/// can be used in full at once on every GPU.
std::string overfull_gpu(const Engine& engine) {
  const ClusterView view = engine.view();
  for (std::uint32_t g = 0; g < view.cluster().gpus().size(); ++g) {
    const GpuUse& use = view.use().gpu(GpuId(g));
    if (use.foreign + use.charged > view.cluster().gpu(GpuId(g)).capacity) return std::to_string(g);
  }
  return "";
}

class EveryPolicy : public testing::TestWithParam<std::string> {
 protected:
  std::string where(std::uint64_t seed) const {
    return GetParam() + ", seed " + std::to_string(seed);
  }
};

TEST_P(EveryPolicy, KeepsTheInvariants) {
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    World world(rough(seed));
    Engine engine(world.cluster(), world.engine_options(), policy_for(GetParam(), seed));
    while (world.next()) {
      const Effects& effects = engine.step(world.now(), world.inputs());
      ASSERT_EQ(engine.check(), std::nullopt) << where(seed);
      ASSERT_EQ(engine.dropped(), 0U) << where(seed);
      ASSERT_EQ(broken_inequality(engine, effects), "") << where(seed);
      if (!rough(seed).faults) {
        ASSERT_EQ(overfull_gpu(engine), "") << where(seed);
      }
      world.perform(effects);
    }
    ASSERT_TRUE(world.all_finished()) << where(seed);
  }
}

TEST_P(EveryPolicy, DecidesNothingTwice) {
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    World world(rough(seed));
    Engine engine(world.cluster(), world.engine_options(), policy_for(GetParam(), seed));
    while (world.next()) {
      world.perform(engine.step(world.now(), world.inputs()));
      const Effects& again = engine.step(world.now(), {});
      ASSERT_TRUE(again.list.empty()) << where(seed) << " at " << micros(world.now());
    }
  }
}

TEST_P(EveryPolicy, DecidesTheSameFromScratch) {
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    World world(rough(seed));
    Engine engine(world.cluster(), world.engine_options(), policy_for(GetParam(), seed));
    Engine oracle(world.cluster(), world.engine_options(), policy_for(GetParam(), seed, true));
    while (world.next()) {
      const Effects& wanted = oracle.step(world.now(), world.inputs());
      const Effects& got = engine.step(world.now(), world.inputs());
      ASSERT_EQ(encode_decisions(got.decisions), encode_decisions(wanted.decisions))
          << where(seed) << " at " << micros(world.now());
      world.perform(got);
    }
  }
}

TEST_P(EveryPolicy, GoesOnAfterARestore) {
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    World world(rough(seed));
    Engine engine(world.cluster(), world.engine_options(), policy_for(GetParam(), seed));
    Engine other(world.cluster(), world.engine_options(), policy_for(GetParam(), seed));
    Rng when(seed, 1);
    while (world.next()) {
      if (when.one_in(10)) {
        auto restored = Engine::restore(engine.save(), policy_for(GetParam(), seed));
        ASSERT_TRUE(restored.has_value()) << where(seed) << ": " << restored.error().message;
        ASSERT_EQ(restored->save(), engine.save()) << where(seed);
        other = std::move(*restored);
      }
      const Effects& wanted = engine.step(world.now(), world.inputs());
      const Effects& got = other.step(world.now(), world.inputs());
      ASSERT_EQ(encode_decisions(got.decisions), encode_decisions(wanted.decisions)) << where(seed);
      ASSERT_EQ(got.wake_at, wanted.wake_at) << where(seed);
      world.perform(wanted);
    }
    ASSERT_EQ(other.save(), engine.save()) << where(seed);
  }
}

TEST_P(EveryPolicy, IsReplayedFromItsJournal) {
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    World world(rough(seed));
    Engine engine(world.cluster(), world.engine_options(), policy_for(GetParam(), seed));
    Engine recovered(world.cluster(), world.engine_options(), policy_for(GetParam(), seed));
    while (world.next()) {
      const Effects& effects = engine.step(world.now(), world.inputs());
      const std::string line = encode({world.now(), world.inputs(), effects.decisions});
      const auto entry = decode_entry(line);
      ASSERT_TRUE(entry.has_value()) << where(seed);
      ASSERT_EQ(encode(*entry), line) << where(seed);
      const Effects& same = recovered.replay(entry->now, entry->inputs, entry->decisions);
      ASSERT_EQ(encode_decisions(same.decisions), encode_decisions(effects.decisions))
          << where(seed);
      ASSERT_EQ(same.list.size(), effects.list.size()) << where(seed);
      world.perform(effects);
    }
    ASSERT_EQ(recovered.check(), std::nullopt) << where(seed);
    ASSERT_EQ(recovered.view().job_count(), 0U) << where(seed);
  }
}

TEST_P(EveryPolicy, DoesNotCareForLabels) {
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    const WorldOptions options{.seed = seed, .jobs = 20, .distinct = true};
    World plain(options);
    World renamed(options);
    std::vector<JobId> ids(plain.jobs().size());
    std::ranges::generate(ids, [n = std::uint64_t{0}]() mutable { return JobId(++n); });
    Rng rng(seed, 2);
    for (std::size_t i = ids.size(); i > 1; --i) {
      std::swap(ids[i - 1], ids[static_cast<std::size_t>(rng.between(0, std::ssize(ids) - 1)) % i]);
    }
    renamed.relabel(ids);
    for (World* world : {&plain, &renamed}) {
      Engine engine(world->cluster(), world->engine_options(), policy_for(GetParam(), seed));
      while (world->next()) world->perform(engine.step(world->now(), world->inputs()));
    }
    for (std::size_t i = 0; i < plain.jobs().size(); ++i) {
      ASSERT_EQ(plain.jobs()[i].history, renamed.jobs()[i].history) << where(seed) << " job " << i;
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const PolicyEntry& entry : policies()) all.emplace_back(entry.name);
  return all;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryPolicy, testing::ValuesIn(names()), test_name);

}  // namespace
}  // namespace berth::test
