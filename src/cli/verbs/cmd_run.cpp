#include <CLI/CLI.hpp>
#include <csignal>

#include "cli/ask/daemon.hpp"
#include "cli/attend/attend.hpp"
#include "cli/job/habits.hpp"
#include "cli/job/jobs_before.hpp"
#include "cli/job/memory_shares.hpp"
#include "cli/job/snapshot.hpp"
#include "cli/job/submission.hpp"
#include "cli/print/verbs.hpp"

namespace berth::cli {

namespace {

constexpr int kInterrupted = 128 + SIGINT;

struct RunArguments {
  CommonOptions common;
  JobOptions job;
  DetachOption detach;
  bool detach_on_hangup = false;
};

/// What only a script's lines can say here, and a terminal that attends the job makes void.
Expected<void> fit_for_terminal(Submission& made) {
  if (made.body.contains("array")) {
    return fail(ErrorCode::InvalidArgument,
                "--array: berth run runs one job; berth submit queues an array");
  }
  if (made.body.erase("output") > 0) {
    made.warnings.emplace_back(
        "--output is left out: with berth run the output comes here; berth submit has both");
  }
  return {};
}

int run_job(const RunArguments& arguments) {
  const auto keys = detach_keys(arguments.detach);
  if (!keys) return report_usage(keys.error().message);
  const Caller caller = this_caller();
  auto made = submission_of(arguments.job, caller);
  if (!made) return report_usage(made.error().message);
  if (const auto fit = fit_for_terminal(*made); !fit) return report_usage(fit.error().message);
  for (const std::string& warning : made->warnings) report_failure(warning);
  if (const auto found = number_jobs_before(arguments.common, made->body); !found) {
    return report_failure(found.error().message);
  }
  if (!made->shares.empty()) {
    auto daemon = Daemon::open(arguments.common);
    if (!daemon) return report_failure(daemon.error().message);
    for (const std::string& warning : shares_told_by(*daemon, *made)) report_failure(warning);
  }
  auto copy = SubmissionCopy::make(*made);
  if (!copy) return report_failure(copy.error().message);
  for (const std::string& warning : copy->warnings()) report_failure(warning);
  const Attended attended = attend(arguments.common, std::move(made->body),
                                   {.keys = *keys, .hangup_leaves = arguments.detach_on_hangup});
  if (attended.was_taken) copy->keep();
  // As any program ends whose reader is gone, or that Ctrl-C ends: by it a shell knows to leave a
  // loop. Ignored only where this process was started so.
  if (attended.broken_pipe) std::raise(SIGPIPE);
  if (attended.code != kInterrupted) return attended.code;
  // A terminal gives Ctrl-C to all that are in front of it: the script, make or Python program that
  // ran this. It was the job alone that got it here.
  if (attended.had_keys) ::kill(0, SIGINT);
  std::raise(SIGINT);
  return attended.code;
}

}  // namespace

void add_run(CLI::App& app, Action& chosen, const TypedLine& line) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* const verb =
      app.add_subcommand("run", "Run a job and wait until it ends: -- COMMAND ARGS...");
  add_common(*verb, arguments->common);
  add_job_options(*verb, arguments->job, line.words);
  add_detach_option(*verb, arguments->detach);
  verb->add_flag("--detach-on-hangup", arguments->detach_on_hangup,
                 "The job stays when this terminal closes, waiting or running; else it ends.");
  verb->footer(
      "Input, output, signals and the exit code pass through. --json prints the job to\n"
      "standard error when the job has ended. In a terminal ~d at the beginning of a line\n"
      "detaches: the job goes on, and berth attach returns to it.");
  verb->callback([=, &chosen, &line] {
    chosen = [=, &line] {
      auto words = command_words(verb->remaining(), line.from_dashes);
      if (!words) return report_usage(words.error().message);
      arguments->job.command = std::move(*words);
      if (const auto lost = warning_of_words_behind(verb->remaining(), arguments->job);
          !lost.empty()) {
        report_failure(lost);
      }
      return run_job(*arguments);
    };
  });
}

}  // namespace berth::cli
