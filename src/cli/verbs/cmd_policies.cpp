#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/study/policy_pages.hpp"
#include "policy/registry.hpp"

namespace berth::cli {

namespace {

int print_named(const std::string& name) {
  const auto text = policy_text(name);
  if (text) return print(folded(*text, look_of(STDOUT_FILENO)));
  const auto chosen = choose(name);
  return report_usage(chosen ? "policy '" + name + "' has no page; `berth policies` lists them"
                             : chosen.error().message);
}

}  // namespace

void add_policies(CLI::App& app, Action& chosen) {
  struct Arguments {
    std::string name;
    bool json = false;
    bool markdown = false;
    bool man = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* const verb = app.add_subcommand(
      "policies", "Describe policies, backfills and placements: rule, source, proof, keys.");
  CLI::Option* const name = verb->add_option("name", arguments->name, "Print this one in full.");
  CLI::Option* const json =
      verb->add_flag("--json", arguments->json, "Print all of them as a JSON array.")
          ->excludes(name);
  CLI::Option* const markdown =
      verb->add_flag("--markdown", arguments->markdown, "Print all of them as doc/policies.md.")
          ->excludes(name)
          ->excludes(json);
  verb->add_flag("--man", arguments->man, "Print all of them as a manual page.")
      ->excludes(name)
      ->excludes(json)
      ->excludes(markdown);
  verb->callback([arguments, &chosen] {
    chosen = [arguments] {
      if (!arguments->name.empty()) return print_named(arguments->name);
      if (arguments->json) return print(policies_json());
      if (arguments->markdown) return print(policies_markdown());
      if (arguments->man) return print(policies_manual());
      return print(folded(policies_list(), look_of(STDOUT_FILENO)));
    };
  });
}

}  // namespace berth::cli
