#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/verbs.hpp"

namespace berth::cli {

int report_failure(const std::string& message) {
  std::fprintf(stderr, "berth: %s\n", message.c_str());
  return kFailed;
}

int run(int argc, char** argv) {
  CLI::App app("berth gives every GPU job a place where its memory is guaranteed.", "berth");
  app.require_subcommand(1);
  Action chosen;
  add_sim(app, chosen);
  add_version(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    app.exit(error);
    return asked_for_help ? 0 : kBadUsage;
  }
  return chosen();
}

}  // namespace berth::cli
