#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/daemon.hpp"
#include "cli/job_text.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

struct LsArguments {
  CommonOptions common;
  bool all = false;
};

std::string page_target(const LsArguments& arguments, std::optional<std::int64_t> before) {
  std::string target = "/v1/jobs?limit=1000";
  if (arguments.all) target += "&all=true";
  if (before) target += "&before=" + std::to_string(*before);
  return target;
}

/// Every page. A page that does not lead further down ends it, whatever the daemon says.
Expected<std::vector<Json>> every_job(Daemon& daemon, const LsArguments& arguments) {
  std::vector<Json> jobs;
  std::optional<std::int64_t> before;
  for (;;) {
    auto page = daemon.get(page_target(arguments, before));
    if (!page) return std::unexpected(page.error());
    const Json& list = part_of(*page, "jobs");
    if (!list.is_array()) return fail(ErrorCode::BadData, "berthd answers without a list of jobs");
    jobs.insert(jobs.end(), list.begin(), list.end());
    const auto next = integer_of(*page, "next_before");
    if (!next || list.empty() || (before && *next >= *before)) return jobs;
    before = next;
  }
}

int ls(const LsArguments& arguments) {
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  auto jobs = every_job(*daemon, arguments);
  if (!jobs) return report_failure(jobs.error().message);
  if (arguments.common.json) return print(json_text({{"jobs", *jobs}}));
  sort_for_reading(*jobs);
  return print(job_table(*jobs, wall_now()).text(look_of(STDOUT_FILENO)));
}

}  // namespace

void add_ls(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<LsArguments>();
  CLI::App* const verb = app.add_subcommand("ls", "List jobs: running ones, then queued ones.");
  add_common(*verb, arguments->common);
  verb->add_flag("--all", arguments->all, "Also those that have ended.");
  verb->callback([=, &chosen] { chosen = [=] { return ls(*arguments); }; });
}

}  // namespace berth::cli
