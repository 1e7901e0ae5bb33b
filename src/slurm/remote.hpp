// berth on Slurm: Slurm has the queue, the nodes and the processes; berth decides which job runs
// when, and on which GPUs (doc/slurm.md).
//
// Jobs of berth's partitions are held in Slurm and taken into the engine under Slurm's own number.
// A launch is one update: node, typed shards, release. What Slurm's users and administrators do
// beside berth shows as changed records, and is taken over or undone here.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/site/site.hpp"
#include "slurm/courier.hpp"
#include "slurm/gauges.hpp"
#include "slurm/job_table.hpp"
#include "slurm/nodes.hpp"
#include "slurm/texts.hpp"

namespace berth::slurm {

struct SlurmOptions {
  std::vector<std::string> partitions;  ///< Berth's.
  Duration patience = seconds(20);      ///< For Slurm to start what it was told to.
  Duration reach = seconds(35);         ///< For which Slurm tries to reach a node with a start.
};

class SlurmRemote : public daemon::Site, public live::Executor {
 public:
  /// Asks Slurm for its nodes and jobs. `before` is the cluster where jobs of an earlier
  /// berth-slurm hold berths, if any do. Errors: Io where it does not answer; as cluster_of().
  static Expected<std::unique_ptr<SlurmRemote>> open(const std::string& configuration,
                                                     SlurmOptions options, std::uint16_t slots,
                                                     const std::optional<Cluster>& before);

  const Cluster& cluster() const { return cluster_; }

  // What the daemon calls.
  Expected<daemon::Machine> machine(const daemon::Options&) override;
  Expected<Attached> attach(const Surroundings& around) override;
  void begin(live::Conductor& conductor) override;
  void on_step(const live::StepTaken& step) override;
  bool submit(live::Submission& job, const Submitted& submitted) override;
  Expected<void> attend(JobId, Attempt, const shim::Attach&) override {
    return fail(ErrorCode::Conflict, why_not_attended());
  }
  std::string why_not_attended() const override {
    return "runs on a cluster, where nobody can attach to it";
  }
  std::string why_no_mps() const override { return std::string(daemon::kNoMpsControl); }
  bool holds_to_cancel() const override { return false; }
  void on_user_hold(JobId job, bool is_held) override;
  std::string why_fixed(std::string_view field) const override;
  std::string why_not_released(JobId job) const override;
  std::optional<std::string> output_of(JobId job) const override;
  nlohmann::json examine(const daemon::Daemon& daemon) const override;

  // What the conductor calls.
  Expected<void> launch(const live::Assignment& assigned) override;
  live::Trace adopt(JobId job, Attempt attempt) override;
  void stop(JobId job, Attempt attempt, live::Manner manner) override;
  void forget(JobId job, Attempt attempt) override;
  std::vector<std::string> sweep(const live::StandingOf&, JobId) override { return {}; }

 private:
  /// The exit code of a run that Slurm ended to run it again; the engine queues such a job again.
  /// No process exits with it.
  static constexpr std::int32_t kRequeuedBySlurm = 1000;

  /// An attempt that Slurm was told to run, up to its end.
  struct Berth {
    enum class Stage : std::uint8_t { Sent, Released, Runs, Requeued, TakenBack, SentBack };
    Attempt attempt;
    Stage stage = Stage::Sent;
    std::uint32_t restarts = 0;    ///< Of the job, when it was told.
    Instant since;                 ///< Of its stage; kept after it runs.
    Instant rests_since = kNever;  ///< Of a run that is over: before the job runs again.
    bool is_to_wait = false;       ///< Its run was ended to hold it, not by berth.
    bool is_suspect = false;       ///< Slurm had not finished its run before.
    Instant bare_since = kNever;   ///< From when on Slurm shows it running without its shards.
    std::string why_back;          ///< Where it is sent back.
  };

  static void say(const std::string& text);
  SlurmRemote(Client client, SlurmOptions options, News first, Cluster cluster);
  ClusterView view() const { return around_->keeper.engine().view(); }
  bool is_ours(const JobRecord& job) const;
  void on_news(const News& news);
  void on_new_node(const NodeRecord& node);
  void on_node(NodeId node, bool takes_jobs);
  void settle_nodes_of(JobId id);
  bool depends(const JobRecord& job) const;
  bool is_slurms(const JobRecord& job) const;
  void let_go_what_is_met();
  void find_if_held_for_slurm(const JobRecord& job);
  void hold_for_slurm(const JobRecord& job);
  void hold(JobId id, const std::string& why);
  void on_job(const JobRecord& job);
  void follow_limit(const JobRecord& job, const Job& known);
  void on_berth(const JobRecord& job, Berth& berth);
  Instant end_of(const JobRecord& job) const;
  void on_over(const JobRecord& job, const Berth& berth);
  void on_back_in_queue(const JobRecord& job, Berth& berth);
  void rest(JobId id, Berth& berth);
  bool has_rested(const Berth& berth) const;
  void end_rest(JobId id);
  void ask(const Input& input);
  void queue_again(JobId id, Attempt attempt, const std::string& why);
  void look_for_shards(const JobRecord& job, Berth& berth);
  void send_back_bare(JobId id, Berth& berth);
  void send_back(const JobRecord& job, Berth& berth, const std::string& why);
  void hold_if_bare_again(JobId id);
  bool is_narrowed_by(const Shards& kept, const Job& job) const;
  void on_waiting(const JobRecord& job, const Job& known);
  void on_stranger(const JobRecord& job);
  void take_in(const JobRecord& job);
  void add(const JobRecord& job, const Note& note);
  void take_back(const JobRecord& job, Berth& berth, const std::string& why);
  void check_patience();
  void count_strangers(const JobRecord& job);
  void tell_strangers(std::set<GpuId>& seen);
  void look_at(GpuId gpu);
  Bytes granted(SlurmId job, GpuId gpu) const;
  nlohmann::json memory_check() const;
  void order(Order order, const std::string& what, std::function<void()> then = {});
  std::optional<Note> note_of(const JobRecord& job) const;
  const JobRecord* record_of(JobId job) const;

  Client client_;
  const SlurmOptions options_;
  News first_;
  Cluster cluster_;
  Gauges gauges_{cluster_};
  std::string version_;
  std::optional<Surroundings> around_;
  live::Conductor* conductor_ = nullptr;
  JobTable jobs_;
  std::map<JobId, Berth> berths_;
  std::map<SlurmId, std::map<GpuId, Bytes>> strangers_;  ///< What jobs not started by berth hold.
  std::map<GpuId, Bytes> foreign_;                       ///< What was told of that.
  std::map<NodeId, bool> takes_jobs_;                    ///< What was told of nodes.
  std::set<std::string> new_nodes_;                      ///< Of Slurm, which no GPU here is of.
  std::set<std::string> being_taken_;                    ///< Jobs and tasks that are being held.
  std::map<JobId, int> bare_;       ///< Runs without their shards, one after the other.
  std::set<JobId> held_for_slurm_;  ///< Held in the engine while Slurm itself holds them.
  std::set<std::pair<SlurmId, std::uint32_t>> corrected_;  ///< Starts without berth, undone once.
  struct Asked {
    live::Submission submission;
    Submitted submitted;
  };
  std::map<SlurmId, Asked> asked_;  ///< Submitted through berth, not yet seen in Slurm's queue.
  std::map<NodeId, Instant> away_;  ///< Nodes without jobs, and from when on they take some again.
  std::unique_ptr<daemon::Loop::Alarm> patience_;
  std::unique_ptr<Courier> courier_;  // last: it reports to this
};

}  // namespace berth::slurm
