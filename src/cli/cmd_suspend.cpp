#include <CLI/CLI.hpp>
#include <chrono>
#include <thread>

#include "cli/each_job.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

/// Until it is suspended, or runs on because it cannot be, or has ended. Errors: why it is not.
Expected<Json> wait_until_suspended(Daemon& daemon, std::uint64_t job) {
  constexpr auto kPause = std::chrono::milliseconds(50);
  for (;;) {
    auto answer = daemon.get(job_target(job));
    if (!answer) return answer;
    const std::string state = text_of(*answer, "state");
    if (state == "suspended") return answer;
    if (state != "stopping") {
      const std::string reason = printable(text_of(*answer, "reason"));
      return fail(ErrorCode::Conflict, "job " + std::to_string(job) + ": is " + state +
                                           (reason.empty() ? "" : ", " + reason));
    }
    std::this_thread::sleep_for(kPause);
  }
}

Expected<Json> suspend_one(Daemon& daemon, std::uint64_t job) {
  auto asked = daemon.post(job_target(job, "/suspend"));
  return asked ? wait_until_suspended(daemon, job) : asked;
}

std::string line_of(const Json& answer, std::uint64_t job) {
  return "job " + std::to_string(job) + " " + printable(text_of(answer, "reason")) + "\n";
}

}  // namespace

void add_suspend(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EachJob>();
  CLI::App* const verb =
      app.add_subcommand("suspend", "Take running jobs off their GPUs, with what they did so far.");
  add_each_job(*verb, *arguments);
  verb->callback(
      [=, &chosen] { chosen = [=] { return change_each(*arguments, suspend_one, line_of); }; });
}

void add_resume(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EachJob>();
  CLI::App* const verb =
      app.add_subcommand("resume", "Let suspended jobs go on when it is their turn.");
  add_each_job(*verb, *arguments);
  verb->callback([=, &chosen] { chosen = [=] { return post_to_each(*arguments, "/resume"); }; });
}

}  // namespace berth::cli
