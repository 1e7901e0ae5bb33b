#include <CLI/CLI.hpp>

#include "cli/daemon.hpp"
#include "cli/each_job.hpp"
#include "cli/job_filter.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

constexpr const char* kUse = "cancel takes jobs, or --user, or --all";

/// Of the caller, or of this user.
int cancel_all(const CommonOptions& common, std::optional<std::uint32_t> user) {
  auto daemon = Daemon::open(common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto answer =
      daemon->post("/v1/cancel" + (user ? "?user=" + std::to_string(*user) : std::string()));
  if (!answer) return report_failure(answer.error().message);
  if (common.json) return print(json_text(*answer));
  std::string text;
  for (const Json& id : part_of(*answer, "cancelled")) {
    if (id.is_number_integer()) text += "job " + id.dump() + " cancelled\n";
  }
  return print(text);
}

int cancel(const EachJob& arguments, bool all) {
  const JobChoice& choice = arguments.choice;
  if (choice.typed.empty() && choice.users.size() <= 1) {
    if (all == !choice.users.empty()) return report_usage(kUse);
    if (all) return cancel_all(arguments.common, std::nullopt);
    const auto user = user_number(choice.users.front());
    if (!user) return report_usage(user.error().message);
    return cancel_all(arguments.common, *user);
  }
  if (all) return report_usage(kUse);
  return post_to_each(arguments, "/cancel");
}

}  // namespace

void add_cancel(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EachJob>();
  auto all = std::make_shared<bool>(false);
  CLI::App* const verb = app.add_subcommand("cancel", "End jobs, queued or running.");
  add_each_job(*verb, *arguments);
  verb->add_flag("--all", *all, "Cancel all your own jobs that have not ended.");
  verb->callback([=, &chosen] { chosen = [=] { return cancel(*arguments, *all); }; });
}

}  // namespace berth::cli
