#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/daemon.hpp"
#include "cli/job_text.hpp"
#include "cli/output.hpp"
#include "cli/submission.hpp"
#include "cli/verbs.hpp"
#include "cli/why_text.hpp"

namespace berth::cli {

namespace {

struct SubmitArguments {
  CommonOptions common;
  JobOptions job;
  bool dry_run = false;
};

std::string submitted_text(const Json& answer) {
  const auto id = std::to_string(integer_of(answer, "id").value_or(0));
  if (isatty(STDOUT_FILENO) == 0) return id + "\n";
  return "job " + id + " " + printable(text_of(answer, "state")) + "\n";
}

int try_out(const SubmitArguments& arguments, Daemon& daemon, const Json& body) {
  const auto answer = daemon.post("/v1/jobs?dry_run=true", body.dump());
  if (!answer) return report_failure(answer.error().message);
  if (arguments.common.json) return print(json_text(*answer));
  return print(dry_run_page(*answer, wall_now(), look_of(STDOUT_FILENO)));
}

int submit(const SubmitArguments& arguments) {
  const auto caller = this_caller();
  if (!caller) return report_failure(caller.error().message);
  const auto made = submission_of(arguments.job, *caller);
  if (!made) return report_usage(made.error().message);
  for (const std::string& warning : made->warnings) report_failure(warning);
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  if (arguments.dry_run) return try_out(arguments, *daemon, made->body);
  const auto answer = daemon->post("/v1/jobs", made->body.dump());
  if (!answer) return report_failure(answer.error().message);
  if (!integer_of(*answer, "id")) return report_failure("berthd gives the new job no number");
  report_warnings(*answer);
  return print(arguments.common.json ? json_text(*answer) : submitted_text(*answer));
}

}  // namespace

void add_submit(CLI::App& app, Action& chosen, const FromDashes& from_dashes) {
  auto arguments = std::make_shared<SubmitArguments>();
  CLI::App* const verb =
      app.add_subcommand("submit", "Queue a job and print its number: -- COMMAND ARGS...");
  add_common(*verb, arguments->common);
  add_job_options(*verb, arguments->job);
  verb->add_flag("--dry-run", arguments->dry_run,
                 "Submit nothing; say whether the job would start now, else when and why.");
  verb->add_flag("--hold", arguments->job.hold,
                 "Keep the job from starting until `berth release`.");
  verb->callback([=, &chosen, &from_dashes] {
    chosen = [=, &from_dashes] {
      auto words = command_words(verb->remaining(), from_dashes);
      if (!words) return report_usage(words.error().message);
      arguments->job.command = std::move(*words);
      return submit(*arguments);
    };
  });
}

}  // namespace berth::cli
