#include <CLI/CLI.hpp>

#include "cli/ask/each_job.hpp"
#include "cli/job/begin_time.hpp"
#include "cli/job/submission.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"

namespace berth::cli {

namespace {

struct UpdateArguments {
  EachJob each;
  JobOptions job;
};

int update_jobs(const UpdateArguments& arguments) {
  const auto body = change_of(arguments.job, this_instant());
  if (!body) return report_usage(body.error().message);
  const auto words = [](const Json& job) {
    const std::string state = printable(text_of(job, "state"));
    const bool starts = state == "starting";  // one that runs did so before
    return "updated" + (starts ? std::string("; it starts now") : ", " + state);
  };
  const auto answer = change_jobs(arguments.each, "update", *body);
  return answer ? print_changes(arguments.each, *answer, words) : answer.error();
}

}  // namespace

void add_update(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<UpdateArguments>();
  CLI::App* const verb = app.add_subcommand("update", "Change jobs that wait to start.");
  add_each_job(*verb, arguments->each);
  add_update_options(*verb, arguments->job);
  verb->callback([=, &chosen] { chosen = [=] { return update_jobs(*arguments); }; });
}

}  // namespace berth::cli
