// berth on Slurm: Slurm has the queue, the nodes and the processes; berth decides which job runs
// when, and on which GPUs (doc/slurm.md).
//
// Three parts do the work: Intake takes in what Slurm and users say, SlurmExecutor tells Slurm what
// the engine decided, Reconciliation compares Slurm's records with the journal. What Slurm's users
// and administrators do beside berth shows as changed records, and is taken over or undone.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "slurm/executor.hpp"
#include "slurm/intake.hpp"

namespace berth::slurm {

class SlurmSite : public daemon::Site {
 public:
  /// Asks Slurm for its nodes and jobs. `before` is the cluster where jobs of an earlier
  /// berth-slurm hold berths, if any do. Errors: Io where it does not answer; as cluster_of().
  static Expected<std::unique_ptr<SlurmSite>> open(const std::string& configuration,
                                                   SlurmOptions options, std::uint16_t slots,
                                                   const std::optional<Cluster>& before);
  const Cluster& cluster() const { return common_.cluster; }

  Expected<daemon::Machine> machine(const daemon::Options&) override;
  Expected<Attached> attach(const Surroundings& around) override;
  void begin(live::Conductor& conductor) override;
  void on_step(const live::StepTaken& step) override { executor_.on_step(step); }
  void on_user_hold(JobId job, bool is_held) override { intake_.on_user_hold(job, is_held); }
  bool submit(live::Submission& job, const Submitted& submitted) override {
    return intake_.submit(job, submitted);
  }
  Expected<void> attend(JobId, Attempt, const shim::Attach&) override {
    return fail(ErrorCode::Conflict, why_not_attended());
  }
  std::string why_not_adopted() const override {
    return "jobs run on the nodes of the Slurm cluster, and no process of this machine is one";
  }
  std::string why_not_attended() const override {
    return "runs on a cluster, where nobody can attach to it";
  }
  std::string why_no_mps() const override;
  std::string why_fixed(std::string_view field) const override;
  std::string why_not_again() const override;
  std::string why_not_released(JobId job) const override { return intake_.why_not_released(job); }
  bool holds_to_cancel() const override { return false; }
  std::optional<std::string> output_of(JobId job) const override;
  nlohmann::json examine(const daemon::Daemon& daemon) const override;

 private:
  SlurmSite(Client client, SlurmOptions options, News first, Cluster cluster);
  void check_all();

  Client client_;
  News first_;
  std::string version_;
  Common common_;
  Figures figures_{common_};
  Reconciliation reconciliation_{common_};
  SlurmExecutor executor_{common_, reconciliation_};
  Intake intake_{common_, figures_, reconciliation_};
  std::unique_ptr<daemon::Loop::Alarm> patience_;
};

}  // namespace berth::slurm
