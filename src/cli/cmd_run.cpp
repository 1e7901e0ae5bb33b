#include <CLI/CLI.hpp>
#include <csignal>

#include "cli/attend.hpp"
#include "cli/daemon.hpp"
#include "cli/submission.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

struct RunArguments {
  CommonOptions common;
  JobOptions job;
};

int run_job(const RunArguments& arguments) {
  const auto caller = this_caller();
  if (!caller) return report_failure(caller.error().message);
  auto made = submission_of(arguments.job, *caller);
  if (!made) return report_usage(made.error().message);
  for (const std::string& warning : made->warnings) report_failure(warning);
  const Attended attended = attend(arguments.common, std::move(made->body));
  // As any program ends whose reader is gone; ignored only where this process was started so.
  if (attended.broken_pipe) std::raise(SIGPIPE);
  return attended.code;
}

}  // namespace

void add_run(CLI::App& app, Action& chosen, const FromDashes& from_dashes) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* const verb =
      app.add_subcommand("run", "Run a job and wait until it ends: -- COMMAND ARGS...");
  add_common(*verb, arguments->common);
  add_job_options(*verb, arguments->job);
  verb->footer(
      "Input, output, signals and the exit code pass through. --json prints the job to\n"
      "standard error when the job has ended.");
  verb->callback([=, &chosen, &from_dashes] {
    chosen = [=, &from_dashes] {
      auto words = command_words(verb->remaining(), from_dashes);
      if (!words) return report_usage(words.error().message);
      arguments->job.command = std::move(*words);
      return run_job(*arguments);
    };
  });
}

}  // namespace berth::cli
