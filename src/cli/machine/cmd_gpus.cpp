#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/ask/daemon.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/slurm/ask_slurm.hpp"
#include "cli/slurm/slurm_pages.hpp"
#include "cli/tell/gpu_text.hpp"

namespace berth::cli {

namespace {

int gpus_in_slurm(const CommonOptions& common) {
  const auto facts = ask_slurm();
  if (!facts) return report_failure(facts.error().message);
  return print(common.json ? json_text(slurm_gpus_json(*facts))
                           : slurm_gpus_page(*facts, look_of(STDOUT_FILENO)));
}

int gpus(const CommonOptions& common) {
  if (is_for_slurm(common)) return gpus_in_slurm(common);
  auto daemon = Daemon::open(common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto answer = daemon->get("/v1/gpus");
  if (!answer) return report_failure(answer.error().message);
  return print(common.json ? json_text(*answer) : gpu_page(*answer, look_of(STDOUT_FILENO)));
}

}  // namespace

void add_gpus(CLI::App& app, Action& chosen) {
  auto common = std::make_shared<CommonOptions>();
  CLI::App* const verb =
      app.add_subcommand("gpus", "List GPUs, the jobs on them, and their free memory.");
  add_common(*verb, *common);
  verb->callback([=, &chosen] { chosen = [=] { return gpus(*common); }; });
}

}  // namespace berth::cli
