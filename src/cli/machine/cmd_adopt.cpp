#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "cli/ask/daemon.hpp"
#include "cli/ask/job_choice.hpp"
#include "cli/job/submission.hpp"
#include "cli/print/amounts.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_text.hpp"
#include "core/text/amounts.hpp"
#include "shim/proc.hpp"

namespace berth::cli {

namespace {

struct AdoptArguments {
  CommonOptions common;
  std::string process;
  JobOptions job;
};

/// The words of a process's command, as far as this user may read them; they are shown, no more.
std::vector<std::string> command_of(pid_t pid) {
  constexpr std::size_t kMost = std::size_t{16} << 10;
  std::string text = shim::read_proc(pid, "cmdline", kMost);
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  const bool is_plain = is_utf8(text) && !words.empty() && !words.front().empty();
  return is_plain ? words : std::vector<std::string>();
}

/// Of a process that is not seen here berthd says what is wrong.
void name_process(Json& body, pid_t pid) {
  body["pid"] = pid;
  if (const auto stat = shim::stat_of(pid)) body["start"] = stat->start;
  const std::vector<std::string> command = command_of(pid);
  if (!command.empty()) body["command"] = command;
}

std::string adopted_text(const Json& answer) {
  std::string text = "job " + printable(handle_of(answer)) + " adopted";
  const char* between = ": ";
  for (const Json& charge : part_of(answer, "charges")) {
    text += between + size_text(part_of(charge, "charge_bytes")) + " of GPU " +
            std::to_string(integer_of(charge, "gpu").value_or(0)) + " charged, " +
            size_text(part_of(charge, "held_bytes")) + " held";
    between = "; ";
  }
  return text + "\n";
}

int adopt(const AdoptArguments& arguments) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 22;  // the most that Linux gives
  const auto pid = parse_count(arguments.process, kLargest);
  if (!pid || *pid == 0) {
    return report_usage(arguments.process + ": is no process number, as 4242; berth gpus has them");
  }
  auto body = adoption_of(arguments.job);
  if (!body) return report_usage(body.error().message);
  name_process(*body, static_cast<pid_t>(*pid));
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto answer = daemon->post("/v1/adopt", body->dump());
  if (!answer) return report_failure(answer.error().message);
  return print(arguments.common.json ? json_text(*answer) : adopted_text(*answer));
}

}  // namespace

void add_adopt(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<AdoptArguments>();
  CLI::App* const verb =
      app.add_subcommand("adopt", "Make a job of a process that was started by hand.");
  add_common(*verb, arguments->common);
  add_adopt_options(*verb, arguments->job);
  verb->add_option("PID", arguments->process, "Its number, as berth gpus has it.")->required();
  verb->callback([=, &chosen] { chosen = [=] { return adopt(*arguments); }; });
}

}  // namespace berth::cli
