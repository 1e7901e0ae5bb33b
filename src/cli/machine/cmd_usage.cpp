#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>

#include "cli/ask/daemon.hpp"
#include "cli/print/output.hpp"
#include "cli/print/table_forms.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_text.hpp"
#include "core/text/text.hpp"

namespace berth::cli {

namespace {

struct UsageArguments {
  CommonOptions common;
  std::string since = "30d";
  std::string by = "user";
  bool csv = false;
};

/// Of one row.
struct Sum {
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::int64_t oom = 0;
  std::int64_t other = 0;  ///< Cancelled, out of time, lost.
  std::int64_t running = 0;
  double gpu_hours = 0.0;
  double gib_hours = 0.0;
  std::int64_t peak = 0;
  std::optional<double> joules = std::nullopt;

  void add(const Json& group) {
    const Json& jobs = part_of(group, "jobs");
    const auto count = [&](const char* key) { return integer_of(jobs, key).value_or(0); };
    done += count("done");
    failed += count("failed");
    oom += count("oom");
    other += count("cancelled") + count("timeout") + count("lost");
    running += count("running");
    gpu_hours += number_of(group, "gpu_seconds").value_or(0.0) / 3600;
    gib_hours +=
        number_of(group, "memory_byte_seconds").value_or(0.0) / 3600 / static_cast<double>(1 << 30);
    peak = std::max(peak, integer_of(group, "peak_bytes").value_or(0));
    add_joules(number_of(group, "energy_joules"));
  }
  void add_joules(std::optional<double> more) {
    if (more) joules = joules.value_or(0.0) + *more;
  }
  std::vector<std::string> cells() const {
    const auto count = [](std::int64_t number) { return std::to_string(number); };
    return {hours_text(gpu_hours), hours_text(gib_hours), count(done), count(failed), count(oom),
            count(other),          count(running)};
  }
};

std::string key_of(const Json& group, const std::string& by) {
  const std::string user = printable(text_of(group, "user_name"));
  const std::string month = printable(text_of(group, "month"));
  if (by == "user") return user;
  return by == "month" ? month : month + " " + user;
}

std::string table_of(const std::map<std::string, Sum>& sums, const UsageArguments& arguments) {
  const std::string key = arguments.by == "user"    ? "USER"
                          : arguments.by == "month" ? "MONTH"
                                                    : "MONTH   USER";
  const bool has_energy =
      std::ranges::any_of(sums, [](const auto& entry) { return entry.second.joules.has_value(); });
  std::vector<Table::Column> columns = {
      {key},
      {"GPU-HOURS", Align::Right},
      {"GIB-HOURS", Align::Right},
      {"DONE", Align::Right},
      {"FAILED", Align::Right},
      {"OOM", Align::Right},
      {.title = "OTHER", .align = Align::Right, .drop = 1},
      {.title = "RUNNING", .align = Align::Right, .drop = 2},
  };
  if (has_energy) columns.push_back({.title = "ENERGY", .align = Align::Right, .drop = 3});
  columns.push_back({"PEAK", Align::Right});
  Table table(std::move(columns));
  Sum total;
  const auto add = [&](const std::string& name, const Sum& sum) {
    std::vector<Cell> row = {{name}};
    for (const std::string& cell : sum.cells()) row.push_back({cell});
    if (has_energy) row.push_back({sum.joules ? energy_text(sum.joules) : "-"});
    row.push_back({sum.peak > 0 ? to_text(Bytes(sum.peak)) : "-"});
    table.add(std::move(row));
  };
  for (const auto& [name, sum] : sums) {
    add(name, sum);
    total.done += sum.done, total.failed += sum.failed, total.oom += sum.oom;
    total.other += sum.other, total.running += sum.running;
    total.gpu_hours += sum.gpu_hours, total.gib_hours += sum.gib_hours;
    total.peak = std::max(total.peak, sum.peak);
    total.add_joules(sum.joules);
  }
  if (sums.size() > 1) add("all", total);
  return table.text(look_of(STDOUT_FILENO));
}

std::string csv_of(const std::map<std::string, Sum>& sums, const std::string& by) {
  std::string text = csv_line({by, "gpu_hours", "gib_hours", "done", "failed", "oom", "other",
                               "running", "peak_bytes", "energy_joules"});
  for (const auto& [name, sum] : sums) {
    std::vector<std::string> row = {name};
    for (const std::string& cell : sum.cells()) row.push_back(cell);
    row.push_back(sum.peak > 0 ? std::to_string(sum.peak) : "");
    row.push_back(sum.joules ? Json(*sum.joules).dump() : "");
    text += csv_line(row);
  }
  return text;
}

int usage(const UsageArguments& arguments) {
  const auto since = parse_since(arguments.since, wall_now());
  if (!since) return report_usage(since.error().message);
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto from = static_cast<std::int64_t>(std::floor(*since));
  const auto answer = daemon->get("/v1/usage?since=" + std::to_string(from));
  if (!answer) return report_failure(answer.error().message);
  if (arguments.common.json) return print(json_text(*answer));
  std::map<std::string, Sum> sums;
  const Json& groups = part_of(*answer, "groups");
  if (!groups.is_array()) return report_failure("berthd answers without groups");
  for (const Json& group : groups) sums[key_of(group, arguments.by)].add(group);
  return print(arguments.csv ? csv_of(sums, arguments.by) : table_of(sums, arguments));
}

}  // namespace

void add_usage(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<UsageArguments>();
  CLI::App* const verb = app.add_subcommand(
      "usage",
      "Sum up what users used: GPU-hours, GiB-hours of GPU memory, energy, outcomes of jobs.");
  add_common(*verb, arguments->common);
  verb->add_option("--since", arguments->since,
                   "From so long ago, as 12h or 30d, or from a day, as 2026-11-01. [30d]");
  verb->add_option("--by", arguments->by, "user, month, or month-user. [user]")
      ->check(CLI::IsMember({"user", "month", "month-user"}));
  verb->add_flag("--csv", arguments->csv, "Print comma-separated values.");
  verb->callback([=, &chosen] { chosen = [=] { return usage(*arguments); }; });
}

}  // namespace berth::cli
