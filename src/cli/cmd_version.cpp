#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/verbs.hpp"

namespace berth::cli {

void add_version(CLI::App& app, Action& chosen) {
  app.add_subcommand("version", "Print the version.")->callback([&chosen] {
    chosen = [] {
      std::puts("berth " BERTH_VERSION);
      return 0;
    };
  });
}

}  // namespace berth::cli
