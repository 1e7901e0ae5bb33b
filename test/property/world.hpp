// A seeded world around an engine: a random cluster, random jobs, and shells that answer late, fail
// and misreport. Everything follows from the seed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "engine/engine.hpp"

namespace berth::test {

struct WorldOptions {
  std::uint64_t seed = 1;
  int jobs = 24;
  bool faults = false;      ///< Failed starts, lost GPUs, foreign use, growth, cancels, holds.
  bool delays = false;      ///< Starts and releases take time.
  bool distinct = false;    ///< No two jobs are equal in anything an order may read.
  bool whole_gpus = false;  ///< Only jobs that take whole GPUs.
  bool honest = false;      ///< Every job states its run time as its time limit.
  bool reserved = false;   ///< GPUs are reserved for users now and then, and more jobs have limits.
  bool estimated = false;  ///< Jobs that wait are told run times now and then.
  bool ranked = false;     ///< Users give some jobs priorities, and change them.
  bool elastic = false;    ///< Jobs with GPUs run on one GPU to three more than they ask for.
  bool saving = false;     ///< Every other job saves itself.
  bool deadlines = false;  ///< Three of four jobs have one.
};

/// One job as the world knows it.
struct WorldJob {
  JobSpec spec;
  Instant submit;
  Duration duration{0};
  Duration left{0};
  Instant since;
  Attempt attempt;
  bool runs = false;
  bool finished = false;
  Outcome outcome = Outcome::Done;
  std::vector<std::string> history;  ///< `12.5 start 0,1`, in order: what happened to it.
};

class World {
 public:
  explicit World(const WorldOptions& options);

  const Cluster& cluster() const { return cluster_; }
  const EngineOptions& engine_options() const { return engine_options_; }
  std::vector<WorldJob>& jobs() { return jobs_; }

  /// Uses `ids[i]` for the i-th job in place of i + 1.
  void relabel(std::vector<JobId> ids);

  /// The next instant at which something happens, and what. Empty inputs: nothing will.
  bool next();
  Instant now() const { return now_; }
  const std::vector<Input>& inputs() const { return inputs_; }

  /// Tells the world what the engine wants; may make more inputs for the same instant.
  void perform(const Effects& effects);
  /// True if there are inputs left for this very instant.
  bool more_now() const { return !queue_.empty() && queue_.begin()->first <= now_; }

  bool all_finished() const;

 private:
  void make_cluster();
  JobSpec make_spec();
  void make_jobs();
  void make_faults();
  void make_reservations();
  void make_priorities();
  void make_estimates();
  void at(Instant when, Input input) { queue_.emplace(when, std::move(input)); }
  Duration delay();
  WorldJob& job(JobId id) { return jobs_[index_.at(id)]; }
  void begin(JobId id, Attempt attempt, const Grant& grant, const char* how);

  void perform_one(const Launch& launch);
  void perform_one(const Continue& resume);
  void perform_one(const Stop& stop);
  void perform_one(const Finished& finished);
  void perform_one(const Hurt&) {}
  void perform_one(const Spoiled&) {}
  void perform_one(const Consult& asked);

  WorldOptions options_;
  Rng rng_;
  Cluster cluster_;
  EngineOptions engine_options_;
  std::vector<WorldJob> jobs_;
  std::map<JobId, std::size_t> index_;
  std::multimap<Instant, Input> queue_;
  std::multimap<Instant, std::pair<JobId, std::uint64_t>> ends_;
  std::map<JobId, std::uint64_t> plan_;
  std::vector<Input> inputs_;
  Instant now_ = kStart;
  Instant wake_at_ = kNever;
};

}  // namespace berth::test
