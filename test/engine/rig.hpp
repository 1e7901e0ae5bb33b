// An engine whose policy says what the test tells it to, and short words for what happens to it.
//
// After every step the engine's own invariants are checked, so a test need not ask.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "engine/engine.hpp"

namespace berth::test {

/// Says each list of decisions once, valid or not.
class Script final : public Policy {
 public:
  Decisions decide(const ClusterView&, std::span<const Event>) override {
    return {.list = std::exchange(next_, {}), .wake_at = std::nullopt};
  }
  void say(std::vector<Decision> decisions) { next_ = std::move(decisions); }

 private:
  std::vector<Decision> next_;
};

/// `nodes` nodes of `gpus` GPUs with 24 GiB and 8 cores each, under one switch.
inline Cluster nodes_of(std::uint32_t nodes, std::uint32_t gpus) {
  Cluster cluster;
  cluster.add_switch();
  for (std::uint32_t n = 0; n < nodes; ++n) {
    cluster.add_node({.name = "n" + std::to_string(n),
                      .gpus = gpus,
                      .vram = Bytes(std::int64_t{24} << 30),
                      .cpu = CpuMilli(8000),
                      .host = Bytes(std::int64_t{64} << 30)});
  }
  return cluster;
}

/// A job of `gpus` GPUs with `vram` of each, which it shares.
inline JobSpec shared(std::int64_t gpus, Bytes vram) {
  JobSpec spec{.user = UserId(7)};
  spec.request.gpu.count = GpuCount(gpus);
  spec.request.gpu.vram = vram;
  return spec;
}

/// A job of `gpus` whole GPUs.
inline JobSpec whole(std::int64_t gpus) {
  JobSpec spec = shared(gpus, Bytes(0));
  spec.request.gpu.sharing = Sharing::Alone;
  return spec;
}

inline Placement on(const Cluster& cluster, std::initializer_list<std::uint32_t> gpus) {
  Placement placement;
  for (const std::uint32_t gpu : gpus) placement.gpus.emplace_back(gpu);
  if (gpus.size() > 0) placement.host = cluster.node_of(placement.gpus.front());
  return placement;
}

/// The only effect of this kind; null, with a failure, if there is none or more than one.
template <class Kind>
const Kind* only(const Effects& effects) {
  const Kind* found = nullptr;
  int count = 0;
  for (const Effect& effect : effects.list) {
    if (const auto* kind = std::get_if<Kind>(&effect)) found = kind, ++count;
  }
  EXPECT_EQ(count, 1) << "effects of this kind, of " << effects.list.size();
  return count == 1 ? found : nullptr;
}

class Rig {
 public:
  explicit Rig(Cluster cluster, const Settings& settings = {})
      : Rig(std::move(cluster), settings, std::make_unique<Script>()) {}

  /// From the next step on, the time is this many seconds after the start.
  Rig& at(std::int64_t second) {
    now_ = kStart + seconds(second);
    return *this;
  }
  /// One step with these inputs.
  const Effects& tell(std::vector<Input> inputs) { return step(inputs, {}); }
  /// One step in which the policy says this.
  const Effects& decide(std::vector<Decision> decisions) { return step({}, std::move(decisions)); }
  const Effects& step(const std::vector<Input>& inputs, std::vector<Decision> decisions) {
    script_->say(std::move(decisions));
    const Effects& effects = engine_.step(now_, inputs);
    EXPECT_EQ(engine_.check(), std::nullopt);
    return effects;
  }

  JobId submit(const JobSpec& spec) {
    const JobId id(++last_);
    tell({Submitted{.job = id, .spec = spec}});
    return id;
  }
  const Effects& start(JobId id, std::initializer_list<std::uint32_t> gpus) {
    return decide({Start{.job = id, .placement = on(cluster(), gpus)}});
  }
  const Effects& resume(JobId id, std::initializer_list<std::uint32_t> gpus) {
    return start(id, gpus);
  }
  /// What a shell that can suspend makes of it, or one that cannot.
  const Effects& preempt(JobId id, PreemptHow how) {
    Settings settings = engine_.view().settings();
    settings.can_suspend = how == PreemptHow::Suspend;
    return step({Configured{settings}}, {Preempt{.job = id}});
  }
  /// Submitted, granted these GPUs and running.
  JobId run(const JobSpec& spec, std::initializer_list<std::uint32_t> gpus) {
    const JobId id = submit(spec);
    start(id, gpus);
    tell({Started{id, attempt(id)}});
    return id;
  }
  const Effects& exited(JobId id, Outcome outcome = Outcome::Done, std::int32_t code = 0) {
    return tell({Exited{.job = id, .attempt = attempt(id), .outcome = outcome, .code = code}});
  }
  const Effects& released(JobId id) { return tell({Released{id, attempt(id)}}); }

  const Engine& engine() const { return engine_; }
  const Cluster& cluster() const { return engine_.view().cluster(); }
  bool knows(JobId id) const { return engine_.view().knows(id); }
  /// Requires: knows(id).
  const Job& job(JobId id) const { return *engine_.view().find(id); }
  JobState state(JobId id) const { return job(id).state; }
  Attempt attempt(JobId id) const { return job(id).attempt; }
  const GpuUse& gpu(std::uint32_t id) const { return engine_.view().use().gpu(GpuId(id)); }
  Account account() const { return engine_.view().account(UserId(7)); }

 private:
  Rig(Cluster cluster, const Settings& settings, std::unique_ptr<Script> script)
      : script_(script.get()),
        engine_(std::move(cluster), {.settings = settings}, std::move(script)) {}

  Script* script_;
  Engine engine_;
  Instant now_ = kStart;
  std::uint64_t last_ = 0;
};

/// Expects that the job ended like this in the last step, is forgotten, and left nothing behind.
inline void expect_finished(const Rig& rig, const Effects& effects, JobId id, Outcome outcome) {
  const auto* const finished = only<Finished>(effects);
  ASSERT_NE(finished, nullptr);
  EXPECT_EQ(finished->job, id);
  EXPECT_EQ(finished->outcome, outcome);
  EXPECT_FALSE(rig.knows(id));
  EXPECT_EQ(rig.account().jobs, 0);
}

}  // namespace berth::test
