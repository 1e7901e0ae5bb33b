// Compares what Slurm's records say with what the journal says, and reports the difference to the
// conductor, or undoes it in Slurm: attempts that start, end, come back to the queue or do not
// start; jobs that Slurm forgot; nodes that fail.
//
// Each attempt's fate is reported once, as live::Executor promises; its Berth goes with that.
// Belongs to the engine's thread.
#pragma once

#include <map>
#include <string>

#include "slurm/common.hpp"
#include "slurm/unmade.hpp"

namespace berth::slurm {

class Reconciliation {
 public:
  /// Requires: `common` outlives it.
  explicit Reconciliation(Common& common) : common_(common) {}

  /// As live::Executor::adopt().
  live::Trace adopt(JobId id, Attempt attempt);
  /// Jobs that Slurm forgot while berth was away are cancelled; nodes that it forgot are away.
  void begin(const News& first);

  void on_node(NodeId node, bool takes_jobs);
  /// A new record of a job that the engine knows.
  void follow_limit(const JobRecord& job, const Job& known);
  /// A record of an attempt that Slurm was told to run.
  void on_berth(const JobRecord& job, Berth& berth);
  /// Slurm has forgotten a job.
  void on_gone(JobId id);

  /// A run is over and the job is held, to run again once Slurm has finished with that run.
  void rest(JobId id, Berth& berth);
  /// How a job waits whose attempt is over.
  struct Again {
    std::string why;
    Instant at;              ///< When its run ended.
    Instant begin = kStart;  ///< It waits without a place until then.
    GpuSet only = 0;         ///< The GPUs that it may have.
  };
  /// Ends an attempt of a job that runs again, on the GPUs that Slurm keeps it to.
  void queue_again(JobId id, Attempt attempt, const Again& again);
  /// The same of a start that Slurm refused, or did not make: nothing ran, and no such start is the
  /// last. `word` is Slurm's, or its error; `why` is for people.
  void put_back(JobId id, Attempt attempt, const std::string& word, const std::string& why);

  // What time alone changes; to be called every second or so.

  /// Runs that do not start, do not get their shards, or have rested.
  void check_runs();
  /// Nodes that take jobs again, and nodes that are tried again for a job that they did not take.
  void check_nodes();

 private:
  void settle_nodes_of(JobId id);
  Instant end_of(const JobRecord& job) const;
  void on_over(const JobRecord& job, const Berth& berth);
  bool is_late(const JobRecord& job, const Berth& berth) const;
  void take_back(const JobRecord& job, Berth& berth, const std::string& why);
  void on_back_in_queue(const JobRecord& job, Berth& berth);
  bool has_rested(const Berth& berth) const;
  void end_rest(JobId id);
  void ask(const Input& input);
  void look_for_shards(const JobRecord& job, Berth& berth);
  void send_back_bare(JobId id, Berth& berth);
  void send_back(const JobRecord& job, Berth& berth, const std::string& why);
  void hold_if_bare_again(JobId id);
  void hold(JobId id, const std::string& why);
  void check_bars();

  Common& common_;
  UnmadeStarts unmade_;
  Instant bars_checked_ = kStart;
  std::map<JobId, int> bare_;       ///< Runs without their shards, one after the other.
  std::map<NodeId, Instant> away_;  ///< Nodes without jobs, and from when on they take some again.
};

}  // namespace berth::slurm
