// berth-demo: what ./demo runs after the build. A program of its own, without the studies of
// berth-eval, because people wait for it to be compiled.
#include <CLI/CLI.hpp>

#include "lab/acts.hpp"

int main(int argc, char** argv) {
  constexpr int kWrongUsage = 2;
  CLI::App app("The demonstration, with a live view.", "berth-demo");
  berth::lab::DemoOptions demo;
  app.add_option("--seed", demo.seed, "Of the workload.")->capture_default_str();
  app.add_option("--gpus", demo.gpus, "Emulated GPUs.")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    app.exit(error);
    return asked_for_help ? 0 : kWrongUsage;
  }
  return berth::lab::run_demo(demo);
}
