// Random streams of jobs through an engine, on a machine that takes a few seconds to suspend a job
// and to free memory. A job that was suspended goes on with what it has done.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth::test {

/// Runs a stream that a test plans, and shows it what becomes of its jobs.
class JobStream {
 public:
  JobStream(std::uint64_t seed, const std::string& policy, Cluster (*machine)(Rng&))
      : rng_(seed), engine_(machine(rng_), {}, *make_policy(policy, "best-fit")) {}
  virtual ~JobStream() = default;

  /// Until all that have an end have come to it, or nothing is to come.
  void run() {
    plan_all();
    for (int turn = 0; turn < 100'000 && left() > endless_; ++turn) {
      if (coming_.empty() && !wake_) return;
      next();
    }
  }

  /// Jobs that have not come to their end.
  std::size_t left() const { return jobs_.size(); }
  /// Those that have none.
  std::size_t endless() const { return endless_; }
  std::string broken() const { return engine_.check().value_or(""); }
  std::uint64_t dropped() const { return engine_.dropped(); }

 protected:
  struct Planned {
    JobSpec spec;
    Duration work = kForever;  ///< What is left of it.
    Instant since;             ///< When it began or went on.
    Instant left = kNever;     ///< When it was suspended last.
  };

  virtual void plan_all() = 0;
  virtual void on_begin(const Planned&) {}
  virtual void on_stop(const Planned&, const Stop&) {}
  virtual void after_step() {}

  JobId plan(Planned job, Instant at) {
    const JobId id(++last_);
    if (job.work == kForever) ++endless_;
    jobs_[id] = std::move(job);
    expect(at, Submitted{.job = id, .spec = jobs_[id].spec});
    return id;
  }
  void expect(Instant at, Input input) { coming_.emplace(at, std::move(input)); }

  Rng& rng() { return rng_; }
  Instant now() const { return now_; }
  const Engine& engine() const { return engine_; }
  const std::map<JobId, Planned>& jobs() const { return jobs_; }

 private:
  using Coming = std::multimap<Instant, Input>;

  Instant soon(Instant from) { return from + seconds(rng_.between(1, 5)); }

  void next() {
    if (coming_.empty() || (wake_ && *wake_ < coming_.begin()->first)) {
      now_ = *wake_;
      return step({Ticked{}});
    }
    now_ = coming_.begin()->first;
    std::vector<Input> inputs;
    while (!coming_.empty() && coming_.begin()->first == now_) {
      inputs.push_back(coming_.begin()->second);
      coming_.erase(coming_.begin());
    }
    step(inputs);
  }

  void step(const std::vector<Input>& inputs) {
    const Effects effects = engine_.step(now_, inputs);
    for (const Effect& effect : effects.list) {
      if (const auto* launch = std::get_if<Launch>(&effect)) begin(launch->job, launch->attempt);
      if (const auto* more = std::get_if<Continue>(&effect)) begin(more->job, more->attempt);
      if (const auto* wanted = std::get_if<Stop>(&effect)) stop(*wanted);
      if (const auto* finished = std::get_if<Finished>(&effect)) jobs_.erase(finished->job);
    }
    wake_ = effects.wake_at;
    after_step();
  }

  void begin(JobId id, Attempt attempt) {
    Planned& job = jobs_.at(id);
    on_begin(job);
    job.since = now_;
    expect(now_, Started{id, attempt});
    if (job.work == kForever) return;
    const Instant over = now_ + job.work;
    ends_[id] = {coming_.emplace(over, Exited{.job = id, .attempt = attempt}),
                 coming_.emplace(soon(over), Released{id, attempt})};
  }

  void stop(const Stop& wanted) {
    Planned& job = jobs_.at(wanted.job);
    on_stop(job, wanted);
    if (wanted.how != PreemptHow::Suspend) return;  // at its limit, where it ends by itself
    if (job.work != kForever) {
      for (const auto& coming : ends_.at(wanted.job)) coming_.erase(coming);
      job.work -= now_ - job.since;
    }
    job.left = soon(now_);
    expect(job.left, Released{wanted.job, wanted.attempt});
  }

  Rng rng_;
  Engine engine_;
  Instant now_ = kStart;
  std::uint64_t last_ = 0;
  std::size_t endless_ = 0;
  std::map<JobId, Planned> jobs_;
  Coming coming_;
  std::map<JobId, std::array<Coming::iterator, 2>> ends_;  ///< Its exit, and its memory free.
  std::optional<Instant> wake_;
};

}  // namespace berth::test
