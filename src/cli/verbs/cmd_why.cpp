#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/ask/each_job.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/slurm/ask_slurm.hpp"
#include "cli/slurm/slurm_pages.hpp"
#include "cli/tell/job_text.hpp"
#include "cli/tell/why_text.hpp"

namespace berth::cli {

namespace {

/// Of a cluster on which Slurm schedules.
int why_in_slurm(const EachJob& arguments) {
  const auto facts = ask_slurm();
  if (!facts) return report_failure(facts.error().message);
  auto jobs = slurm_jobs_named(*facts, arguments.choice.typed);
  if (!jobs) return report_failure(jobs.error().message);
  const SlurmView view{.facts = *facts, .now = slurm_now()};
  Json answers = Json::array();
  std::string text;
  for (const SlurmJob& job : *jobs) {
    text += (text.empty() ? "" : "\n") + slurm_why_page(job, view, look_of(STDOUT_FILENO));
    answers.push_back(slurm_why_json(job, view));
  }
  return print(arguments.common.json ? json_text({{"jobs", answers}}) : text);
}

int why(const EachJob& arguments) {
  if (const auto fine = check_choice(arguments.choice); !fine) {
    return report_usage(fine.error().message);
  }
  if (is_for_slurm(arguments.common)) return why_in_slurm(arguments);
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto jobs = chosen_jobs(*daemon, arguments.choice, Arrays::Whole);
  if (!jobs) return jobs.error();
  int code = 0;
  Json answers = Json::array();
  std::string text;
  for (const Json& row : *jobs) {
    const auto answer = daemon->get(job_target(handle_of(row), "/why"));
    if (answer) {
      text += (text.empty() ? "" : "\n") + why_page(*answer, wall_now(), look_of(STDOUT_FILENO));
      answers.push_back(*answer);
    } else {
      code = report_failure(answer.error().message);
    }
  }
  const int printed = print(arguments.common.json ? json_text({{"jobs", answers}}) : text);
  return code != 0 ? code : printed;
}

}  // namespace

void add_why(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EachJob>();
  CLI::App* const verb = app.add_subcommand(
      "why", "Say why jobs wait, which jobs must end first, and when they start.");
  add_each_job(*verb, *arguments);
  verb->callback([=, &chosen] { chosen = [=] { return why(*arguments); }; });
}

}  // namespace berth::cli
