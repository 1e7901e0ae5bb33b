#include "slurm/berth_slurm.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "daemon/program/program.hpp"
#include "http/address.hpp"
#include "live/keeper.hpp"
#include "slurm/nodes.hpp"
#include "slurm/site.hpp"

namespace berth::slurm {

namespace {

struct Flags {
  std::vector<std::string> partitions;
  std::string configuration;
  std::string limits;
  std::uint32_t reach = 35;
};

/// For job_submit.lua, which can then refuse at submission what no place will ever be there for.
void leave_limits(const std::string& path, const Cluster& cluster) {
  std::ofstream(path + ".new") << limits_of(cluster);
  if (std::rename((path + ".new").c_str(), path.c_str()) != 0) {
    std::fprintf(stderr, "berth-slurm: %s: %s\n", path.c_str(), std::strerror(errno));
  }
}

}  // namespace

int run_berth_slurm(int argc, char** argv) {
  Flags flags;
  daemon::Program program{
      .name = "berth-slurm",
      .about = "Gives the GPU jobs of a Slurm cluster places where their memory is guaranteed.",
      .state = "/var/lib/berth-slurm",
      .socket = std::string(http::kSlurmSocket)};
  program.add_flags = [&flags](CLI::App& app) {
    app.add_option("--partitions", flags.partitions,
                   "Slurm's partitions whose jobs are berth's, as gpu,gpu-long.")
        ->delimiter(',')
        ->required();
    app.add_option("--slurm-conf", flags.configuration,
                   "Slurm's configuration; default: $SLURM_CONF, or the system's.");
    app.add_option("--limits", flags.limits,
                   "Writes the largest GPU and the number of GPUs there, for job_submit.lua.");
    app.add_option("--reach", flags.reach,
                   "Seconds for which Slurm tries to reach a node with a start. A job whose node "
                   "failed so soon after its start runs again after that.")
        ->capture_default_str();
  };
  program.open_site =
      [&flags](daemon::Options& options) -> Expected<std::unique_ptr<daemon::Site>> {
    // The variables say which GPUs of this machine it was given, not which of the cluster.
    options.given = {};
    // Shards are what an administrator lets jobs have, so nothing of them is kept back.
    options.rules.settings.admission.guard_floor = Bytes(0);
    options.rules.settings.admission.guard_ppm = 0;
    // What a job has of Slurm stays as it was begun: its shards do not shrink or grow, and one that
    // has ended there is not begun again.
    options.rules.learn_memory = false;
    options.rules.settings.ends_at_limit = false;  // Slurm does that, with its own patience
    options.shrink_after = kForever;
    options.again_after_overrun = false;
    SlurmOptions own{.partitions = flags.partitions};
    own.reach = seconds(flags.reach);
    const auto before = live::Keeper::cluster_held(options.state + "/journal.db", options.loss);
    if (!before) return std::unexpected(before.error());
    auto site = SlurmSite::open(flags.configuration, own, options.slots, *before);
    if (!site) return std::unexpected(site.error());
    if (!flags.limits.empty()) leave_limits(flags.limits, (*site)->cluster());
    return std::move(*site);
  };
  return daemon::run_program(argc, argv, program);
}

}  // namespace berth::slurm
