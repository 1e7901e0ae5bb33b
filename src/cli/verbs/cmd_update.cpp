#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "cli/ask/each_job.hpp"
#include "cli/job/begin_time.hpp"
#include "cli/job/submission.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_text.hpp"
#include "core/base/limits.hpp"

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

/// The least priority with which the chosen jobs go before the other waiting ones of their users.
std::int64_t first_priority(const std::vector<Json>& chosen, const std::vector<Json>& all) {
  const auto priority_of = [](const Json& job) { return integer_of(job, "priority").value_or(0); };
  std::set<std::string> names;
  std::int64_t least = 0;
  for (const Json& job : chosen) {
    names.insert(handle_of(job));
    least = std::max(least, priority_of(job));
  }
  for (const Json& job : all) {
    if (waits(job) && !names.contains(handle_of(job)))
      least = std::max(least, priority_of(job) + 1);
  }
  return least;
}

/// Those of the users whose jobs these are, which have not ended.
std::expected<std::vector<Json>, int> jobs_beside(Daemon& daemon, const std::vector<Json>& chosen) {
  std::set<std::int64_t> users;
  for (const Json& job : chosen) users.insert(integer_of(job, "user").value_or(0));
  JobChoice theirs;
  for (const std::int64_t user : users) theirs.users.push_back(std::to_string(user));
  return chosen_jobs(daemon, theirs, Arrays::InTasks);
}

int put_first(const EachJob& arguments) {
  if (const auto fine = check_choice(arguments.choice); !fine) {
    return report_usage(fine.error().message);
  }
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto chosen = chosen_jobs(*daemon, arguments.choice, Arrays::InTasks);
  if (!chosen) return chosen.error();
  const auto all = jobs_beside(*daemon, *chosen);
  if (!all) return all.error();
  const std::int64_t priority = first_priority(*chosen, *all);
  if (priority > limits::kMostPriority) {
    return report_failure("another job has the largest priority, " +
                          std::to_string(limits::kMostPriority) +
                          "; give it a smaller one: berth update JOB --priority N");
  }
  const auto words = [](const Json& job) {
    const std::string state = printable(text_of(job, "state"));
    return "next" + (state == "starting" ? std::string("; it starts now") : ", " + state);
  };
  const auto answer = change_jobs(arguments, "update", {{"priority", priority}});
  return answer ? print_changes(arguments, *answer, words) : answer.error();
}

}  // namespace

void add_next(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EachJob>();
  CLI::App* const verb =
      app.add_subcommand("next", "Let jobs go before the other waiting ones of their user.");
  add_each_job(*verb, *arguments);
  verb->callback([=, &chosen] { chosen = [=] { return put_first(*arguments); }; });
}

void add_update(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<UpdateArguments>();
  CLI::App* const verb = app.add_subcommand("update", "Change jobs that wait to start.");
  add_each_job(*verb, arguments->each);
  add_update_options(*verb, arguments->job);
  verb->callback([=, &chosen] { chosen = [=] { return update_jobs(*arguments); }; });
}

}  // namespace berth::cli
