// Ends jobs of a Slurm cluster that hold GPU memory which Slurm granted to others, on the node of
// an agent, where Slurm schedules itself. Jobs of berth-slurm are left to it.
//
// A job is ended by Slurm's own command, after its user was told why: in the job's admin_comment
// (`scontrol show job`, `sacct`, `berth why`) and in its output. Where others lack the memory its
// processes on that GPU are killed at once, as Slurm lets a job take its time.
//
// It keeps nothing that matters: an agent that is killed and starts again asks Slurm again, and
// looks again before it ends anything. Belongs to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "daemon/limits/overuse.hpp"
#include "node/overruns.hpp"

namespace berth::node {

/// What it does and sees by.
struct OverrunPorts {
  /// Runs a program of Slurm's. Returns: what it printed.
  std::function<Expected<std::string>(const std::vector<std::string>&)> slurm;
  std::function<std::vector<NodeGpu>()> observe;
  /// Jobs that Slurm began on this node, also those that hold no GPU memory yet.
  std::function<std::set<std::uint32_t>()> jobs_here;
  /// Ends the processes of a job that are on a GPU, and no others.
  std::function<void(std::uint32_t job, std::uint32_t gpu)> kill;
  std::function<void(const std::string&)> log;
};

class OverrunWatch {
 public:
  struct Rules {
    std::string node;  ///< Slurm's name of it.
    daemon::Overuse overuse = daemon::Overuse::Keep;
    Bytes context{0};
  };
  using Time = std::chrono::steady_clock::time_point;

  OverrunWatch(Rules rules, OverrunPorts ports)
      : rules_(std::move(rules)), ports_(std::move(ports)) {}

  /// At each observation of the GPUs. Asks Slurm once for each job that comes.
  void look(const std::vector<NodeGpu>& gpus, Time now);

 private:
  OverrunRule rule() const;
  std::set<std::uint32_t> leaving(Time now);
  void learn(const std::set<std::uint32_t>& jobs, Time now);
  bool learn_one(std::uint32_t job, Time now);
  void forget_all_but(const std::set<std::uint32_t>& jobs);
  void end_those(const std::vector<NodeOverrun>& suspects, Time now);
  void end(const NodeOverrun& overrun, Time now);
  void tell(const JobIdentity& identity, std::uint32_t job, const std::string& note);
  void warn(const NodeOverrun& overrun);

  const Rules rules_;
  const OverrunPorts ports_;
  JobGrants grants_;
  std::map<std::uint32_t, Time> ask_again_;  ///< Of jobs of which Slurm told nothing.
  std::map<std::uint32_t, Time> ended_;
  std::set<std::uint32_t> others_;  ///< Of berth-slurm, which judges them.
  std::set<std::uint32_t> warned_;
};

}  // namespace berth::node
