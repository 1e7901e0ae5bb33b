// berth-eval: one workload under several settings, shown and scored.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "eval/acts.hpp"

namespace berth::eval {

namespace {

constexpr int kBadUsage = 2;

int main(int argc, char** argv) {
  CLI::App app("Runs one workload under several settings and scores them.", "berth-eval");
  app.require_subcommand(1);
  DemoOptions demo;
  CLI::App* const verb = app.add_subcommand("demo", "The demonstration, with a live view.");
  verb->add_option("--seed", demo.seed, "Of the workload.")->capture_default_str();
  verb->add_option("--gpus", demo.gpus, "Emulated GPUs.")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    app.exit(error);
    return asked_for_help ? 0 : kBadUsage;
  }
  return run_demo(demo);
}

}  // namespace

}  // namespace berth::eval

int main(int argc, char** argv) { return berth::eval::main(argc, argv); }
