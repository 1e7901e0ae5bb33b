// `berthd --agent`, on each node of a Slurm cluster: reads the driver and tells berth-slurm what
// Slurm's jobs and others hold of the node's GPUs.
//
// It tells by `scontrol update nodename=N extra=...`: Slurm takes that from its administrators
// only, by munge, and berth-slurm sees it among the nodes' changes. Where Slurm schedules itself it
// ends jobs that hold what others were granted (overrun_watch.hpp), with admission `guarantee`. A
// driver or a controller that hangs makes it silent, which berth-slurm notices.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "daemon/settings/options.hpp"
#include "gpu/port.hpp"
#include "gpu/probe.hpp"
#include "node/report.hpp"

namespace berth::node {

/// What there is now, GPU by GPU; `owner_of` is asked after each sample, and its jobs have Slurm's
/// numbers. A GPU's index is N of its /dev/nvidiaN where that is known of all, else its place.
std::vector<NodeGpu> observe(GpuPort& port, const Devices& devices,
                             const std::function<OwnerOf()>& look_at_processes);

/// When the node's figures are worth telling: each report is a call of Slurm's controller.
struct AgentPace {
  Duration least = seconds(1);   ///< Between two reports, for what berth must know soon.
  Duration usual = seconds(5);   ///< For other changes.
  Duration every = seconds(30);  ///< Without any change.
  Bytes large = Bytes(std::int64_t{256} << 20);
  Bytes small = Bytes(std::int64_t{64} << 20);
};

/// Whether to tell `now` when `told` was told `ago`. Soon: a job that came or went, one that holds
/// more than was told by `large`, as much more of others, a GPU that failed or is well again.
bool is_worth_telling(const std::vector<NodeGpu>& told, const std::vector<NodeGpu>& now,
                      Duration ago, const AgentPace& pace);

/// `most` of each holding covers what was seen since the report before.
void keep_most(std::vector<NodeGpu>& now, const std::vector<NodeGpu>& before);

/// Runs a program of the PATH. Returns: what it printed on standard output. Errors: Io with its
/// last words, also after `patience`, when it is killed.
Expected<std::string> run_program_for(const std::vector<std::string>& words, Duration patience);

struct AgentOptions {
  std::string node;  ///< Slurm's name of this node.
  AgentPace pace;
};

/// Until SIGTERM or SIGINT. Errors: no driver, a node that Slurm does not know, one whose Extra
/// field says something else.
Expected<void> run_agent(const daemon::Options& options, const AgentOptions& agent);

}  // namespace berth::node
