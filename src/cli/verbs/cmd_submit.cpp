#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "cli/ask/daemon.hpp"
#include "cli/job/dag.hpp"
#include "cli/job/foresight.hpp"
#include "cli/job/habits.hpp"
#include "cli/job/jobs_before.hpp"
#include "cli/job/memory_shares.hpp"
#include "cli/job/script.hpp"
#include "cli/job/snapshot.hpp"
#include "cli/job/submission.hpp"
#include "cli/job/sweep.hpp"
#include "cli/print/files.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_text.hpp"
#include "cli/tell/why_text.hpp"
#include "core/text/points.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kMostFile = std::size_t{4} << 20;

struct SubmitArguments {
  CommonOptions common;
  JobOptions job;
  bool dry_run = false;
  std::string file;
};

/// Why it waits and until when, for people; what cannot be asked now is in `berth why`.
std::string told_text(const Json& answer, Daemon& daemon) {
  std::string text = submitted_text(answer);
  const bool waits = text_of(answer, "state") == "queued";
  const bool is_one = integer_of(answer, "jobs").value_or(1) == 1;
  if (!waits || !is_one || isatty(STDOUT_FILENO) == 0) return text;
  const auto id = static_cast<std::uint64_t>(integer_of(answer, "id").value_or(0));
  const auto why = daemon.get(job_target(id, "/why"));
  const std::string line = why ? waiting_line(*why, wall_now()) : "";
  if (line.empty() || text_of(*why, "state") != "queued") return text;
  const std::string whole = text.substr(0, text.size() - 1) + ": " + line;
  std::string wrapped_text;
  for (const std::string& part : wrapped(whole, look_of(STDOUT_FILENO).width.value_or(80))) {
    wrapped_text += part + "\n";
  }
  return wrapped_text;
}

/// Of a sweep.
std::vector<Point> points_of(const Json& body) {
  std::vector<Point> points;
  for (const Json& values : body.value("points", Json::array())) {
    Point& point = points.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) {
      point.push_back({.name = body["parameters"][i], .value = values[i]});
    }
  }
  return points;
}

int try_out(const SubmitArguments& arguments, Daemon& daemon, const Json& body) {
  const auto answer = daemon.post("/v1/jobs?dry_run=true", body.dump());
  if (!answer) return report_failure(answer.error().message);
  Json told = *answer;
  std::string list;
  for (const Point& point : points_of(body)) {
    list += std::to_string(told["points"].size() + 1) + "  " + point_text(point) + "\n";
    Json values;
    for (const Parameter& one : point) values[one.name] = one.value;
    told["points"].push_back(std::move(values));
  }
  if (arguments.common.json) return print(json_text(told));
  return print(dry_run_page(*answer, wall_now(), look_of(STDOUT_FILENO)) + list);
}

/// `berth submit <<EOF`, or `-` and the script's arguments.
Expected<void> take_input(JobOptions& job, const Caller& caller) {
  const auto text = read_input(kMostFile);
  if (!text) return std::unexpected(text.error());
  std::vector<std::string> arguments = std::exchange(job.command, {});
  // In a loop that reads a list, a command that is empty by mistake must not run the list.
  const bool is_meant = !arguments.empty() || text->starts_with("#!");
  if (!is_meant) return std::unexpected(command_words({}, {}).error());
  if (!arguments.empty()) arguments.erase(arguments.begin());
  const auto warnings = take_script(job, *text, arguments, caller);
  if (!warnings) return std::unexpected(warnings.error());
  for (const std::string& warning : *warnings) report_failure(warning);
  return {};
}

int submit(SubmitArguments& arguments) {
  const Caller caller = this_caller();
  if (arguments.job["--lines"]) {
    if (auto taken = take_lines_option(arguments.job); !taken) {
      return report_usage(taken.error().message);
    }
  } else if (arguments.job.command.empty() || arguments.job.command.front() == "-") {
    if (auto taken = take_input(arguments.job, caller); !taken) {
      return report_usage(taken.error().message);
    }
  }
  if (reads_program_from_input(arguments.job.command)) {
    report_failure("'" + arguments.job.command.front() +
                   "' would read its program from standard input, of which a job that is queued "
                   "has none; say berth submit - <job.sh, or berth run");
  }
  auto daemon = Daemon::open(arguments.common);  // it takes the connection in meanwhile
  auto made = submission_of(arguments.job, caller);
  if (!made) return report_usage(made.error().message);
  if (const auto lost = warning_of_terminal(arguments.job.command); !lost.empty()) {
    made->warnings.push_back(lost);
  }
  for (const std::string& warning : made->warnings) report_failure(warning);
  // Who types a table may take longer than berthd waits for a request.
  if (arguments.job["--param-file"] == "-") daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  if (const auto found = number_jobs_before(arguments.common, made->body); !found) {
    return report_failure(found.error().message);
  }
  for (const std::string& warning : shares_told_by(*daemon, *made)) {
    report_failure(warning);
    made->warnings.push_back(warning);
  }
  if (arguments.dry_run) return try_out(arguments, *daemon, made->body);
  auto copy = SubmissionCopy::make(*made);
  if (!copy) return report_failure(copy.error().message);
  for (const std::string& warning : copy->warnings()) report_failure(warning);
  const auto answer = daemon->post("/v1/jobs", made->body.dump());
  if (!answer) return report_failure(answer.error().message);
  if (part_of(*answer, "already").is_null()) copy->keep();
  if (!integer_of(*answer, "id")) return report_failure("berthd gives the new job no number");
  report_warnings(*answer);
  if (const std::string key = text_of(*answer, "already"); !part_of(*answer, "already").is_null()) {
    report_failure("job " + std::to_string(*integer_of(*answer, "id")) + " has the key '" +
                   printable(key) + "' already; nothing is submitted");
  }
  Json told = *answer;
  for (const std::string& warning : made->warnings) told["warnings"].push_back(warning);
  const int code = print(arguments.common.json ? json_text(told) : told_text(*answer, *daemon));
  if (code != 0) {  // who tries again would have it twice
    report_failure("job " + std::to_string(*integer_of(*answer, "id")) + " is queued all the same");
  }
  return code;
}

/// Cancels what a file's earlier jobs became, so that all of them run or none does.
void take_back(Daemon& daemon, const std::map<std::string, std::int64_t>& numbers) {
  for (const auto& [name, number] : numbers) {
    const auto gone = daemon.post(job_target(static_cast<std::uint64_t>(number), "/cancel"));
    if (!gone) report_failure(gone.error().message);
  }
}

/// The option's value with numbers for names.
std::optional<std::string> numbered(const DagJob& job, std::string_view option,
                                    const std::map<std::string, std::int64_t>& numbers) {
  std::string list;
  for (const DagAfter& after : job.after) {
    if (after.option != option) continue;
    for (const std::string& name : after.names) {
      const auto found = numbers.find(name);
      list += (list.empty() ? "" : ",") +
              (found == numbers.end() ? name : std::to_string(found->second));
    }
  }
  return list.empty() ? std::nullopt : std::optional(list);
}

/// Every job's body as it will be sent, but for the numbers of the jobs that it waits for. All are
/// made before the first is sent, so that a wrong one changes nothing.
Expected<Submission> body_of(const DagJob& job, const Caller& caller,
                             const std::map<std::string, std::int64_t>& numbers) {
  JobOptions options = job.options;
  options["--after"] = numbered(job, "after", numbers);
  options["--after-ok"] = numbered(job, "after-ok", numbers);
  options["--after-any"] = numbered(job, "after-any", numbers);
  options["--after-notok"] = numbered(job, "after-notok", numbers);
  auto made = submission_of(options, caller);
  if (made) return made;
  return fail(made.error().code, job.where + ": jobs." + job.name + ": " + made.error().message);
}

/// Whether it waits for no other job of the file.
bool is_first(const DagJob& job, const std::map<std::string, std::int64_t>& numbers) {
  return std::ranges::none_of(job.after, [&](const DagAfter& after) {
    return std::ranges::any_of(after.names,
                               [&](const std::string& name) { return numbers.contains(name); });
  });
}

/// `prep, train`: the jobs of the file that it waits for.
std::string names_before(const DagJob& job, const std::map<std::string, std::int64_t>& numbers) {
  std::string list;
  for (const DagAfter& after : job.after) {
    for (const std::string& name : after.names) {
      if (numbers.contains(name)) list += (list.empty() ? "" : ", ") + printable(name);
    }
  }
  return list;
}

/// When the first jobs of a file would start, and what the others wait for; all are checked.
int try_out_file(const SubmitArguments& arguments, Daemon& daemon, const Caller& caller,
                 const std::vector<DagJob>& jobs,
                 const std::map<std::string, std::int64_t>& numbers) {
  Json answers = Json::array();
  std::string lines;
  for (const DagJob& job : jobs) {
    auto made = body_of(job, caller, numbers);
    if (!made) return report_usage(made.error().message);
    const std::string before = names_before(job, numbers);
    if (!before.empty()) made->body.erase("after");
    const auto answer = daemon.post("/v1/jobs?dry_run=true", made->body.dump());
    if (!answer) {
      return report_failure(job.where + ": jobs." + job.name + ": " + answer.error().message);
    }
    Json told = *answer;
    told["name"] = job.name;
    lines += printable(job.name) + ": ";
    if (!before.empty()) {
      lines += "after " + before + "\n";
    } else if (is_set(*answer, "admitted_now")) {
      const std::string gpus = gpu_list(part_of(*answer, "gpus"));
      lines += "starts now" + (gpus.empty() ? "" : " on " + gpus) + "\n";
    } else {
      lines += waiting_line(*answer, wall_now()) + "\n";
    }
    answers.push_back(std::move(told));
  }
  return print(arguments.common.json ? json_text({{"jobs", answers}}) : lines);
}

int submit_file(const SubmitArguments& arguments) {
  const Caller caller = this_caller();
  const auto text = read_file(arguments.file, kMostFile);
  if (!text) return report_failure(text.error().message);
  const auto jobs = read_dag(*text, arguments.file);
  if (!jobs) return report_usage(jobs.error().message);
  std::map<std::string, std::int64_t> numbers;
  for (const DagJob& job : *jobs) numbers[job.name] = 1;
  for (const DagJob& job : *jobs) {
    const auto made = body_of(job, caller, numbers);
    if (!made) return report_usage(made.error().message);
    for (const std::string& warning : made->warnings) report_failure(warning);
  }
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  if (arguments.dry_run) return try_out_file(arguments, *daemon, caller, *jobs, numbers);
  numbers.clear();
  Json answers = Json::array();
  Json first = Json::array();
  std::string lines;
  for (const DagJob& job : *jobs) {
    auto made = body_of(job, caller, numbers);
    // None ends before those that wait for it are there: they would be refused if it ends badly.
    const bool is_held_here = made && is_first(job, numbers) && !job.options.hold;
    if (is_held_here) made->body["held"] = true;
    auto copy = made ? SubmissionCopy::make(*made) : std::unexpected(made.error());
    const auto answer =
        copy ? daemon->post("/v1/jobs", made->body.dump()) : std::unexpected(copy.error());
    if (answer && part_of(*answer, "already").is_null()) copy->keep();
    const auto number = answer ? integer_of(*answer, "id") : std::nullopt;
    if (!number) {
      const std::string why = answer ? "berthd gives it no number" : answer.error().message;
      report_failure(job.where + ": jobs." + job.name + ": " + why +
                     "; the jobs before it are cancelled");
      take_back(*daemon, numbers);
      return kFailed;
    }
    numbers[job.name] = *number;
    answers.push_back(*answer);
    answers.back()["name"] = job.name;
    if (is_held_here && part_of(*answer, "already").is_null()) {
      first.push_back(*number);
      answers.back()["state"] = "queued";  // once all are there
    }
    lines += printable(job.name) + " " + std::to_string(*number) + "\n";
  }
  const Json all_first = {{"jobs", first}};
  const auto released =
      first.empty() ? Expected<Json>(Json()) : daemon->post("/v1/release", all_first.dump());
  if (!released) {
    report_failure(released.error().message + "; the jobs are cancelled");
    take_back(*daemon, numbers);
    return kFailed;
  }
  return print(arguments.common.json ? json_text({{"jobs", answers}}) : lines);
}

/// The first option that says something of a job; "" if there is none.
std::string of_one_job(const CLI::App& verb) {
  constexpr auto kOfAll =
      std::to_array<std::string_view>({"--file", "--dry-run", "--json", "--socket", "--help"});
  const auto typed = verb.get_options([&](const CLI::Option* option) {
    return option->count() > 0 && std::ranges::find(kOfAll, option->get_name()) == kOfAll.end();
  });
  return typed.empty() ? "" : typed.front()->get_name();
}

}  // namespace

void add_submit(CLI::App& app, Action& chosen, const TypedLine& line) {
  auto arguments = std::make_shared<SubmitArguments>();
  CLI::App* const verb =
      app.add_subcommand("submit", "Queue a job and print its number: -- COMMAND ARGS...");
  add_common(*verb, arguments->common);
  add_job_options(*verb, arguments->job, line.words);
  verb->add_flag("--dry-run", arguments->dry_run,
                 "Submit nothing; say whether the job would start now, else when and why.");
  add_submit_options(*verb, arguments->job, line.words);
  verb->add_option("--file", arguments->file, "Submit the jobs of this TOML file: berth(1), FILES.")
      ->type_name("FILE");
  verb->callback([=, &chosen, &line] {
    chosen = [=, &line] {
      if (!arguments->file.empty()) {
        if (const std::string other = of_one_job(*verb); !other.empty()) {
          return report_usage("--file: " + other +
                              " stands beside it; write it in the file, for one job or under "
                              "[defaults]");
        }
        if (verb->remaining().empty() && line.from_dashes.empty()) return submit_file(*arguments);
        return report_usage("--file: a command stands beside it; give one of them");
      }
      const auto left_over = verb->remaining();
      const bool has_input = isatty(STDIN_FILENO) == 0;
      const bool has_lines = arguments->job["--lines"].has_value();
      const bool names_none = left_over.empty() && line.from_dashes.empty();
      if (!left_over.empty() && left_over.front() == "-") {
        arguments->job.command = left_over;
        arguments->job.command.insert(arguments->job.command.end(), line.from_dashes.begin(),
                                      line.from_dashes.end());
      } else if (!names_none || !(has_input || has_lines)) {
        auto words = command_words(left_over, line.from_dashes);
        if (!words) return report_usage(words.error().message);
        arguments->job.command = std::move(*words);
        if (const auto lost = warning_of_words_behind(left_over, arguments->job); !lost.empty()) {
          report_failure(lost);
        }
      }
      return submit(*arguments);
    };
  });
}

}  // namespace berth::cli
