#include "node/berthd.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "daemon/program/program.hpp"
#include "daemon/site/shim_site.hpp"
#include "node/agent.hpp"

namespace berth::node {

namespace {

struct Flags {
  bool is_agent = false;
  std::string node;
};

/// As slurmd has it: the part of the host's name before the first dot.
std::string name_of_node(const Flags& flags) {
  if (!flags.node.empty()) return flags.node;
  if (const char* const name = std::getenv("SLURMD_NODENAME")) return name;
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string whole = host.data();
  return whole.substr(0, whole.find('.'));
}

}  // namespace

int run_berthd(int argc, char** argv) {
  Flags flags;
  daemon::Program program{.name = "berthd",
                          .about = "Gives GPU jobs places where their memory is guaranteed."};
  program.add_flags = [&flags](CLI::App& app) {
    app.add_flag("--agent", flags.is_agent,
                 "On a node of a Slurm cluster: only measure, and tell berth-slurm through Slurm.");
    app.add_option("--node", flags.node,
                   "Slurm's name of this node; default: $SLURMD_NODENAME, or the host's name.");
  };
  program.instead = [&flags](const daemon::Options& options) -> std::optional<Expected<void>> {
    if (!flags.is_agent) return std::nullopt;
    std::error_code ignored;  // the emulation says what is wrong with it
    if (!options.emulate.empty()) std::filesystem::create_directories(options.state, ignored);
    return run_agent(options, {.node = name_of_node(flags), .pace = {}});
  };
  program.complete = daemon::ShimSite::find_cgroup;
  program.open_site = [](daemon::Options&) { return std::make_unique<daemon::ShimSite>(); };
  return daemon::run_program(argc, argv, program);
}

}  // namespace berth::node
