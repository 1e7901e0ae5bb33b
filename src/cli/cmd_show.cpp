#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/daemon.hpp"
#include "cli/job_text.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

struct ShowArguments {
  CommonOptions common;
  std::string job;
};

int show(const ShowArguments& arguments) {
  const auto id = parse_job(arguments.job);
  if (!id) return report_usage(id.error().message);
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto job = daemon->get(job_target(*id));
  if (!job) return report_failure(job.error().message);
  if (arguments.common.json) return print(json_text(*job));
  return print(job_page(*job, wall_now(), look_of(STDOUT_FILENO)));
}

}  // namespace

void add_show(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ShowArguments>();
  CLI::App* const verb = app.add_subcommand("show", "Print everything about one job.");
  add_common(*verb, arguments->common);
  verb->add_option("JOB", arguments->job, "The job's number.")->required();
  verb->callback([=, &chosen] { chosen = [=] { return show(*arguments); }; });
}

}  // namespace berth::cli
