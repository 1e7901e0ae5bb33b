// Properties of grants of any size, leases, shares and roles, which no registered policy makes.
//
// Method: a policy that resizes, preempts and leases at random, in 300 random worlds. After every
// step the invariants hold, and no decision of a policy that looked first was dropped; what each
// job attained is summed up beside the engine; an engine restored in mid-run decides the same.
#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "engine/journal.hpp"
#include "policy/kit/tally.hpp"
#include "property/world.hpp"

namespace berth::test {
namespace {

constexpr std::uint64_t kElasticWorlds = 300;

class Restless final : public Policy {
 public:
  Decisions decide(const ClusterView& view, std::span<const Event>) override {
    Decisions decisions;
    Rng rng = view.rng();
    Tally tally(view, Tally::From::Now);
    Trial trial = view.trial();
    for (const JobId id : view.running()) {
      const JobView job = view.job(id);
      if (job.state() == JobState::Stopping) continue;
      if (rng.one_in(8)) {
        decisions.list.push_back(Preempt{.job = id});
      } else if (job.lease() != kNever && rng.one_in(2)) {
        decisions.list.push_back(
            Start{.job = id, .placement = placement_of(job.grant()), .term = term(rng)});
      }
    }
    view.for_each_pending([&](const JobView& job) { start(job, trial, tally, decisions, rng); });
    return decisions;
  }

 private:
  static Duration term(Rng& rng) { return seconds(rng.between(1, 900)); }

  /// On a random number of GPUs, or as many fewer as there is room for.
  static void start(const JobView& job, Trial& trial, Tally& tally, Decisions& decisions,
                    Rng& rng) {
    const GpuRequest& asked = job.request().gpu;
    const std::int64_t wanted = rng.between(asked.least().raw(), asked.most().raw());
    for (std::int64_t count = wanted; count >= asked.least().raw(); --count) {
      const Ask ask = ask_of(job, GpuCount(count));
      const auto placement = place(job.id(), ask, trial);
      if (!placement || !tally.allows(job.id(), ask.gpus())) continue;
      trial.put(ask, *placement);
      tally.take(job.id(), ask.gpus());
      Start start{.job = job.id(), .placement = *placement};
      if (rng.one_in(3)) start.term = term(rng);
      if (rng.one_in(3)) start.role = Role::Guest;
      decisions.list.push_back(start);
      return;
    }
  }
  static std::optional<Placement> place(JobId job, const Ask& ask, Trial& trial) {
    Placement placement;
    for (const GpuId gpu : trial.cluster().gpu_ids()) {
      if (std::ssize(placement.gpus) == ask.gpus().raw()) break;
      if (trial.look(gpu, ask, job) == Why::Fits) placement.gpus.push_back(gpu);
    }
    if (std::ssize(placement.gpus) < ask.gpus().raw()) return std::nullopt;
    if (!placement.gpus.empty()) placement.host = trial.cluster().node_of(placement.gpus.front());
    return trial.look(placement, ask, job) == Why::Fits ? std::optional(placement) : std::nullopt;
  }
};

class ElasticRun {
 public:
  explicit ElasticRun(std::uint64_t seed)
      : world_({.seed = seed, .delays = seed % 3 == 0, .elastic = true}),
        engine_(world_.cluster(), world_.engine_options(), std::make_unique<Restless>()) {}

  void run() {
    while (!testing::Test::HasFatalFailure() && world_.next()) step();
    if (testing::Test::HasFatalFailure()) return;
    ASSERT_TRUE(world_.all_finished());
    EXPECT_LE(engine_.view().finished(), world_.jobs().size()) << "each once, if it had a berth";
    EXPECT_GT(engine_.view().finished(), 0U);
  }
  std::size_t resized() const { return resized_; }

 private:
  void step() {
    add_up();
    const std::string saved = ++steps_ % 16 == 0 ? engine_.save() : "";
    const Effects& effects = engine_.step(world_.now(), world_.inputs());
    ASSERT_EQ(engine_.check(), std::nullopt);
    ASSERT_EQ(engine_.dropped(), 0U);
    if (!saved.empty()) {
      auto restored = Engine::restore(saved, std::make_unique<Restless>());
      ASSERT_TRUE(restored.has_value()) << restored.error().message;
      ASSERT_EQ(restored->save(), saved);
      const Effects& same = restored->step(world_.now(), world_.inputs());
      ASSERT_EQ(encode_decisions(same.decisions), encode_decisions(effects.decisions));
      ASSERT_EQ(same.wake_at, effects.wake_at);
    }
    for (const Ended& ended : engine_.view().finished_after(seen_)) {
      ASSERT_EQ(ended.attained, attained_[ended.job]);
    }
    seen_ = engine_.view().finished();
    for (const JobId id : engine_.view().running()) {
      const Job& job = *engine_.view().find(id);
      if (job.grant.gpus() != job.spec.request.gpu.count) ++resized_;
    }
    last_ = world_.now();
    world_.perform(effects);
  }

  /// What those that held GPUs since the last step attained meanwhile.
  void add_up() {
    for (const JobId id : engine_.view().running()) {
      const Job& job = *engine_.view().find(id);
      if (!job.ended) attained_[id] += job.grant.gpus() * (world_.now() - last_);
    }
  }

  World world_;
  Engine engine_;
  std::map<JobId, GpuTime> attained_;
  std::uint64_t seen_ = 0;
  std::size_t steps_ = 0;
  std::size_t resized_ = 0;
  Instant last_ = kStart;
};

TEST(ElasticGrants, KeepEveryInvariant) {
  std::size_t resized = 0;
  for (std::uint64_t seed = 1; seed <= kElasticWorlds; ++seed) {
    SCOPED_TRACE(seed);
    ElasticRun run(seed);
    ASSERT_NO_FATAL_FAILURE(run.run());
    resized += run.resized();
  }
  EXPECT_GT(resized, 1000U) << "grants of other sizes than asked for, step by step";
}

}  // namespace
}  // namespace berth::test
