// berth-slurm, for the GPUs of a Slurm cluster.
#include <CLI/CLI.hpp>

#include "daemon/program.hpp"
#include "slurm/remote.hpp"

namespace {

struct Flags {
  std::vector<std::string> partitions;
  std::string configuration;
};

}  // namespace

int main(int argc, char** argv) {
  using namespace berth;
  Flags flags;
  daemon::Program program{
      .name = "berth-slurm",
      .about = "Gives the GPU jobs of a Slurm cluster places where their memory is guaranteed."};
  program.add_flags = [&flags](CLI::App& app) {
    app.add_option("--partitions", flags.partitions,
                   "Slurm's partitions whose jobs are berth's, as gpu,gpu-long.")
        ->delimiter(',')
        ->required();
    app.add_option("--slurm-conf", flags.configuration,
                   "Slurm's configuration; default: $SLURM_CONF, or the system's.");
  };
  program.open_remote =
      [&flags](daemon::Options& options) -> Expected<std::unique_ptr<daemon::Remote>> {
    // Shards are what an administrator lets jobs have, so nothing of them is kept back.
    options.rules.settings.admission.guard_floor = Bytes(0);
    options.rules.settings.admission.guard_ppm = 0;
    auto remote = slurm::SlurmRemote::open(flags.configuration, {.partitions = flags.partitions},
                                           options.slots);
    if (!remote) return std::unexpected(remote.error());
    return std::move(*remote);
  };
  return daemon::run_program(argc, argv, program);
}
