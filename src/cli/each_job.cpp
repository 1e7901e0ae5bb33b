#include "cli/each_job.hpp"

#include <CLI/CLI.hpp>

#include "cli/output.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

std::string changed_text(const Json& answer, std::uint64_t job) {
  return "job " + std::to_string(job) + " " + printable(text_of(answer, "state")) + "\n";
}

}  // namespace

void add_each_job(CLI::App& verb, EachJob& arguments) {
  add_common(verb, arguments.common);
  add_job_choice(verb, arguments.choice);
}

std::expected<std::vector<std::uint64_t>, int> chosen_jobs(Daemon& daemon, const JobChoice& choice,
                                                           Among among) {
  auto jobs = choose_jobs(daemon, choice, among);
  if (jobs) return std::move(*jobs);
  const std::string& message = jobs.error().message;
  const bool is_usage = jobs.error().code == ErrorCode::InvalidArgument;
  return std::unexpected(is_usage ? report_usage(message) : report_failure(message));
}

int change_each(const EachJob& arguments, const Change& change, const LineOf& line_of,
                Among among) {
  if (const auto fine = check_choice(arguments.choice); !fine) {
    return report_usage(fine.error().message);
  }
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
  const auto jobs = chosen_jobs(*daemon, arguments.choice, among);
  if (!jobs) return jobs.error();
  int code = 0;
  Json answers = Json::array();
  std::string text;
  for (const std::uint64_t job : *jobs) {
    const auto answer = change(*daemon, job);
    if (answer) {
      text += line_of(*answer, job);
      answers.push_back(*answer);
    } else {
      code = report_failure(answer.error().message);
    }
  }
  const int printed = print(arguments.common.json ? json_text({{"jobs", answers}}) : text);
  return code != 0 ? code : printed;
}

int post_to_each(const EachJob& arguments, const std::string& rest) {
  const auto post = [&](Daemon& daemon, std::uint64_t job) {
    return daemon.post(job_target(job, rest));
  };
  return change_each(arguments, post, changed_text);
}

}  // namespace berth::cli
