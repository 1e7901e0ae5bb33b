#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/ask/each_job.hpp"
#include "cli/print/verbs.hpp"

namespace berth::cli {

namespace {

constexpr const char* kUse = "cancel takes jobs, or --user, or --all";

int cancel(EachJob arguments, bool all) {
  JobChoice& choice = arguments.choice;
  const bool has_choice = !choice.typed.empty() || !choice.users.empty();
  if (all == has_choice) return report_usage(kUse);
  if (choice.typed == std::vector<std::string>{"all"}) {
    return report_usage("all: is not a job number; say berth cancel --all for all of yours");
  }
  if (all) choice.users.push_back(std::to_string(geteuid()));
  return change_and_print(arguments, "cancel");
}

}  // namespace

void add_cancel(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EachJob>();
  auto all = std::make_shared<bool>(false);
  CLI::App* const verb = app.add_subcommand("cancel", "End jobs, queued or running.");
  add_each_job(*verb, *arguments);
  verb->add_flag("--all,--mine,--me", *all, "Cancel all your own jobs that have not ended.");
  verb->callback([=, &chosen] { chosen = [=] { return cancel(*arguments, *all); }; });
}

}  // namespace berth::cli
