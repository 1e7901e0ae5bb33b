#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/each_job.hpp"
#include "cli/job_pages.hpp"
#include "cli/job_text.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

int show(const EachJob& arguments) {
  if (const auto fine = check_choice(arguments.choice); !fine) {
    return report_usage(fine.error().message);
  }
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto jobs = chosen_jobs(*daemon, arguments.choice, Among::All);
  if (!jobs) return jobs.error();
  int code = 0;
  Json all = Json::array();
  std::string text;
  std::optional<Starts> starts;  // asked for once something waits
  for (const std::uint64_t id : *jobs) {
    auto job = daemon->get(job_target(id));
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
  const bool is_one = jobs->size() == 1;
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
