// What comes in from Slurm and from users: news of jobs and nodes, and what users ask berth for.
//
// Jobs of berth's partitions are held in Slurm and taken into the engine under Slurm's own number,
// also those that users submit through berth, which go to Slurm first. A job that Slurm itself
// holds is held in the engine for as long. Records of attempts go to Reconciliation, figures of
// agents to Figures. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "slurm/figures.hpp"
#include "slurm/reconciliation.hpp"

namespace berth::slurm {

class Intake {
 public:
  using Submitted = daemon::Site::Submitted;

  /// Requires: all of them outlive it.
  Intake(Common& common, Figures& figures, Reconciliation& reconciliation)
      : common_(common), figures_(figures), reconciliation_(reconciliation) {}

  /// All there is in Slurm, as the first news.
  void begin(const News& first);
  void on_news(const News& news);
  /// No news comes of a job when what it waits for happens: to be called every second or so.
  void let_go_what_is_met();

  // As those of daemon::Site.

  bool submit(live::Submission& job, const Submitted& submitted);
  void on_user_hold(JobId job, bool is_held);
  std::string why_not_released(JobId job) const;

  /// Of Slurm, which no GPU here is of.
  const std::set<std::string>& new_nodes() const { return new_nodes_; }

 private:
  void on_new_node(const NodeRecord& node);
  void on_job(const JobRecord& job);
  bool is_ours(const JobRecord& job) const;
  void on_waiting(const JobRecord& job, const Job& known);
  void follow_begin(const JobRecord& job, const Job& known);
  void on_stranger(const JobRecord& job);
  void take_in(const JobRecord& job);
  void add(const JobRecord& job, const SlurmNote& note);
  bool depends(const JobRecord& job) const;
  bool is_slurms(const JobRecord& job) const;
  void find_if_held_for_slurm(const JobRecord& job);
  void hold_for_slurm(const JobRecord& job);

  struct Asked {
    live::Submission submission;
    Submitted submitted;
  };
  Common& common_;
  Figures& figures_;
  Reconciliation& reconciliation_;
  std::map<NodeId, bool> takes_jobs_;  ///< What was told of nodes.
  std::set<std::string> new_nodes_;
  std::set<std::string> being_taken_;  ///< Jobs and tasks that are being held.
  std::set<JobId> held_for_slurm_;     ///< Held in the engine while Slurm itself holds them.
  std::set<std::pair<SlurmId, std::uint32_t>> corrected_;  ///< Starts without berth, undone once.
  std::map<SlurmId, Asked> asked_;  ///< Submitted through berth, not yet seen in Slurm's queue.
};

}  // namespace berth::slurm
