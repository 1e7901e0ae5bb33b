#include <CLI/CLI.hpp>

#include "cli/manual/completion.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"

namespace berth::cli {

void add_completion(CLI::App& app, Action& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* const verb =
      app.add_subcommand("completion", "Print a script that completes berth's command line.");
  verb->add_option("SHELL", *shell, "bash, zsh or fish.")->required();
  verb->callback([shell, &chosen] {
    chosen = [shell] {
      const auto script = completion_script(*shell);
      return script ? print(std::string(*script)) : report_usage(script.error().message);
    };
  });
}

}  // namespace berth::cli
