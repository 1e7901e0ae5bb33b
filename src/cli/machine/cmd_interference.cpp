#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "cli/ask/daemon.hpp"
#include "cli/print/output.hpp"
#include "cli/print/table_forms.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_text.hpp"

namespace berth::cli {

namespace {

/// As 0.70.
std::string speed_text(std::optional<double> speed) {
  if (!speed) return "-";
  const auto hundredths = static_cast<std::int64_t>(std::lround(*speed * 100));
  const std::string rest = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + (rest.size() < 2 ? ".0" : ".") + rest;
}

void add_row(Table& table, const std::string& one, const std::string& other, const Json& row) {
  const Json& counts = part_of(row, "counts");
  table.add({{one},
             {other},
             {speed_text(number_of(row, "speed"))},
             {speed_text(number_of(row, "spread"))},
             {std::to_string(integer_of(row, "runs").value_or(0))},
             {counts.is_boolean() && counts.get<bool>() ? "" : "too few runs"}});
}

std::string text_of_answer(const Json& answer) {
  const Json& pairs = part_of(answer, "pairs");
  if (!pairs.is_array() || pairs.empty()) {
    const std::int64_t alone = integer_of(answer, "programs").value_or(0);
    return "Nothing is known yet of how jobs slow each other: no program was seen both alone and "
           "beside one other. Run times alone are known of " +
           std::to_string(alone) + (alone == 1 ? " program.\n" : " programs.\n");
  }
  const auto table_with = [](const char* one, const char* other) {
    return Table({{one},
                  {other},
                  {"SPEED", Align::Right},
                  {"+-", Align::Right},
                  {"RUNS", Align::Right},
                  {"NOTE"}});
  };
  Table table = table_with("PROGRAM", "BESIDE");
  for (const Json& pair : pairs) {
    add_row(table, printable(text_of(pair, "program")), printable(text_of(pair, "beside")), pair);
  }
  std::string text = table.text(look_of(STDOUT_FILENO));
  const Json& by_busy = part_of(answer, "by_busy");
  if (!by_busy.is_array() || by_busy.empty()) return text;
  Table other = table_with("BUSY", "BESIDE");
  for (const Json& row : by_busy) {
    const auto percent = [&](const char* key) {
      return std::to_string(integer_of(row, key).value_or(0)) + " %";
    };
    add_row(other, percent("busy_percent"), percent("beside_percent"), row);
  }
  return text + "\n" + other.text(look_of(STDOUT_FILENO));
}

int interference(const CommonOptions& common) {
  auto daemon = Daemon::open(common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto answer = daemon->get("/v1/interference");
  if (!answer) return report_failure(answer.error().message);
  return print(common.json ? json_text(*answer) : text_of_answer(*answer));
}

}  // namespace

void add_interference(CLI::App& app, Action& chosen) {
  auto common = std::make_shared<CommonOptions>();
  CLI::App* const verb = app.add_subcommand(
      "interference", "List how much programs slow each other on one GPU, as berthd learned it.");
  add_common(*verb, *common);
  verb->callback([=, &chosen] { chosen = [=] { return interference(*common); }; });
}

}  // namespace berth::cli
