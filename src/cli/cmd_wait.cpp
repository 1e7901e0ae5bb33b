#include <CLI/CLI.hpp>

#include "cli/each_job.hpp"
#include "cli/job_text.hpp"
#include "cli/output.hpp"
#include "cli/patience.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

/// One conversation. Returns: the job once it has ended; null if the stream ended before it.
Expected<Json> watch_once(const std::string& socket, std::uint64_t job, Patience& patience) {
  auto daemon = Daemon::open(socket);
  if (!daemon) return std::unexpected(daemon.error());
  patience.met();
  Json last;
  http::EventReader reader;
  const auto seen = [&](const http::ServerEvent& event) {
    if (auto json = parse_json(event.data); json && has_ended(*json)) last = std::move(*json);
  };
  const auto streamed =
      daemon->stream("/v1/events?job=" + std::to_string(job), [&](std::string_view bytes) {
        reader.add(bytes, seen);
        return last.is_null();
      });
  // Its end may have come just before the connection broke.
  if (last.is_null() && !streamed) return std::unexpected(streamed.error());
  return last;
}

Expected<Json> wait_for(const std::string& socket, std::uint64_t job, Patience& patience) {
  for (;;) {
    auto ended = watch_once(socket, job, patience);
    if (ended && !ended->is_null()) return ended;
    if (auto waited = patience.wait(ended); !waited) return std::unexpected(waited.error());
  }
}

/// `job 7 failed: exit 3`, `job 8 done`.
std::string end_line(std::uint64_t job, const Json& ended) {
  return "job " + std::to_string(job) + " " + outcome_text(ended) + "\n";
}

int wait(const EachJob& arguments) {
  if (const auto fine = check_choice(arguments.choice); !fine) {
    return report_usage(fine.error().message);
  }
  const std::string socket = choose_socket(arguments.common).path;
  auto daemon = Daemon::open(socket);
  if (!daemon) return report_failure(daemon.error().message);
  const auto jobs = chosen_jobs(*daemon, arguments.choice, Among::All);
  if (!jobs) return jobs.error();
  int code = 0;
  Patience patience;
  Json all = Json::array();
  for (const std::uint64_t job : *jobs) {
    const auto ended = wait_for(socket, job, patience);
    if (!ended) return report_failure(ended.error().message);
    const int printed = arguments.common.json ? 0 : print(end_line(job, *ended));
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
      "wait",
      "Wait for jobs to end, print a line for each, exit with the first code that is not 0.");
  add_each_job(*verb, *arguments);
  verb->callback([=, &chosen] { chosen = [=] { return wait(*arguments); }; });
}

}  // namespace berth::cli
