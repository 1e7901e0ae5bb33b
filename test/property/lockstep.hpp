// An engine in a random world, beside others that must decide what it decides.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.hpp"
#include "engine/journal.hpp"
#include "policy/backfill/bookings.hpp"
#include "policy/registry.hpp"
#include "property/world.hpp"
#include "support/choice.hpp"

namespace berth::test {

/// The placement that a policy meets a world with. A placement that is registered changes it in its
/// own part of the worlds only, and a policy in none.
inline std::string_view place_for(std::string_view policy, std::uint64_t seed) {
  return chosen(placers(), policy, seed).name;
}

inline std::unique_ptr<Policy> policy_for(std::string_view name, std::uint64_t seed,
                                          const Knobs& knobs = {}) {
  auto policy = make_policy(name, place_for(name, seed), knobs);
  EXPECT_TRUE(policy.has_value());
  return std::move(*policy);
}

inline WorldOptions rough(std::uint64_t seed) {
  return {.seed = seed,
          .jobs = static_cast<int>(12 + seed % 20),
          .faults = seed % 2 == 0,
          .delays = seed % 3 == 0,
          .whole_gpus = seed % 5 == 0,
          .reserved = seed % 4 == 3 || seed % 8 == 2,
          .estimated = seed % 5 == 2,
          .ranked = seed % 3 == 1};
}

/// The inequality for GPUs that got a new tenant in this step, from first principles.
inline std::string broken_inequality(const Engine& engine, const Effects& effects) {
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

/// A job that starts on a GPU which is reserved for others before its time limit ends it, by the
/// calendar alone.
inline std::string broken_reservation(const Engine& engine, const Effects& effects) {
  const ClusterView view = engine.view();
  std::string broken;
  const auto look = [&](JobId id, const Grant& grant) {
    const JobSpec& spec = view.find(id)->spec;
    const bool has_limit = spec.time_limit != kForever;
    for (const auto& [number, reserved] : view.calendar()) {
      const bool is_there = std::ranges::any_of(grant.shares, [&](const Share& share) {
        return std::ranges::find(reserved.gpus, share.gpu) != reserved.gpus.end();
      });
      const bool is_own = std::ranges::find(reserved.users, spec.user) != reserved.users.end();
      const bool is_gone = has_limit && engine.now() < reserved.from &&
                           engine.now() + (spec.time_limit - view.find(id)->ran) <= reserved.from;
      if (!is_there || is_own || is_gone) continue;
      broken = "job " + std::to_string(id.value()) + " on what is reserved by " +
               std::to_string(number.value());
    }
  };
  for (const Effect& effect : effects.list) {
    if (const auto* launch = std::get_if<Launch>(&effect)) look(launch->job, launch->grant);
    if (const auto* resume = std::get_if<Continue>(&effect)) look(resume->job, resume->grant);
  }
  return broken;
}

/// The guarantee itself: while no job exceeds its charge and foreign use does not grow, all charges
/// can be used in full at once on every GPU.
inline std::string overfull_gpu(const Engine& engine) {
  const ClusterView view = engine.view();
  for (std::uint32_t g = 0; g < view.cluster().gpus().size(); ++g) {
    const GpuUse& use = view.use().gpu(GpuId(g));
    if (use.foreign + use.charged > view.cluster().gpu(GpuId(g)).capacity) return std::to_string(g);
  }
  return "";
}

/// An engine in a world, and others that must decide what it decides though they came to it in
/// another way. One run of the world serves them all.
class Lockstep {
 public:
  Lockstep(std::string_view policy, std::uint64_t seed,
           std::optional<std::int64_t> most_looks = std::nullopt)
      : Lockstep(policy, rough(seed), most_looks) {}
  Lockstep(std::string_view policy, const WorldOptions& options,
           std::optional<std::int64_t> most_looks = std::nullopt)
      : policy_(policy),
        seed_(options.seed),
        most_looks_(most_looks),
        world_(options),
        engine_(fresh()),
        from_scratch_(world_.cluster(), world_.engine_options(), made(Pass::FromScratch)),
        restored_(fresh()),
        replayed_(fresh()),
        when_(options.seed, 1) {}

  /// In how many steps a pass was cut, to go on in a moment.
  int cut() const { return cut_; }

  void run() {
    while (!testing::Test::HasFatalFailure() && world_.next()) step();
    if (testing::Test::HasFatalFailure()) return;
    ASSERT_TRUE(world_.all_finished());
    ASSERT_EQ(restored_.save(), engine_.save());
    ASSERT_EQ(replayed_.check(), std::nullopt);
    ASSERT_EQ(replayed_.view().job_count(), 0U);
  }

 private:
  enum class Pass : std::uint8_t { AsItIs, FromScratch };

  std::unique_ptr<Policy> made(Pass pass = Pass::AsItIs) const {
    const bool rebuild = pass == Pass::FromScratch;
    return policy_for(policy_, seed_, {.rebuild = rebuild, .most_looks = most_looks_});
  }
  Engine fresh() const { return {world_.cluster(), world_.engine_options(), made()}; }

  void step() {
    if (when_.one_in(10)) {
      ASSERT_NO_FATAL_FAILURE(restore());
    }
    const Effects& wanted = engine_.step(world_.now(), world_.inputs());
    ASSERT_NO_FATAL_FAILURE(keeps_the_invariants(wanted));
    const std::string decisions = encode_decisions(wanted.decisions);
    const Effects& from_scratch = from_scratch_.step(world_.now(), world_.inputs());
    ASSERT_EQ(encode_decisions(from_scratch.decisions), decisions) << "from scratch" << at();
    const Effects& restored = restored_.step(world_.now(), world_.inputs());
    ASSERT_EQ(encode_decisions(restored.decisions), decisions) << "after a restore" << at();
    ASSERT_EQ(restored.wake_at, wanted.wake_at) << "after a restore" << at();
    ASSERT_NO_FATAL_FAILURE(replay(wanted, decisions));
    if (wanted.wake_at == later(world_.now(), Bookings::kPause)) ++cut_;
    world_.perform(wanted);
  }

  void restore() {
    const std::string saved = engine_.save();
    auto restored = Engine::restore(saved, made());
    ASSERT_TRUE(restored.has_value()) << restored.error().message << at();
    ASSERT_EQ(restored->save(), saved) << at();
    restored_ = std::move(*restored);
  }

  void keeps_the_invariants(const Effects& effects) {
    ASSERT_EQ(engine_.check(), std::nullopt) << at();
    ASSERT_EQ(engine_.dropped(), 0U) << at();
    ASSERT_EQ(broken_inequality(engine_, effects), "") << at();
    ASSERT_EQ(broken_reservation(engine_, effects), "") << at();
    if (!rough(seed_).faults) {
      ASSERT_EQ(overfull_gpu(engine_), "") << at();
    }
  }

  void replay(const Effects& wanted, const std::string& decisions) {
    const std::string line = encode({world_.now(), world_.inputs(), wanted.decisions});
    const auto entry = decode_entry(line);
    ASSERT_TRUE(entry.has_value()) << at();
    ASSERT_EQ(encode(*entry), line) << at();
    const Effects& same = replayed_.replay(entry->now, entry->inputs, entry->decisions);
    ASSERT_EQ(encode_decisions(same.decisions), decisions) << "replayed" << at();
    // What was asked of a solver is not in the journal.
    const auto asked = std::ranges::count_if(
        wanted.list, [](const Effect& effect) { return std::holds_alternative<Consult>(effect); });
    ASSERT_EQ(std::ssize(same.list), std::ssize(wanted.list) - asked) << "replayed" << at();
  }

  std::string at() const { return " at " + std::to_string(micros(world_.now())); }

  std::string_view policy_;
  std::uint64_t seed_;
  std::optional<std::int64_t> most_looks_;  ///< See PipelineOptions::most_looks.
  World world_;
  Engine engine_;
  Engine from_scratch_;  ///< Forgets its index before every pass.
  Engine restored_;      ///< Now and then from what the first one saves.
  Engine replayed_;      ///< From the journal.
  Rng when_;
  int cut_ = 0;
};

}  // namespace berth::test
