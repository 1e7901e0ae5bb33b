#include <CLI/CLI.hpp>

#include "cli/daemon.hpp"
#include "cli/each_job.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

int cancel_all(const CommonOptions& common) {
  auto daemon = Daemon::open(common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto answer = daemon->post("/v1/cancel");
  if (!answer) return report_failure(answer.error().message);
  if (common.json) return print(json_text(*answer));
  std::string text;
  for (const Json& id : part_of(*answer, "cancelled")) {
    if (id.is_number_integer()) text += "job " + id.dump() + " cancelled\n";
  }
  return print(text);
}

}  // namespace

void add_cancel(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EachJob>();
  auto all = std::make_shared<bool>(false);
  CLI::App* const verb = app.add_subcommand("cancel", "End jobs, queued or running.");
  add_each_job(*verb, *arguments);
  verb->add_flag("--all", *all, "Cancel all your jobs that have not ended.");
  verb->callback([=, &chosen] {
    chosen = [=] {
      if (*all == !arguments->jobs.empty()) return report_usage("cancel takes jobs, or --all");
      return *all ? cancel_all(arguments->common) : post_to_each(*arguments, "/cancel");
    };
  });
}

}  // namespace berth::cli
