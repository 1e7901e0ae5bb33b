#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/print/amounts.hpp"
#include "cli/print/output.hpp"
#include "cli/print/table_forms.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_pages.hpp"
#include "cli/tell/job_text.hpp"

namespace berth::cli {

namespace {

struct HistoryArguments {
  CommonOptions common;
  std::vector<std::string> users;
  std::vector<std::string> states;
  std::vector<std::string> names;
  bool mine = false;
  bool csv = false;
  std::string since;
  std::size_t most = 0;
};

constexpr std::size_t kUsualMost = 50;
constexpr std::size_t kMostRows = 1'000'000'000;

Expected<JobFilter> filter_of(const HistoryArguments& arguments) {
  JobFilter filter;
  filter.names = arguments.names;
  if (arguments.mine) filter.users.insert(geteuid());
  for (const std::string& name : arguments.users) {
    const auto user = user_number(name);
    if (!user) return std::unexpected(user.error());
    filter.users.insert(*user);
  }
  if (auto done = add_states(filter, arguments.states); !done) return std::unexpected(done.error());
  return filter;
}

double ran_of(const Json& job) {
  if (const auto run = number_of(job, "run_seconds")) return std::max(0.0, *run);
  const auto started = number_of(job, "started_at");
  const auto ended = number_of(job, "ended_at");
  return started && ended ? std::max(0.0, *ended - *started) : 0.0;
}

double waited_of(const Json& job) {
  const auto submitted = number_of(job, "submitted_at");
  const auto began = number_of(job, "started_at");
  const auto until = began ? began : number_of(job, "ended_at");
  return submitted && until ? std::max(0.0, *until - *submitted) : 0.0;
}

std::string name_of(const Json& job) {
  const std::string name = text_of(job, "name");
  return printable(name.empty() ? text_of(job, "command_line") : name);
}

std::string table_of(const std::vector<Json>& jobs) {
  const auto energy_of = [](const Json& job) {
    return energy_text(number_of(job, "energy_joules"));
  };
  const bool has_energy =
      std::ranges::any_of(jobs, [&](const Json& job) { return !energy_of(job).empty(); });
  std::vector<Table::Column> columns = {{"ID", Align::Right},
                                        {.title = "NAME", .least = 10},
                                        {.title = "USER", .least = 8},
                                        {"STATE"},
                                        {.title = "GPUS", .align = Align::Right, .drop = 1},
                                        {.title = "ASKED", .align = Align::Right},
                                        {.title = "PEAK", .align = Align::Right}};
  if (has_energy) columns.push_back({.title = "ENERGY", .align = Align::Right, .drop = 2});
  columns.push_back({.title = "WAITED", .align = Align::Right, .drop = 3});
  columns.push_back({.title = "RAN", .align = Align::Right});
  columns.push_back({"ENDED"});
  Table table(std::move(columns));
  for (const Json& job : jobs) {
    const std::int64_t gpus = integer_of(job, "gpu_count").value_or(0);
    const Json& asked = part_of(job, "vram_bytes");
    const std::string whole = gpus == 0 ? "-" : "whole";
    std::vector<Cell> row = {{printable(handle_of(job))},
                             {cut(name_of(job), 32)},
                             {printable(text_of(job, "user_name"))},
                             {printable(text_of(job, "state"))},
                             {std::to_string(gpus)},
                             {asked.is_null() ? whole : size_text(asked)},
                             {size_text(part_of(job, "peak_bytes"))}};
    const std::string energy = energy_of(job);
    if (has_energy) row.push_back({energy.empty() ? "-" : energy});
    row.push_back({elapsed_text(waited_of(job))});
    row.push_back({elapsed_text(ran_of(job))});
    row.push_back({instant_text(number_of(job, "ended_at")).substr(0, 16)});
    table.add(std::move(row));
  }
  return table.text(look_of(STDOUT_FILENO));
}

/// Those of sweeps, each once, in the order of the jobs.
std::vector<std::string> parameters_of(const std::vector<Json>& jobs) {
  std::vector<std::string> names;
  for (const Json& job : jobs) {
    for (const auto& [name, value] : part_of(job, "parameters").items()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::string csv_of(const std::vector<Json>& jobs) {
  std::vector<std::string> header = {"id",           "name",       "user",       "state",
                                     "exit_code",    "gpus",       "vram_bytes", "peak_bytes",
                                     "submitted_at", "started_at", "ended_at",   "energy_joules",
                                     "run_seconds",  "handle",     "array"};
  const std::vector<std::string> parameters = parameters_of(jobs);
  for (const std::string& name : parameters) header.push_back("param_" + name);
  std::string text = csv_line(header);
  const auto plain = [](const Json& value) {
    return value.is_null()     ? std::string()
           : value.is_string() ? value.get<std::string>()
                               : value.dump();
  };
  for (const Json& job : jobs) {
    std::vector<std::string> row = {plain(part_of(job, "id")), name_of(job)};
    for (const char* const key :
         {"user_name", "state", "exit_code", "gpu_count", "vram_bytes", "peak_bytes",
          "submitted_at", "started_at", "ended_at", "energy_joules"}) {
      row.push_back(plain(part_of(job, key)));
    }
    row.push_back(number_of(job, "started_at") ? Json(ran_of(job)).dump() : "");
    row.push_back(plain(Json(handle_of(job))));
    row.push_back(plain(part_of(job, "array")));
    for (const std::string& name : parameters) {
      row.push_back(plain(part_of(part_of(job, "parameters"), name.c_str())));
    }
    text += csv_line(row);
  }
  return text;
}

int history(const HistoryArguments& arguments) {
  const auto filter = filter_of(arguments);
  if (!filter) return report_usage(filter.error().message);
  double from = 0.0;
  if (!arguments.since.empty()) {
    const auto since = parse_since(arguments.since, wall_now());
    if (!since) return report_usage(since.error().message);
    from = *since;
  }
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  std::vector<Json> jobs;
  const auto use = [&](std::vector<Json> some) {
    for (Json& job : some) {
      if (number_of(job, "ended_at").value_or(0.0) >= from) jobs.push_back(std::move(job));
    }
    return true;
  };
  JobPages pages(*daemon, *filter, use, {});
  // What is read by a program or a table of sums is not cut without a word.
  const bool is_all = arguments.most == 0 && (!arguments.since.empty() || arguments.csv);
  const auto done =
      is_all ? pages.ended() : pages.latest_ended(arguments.most > 0 ? arguments.most : kUsualMost);
  if (!done) return report_failure(done.error().message);
  if (arguments.common.json) return print(json_text({{"jobs", jobs}}));
  return print(arguments.csv ? csv_of(jobs) : table_of(jobs));
}

}  // namespace

void add_history(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<HistoryArguments>();
  CLI::App* const verb = app.add_subcommand(
      "history", "List jobs that ended, the latest last: what they asked for, held at most, took.");
  add_common(*verb, arguments->common);
  verb->add_option("--since", arguments->since,
                   "Only jobs that ended in the last 7d, or since a day, as 2026-11-01; all.");
  verb->add_option("-n", arguments->most,
                   "List this many at most, the latest. [50; with --since or --csv all]")
      ->check(CLI::Range(std::size_t{1}, kMostRows));
  verb->add_option("-u,--user", arguments->users, "Only jobs of this user, by name or number.");
  verb->add_flag("--mine,--me", arguments->mine, "Only your own jobs.");
  verb->add_option("-s,--state", arguments->states, "Only jobs that ended so: failed,oom.");
  verb->add_option("--name", arguments->names, "Only jobs with a name like this: train-*.");
  verb->add_flag("--csv", arguments->csv, "Print comma-separated values.");
  verb->callback([=, &chosen] { chosen = [=] { return history(*arguments); }; });
}

}  // namespace berth::cli
