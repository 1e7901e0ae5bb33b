#include <CLI/CLI.hpp>

#include "cli/each_job.hpp"
#include "cli/output.hpp"
#include "cli/submission.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

struct UpdateArguments {
  EachJob each;
  JobOptions job;
};

int update_jobs(const UpdateArguments& arguments) {
  const auto body = change_of(arguments.job);
  if (!body) return report_usage(body.error().message);
  const auto words = [](const Json& job) {
    const std::string state = printable(text_of(job, "state"));
    const bool starts = state == "starting" || state == "running";
    return "updated" + (starts ? std::string("; it starts now") : ", " + state);
  };
  const auto answer = change_jobs(arguments.each, "update", *body);
  return answer ? print_changes(arguments.each, *answer, words) : answer.error();
}

}  // namespace

void add_update(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<UpdateArguments>();
  CLI::App* const verb = app.add_subcommand("update", "Change jobs that wait to start.");
  add_each_job(*verb, arguments->each);
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    verb->add_option(name, value, help)->type_name(type);
  };
  option("--vram", arguments->job.vram, "SIZE", "Memory on each GPU, as 10G.");
  option("--time", arguments->job.time, "DURATION", "Time limit, as 90s, 30min, 1h30m.");
  option("--gpus", arguments->job.gpus, "N", "Number of GPUs.");
  option("--gpu-type", arguments->job.gpu_types, "TYPES", "Accepted types, separated by commas.");
  option("--gpu-index", arguments->job.gpu_index, "GPUS", "Accepted GPUs, as 0,2 or 0-3.");
  option("--name", arguments->job.name, "NAME", "Name of the job in lists.");
  option("--priority", arguments->job.priority, "N", "Larger goes first among your own jobs.");
  verb->callback([=, &chosen] { chosen = [=] { return update_jobs(*arguments); }; });
}

}  // namespace berth::cli
