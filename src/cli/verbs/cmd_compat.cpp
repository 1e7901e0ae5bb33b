#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "cli/ask/each_job.hpp"
#include "cli/job/compat.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_pages.hpp"

namespace berth::cli {

namespace {

constexpr const char* kHelp =
    "Take a command line of another queue, with its common options, and do the same in berth.\n"
    "Usage: berth compat tsp|ts|gbatch WORDS...\n\n"
    "Examples:\n"
    "  # task-spooler's, also as an alias: alias tsp='berth compat tsp'\n"
    "  berth compat tsp -G 1 -L train python train.py\n"
    "  # gflow's\n"
    "  berth compat gbatch --gpus 1 python train.py\n\n"
    "man berth-compat says more.\n";

/// One word for each job, for `while [ "$(tsp -s 7)" = running ]`.
int print_state(const std::string& handle) {
  const JobChoice choice = {.typed = {handle}, .users = {}};
  if (const auto fine = check_choice(choice); !fine) return report_usage(fine.error().message);
  auto daemon = Daemon::open(CommonOptions());
  if (!daemon) return report_failure(daemon.error().message);
  const auto jobs = chosen_jobs(*daemon, choice, Arrays::InTasks);
  if (!jobs) return jobs.error();
  std::string text;
  for (const Json& job : *jobs) text += spooler_state(job) + "\n";
  return print(text);
}

constexpr std::size_t kLookedAt = 100;  ///< Jobs that have ended: the latest may never have begun.

/// The handle of this user's job with the largest number, ended or not; "" for none.
Expected<std::string> last_job(LastJob which) {
  auto daemon = Daemon::open(CommonOptions());
  if (!daemon) return std::unexpected(daemon.error());
  JobFilter filter;
  filter.users.insert(geteuid());
  Json last;
  const auto use = [&](const std::vector<Json>& jobs) {
    for (const Json& job : jobs) {
      const std::string state = spooler_state(job);
      if (which == LastJob::Run && (state == "queued" || state == "skipped")) continue;
      if (last.is_null() || integer_of(last, "id") < integer_of(job, "id")) last = job;
    }
    return true;
  };
  JobPages pages(*daemon, filter, use, {.arrays = Arrays::Whole, .form = JobPages::Form::Brief});
  if (const auto done = pages.live(); !done) return std::unexpected(done.error());
  if (const auto done = pages.latest_ended(kLookedAt); !done) return std::unexpected(done.error());
  return last.is_null() ? "" : handle_of(last);
}

/// As if what it means had been typed.
int compat(const std::vector<std::string>& typed) {
  if (!typed.empty() && (typed.front() == "--help" || typed.front() == "-h")) return print(kHelp);
  if (typed.empty()) return report_usage("compat: of which queue? valid: tsp, ts, gbatch");
  const char* const conda = std::getenv("CONDA_DEFAULT_ENV");
  auto made = from_queue(typed.front(), std::span(typed).subspan(1),
                         {.script_of = gflow_script, .conda = conda == nullptr ? "" : conda});
  if (!made) return report_usage(made.error().message);
  for (const std::string& note : made->notes) report_failure(note);
  if (made->of_last != LastJob::None) {
    const auto last = last_job(made->of_last);
    if (!last) return report_failure(last.error().message);
    if (last->empty()) return report_failure(typed.front() + ": there is no such job of yours");
    made->wants_state ? void(made->state_of = *last) : made->words.push_back(*last);
  }
  if (made->wants_state) return print_state(made->state_of);
  if (!made->hint.empty() && isatty(STDERR_FILENO) == 1) report_failure(made->hint);
  if (!made->after_last.empty()) {
    const auto last = last_job(LastJob::Added);
    if (!last) return report_failure(last.error().message);
    if (!last->empty()) made->words.insert(made->words.begin() + 1, {made->after_last, *last});
  }
  made->words.insert(made->words.begin(), "berth");
  std::vector<char*> words;
  for (std::string& word : made->words) words.push_back(word.data());
  words.push_back(nullptr);
  return run(static_cast<int>(made->words.size()), words.data());
}

}  // namespace

void add_compat(CLI::App& app, Action& chosen, const TypedLine& line) {
  CLI::App* const verb = app.add_subcommand(
      "compat", "Take a command line of another queue: compat tsp|ts|gbatch WORDS...");
  verb->prefix_command();
  verb->set_help_flag();
  verb->callback([=, &chosen, &line] {
    chosen = [=, &line] {
      std::vector<std::string> typed = verb->remaining();
      typed.insert(typed.end(), line.from_dashes.begin(), line.from_dashes.end());
      return compat(typed);
    };
  });
}

}  // namespace berth::cli
