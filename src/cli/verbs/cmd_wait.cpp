#include <CLI/CLI.hpp>
#include <map>

#include "cli/ask/each_job.hpp"
#include "cli/ask/patience.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_text.hpp"
#include "cli/tell/own_wait.hpp"

namespace berth::cli {

namespace {

/// One conversation. Returns: the job once it has ended; null if the stream ended before it.
Expected<Json> watch_once(const std::string& socket, const std::string& job, Patience& patience) {
  auto daemon = Daemon::open(socket);
  if (!daemon) return std::unexpected(daemon.error());
  patience.met();
  Json last;
  http::EventReader reader;
  const auto seen = [&](const http::ServerEvent& event) {
    if (auto json = parse_json(event.data); json && has_ended(*json)) last = std::move(*json);
  };
  const auto streamed =
      daemon->stream("/v1/events?job=" + http::escape(job), [&](std::string_view bytes) {
        reader.add(bytes, seen);
        return last.is_null();
      });
  // Its end may have come just before the connection broke.
  if (last.is_null() && !streamed) return std::unexpected(streamed.error());
  return last;
}

Expected<Json> wait_for(const std::string& socket, const std::string& job, Patience& patience) {
  for (;;) {
    auto ended = watch_once(socket, job, patience);
    if (ended && !ended->is_null()) return ended;
    if (auto waited = patience.wait(ended); !waited) return std::unexpected(waited.error());
  }
}

/// What is told of jobs as they end: a line for each; of an array of more than a few tasks for
/// those that did not end well, and one for all of them.
class Ends {
 public:
  explicit Ends(const std::vector<Json>& jobs) {
    for (const Json& job : jobs) ++arrays_[array_of(job)].left;
    for (auto& [array, its] : arrays_) its.is_folded = array != 0 && its.left > kFew;
  }

  /// `job 7 failed: exit 3`, `job 8 done`, `array 643: 198 done, 2 failed`.
  std::string lines_of(const Json& ended) {
    const std::string state = text_of(ended, "state");
    const std::int64_t array = array_of(ended);
    OfArray& its = arrays_[array];
    ++its.states[state];
    --its.left;
    std::string lines;
    if (!its.is_folded || state != "done") {
      lines += "job " + printable(handle_of(ended)) + " " + outcome_text(ended) + "\n";
    }
    if (!its.is_folded || its.left > 0) return lines;
    std::string counts;
    for (const auto& [word, count] : its.states) {
      counts += (counts.empty() ? "" : ", ") + std::to_string(count) + " " + printable(word);
    }
    return lines + "array " + std::to_string(array) + ": " + counts + "\n";
  }

 private:
  static constexpr std::int64_t kFew = 3;
  struct OfArray {
    std::int64_t left = 0;
    bool is_folded = false;
    std::map<std::string, std::int64_t> states = {};
  };
  static std::int64_t array_of(const Json& job) { return integer_of(job, "array").value_or(0); }

  std::map<std::int64_t, OfArray> arrays_;  ///< 0: jobs of none.
};

int wait(const EachJob& arguments) {
  if (const auto fine = check_choice(arguments.choice); !fine) {
    return report_usage(fine.error().message);
  }
  const std::string socket = choose_socket(arguments.common).path;
  auto daemon = Daemon::open(socket);
  if (!daemon) return report_failure(daemon.error().message);
  const auto jobs = chosen_jobs(*daemon, arguments.choice, Arrays::InTasks);
  if (!jobs) return jobs.error();
  leave_with_reader();
  int code = 0;
  Patience patience;
  Ends ends(*jobs);
  Json all = Json::array();
  for (const Json& job : *jobs) {
    const auto number = integer_of(job, "id");
    if (text_of(job, "state") == "held") {
      report_failure("job " + printable(handle_of(job)) +
                     " is held; to let it start: berth release " + printable(handle_of(job)));
    }
    if (number && !has_ended(job)) {
      tell_if_it_waits_for_us(*daemon, static_cast<std::uint64_t>(*number));
    }
    const auto ended = has_ended(job) ? job : wait_for(socket, handle_of(job), patience);
    if (!ended) return report_failure(ended.error().message);
    const int printed = arguments.common.json ? 0 : print(ends.lines_of(*ended));
    if (printed != 0) return printed;
    all.push_back(*ended);
    if (code == 0) code = exit_code_of(*ended);
  }
  const int printed = arguments.common.json ? print(json_text({{"jobs", all}})) : 0;
  return code != 0 ? code : printed;
}

}  // namespace

void add_wait(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EachJob>();
  CLI::App* const verb = app.add_subcommand(
      "wait", "Wait for jobs to end, print how they did, exit with the first code that is not 0.");
  add_each_job(*verb, *arguments);
  verb->callback([=, &chosen] { chosen = [=] { return wait(*arguments); }; });
}

}  // namespace berth::cli
