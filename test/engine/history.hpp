// An engine with a random past, for tests of what is saved. Everything follows from the seed.
//
// The shells' answers are drawn from what the engine itself shows: any job that starts, runs or
// stops may be the next to be reported on. property/world.hpp is the honest world; this one is
// small.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth::test {

class History {
 public:
  History(std::string_view policy, std::uint64_t seed)
      : policy_(policy),
        rng_(seed),
        engine_(make_cluster(), {.settings = {}, .seed = seed}, fresh_policy()) {}

  const Engine& engine() const { return engine_; }
  std::unique_ptr<Policy> fresh_policy() const {
    return std::move(*make_policy(policy_, "first-fit"));
  }
  Instant now() const { return now_; }

  /// The next event; the same for every engine that replays it.
  std::vector<Input> next() {
    now_ += seconds(rng_.between(0, 200));
    std::vector<Input> inputs;
    for (std::int64_t left = rng_.between(1, 3); left > 0; --left) inputs.push_back(draw());
    for (std::size_t i = 0, drawn = inputs.size(); i < drawn; ++i) {
      const auto* const submitted = std::get_if<Submitted>(&inputs[i]);
      if (submitted == nullptr) continue;
      const JobId job = submitted->job;
      inputs.push_back(Identified{job, Fingerprint(job.value() % 3)});
    }
    return inputs;
  }
  const Effects& step(const std::vector<Input>& inputs) { return engine_.step(now_, inputs); }
  void go_on(int steps) {
    for (; steps > 0; --steps) step(next());
  }

 private:
  static Cluster make_cluster() {
    const Bytes gib(std::int64_t{1} << 30);
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "a", .gpus = 2, .vram = 24 * gib, .context = Bytes(300 << 20)});
    cluster.add_node({.name = "b", .gpus = 2, .vram = 80 * gib, .type = "large", .slots = 2});
    cluster.add_switch();
    cluster.add_node({.name = "c", .cpu = CpuMilli(64'000), .host = 512 * gib});
    return cluster;
  }

  Bytes some_memory() { return Bytes(rng_.between(0, 23) * (std::int64_t{1} << 30)); }
  GpuId some_gpu() { return GpuId(static_cast<std::uint32_t>(rng_.between(0, 3))); }
  JobId some_job() {
    return JobId(static_cast<std::uint64_t>(rng_.between(1, static_cast<std::int64_t>(last_) + 1)));
  }

  Submitted submission() {
    Submitted submitted{.job = JobId(++last_), .spec = {}, .held = rng_.one_in(10)};
    JobSpec& spec = submitted.spec;
    spec.user = UserId(static_cast<std::uint32_t>(rng_.between(1, 3)));
    spec.request.cpu = CpuMilli(1000 * rng_.between(0, 4));
    spec.request.gpu.count = GpuCount(rng_.between(0, 3));
    spec.request.gpu.vram = some_memory();
    if (rng_.one_in(4)) spec.request.gpu.sharing = Sharing::Alone;
    if (rng_.one_in(2)) spec.estimate = seconds(rng_.between(1, 3000));
    if (rng_.one_in(3)) spec.time_limit = seconds(rng_.between(1, 3000));
    if (rng_.one_in(3)) spec.conditions = conditions();
    return submitted;
  }

  Conditions conditions() {
    Conditions asked;
    for (std::int64_t left = rng_.between(0, 2); left > 0; --left) {
      asked.after.push_back({.job = some_job(), .when = static_cast<After>(rng_.between(0, 2))});
    }
    if (rng_.one_in(3)) asked.begin = now_ + seconds(rng_.between(0, 1000));
    if (rng_.one_in(3)) asked.array = {.first = JobId(1), .task = 1, .tasks = 9, .at_once = 2};
    if (rng_.one_in(5)) asked.unique = "key";
    if (rng_.one_in(3)) asked.requeue_on = {0, 3}, asked.requeues = 1;
    if (rng_.one_in(3)) asked.requeue_on_gpu_failure = true, asked.requeues = 2;
    if (rng_.one_in(3)) asked.on_preempt = {.signal = 10, .grace = seconds(60)};
    return asked;
  }

  Input reservation() {
    Reservation some{.from = now_ + seconds(rng_.between(0, 500))};
    some.until = some.from + seconds(rng_.between(1, 500));
    some.gpus = {some_gpu()};
    some.users = {UserId(static_cast<std::uint32_t>(rng_.between(1, 3)))};
    some.shown = "somebody";
    const auto next = engine_.view().next_reservation();
    const bool ends_one = !engine_.view().calendar().empty() && rng_.one_in(4);
    if (!next || ends_one) return Unreserved{engine_.view().calendar().begin()->first};
    return Reserved{*next, std::move(some)};
  }

  /// What its user changes of a job, or an administrator of a GPU.
  Input change() {
    if (rng_.one_in(4)) return reservation();
    if (rng_.one_in(2)) {
      const Drain drain{.until = now_ + seconds(rng_.between(0, 500)), .by = {}, .reason = "fan"};
      return Drained{some_gpu(), rng_.one_in(3) ? std::nullopt : std::optional(drain)};
    }
    const Job* const job = engine_.view().find(some_job());
    if (job == nullptr) return Ticked{};
    if (rng_.one_in(3)) return Estimated{job->id, seconds(rng_.between(0, 500)), 3};
    Updated updated{.job = job->id, .spec = job->spec};
    updated.spec.request.gpu.vram = some_memory();
    if (rng_.one_in(2)) updated.spec.time_limit = seconds(rng_.between(0, 900));
    return updated;
  }

  /// An answer that fits the state of some job with a berth.
  Input answer() {
    const auto running = engine_.view().running();
    if (running.empty()) return submission();
    const auto at = static_cast<std::size_t>(rng_.between(0, std::ssize(running) - 1));
    const Job& job = *engine_.view().find(running[at]);
    if (job.state == JobState::Stopping) return Released{job.id, job.attempt};
    if (job.state == JobState::Running && rng_.one_in(2)) {
      return AttemptEnded{.job = job.id,
                          .attempt = job.attempt,
                          .outcome = rng_.one_in(2) ? Outcome::Oom : Outcome::Done,
                          .code = 0,
                          .at = now_ - seconds(rng_.between(0, 100)),
                          .again_if_hurt = rng_.one_in(2)};
    }
    if (job.state == JobState::Running) {
      const bool fails = rng_.one_in(3);
      return Exited{.job = job.id,
                    .attempt = job.attempt,
                    .outcome = fails ? Outcome::Failed : Outcome::Done,
                    .code = fails ? 3 : 0};
    }
    if (rng_.one_in(8)) return StartFailed{job.id, job.attempt};
    return Started{job.id, job.attempt};
  }

  /// What is foreign there, or some of it, becomes a job's.
  Input adoption() {
    const GpuId gpu = some_gpu();
    const Bytes held(engine_.view().use().gpu(gpu).foreign.raw() / rng_.between(1, 2));
    Adopted adopted{.job = JobId(++last_), .spec = {}, .shares = {}};
    adopted.spec.user = UserId(static_cast<std::uint32_t>(rng_.between(1, 3)));
    adopted.spec.request.gpu.count = GpuCount(1);
    adopted.spec.request.gpu.vram = std::max(held, Bytes(1 << 30));
    if (rng_.one_in(3)) adopted.spec.time_limit = seconds(rng_.between(1, 3000));
    adopted.shares = {{gpu, held, adopted.spec.request.gpu.vram}};
    return adopted;
  }

  Input draw() {
    switch (rng_.between(0, 13)) {
      case 0:
        return CancelAsked{some_job()};
      case 1:
        return rng_.one_in(2) ? Input(HoldAsked{some_job()}) : Input(ReleaseAsked{some_job()});
      case 2:
        return Measured{some_gpu(), some_memory(), some_memory(), {{some_job(), some_memory()}}};
      case 3:
        return GpuHealth{some_gpu(), !rng_.one_in(3)};
      case 4:
        return Reported{some_job(), rng_.one_in(2) ? "done" : "loss", rng_.between(1, 3000)};
      case 5:
        return NodeHealth{NodeId(static_cast<std::uint32_t>(rng_.between(0, 2))), !rng_.one_in(3)};
      case 6:
        return change();
      case 13:
        return adoption();
      case 7:
      case 8:
      case 9:
        return submission();
      default:
        return answer();
    }
  }

  std::string_view policy_;
  Rng rng_;
  Engine engine_;
  Instant now_ = kStart;
  std::uint64_t last_ = 0;
};

}  // namespace berth::test
