#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>

#include "cli/ask/each_job.hpp"
#include "cli/attend/attend.hpp"
#include "cli/print/verbs.hpp"

namespace berth::cli {

void add_detach_option(CLI::App& verb, DetachOption& option) {
  verb.add_option(
          "--detach-keys", option.typed,
          "Keys that detach a terminal: ~d at the beginning of a line, ctrl-p,ctrl-q, none. "
          "[$BERTH_DETACH_KEYS, ~d]")
      ->type_name("KEYS");
}

Expected<DetachKeys> detach_keys(const DetachOption& option) {
  const char* const variable = std::getenv("BERTH_DETACH_KEYS");
  const bool is_set = variable != nullptr && *variable != '\0';
  const std::string typed = option.typed.value_or(is_set ? variable : "~d");
  auto keys = DetachKeys::parse(typed);
  if (keys) return keys;
  return fail(keys.error().code, (option.typed ? "--detach-keys " : "BERTH_DETACH_KEYS ") + typed +
                                     ": " + keys.error().message);
}

namespace {

struct AttachArguments {
  CommonOptions common;
  std::string job;
  DetachOption detach;
};

int attach(const AttachArguments& arguments) {
  const auto keys = detach_keys(arguments.detach);
  if (!keys) return report_usage(keys.error().message);
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto jobs = chosen_rows(*daemon, {.typed = {arguments.job}, .users = {}}, Arrays::InTasks);
  if (!jobs) return report_failure(jobs.error().message);
  if (jobs->size() != 1) {
    return report_usage(arguments.job + ": " + std::to_string(jobs->size()) +
                        " jobs, and a terminal can be attached to one");
  }
  const Attended attended = attend_again(arguments.common, handle_of(jobs->front()), *keys);
  if (attended.broken_pipe) std::raise(SIGPIPE);
  return attended.code;
}

}  // namespace

void add_attach(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<AttachArguments>();
  CLI::App* const verb = app.add_subcommand(
      "attach", "Return to a job of yours that runs: its input, output and signals.");
  add_common(*verb, arguments->common);
  add_detach_option(*verb, arguments->detach);
  verb->add_option("JOB", arguments->job, "Number or name of the job.")->required();
  verb->footer(
      "If the job has not started yet, attach waits for that. A terminal that is attached to it\n"
      "already is detached. When this terminal closes, the job goes on. The exit code is the "
      "job's.\n"
      "A job of berth submit has no input: its output is shown, and Ctrl-C reaches the job.");
  verb->callback([=, &chosen] { chosen = [=] { return attach(*arguments); }; });
}

}  // namespace berth::cli
