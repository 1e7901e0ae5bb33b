#include "cli/tell/job_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "cli/ask/daemon.hpp"
#include "cli/ask/job_choice.hpp"
#include "cli/print/amounts.hpp"
#include "cli/print/option_words.hpp"
#include "cli/tell/own_zone.hpp"
#include "core/text/job_fields.hpp"
#include "core/text/text.hpp"

namespace berth::cli {

namespace {

int group_of(const Json& job) {
  if (has_ended(job)) return 2;
  return waits(job) ? 1 : 0;
}

Colour colour_of(const Json& job) {
  const std::string state = text_of(job, "state");
  if (state == "done") return Colour::Dim;
  if (has_ended(job)) return Colour::Red;
  return waits(job) ? Colour::Yellow : Colour::Green;
}

std::string or_dash(std::string text) { return text.empty() ? "-" : std::move(text); }

std::string number_text(const Json& value) { return value.is_number() ? value.dump() : "-"; }

/// `139 (SIGSEGV)`.
std::string code_text(const Json& code) {
  constexpr std::string_view kExit = "exit ";
  return code.is_number_integer() ? exit_text(code.get<std::int64_t>()).substr(kExit.size()) : "-";
}

std::string label_of(const Json& job) {
  const std::string name = text_of(job, "name");
  const std::string label = printable(name.empty() ? text_of(job, "command_line") : name);
  return or_dash(cut(label, 32));
}

/// `0,1`, without blanks, so that a script finds one column.
std::string index_list(const Json& gpus, const char* between) {
  std::string text;
  if (!gpus.is_array()) return text;
  for (const Json& gpu : gpus) text += (text.empty() ? "" : between) + number_text(gpu);
  return text;
}

/// `gpu-failure, exit 75`.
std::string causes_text(const Json& causes) {
  std::string text;
  if (!causes.is_array()) return text;
  for (const Json& cause : causes) {
    text += text.empty() ? "" : ", ";
    text += cause.is_string() ? printable(cause.get<std::string>()) : "exit " + number_text(cause);
  }
  return text;
}

/// `gets USR1 and 1m00s to save its state, then starts again`.
std::string saving_text(const Json& saving) {
  if (!saving.is_object()) return "";
  return "gets " + printable(text_of(saving, "signal")) + " and " +
         elapsed_text(number_of(saving, "grace_seconds").value_or(0)) +
         " to save its state, then starts again";
}

/// Those it has, or how many it asks for: `0,1` and `x2`.
std::string gpus_of(const Json& job) {
  const auto count = integer_of(job, "gpu_count").value_or(0);
  const std::string list = index_list(part_of(job, "gpus"), ",");
  if (!list.empty() && !waits(job)) return list;
  return count > 0 ? "x" + std::to_string(count) : "-";
}

std::string gpus_of_each(const Json& array) { return number_text(part_of(array, "gpu_count")); }

/// `7.5G`: as users type it, and one word.
std::string short_size(const Json& bytes) {
  std::string text = size_text(bytes);
  const std::size_t gap = text.find(' ');
  if (gap == std::string::npos) return text;
  return text.substr(0, gap) + (text[gap + 1] == 'B' ? "" : text.substr(gap + 1, 1));
}

bool is_memory_learned(const Json& job) { return !part_of(job, "vram_learned_bytes").is_null(); }

/// `8G*` if it is learned.
std::string vram_of(const Json& job) {
  if (integer_of(job, "gpu_count") == 0) return "-";
  if (is_memory_learned(job)) return short_size(part_of(job, "vram_learned_bytes")) + "*";
  if (part_of(job, "vram_bytes").is_null()) return "whole";
  return short_size(part_of(job, "vram_bytes"));
}

/// `+12G`, of what a job holds beyond its grant; "" for one that keeps to it.
std::string surplus_of(const Json& job) {
  const Json& surplus = part_of(job, "surplus_bytes");
  return surplus.is_null() ? "" : "+" + short_size(surplus);
}

/// `4G+12`: what was granted, and what it holds beyond.
std::string vram_and_surplus_of(const Json& job) {
  const std::string asked = vram_of(job);
  std::string surplus = surplus_of(job);
  if (!surplus.empty() && surplus.back() == asked.back()) surplus.pop_back();
  return asked + surplus;
}

/// How long it waits, or how long its latest run took, without suspensions.
std::string time_of(const Json& job, double now) {
  const auto submitted = number_of(job, "submitted_at");
  const auto started = number_of(job, "started_at");
  const auto ended = number_of(job, "ended_at");
  if (group_of(job) == 1) return submitted ? elapsed_text(now - *submitted) : "-";
  if (const auto run = number_of(job, "run_seconds")) return elapsed_text(*run);
  return started ? elapsed_text(ended.value_or(now) - *started) : "-";
}

/// What the note says beside the state: `cancelled, because ...` and `out of GPU memory: ran out of
/// GPU memory, asked 4 GiB` say it twice.
std::string note_beside_state(const Json& job) {
  std::string note = printable(text_of(job, "note"));
  for (const auto& [state, same] :
       {std::pair<std::string_view, std::string_view>{"oom", "ran out of GPU memory, "},
        {"cancelled", "cancelled, "}}) {
    if (text_of(job, "state") == state && note.starts_with(same)) return note.substr(same.size());
  }
  return note;
}

/// `6s, suspended 4s`: so that it agrees with when the job started and ended.
std::string run_text(const Json& job, double now) {
  std::string text = time_of(job, now);
  const auto ran = number_of(job, "run_seconds");
  const auto started = number_of(job, "run_started_at");
  if (!ran || !started || group_of(job) == 1) return text;
  const double suspended = number_of(job, "ended_at").value_or(now) - *started - *ran;
  if (suspended >= 1) text += ", suspended " + elapsed_text(suspended);
  const bool is_later = *started - number_of(job, "started_at").value_or(*started) >= 1;
  return text + (is_later ? ", since its latest start" : "");
}

/// `27 of 200 done, 1 failed, 8 running`.
std::string counts_text(const Json& array) {
  const Json& tasks = part_of(array, "tasks");
  const auto count_of = [&](const char* state) { return integer_of(tasks, state).value_or(0); };
  std::string text = std::to_string(count_of("done")) + " of " +
                     std::to_string(integer_of(array, "array_tasks").value_or(0)) + " done";
  for (const char* const state : {"failed", "oom", "timeout", "lost", "cancelled", "running",
                                  "starting", "stopping", "suspended", "held"}) {
    if (count_of(state) > 0) text += ", " + std::to_string(count_of(state)) + " " + state;
  }
  return text;
}

/// `27 of 200 done, 8 running, ends ~03:10`; while none runs why the next one waits.
std::string progress_text(const Json& array, double now, StartForm form) {
  std::string text = counts_text(array);
  const std::string brief = in_own_zone(printable(text_of(array, "reason_brief")), now);
  const std::string state = text_of(array, "state");
  const bool waits_all = state == "queued" || state == "deferred";
  if (waits_all && !brief.empty()) text += "; " + brief;
  const std::string start = waits_all ? start_text(array, now, form) : "";
  if (!start.empty()) text += ", " + start;
  const std::string hint = waits_all ? printable(options_of(part_of(array, "hint"))) : "";
  if (!hint.empty()) text += "; now with " + hint;
  if (const auto end = number_of(array, "predicted_end_at"); end && !has_ended(array)) {
    text += ", ends ~" + clock_text(*end, now);
  }
  for (const std::string& told :
       {printable(text_of(array, "tasks_note")), note_beside_state(array)}) {
    if (!told.empty()) text += "; " + told;
  }
  return text;
}

std::string why_of(const Json& job, double now, StartForm form) {
  if (is_array_row(job)) return progress_text(job, now, form);
  const std::string brief = text_of(job, "reason_brief");
  const std::string reason = brief.empty() ? text_of(job, "reason") : brief;
  const std::string note = text_of(job, "note");
  const auto code = integer_of(job, "exit_code");
  if (!has_ended(job)) {
    const std::string start = start_text(job, now, form);
    const std::string hint = printable(options_of(part_of(job, "hint")));
    return in_own_zone(printable(reason), now) + (reason.empty() || start.empty() ? "" : ", ") +
           start + (hint.empty() ? "" : "; now with " + hint);
  }
  const std::string state = text_of(job, "state");
  if (state != "failed" && state != "done") return ending(job);
  const std::string exit = code && *code != 0 ? exit_text(*code) : "";
  const std::string peak = short_size(part_of(job, "peak_bytes"));
  if (state == "done" && note.empty() && peak != "-") return "peak " + peak;
  return printable(exit + (exit.empty() || note.empty() ? "" : ": ") + note);
}

std::string seconds_or_dash(std::optional<double> seconds) {
  return seconds ? elapsed_text(*seconds) : "-";
}

/// `1 h 10 m (learned from 12 runs of this program)`.
std::string estimate_text(const Json& job) {
  const auto seconds = number_of(job, "estimate_seconds");
  if (!seconds) return has_ended(job) ? "" : "unknown";
  const auto runs = integer_of(job, "estimate_learned_from");
  if (!runs) return elapsed_text(*seconds);
  return elapsed_text(*seconds) + " (learned from " + std::to_string(*runs) +
         (*runs == 1 ? " run" : " runs") + " of this program)";
}

/// Words as a shell would take them.
std::string command_text(const Json& command) {
  if (!command.is_array()) return "-";
  std::string line;
  for (const Json& word : command) {
    if (!word.is_string()) continue;
    std::string text = word.get<std::string>();
    constexpr auto plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_";
    if (text.empty() || text.find_first_not_of(plain) != std::string::npos) {
      for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) {
        text.replace(at, 1, "'\\''");
      }
      text.insert(0, 1, '\'').push_back('\'');
    }
    line += (line.empty() ? "" : " ") + text;
  }
  return printable(line);
}

/// A script of sbatch's stands within thousands of bytes of a shell's that keeps it
/// (clients/slurm/slurm_commands/sbatch.py): its path or name, and its arguments. Any other command
/// as it is.
std::string job_command_text(const Json& command) {
  constexpr std::string_view kKeeper = "# berth's keeper of a batch script\n# asked ";
  constexpr std::string_view kWrapped =
      "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n";
  constexpr std::size_t kArguments = 9;
  const auto word = [&](std::size_t i) {
    return command[i].is_string() ? command[i].get<std::string>() : std::string();
  };
  if (!command.is_array() || command.size() < kArguments || !word(2).starts_with(kKeeper)) {
    return command_text(command);
  }
  std::string asked = word(2).substr(kKeeper.size());
  asked.resize(std::min(asked.find('\n'), asked.size()));
  const auto noted = parse_json(asked);
  const std::string path = noted ? text_of(*noted, "script") : "";
  const std::string text = word(4);
  Json shown = {"sbatch"};
  if (text.starts_with(kWrapped)) {
    shown.push_back("--wrap");
    shown.push_back(text.substr(kWrapped.size(), text.size() - kWrapped.size() - 1));
  } else {
    shown.push_back(path.empty() ? word(3) : path);
  }
  for (std::size_t i = kArguments; i < command.size(); ++i) shown.push_back(command[i]);
  return command_text(shown);
}

std::string attempt_lines(const Json& attempts, const Look& look) {
  if (!attempts.is_array() || attempts.empty()) return "";
  Table table({{"ATTEMPT", Align::Right},
               {"GPUS"},
               {.title = "PEAK", .align = Align::Right, .drop = 1},
               {.title = "STARTED", .drop = 2},
               {"ENDED"},
               {"OUTCOME"},
               {"NOTE"}});
  for (const Json& attempt : attempts) {
    const auto code = part_of(attempt, "exit_code");
    std::string outcome = printable(text_of(attempt, "outcome"));
    const bool says_it = outcome == "preempted" || outcome == "timeout" || outcome == "cancelled";
    if (code.is_number_integer() && code != 0 && !says_it) outcome += " (" + code.dump() + ")";
    table.add({{number_text(part_of(attempt, "attempt"))},
               {or_dash(index_list(part_of(attempt, "gpus"), ","))},
               {short_size(part_of(attempt, "peak_bytes"))},
               {instant_text(number_of(attempt, "started_at"))},
               {instant_text(number_of(attempt, "ended_at"))},
               {or_dash(outcome)},
               {printable(text_of(attempt, "note"))}});
  }
  return table.text(look);
}

std::string report_lines(const Json& reports) {
  std::string text;
  if (!reports.is_object()) return text;
  for (const auto& [key, value] : reports.items()) {
    text += "  " + printable(key) + " " + number_text(value) + "\n";
  }
  return text;
}

std::string used_text(const Json& used) {
  std::string text;
  if (!used.is_object()) return text;
  for (const auto& [gpu, bytes] : used.items()) {
    text += (text.empty() ? "" : ", ") + size_text(bytes) + " on GPU " + printable(gpu);
  }
  return text;
}

/// `7 (after-ok), 9 (after-any)`.
std::string after_text(const Json& after) {
  std::string text;
  if (!after.is_array()) return text;
  std::string last;
  for (const Json& one : after) {
    const Json& array = part_of(one, "array");
    const std::string named =
        array.is_null() ? number_text(part_of(one, "job")) : "array " + number_text(array);
    const std::string condition = named + " (" + printable(text_of(one, "when")) + ")";
    if (condition == last) continue;  // another job of the array
    text += (text.empty() ? "" : ", ") + condition;
    last = condition;
  }
  return text;
}

bool is_there(const Json& job, const char* key) { return !part_of(job, key).is_null(); }

void add_request(Page& page, const Json& job) {
  page.line("gpus", gpus_of(job));
  const bool is_whole = vram_of(job) == "whole";
  const std::string vram = is_memory_learned(job)
                               ? size_text(part_of(job, "vram_learned_bytes")) +
                                     " (learned from earlier runs of this program)"
                               : size_text(part_of(job, "vram_bytes"));
  page.line("vram per GPU", is_whole ? "whole" : vram);
  if (is_set(job, "exclusive")) page.line("exclusive", "yes");
  if (is_set(job, "adopted")) page.line("started by", "hand, and adopted (berth adopt)");
  if (is_there(job, "suspend")) page.line("suspend", is_set(job, "suspend") ? "yes" : "no");
  const Json& surplus = part_of(job, "surplus_bytes");
  page.line("charged", size_text(part_of(job, "charge_bytes")) +
                           (surplus.is_null() ? ""
                                              : ", of which " + size_text(surplus) +
                                                    " beyond what it was granted"));
  page.line("used", used_text(part_of(job, "used_bytes")));
  page.line("peak", size_text(part_of(job, "peak_bytes")));
  page.line("energy", energy_text(number_of(job, "energy_joules")));
  page.line("advice", memory_advice(job));
  page.line("links", printable(text_of(job, "links_line")));
  page.line("memory limit", printable(text_of(job, "memory_limit_line")));
  if (is_there(job, "warning_signal")) {
    page.line("signal", printable(text_of(job, "warning_signal")) + " " +
                            seconds_or_dash(number_of(job, "warning_seconds")) +
                            " before the time limit");
  }
  page.line("notify", printable(text_of(job, "notify")));
  page.line("not notified", printable(text_of(job, "notify_failure")));
  page.line("host limits", printable(text_of(job, "host_limits")));
  page.line("device files", printable(text_of(job, "device_files")));
  if (number_of(job, "cpus") > 0.0) page.line("cpus", number_text(part_of(job, "cpus")));
  if (integer_of(job, "mem_bytes") > 0) page.line("mem", size_text(part_of(job, "mem_bytes")));
  page.line("class", printable(text_of(job, "class")));
  page.line("time limit", seconds_or_dash(number_of(job, "time_limit_seconds")));
  if (is_there(job, "ends_by_at")) {
    page.line("ends by", instant_text(number_of(job, "ends_by_at")));
  }
  page.line("among", gpu_list(part_of(job, "gpu_indices")));
  for (const JobField& field : kJobFields) {
    const std::string key(field.name);
    if (field.title.empty() || !is_there(job, key.c_str())) continue;
    page.line(std::string(field.title),
              field.kind == FieldKind::Text     ? printable(text_of(job, key.c_str()))
              : field.kind == FieldKind::Moment ? instant_text(number_of(job, key.c_str()))
                                                : number_text(part_of(job, key.c_str())));
  }
  page.line("after", after_text(part_of(job, "after")));
  if (is_there(job, "array")) {
    page.line("array", number_text(part_of(job, "array")) + ", task " +
                           number_text(part_of(job, "array_task")) + ", one of " +
                           number_text(part_of(job, "array_tasks")));
  }
  if (is_there(job, "unique")) page.line("key", printable(text_of(job, "unique")));
  page.line("requeue on", causes_text(part_of(job, "requeue_on")));
  page.line("on preempt", saving_text(part_of(job, "on_preempt")));
  if (is_there(job, "snapshot")) page.line("snapshot", printable(text_of(job, "snapshot")));
  if (is_there(job, "output")) page.line("output file", printable(text_of(job, "output")));
  page.line("estimate", estimate_text(job));
}

void add_times(Page& page, const Json& job, double now) {
  page.line("submitted", instant_text(number_of(job, "submitted_at")));
  page.line("started", instant_text(number_of(job, "started_at")));
  page.line("ended", instant_text(number_of(job, "ended_at")));
  page.line(group_of(job) == 1 ? "age" : "ran for", run_text(job, now));
}

}  // namespace

bool is_array_row(const Json& job) { return part_of(job, "tasks").is_object(); }

bool waits(const Json& job) {
  const std::string state = text_of(job, "state");
  return state == "queued" || state == "held" || state == "deferred" || state == "suspended";
}

std::string clock_text(double instant, double now) {
  if (!(instant >= 0 && instant <= 1e11)) return "-";
  const auto at = static_cast<std::time_t>(instant);
  const auto today = static_cast<std::time_t>(now);
  std::tm parts{};
  std::tm now_parts{};
  localtime_r(&at, &parts);
  localtime_r(&today, &now_parts);
  constexpr double kWeek = 6.0 * 86400;
  const bool is_today = parts.tm_yday == now_parts.tm_yday && parts.tm_year == now_parts.tm_year;
  const bool is_near = instant - now < kWeek && now - instant < kWeek;
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(),
                is_today  ? "%H:%M"
                : is_near ? "%a %H:%M"
                          : "%d %b",
                &parts);
  return text.data();
}

std::string energy_text(std::optional<double> joules) {
  constexpr double kWattHour = 3600;
  if (!joules || !(*joules >= 0 && *joules < 1e18)) return "";
  const double hours = *joules / kWattHour;
  std::array<char, 48> text{};
  if (hours < 1000) {
    std::snprintf(text.data(), text.size(), hours < 10 ? "%.2f Wh" : "%.1f Wh", hours);
  } else {
    std::snprintf(text.data(), text.size(), "%.2f kWh", hours / 1000);
  }
  return text.data();
}

std::string by_clock_text(double instant, double now) {
  constexpr double kMinute = 60;
  return clock_text(std::ceil(instant / kMinute) * kMinute, now);
}

std::string start_text(const Json& job, double now, StartForm form) {
  const auto at = number_of(job, "predicted_start_at");
  if (!at) return "";
  const std::string clock = clock_text(*at, now);
  if (text_of(job, "predicted_start_confidence") == "bound") return "by " + by_clock_text(*at, now);
  const auto by = form == StartForm::Interval ? number_of(job, "predicted_by_at") : std::nullopt;
  const bool look_alike = !by || clock_text(*by, now) == clock;
  return "~" + clock + (look_alike ? "" : ", by " + by_clock_text(*by, now));
}

void sort_for_reading(std::vector<Json>& jobs) {
  const auto key = [](const Json& job) {
    return std::pair(group_of(job), integer_of(job, "id").value_or(0));
  };
  std::ranges::stable_sort(jobs, {}, key);
}

Table job_table(Width width, Table::Rest rest) {
  // Above 5, a column goes before others are narrowed.
  std::vector<Table::Column> columns = {
      {"ID", Align::Right},          {.title = "NAME", .least = 10},
      {.title = "USER", .least = 8}, {"STATE"},
      {.title = "GPUS", .drop = 1},  {.title = "VRAM", .align = Align::Right, .drop = 2},
      {.title = "CLASS", .drop = 9}, {.title = "TIME", .align = Align::Right, .drop = 3}};
  if (width == Width::Wide) columns.push_back({.title = "LIMIT", .drop = 4});
  columns.push_back({"REASON"});
  return Table(std::move(columns), rest);
}

void add_row(Table& table, const Json& job, double now, Width width) {
  std::vector<Cell> cells = {{printable(handle_of(job))},
                             {label_of(job)},
                             {user_of(job)},
                             {or_dash(printable(text_of(job, "state"))), colour_of(job)},
                             {gpus_of(job)},
                             {vram_and_surplus_of(job)},
                             {or_dash(printable(text_of(job, "class")))},
                             {time_of(job, now)}};
  if (width == Width::Wide) cells.push_back({or_dash(printable(text_of(job, "memory_limit")))});
  const bool has_interval = number_of(job, "predicted_by_at").has_value();
  cells.push_back({why_of(job, now, StartForm::Moment), waits(job) ? Colour::None : Colour::Dim,
                   has_interval ? why_of(job, now, StartForm::Interval) : ""});
  table.add(std::move(cells));
}

namespace {

std::string failed_lines(const Json& failed, const Look& look) {
  if (!failed.is_array() || failed.empty()) return "";
  Table table({{"JOB"}, {"STATE"}, {"NOTE"}});
  for (const Json& job : failed) {
    const auto code = integer_of(job, "exit_code");
    const bool has_code = text_of(job, "state") == "failed" && code && *code != 0;
    const std::string note = printable(text_of(job, "note"));
    table.add({{printable(handle_of(job))},
               {printable(text_of(job, "state")), Colour::Red},
               {has_code ? exit_text(*code) + (note.empty() ? "" : ": " + note) : note}});
  }
  return table.text(look);
}

std::string array_page(const Json& array, double now, const Look& look) {
  Page page(look);
  page.line("array", number_text(part_of(array, "id")));
  page.line("name", printable(text_of(array, "name")));
  page.line("command", printable(text_of(array, "command_line")));
  page.line("user", user_of(array));
  page.line("state", printable(text_of(array, "state")), colour_of(array));
  page.line("tasks", counts_text(array));
  page.line("of these", printable(text_of(array, "tasks_note")));
  page.line("note", printable(text_of(array, "note")));
  page.line("exit code", code_text(part_of(array, "exit_code")));
  page.line("at once", number_text(part_of(array, "array_at_once")));
  page.line("next task", in_own_zone(printable(text_of(array, "reason")), now));
  page.line("next start", start_text(array, now, StartForm::Interval));
  if (const auto end = number_of(array, "predicted_end_at"); end && !has_ended(array)) {
    page.line("ends", "~" + clock_text(*end, now));
  }
  page.line("gpus each", gpus_of_each(array));
  page.line("vram per GPU", vram_of(array));
  page.line("class", printable(text_of(array, "class")));
  page.line("time limit", seconds_or_dash(number_of(array, "time_limit_seconds")));
  add_times(page, array, now);
  page.line("not notified", printable(text_of(array, "notify_failure")));
  page.block("not done", failed_lines(part_of(array, "failed_tasks"), look));
  return page.text();
}

}  // namespace

std::string job_page(const Json& job, double now, const Look& look) {
  if (is_array_row(job)) return array_page(job, now, look);
  Page page(look);
  page.line("job", printable(handle_of(job)));
  page.line("name", printable(text_of(job, "name")));
  page.line("command", job_command_text(part_of(job, "command")));
  page.line("directory", printable(text_of(job, "directory")));
  page.line("user", user_of(job));
  page.line("state", printable(text_of(job, "state")), colour_of(job));
  page.line("exit code", code_text(part_of(job, "exit_code")));
  page.line("reason", has_ended(job) ? "" : in_own_zone(printable(text_of(job, "reason")), now));
  page.line("start", start_text(job, now, StartForm::Interval));
  page.line("note",
            text_of(job, "state") == "timeout" ? ending(job) : printable(text_of(job, "note")));
  add_request(page, job);
  add_times(page, job, now);
  page.line("output", is_set(job, "log_deleted") ? "deleted by the rules of the machine"
                                                 : size_text(part_of(job, "log_bytes")));
  page.block("attempts", attempt_lines(part_of(job, "attempts"), look));
  page.block("reports", report_lines(part_of(job, "reports")));
  return page.text();
}

std::string gpu_list(const Json& gpus) {
  const std::string list = index_list(gpus, ", ");
  if (list.empty()) return "";
  return (gpus.size() == 1 ? "GPU " : "GPUs ") + list;
}

namespace {

std::string limit_text(const Json& job) {
  const auto limit = number_of(job, "time_limit_seconds");
  return "reached its time limit" + (limit ? " of " + elapsed_text(*limit) : "");
}

}  // namespace

std::string signal_of_code(std::int64_t code) {
  constexpr std::int64_t kBase = 128;
  constexpr std::int64_t kLast = 31;  // those of real time have no names
  if (code <= kBase || code > kBase + kLast) return "";
  const char* const name = sigabbrev_np(static_cast<int>(code - kBase));
  return name == nullptr ? "" : "SIG" + std::string(name);
}

std::string exit_text(std::int64_t code) {
  const std::string signal = signal_of_code(code);
  return "exit " + std::to_string(code) + (signal.empty() ? "" : " (" + signal + ")");
}

std::string ending(const Json& job) {
  const std::string state = text_of(job, "state");
  const std::string words = state == "oom"         ? "out of GPU memory"
                            : state == "timeout"   ? limit_text(job)
                            : state == "cancelled" ? "cancelled"
                            : state == "lost"      ? "lost"
                                                   : "";
  if (words.empty()) return "";
  const std::string note = note_beside_state(job);
  return words + (note.empty() ? "" : ": " + note);
}

std::string outcome_text(const Json& job) {
  const std::string words = ending(job);
  if (!words.empty()) return words;
  const std::string why = why_of(job, 0, StartForm::Moment);
  return printable(text_of(job, "state")) + (why.empty() ? "" : ": " + why);
}

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// What to ask for, with some room, in round numbers.
std::int64_t amount_for(std::int64_t peak) {
  const std::int64_t with_margin = peak + peak / 8 + kGiB / 4;
  const std::int64_t step = with_margin < 4 * kGiB ? kGiB / 2 : kGiB;
  return (with_margin + step - 1) / step * step;
}

/// It was refused what it wanted beyond that, so nobody knows how much it needs.
std::string oom_advice(const Json& job, std::int64_t asked) {
  const bool is_its_own =
      text_of(job, "note").contains("asked ") || text_of(job, "note").contains("was granted ");
  if (!is_its_own) return "";
  const std::int64_t held = std::max(asked, integer_of(job, "peak_bytes").value_or(0));
  return "it needs more than " + to_text(Bytes(held)) + ": next time more, such as --vram " +
         typed_size(amount_for(held + held / 2)) +
         ", or --retries 2, which starts it again with more";
}

}  // namespace

std::string memory_advice(const Json& job) {
  const auto peak = integer_of(job, "peak_bytes");
  const auto asked = integer_of(job, "vram_bytes");
  if (text_of(job, "state") == "oom" && asked) return oom_advice(job, *asked);
  if (!peak || text_of(job, "state") != "done") return "";
  const std::int64_t advised = amount_for(*peak);
  const bool is_near = asked && *peak <= *asked && advised * 4 > *asked * 3;
  if (is_near) return "";
  const std::string what =
      asked ? "asked " + size_text(part_of(job, "vram_bytes")) : std::string("asked for no amount");
  return what + ", peak " + size_text(part_of(job, "peak_bytes")) + ": next time --vram " +
         typed_size(advised);
}

std::string size_text(const Json& bytes) {
  if (!bytes.is_number_integer()) return "-";
  return to_text(Bytes(bytes.get<std::int64_t>()));
}

std::string instant_text(std::optional<double> instant) {
  if (!instant || *instant < 0 || *instant > 1e11) return "-";
  const auto whole = static_cast<std::time_t>(*instant);
  std::tm parts{};
  std::array<char, 64> text{};
  localtime_r(&whole, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

double wall_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

std::string user_of(const Json& job) {
  const std::string name = printable(text_of(job, "user_name"));
  return name.empty() ? number_text(part_of(job, "user")) : name;
}

}  // namespace berth::cli
