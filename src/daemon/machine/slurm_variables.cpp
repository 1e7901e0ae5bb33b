#include "daemon/machine/slurm_variables.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "daemon/loop/processes.hpp"
#include "daemon/machine/machine.hpp"
#include "daemon/machine/order.hpp"

namespace berth::daemon {

namespace {

/// What a job of one task on a cluster of one machine is told, unless its submission said more.
constexpr auto kOfOneMachine = std::to_array<std::pair<const char*, const char*>>({
    {"SLURM_JOB_NAME", "berth"},
    {"SLURM_JOB_NUM_NODES", "1"},
    {"SLURM_NNODES", "1"},
    {"SLURM_NODEID", "0"},
    {"SLURM_PROCID", "0"},
    {"SLURM_LOCALID", "0"},
    {"SLURM_GTIDS", "0"},
    {"SLURM_NODE_ALIASES", "(null)"},
    {"SLURM_PRIO_PROCESS", "0"},
    {"SLURM_TOPOLOGY_ADDR_PATTERN", "node"},
    {"SLURM_TASKS_PER_NODE", "1"},
    {"SLURM_JOB_PARTITION", "berth"},
    {"SLURM_JOB_ACCOUNT", "berth"},
    {"SLURM_JOB_QOS", "normal"},
    {"SLURM_CLUSTER_NAME", "berth"},
});

std::string short_host_name() {
  const std::string whole = host_name();
  return whole.substr(0, whole.find('.'));
}

std::string value_in(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& variable : environment) {
    const bool is_it =
        variable.starts_with(name) && variable.size() > name.size() && variable[name.size()] == '=';
    if (is_it) return variable.substr(name.size() + 1);
  }
  return "";
}

}  // namespace

bool tells_slurm(const std::vector<std::string>& environment) {
  return std::ranges::find(environment, kTellsSlurm) != environment.end();
}

void tell_slurm(shim::Order& order, const live::Assignment& assigned, Instant now) {
  const std::string id = std::to_string(order.job.value());
  const std::string host = short_host_name();
  const std::int64_t millicores = assigned.job.spec.request.cpu.raw();
  const std::string cores = std::to_string(std::max<std::int64_t>(1, (millicores + 999) / 1000));
  const std::string number = std::to_string(order.user);
  std::string user = UserNames().of(order.user);  // no job's word for whose it is
  if (user == number) user = value_in(order.environment, "USER");
  Variables facts = {{"SLURM_JOB_ID", id},
                     {"SLURM_JOBID", id},
                     {"SLURM_JOB_START_TIME", std::to_string(micros(now) / 1'000'000)},
                     {"SLURM_JOB_USER", user.empty() ? number : user},
                     {"SLURM_JOB_UID", number},
                     {"SLURM_JOB_GID", std::to_string(order.group)},
                     {"SLURM_SUBMIT_HOST", host},
                     {"SLURM_JOB_NODELIST", host},
                     {"SLURM_NODELIST", host},
                     {"SLURM_TOPOLOGY_ADDR", host},
                     {"SLURMD_NODENAME", host},
                     {"SLURM_CPUS_ON_NODE", cores},
                     {"SLURM_JOB_CPUS_PER_NODE", cores}};
  if (const Duration limit = assigned.job.spec.time_limit; limit != kForever) {
    facts.emplace_back("SLURM_JOB_END_TIME", std::to_string(micros(now + limit) / 1'000'000));
  }
  if (const auto gpus = assigned.grant.shares.size(); gpus > 0) {
    const std::string list = value_in(order.environment, "CUDA_VISIBLE_DEVICES");
    facts.insert(facts.end(), {{"SLURM_JOB_GPUS", list},
                               {"GPU_DEVICE_ORDINAL", list},
                               {"SLURM_GPUS_ON_NODE", std::to_string(gpus)}});
  }
  if (order.attempt > Attempt(1)) {
    facts.emplace_back("SLURM_RESTART_COUNT", std::to_string(order.attempt.value() - 1));
  }
  const auto unless_asked = [&](const char* name, const std::string& value) {
    if (value_in(order.environment, name).empty()) facts.emplace_back(name, value);
  };
  unless_asked("SLURM_SUBMIT_DIR", order.directory);
  for (const auto& [name, value] : kOfOneMachine) unless_asked(name, value);
  set_variables(order, facts);
}

}  // namespace berth::daemon
