#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/ask/each_job.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_text.hpp"
#include "cli/tell/why_text.hpp"

namespace berth::cli {

namespace {

int why(const EachJob& arguments) {
  if (const auto fine = check_choice(arguments.choice); !fine) {
    return report_usage(fine.error().message);
  }
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
