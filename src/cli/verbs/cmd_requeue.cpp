#include <CLI/CLI.hpp>

#include "cli/ask/daemon.hpp"
#include "cli/job/submission.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"

namespace berth::cli {

namespace {

struct RequeueArguments {
  CommonOptions common;
  std::vector<std::string> jobs;
  bool failed = false;
};

int requeue(const RequeueArguments& arguments) {
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const Json body = {{"failed", arguments.failed}};
  Json answers = Json::array();
  std::string lines;
  for (const std::string& job : arguments.jobs) {
    const auto answer = daemon->post(job_target(job, "/again"), body.dump());
    if (!answer) return report_failure(answer.error().message);
    report_warnings(*answer);
    lines += submitted_text(*answer);
    answers.push_back(*answer);
  }
  return print(arguments.common.json ? json_text({{"jobs", answers}}) : lines);
}

}  // namespace

void add_requeue(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<RequeueArguments>();
  CLI::App* const verb = app.add_subcommand(
      "requeue", "Submit jobs that have ended once more, and print their new numbers.");
  add_common(*verb, arguments->common);
  verb->add_option("JOB", arguments->jobs, "A job, an array, or tasks of one: 7, 643, 643_5-9.")
      ->required();
  verb->add_flag("--failed", arguments->failed,
                 "Only those that did not end well, as the failed tasks of a sweep.");
  verb->callback([=, &chosen] { chosen = [=] { return requeue(*arguments); }; });
}

}  // namespace berth::cli
