// berth-eval: one workload under several settings, shown and scored.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lab/evaluation.hpp"
#include "lab/scenario.hpp"
#include "lab/study/study.hpp"

namespace berth::lab {

namespace {

constexpr int kBadUsage = 2;

int main(int argc, char** argv) {
  CLI::App app("Runs one workload under several settings and scores them.", "berth-eval");
  app.require_subcommand(1);
  EvaluationOptions evaluation;
  CLI::App* const all = app.add_subcommand("all", "Every way, several seeds, live and simulated.");
  all->add_option("--seeds", evaluation.seeds, "Of the workloads.")
      ->delimiter(',')
      ->capture_default_str();
  all->add_option("--folder", evaluation.folder, "Gets live.json.")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  all->add_option("--at-once", evaluation.at_once, "Live runs beside each other.")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  ScenarioOptions scenario;
  CLI::App* const one = app.add_subcommand("scenario", "One trace, live and simulated.");
  one->add_option("--trace", scenario.trace, "Jobs in berth's own format (doc/traces.md).")
      ->required();
  one->add_option("--cluster", scenario.cluster,
                  "1xGPUS, or a file: one node of equal GPUs, which are emulated.")
      ->required();
  one->add_option("--policy", scenario.policy, "As berthd's.")->capture_default_str();
  one->add_option("--admission", scenario.admission, "As berthd's.")->capture_default_str();
  one->add_option("--faster", scenario.faster,
                  "Divides all times of the trace, so that hours take seconds.")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  one->add_option("--interference", scenario.interference_percent,
                  "Percent by which kernels that share a GPU slow each other (doc/emulator.md).")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  one->add_option("--kill-every", scenario.kill_every,
                  "Seconds after which berthd is killed and started again, until all jobs have "
                  "ended; 0: never.")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  one->add_flag("--json", scenario.json, "Prints the figures as JSON.");
  StudyOptions study;
  CLI::App* const compared =
      app.add_subcommand("study", "Every way of lab/study/study.toml on every scenario.");
  add_study_options(*compared, study);
  CLI::App* const written = app.add_subcommand(
      "report", "Writes evaluation.md and evaluation.html again from evaluation.json.");
  add_study_options(*written, study);
  WorkloadOptions workload;
  CLI::App* const jobs =
      app.add_subcommand("workload", "Writes the jobs of the evaluation as a trace.");
  jobs->add_option("--seed", workload.seed, "Of the workload.")->capture_default_str();
  jobs->add_option("--out", workload.out, "The file.")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    app.exit(error);
    return asked_for_help ? 0 : kBadUsage;
  }
  if (compared->parsed()) return run_study(study);
  if (written->parsed()) return write_report(study);
  if (one->parsed()) return run_scenario(scenario);
  if (jobs->parsed()) return write_workload(workload);
  return run_evaluation(evaluation);
}

}  // namespace

}  // namespace berth::lab

int main(int argc, char** argv) { return berth::lab::main(argc, argv); }
