#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/ask/each_job.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_pages.hpp"
#include "cli/tell/job_text.hpp"
#include "core/text/handle.hpp"

namespace berth::cli {

namespace {

/// By what is typed, and not by what is found: a program that asks for a range gets a list.
bool names_one(const JobChoice& choice) {
  if (choice.typed.size() != 1 || !choice.users.empty()) return false;
  const auto handles = parse_handles(choice.typed.front());
  if (!handles || handles->size() != 1) return false;
  const auto& what = handles->front().what;
  if (const auto* const jobs = std::get_if<NumberedJobs>(&what)) return jobs->is_one();
  const auto* const tasks = std::get_if<TasksOfArray>(&what);
  return tasks != nullptr && tasks->is_one();
}

int show(const EachJob& arguments) {
  if (const auto fine = check_choice(arguments.choice); !fine) {
    return report_usage(fine.error().message);
  }
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto jobs = chosen_jobs(*daemon, arguments.choice, Arrays::Whole);
  if (!jobs) return jobs.error();
  int code = 0;
  Json all = Json::array();
  std::string text;
  std::optional<Starts> starts;  // asked for once something waits
  for (const Json& row : *jobs) {
    auto job = daemon->get(job_target(handle_of(row)));
    if (!job) {
      code = report_failure(job.error().message);
      continue;
    }
    if (waits(*job)) {
      if (!starts) starts = Starts::ask(*daemon);
      starts->add_to(*job);
    }
    text += (text.empty() ? "" : "\n") + job_page(*job, wall_now(), look_of(STDOUT_FILENO));
    all.push_back(std::move(*job));
  }
  const bool is_one = names_one(arguments.choice);
  if (is_one && all.empty()) return code;
  const Json json = is_one ? all[0] : Json{{"jobs", all}};
  const int printed = print(arguments.common.json ? json_text(json) : text);
  return code != 0 ? code : printed;
}

}  // namespace

void add_show(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EachJob>();
  CLI::App* const verb = app.add_subcommand("show", "Print everything about jobs.");
  add_each_job(*verb, *arguments);
  verb->callback([=, &chosen] { chosen = [=] { return show(*arguments); }; });
}

}  // namespace berth::cli
