// A bed for decisions: a cluster that is full, a queue, and steps in each of which one job ends and
// another arrives. What decide_bench.cpp times and bench/growth counts the instructions of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/rng.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"
#include "solve/solve.hpp"

namespace berth {

/// What a row is of.
struct Size {
  std::int64_t waiting;
  std::int64_t gpus = 1000;
  std::int64_t users = 20;
};

inline Cluster full_cluster_of(std::int64_t gpus) {
  constexpr std::int64_t kGpusOfSwitch = 200;
  Cluster cluster;
  for (std::int64_t at = 0; at < gpus; at += 8) {
    if (at % kGpusOfSwitch == 0) cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 8, .vram = Bytes(std::int64_t{80} << 30)});
  }
  return cluster;
}

inline double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Half whole GPUs in gangs of 1 to 32, half 4 to 60 GiB of one or two GPUs.
inline JobSpec random_spec(Rng& rng, std::int64_t users) {
  JobSpec spec{.user = UserId(static_cast<std::uint32_t>(rng.between(1, users)))};
  GpuRequest& gpu = spec.request.gpu;
  if (rng.one_in(2)) {
    gpu.count = GpuCount(std::int64_t{1} << rng.between(0, 5));
    gpu.sharing = Sharing::Alone;
  } else {
    gpu.count = GpuCount(rng.between(1, 2));
    gpu.vram = Bytes(rng.between(1, 15) * (std::int64_t{4} << 30));
  }
  spec.estimate = minutes(rng.between(5, 3000));
  return spec;
}

/// An engine with its cluster full and so many jobs waiting, and a shell that answers at once.
class Bed {
 public:
  /// `solve` answers the policy's questions, beside what is measured.
  Bed(const std::string& policy, const std::string& place, const Size& size,
      Solve solve = solve::answer)
      : engine_(full_cluster_of(size.gpus), {}, *make_policy(policy, place)),
        users_(size.users),
        solve_(std::move(solve)) {
    while (queued() < size.waiting) {
      std::vector<Input> arrivals;
      for (int i = 0; i < 1000; ++i) arrivals.push_back(arrival());
      step(std::move(arrivals));
    }
  }

  /// Seconds of processor time in all passes so far.
  double spent() const { return spent_; }

  /// Returns: how long the step took that ends one random running job and brings one new job.
  double turn() {
    now_ += seconds(1);
    std::vector<Input> inputs;
    const auto running = engine_.view().running();
    const JobId id = running[static_cast<std::size_t>(rng_.between(0, std::ssize(running) - 1))];
    const Attempt attempt = engine_.view().find(id)->attempt;
    inputs.push_back(Exited{.job = id, .attempt = attempt});
    inputs.push_back(Released{id, attempt});
    inputs.push_back(arrival());
    return step(std::move(inputs));
  }

  /// Returns: how long the step took that brings one new job.
  double arrive() {
    now_ += seconds(1);
    return step({arrival()});
  }

 private:
  std::int64_t queued() const {
    return static_cast<std::int64_t>(engine_.view().job_count() - engine_.view().running().size());
  }

  Input arrival() { return Submitted{.job = JobId(++last_), .spec = random_spec(rng_, users_)}; }

  /// Returns: how long the longest of the passes took that it needed: the shell answers at once,
  /// and wakes a policy that goes on in a moment with what it has begun.
  double step(std::vector<Input> inputs) {
    constexpr Duration kMoments = std::chrono::milliseconds(50);
    double first = 0;
    while (!inputs.empty()) {
      const double from = processor_seconds();
      const Effects& effects = engine_.step(now_, inputs);
      const double took = processor_seconds() - from;
      first = std::max(first, took);
      spent_ += took;
      inputs.clear();
      for (const Effect& effect : effects.list) {
        if (const auto* stop = std::get_if<Stop>(&effect)) {
          inputs.push_back(Released{stop->job, stop->attempt});
        }
        if (const auto* asked = std::get_if<Consult>(&effect)) {
          inputs.push_back(Solved{solve_(asked->question)});
        }
      }
      if (!inputs.empty() || !effects.wake_at || *effects.wake_at > now_ + kMoments) continue;
      now_ = *effects.wake_at;
      inputs.emplace_back(Ticked{});
    }
    return first;
  }

  Engine engine_;
  std::int64_t users_;
  Solve solve_;
  Rng rng_{11};
  std::uint64_t last_ = 0;
  Instant now_ = kStart;
  double spent_ = 0;
};

}  // namespace berth
