#include <poll.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "cli/ask/each_job.hpp"
#include "cli/ask/job_watch.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_text.hpp"
#include "cli/tell/own_wait.hpp"
#include "core/text/amounts.hpp"

namespace berth::cli {

namespace {

/// As timeout(1) ends.
constexpr int kOutOfTime = 124;

struct WaitArguments {
  EachJob jobs;
  std::string timeout;
};

/// Waits for one job after the other, through restarts of berthd.
class Waiting {
 public:
  Waiting(std::string socket, Clock::time_point until)
      : socket_(std::move(socket)), until_(until) {}

  /// Returns: the job once it has ended, or nothing if the time is over before that. Errors: the
  /// daemon's, if it does not know the job.
  Expected<std::optional<Json>> wait_for(const std::string& job) {
    JobWatch watch(socket_, job);
    std::optional<Json> ended;
    const auto seen = [&](const Json& news) {
      if (has_ended(news)) ended = news;
    };
    pollfd polled = watch.interest();
    for (;;) {
      watch.advance(Clock::now(), polled, seen);
      if (ended) return ended;
      if (watch.refusal()) return fail(ErrorCode::NotFound, *watch.refusal());
      if (watch.is_unreachable() && !std::exchange(has_told_, true)) {
        report_failure("berthd is away; waiting for it");
      }
      const auto now = Clock::now();
      if (now >= until_) return std::nullopt;
      const auto due = std::min(until_, watch.due().value_or(until_));
      const auto most = std::min<Clock::duration>(due - now, kLookAgainAfter);
      polled = watch.interest();
      poll(&polled, 1,
           static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(most).count()));
    }
  }

 private:
  static constexpr std::chrono::minutes kLookAgainAfter{1};
  std::string socket_;
  Clock::time_point until_;
  bool has_told_ = false;
};

/// Errors: InvalidArgument naming the option.
Expected<Clock::time_point> end_of(const std::string& timeout) {
  if (timeout.empty()) return Clock::time_point::max();
  if (is_zero_duration(timeout)) return Clock::now();
  const auto time = parse_duration(timeout);
  if (!time) return fail(time.error().code, "--timeout " + timeout + ": " + time.error().message);
  return Clock::now() + std::chrono::microseconds(micros(*time));
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

void tell_what_keeps_it(Daemon& daemon, const Json& job) {
  if (text_of(job, "state") == "held") {
    report_failure("job " + printable(handle_of(job)) +
                   " is held; to let it start: berth release " + printable(handle_of(job)));
  }
  const auto number = integer_of(job, "id");
  if (number && !has_ended(job)) {
    tell_if_it_waits_for_us(daemon, static_cast<std::uint64_t>(*number));
  }
}

/// `--timeout 1h: job 7 has not ended, and goes on; 3 jobs behind it were not waited for`.
int report_out_of_time(const std::string& timeout, const Json& job, std::size_t behind) {
  report_failure("--timeout " + timeout + ": job " + printable(handle_of(job)) +
                 " has not ended, and goes on" +
                 (behind == 0 ? ""
                  : behind == 1
                      ? "; the job behind it was not waited for"
                      : "; " + std::to_string(behind) + " jobs behind it were not waited for"));
  return kOutOfTime;
}

int wait(const WaitArguments& arguments) {
  const bool is_json = arguments.jobs.common.json;
  if (const auto fine = check_choice(arguments.jobs.choice); !fine) {
    return report_usage(fine.error().message);
  }
  const auto until = end_of(arguments.timeout);
  if (!until) return report_usage(until.error().message);
  const std::string socket = choose_socket(arguments.jobs.common).path;
  auto daemon = Daemon::open(socket);
  if (!daemon) return report_failure(daemon.error().message);
  const auto jobs = chosen_jobs(*daemon, arguments.jobs.choice, Arrays::InTasks);
  if (!jobs) return jobs.error();
  leave_with_reader();
  int code = 0;
  Waiting waiting(socket, *until);
  Ends ends(*jobs);
  Json all = Json::array();
  Json unfinished = Json::array();
  for (std::size_t at = 0; at < jobs->size(); ++at) {
    const Json& job = (*jobs)[at];
    tell_what_keeps_it(*daemon, job);
    const Expected<std::optional<Json>> ended =
        has_ended(job) ? std::optional(job) : waiting.wait_for(handle_of(job));
    if (!ended) return report_failure(ended.error().message);
    if (!*ended) {
      code = report_out_of_time(arguments.timeout, job, jobs->size() - at - 1);
      for (; at < jobs->size(); ++at) unfinished.push_back(handle_of((*jobs)[at]));
      break;
    }
    const int printed = is_json ? 0 : print(ends.lines_of(**ended));
    if (printed != 0) return printed;
    all.push_back(**ended);
    if (code == 0) code = exit_code_of(**ended);
  }
  const int printed = is_json ? print(json_text({{"jobs", all}, {"unfinished", unfinished}})) : 0;
  return code != 0 ? code : printed;
}

}  // namespace

void add_wait(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<WaitArguments>();
  CLI::App* const verb = app.add_subcommand(
      "wait", "Wait for jobs to end, print how they did, exit with the first code that is not 0.");
  add_each_job(*verb, arguments->jobs);
  verb->add_option(
          "--timeout", arguments->timeout,
          "Wait for 2h at most, then exit with 124. The jobs go on. A job may end with 124 "
          "too: then no line on standard error names this option, and --json has nothing "
          "in `unfinished`.")
      ->type_name("DURATION");
  verb->callback([=, &chosen] { chosen = [=] { return wait(*arguments); }; });
}

}  // namespace berth::cli
