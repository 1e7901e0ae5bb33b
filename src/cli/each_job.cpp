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
  verb.add_option("JOB", arguments.jobs, "Job numbers.");
}

Expected<std::vector<std::uint64_t>> parse_jobs(const std::vector<std::string>& typed) {
  std::vector<std::uint64_t> jobs;
  for (const std::string& text : typed) {
    const auto job = parse_job(text);
    if (!job) return std::unexpected(job.error());
    jobs.push_back(*job);
  }
  if (jobs.empty()) return fail(ErrorCode::InvalidArgument, "no job is named");
  return jobs;
}

int change_each(const EachJob& arguments, const Change& change, const LineOf& line_of) {
  const auto jobs = parse_jobs(arguments.jobs);
  if (!jobs) return report_usage(jobs.error().message);
  auto daemon = Daemon::open(arguments.common);
  if (!daemon) return report_failure(daemon.error().message);
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
