#include <CLI/CLI.hpp>
#include <chrono>
#include <thread>

#include "cli/ask/each_job.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"

namespace berth::cli {

namespace {

/// Until it is suspended, or runs on because it cannot be, or has ended. Errors: why it is not.
Expected<Json> wait_until_suspended(Daemon& daemon, const std::string& job) {
  constexpr auto kPause = std::chrono::milliseconds(50);
  for (;;) {
    auto answer = daemon.get(job_target(job));
    if (!answer) return answer;
    const std::string state = text_of(*answer, "state");
    if (state == "suspended") return answer;
    if (state != "stopping") {
      const std::string reason = printable(text_of(*answer, "reason"));
      std::string text = "job ";
      text.append(job).append(": is ").append(state);
      if (!reason.empty()) text.append(", ").append(reason);
      return fail(ErrorCode::Conflict, text);
    }
    std::this_thread::sleep_for(kPause);
  }
}

/// What became of each that was asked to leave: with its row, or with those that are refused.
Json seen_suspended(Daemon& daemon, Json answer) {
  Json jobs = Json::array();
  for (const Json& job : part_of(answer, "jobs")) {
    auto seen = wait_until_suspended(daemon, handle_of(job));
    if (seen) {
      jobs.push_back(std::move(*seen));
      continue;
    }
    Json refused = job;
    refused["error"] = seen.error().message;
    answer["refused"].push_back(std::move(refused));
  }
  answer["jobs"] = std::move(jobs);
  return answer;
}

int suspend(const EachJob& arguments) {
  auto asked = change_jobs(arguments, "suspend");
  if (!asked) return asked.error();
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  return print_changes(arguments, seen_suspended(*daemon, std::move(*asked)));
}

}  // namespace

void add_suspend(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EachJob>();
  CLI::App* const verb =
      app.add_subcommand("suspend", "Take running jobs off their GPUs, with what they did so far.");
  add_each_job(*verb, *arguments);
  verb->callback([=, &chosen] { chosen = [=] { return suspend(*arguments); }; });
}

void add_resume(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EachJob>();
  CLI::App* const verb =
      app.add_subcommand("resume", "Let suspended jobs go on when it is their turn.");
  add_each_job(*verb, *arguments);
  verb->callback([=, &chosen] { chosen = [=] { return change_and_print(*arguments, "resume"); }; });
}

}  // namespace berth::cli
