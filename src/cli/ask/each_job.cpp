#include "cli/ask/each_job.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

#include "cli/print/option_words.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"

namespace berth::cli {

namespace {

constexpr std::int64_t kFewTasks = 3;  ///< Of one array, that have a line each.

/// `643` of `643_5`; "" of a job of no array, and of what was typed and stands for no job.
std::string array_of(const Json& job) {
  if (!job.contains("id")) return "";
  const std::string handle = text_of(job, "handle");
  return handle.substr(0, handle.find('_'));
}

/// Jobs that came to be in the same state.
class Changes {
 public:
  Changes(const Json& answer, const Words& words) {
    for (const Json& job : part_of(answer, "jobs")) {
      if (!array_of(job).empty()) ++counts_[array_of(job)][words(job)];
    }
  }

  bool has(const std::string& array) const { return counts_.contains(array); }
  bool is_folded(const std::string& array) const {
    const auto found = counts_.find(array);
    if (found == counts_.end()) return false;
    std::int64_t jobs = 0;
    for (const auto& [state, count] : found->second) jobs += count;
    return jobs > kFewTasks;
  }
  /// `192 cancelled, 8 stopping`; `9 updated: 5 held, 4 queued`.
  std::string text(const std::string& array) const {
    const std::map<std::string, std::int64_t>& counts = counts_.at(array);
    const std::string done = counts.size() > 1 ? what_all_share(counts) : "";
    std::int64_t jobs = 0;
    std::string text;
    for (const auto& [state, count] : counts) {
      jobs += count;
      const std::string rest = done.empty() ? state : state.substr(done.size() + 2);
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + rest;
    }
    return done.empty() ? text : std::to_string(jobs) + " " + done + ": " + text;
  }

 private:
  /// `updated` of `updated, held` and `updated, queued`; "" where they do not begin alike.
  static std::string what_all_share(const std::map<std::string, std::int64_t>& counts) {
    const std::string& first = counts.begin()->first;
    const std::string done = first.substr(0, std::min(first.find(", "), first.size()));
    for (const auto& [state, count] : counts) {
      if (!state.starts_with(done + ", ")) return "";
    }
    return done;
  }

  std::map<std::string, std::map<std::string, std::int64_t>> counts_;
};

std::string changed_text(const Json& answer, const Changes& changes, const Words& words) {
  std::string text;
  std::map<std::string, bool> is_told;
  for (const Json& job : part_of(answer, "jobs")) {
    const std::string array = array_of(job);
    if (!changes.is_folded(array)) {
      text += "job " + printable(handle_of(job)) + " " + words(job);
    } else if (!std::exchange(is_told[array], true)) {
      text += "array " + printable(array) + ": " + changes.text(array);
    } else {
      continue;
    }
    text += "\n";
  }
  return text;
}

}  // namespace

void add_each_job(CLI::App& verb, EachJob& arguments) {
  add_common(verb, arguments.common);
  add_job_choice(verb, arguments.choice);
}

std::expected<std::vector<Json>, int> chosen_jobs(Daemon& daemon, const JobChoice& choice,
                                                  Arrays arrays) {
  auto jobs = chosen_rows(daemon, choice, arrays);
  if (!jobs) return std::unexpected(report_failure(jobs.error().message));
  return std::move(*jobs);
}

std::expected<Json, int> change_jobs(const EachJob& arguments, std::string_view verb,
                                     const Json& change) {
  if (const auto fine = check_choice(arguments.choice); !fine) {
    return std::unexpected(report_usage(fine.error().message));
  }
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return std::unexpected(report_failure(daemon.error().message));
  Json body = body_of(arguments.choice);
  if (!change.is_null()) body["change"] = change;
  auto answer = daemon->post("/v1/" + std::string(verb), body.dump());
  if (!answer) return std::unexpected(report_failure(answer.error().message));
  return std::move(*answer);
}

std::string state_words(const Json& job) {
  const std::string reason = text_of(job, "reason");
  return printable(reason.empty() ? text_of(job, "state") : reason);
}

int print_changes(const EachJob& arguments, const Json& answer, const Words& words) {
  const Changes changes(answer, words);
  std::map<std::string, std::int64_t> others;   // of arrays of which some were changed
  std::map<std::string, std::int64_t> refused;  // of the rest
  int code = 0;
  // All of a user's: as of an array it is enough that some were in a state that allows it.
  const bool are_all = arguments.choice.typed.empty() && !part_of(answer, "jobs").empty();
  std::int64_t unchanged = 0;
  for (const Json& job : part_of(answer, "refused")) {
    const std::string array = array_of(job);
    if (are_all && !changes.has(array)) {
      ++unchanged;
      continue;
    }
    if (changes.has(array)) {
      ++others[array];
      continue;
    }
    code = kFailed;
    const bool is_told = array.empty() || ++refused[array] <= kFewTasks;
    if (is_told && !arguments.common.json) {
      report_failure(printable(in_options("/v1/jobs", text_of(job, "error"))));
    }
  }
  if (arguments.common.json) {
    const int printed = print(json_text(answer));
    return code != 0 ? code : printed;
  }
  for (const auto& [array, count] : refused) {
    if (count <= kFewTasks) continue;
    report_failure("array " + printable(array) + ": likewise " + std::to_string(count - kFewTasks) +
                   " more");
  }
  std::string text = changed_text(answer, changes, words);
  for (const auto& [array, count] : others) {
    text += "array " + printable(array) + ": " + std::to_string(count) +
            (count == 1 ? " other" : " others") + " unchanged\n";
  }
  if (unchanged > 0) {
    text += std::to_string(unchanged) + (unchanged == 1 ? " other job" : " other jobs") +
            " unchanged\n";
  }
  const int printed = print(text);
  return code != 0 ? code : printed;
}

int change_and_print(const EachJob& arguments, std::string_view verb) {
  const auto answer = change_jobs(arguments, verb);
  return answer ? print_changes(arguments, *answer) : answer.error();
}

}  // namespace berth::cli
