#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/files.hpp"
#include "cli/verbs.hpp"
#include "journal/verify.hpp"
#include "policy/registry.hpp"
#include "sim/metrics.hpp"
#include "sim/report.hpp"
#include "sim/simulator.hpp"
#include "trace/formats.hpp"
#include "trace/gzip.hpp"
#include "trace/trace.hpp"

namespace berth::cli {

namespace {

struct SimArguments {
  std::string trace;
  std::string format = "tiresias";
  std::string cluster;
  std::string policy = "fifo-skip";
  std::string place = "consolidated";
  std::string jobs;
  std::string summary;
  std::string verify;
  std::string service;
};

/// A file's text, packed or plain.
Expected<std::string> read_text(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes) return bytes;
  return trace::unpacked(std::move(*bytes), path);
}

/// `NxG`, `SxNxG`, or else the name of a cluster file.
Expected<Cluster> cluster_of(const std::string& text) {
  if (text.find_first_not_of("0123456789x") == std::string::npos) {
    return trace::parse_cluster(text);
  }
  const auto file = read_text(text);
  if (!file) return std::unexpected(file.error());
  return trace::read_cluster(*file, text);
}

/// A policy that needs a sample of past service and got none would quietly be another.
Expected<std::vector<std::int64_t>> service_of(const SimArguments& arguments) {
  if (arguments.service.empty()) {
    if (!arguments.policy.ends_with("gittins")) return {};
    return fail(ErrorCode::InvalidArgument,
                "policy " + arguments.policy + " learns from past jobs: give it --service FILE");
  }
  const auto text = read_file(arguments.service);
  if (!text) return std::unexpected(text.error());
  return trace::read_samples(*text, arguments.service);
}

void warn_of_rejected(const trace::Trace& trace, const sim::Result& result) {
  for (const sim::JobResult& job : result.jobs) {
    if (job.refused.empty()) continue;
    const std::string reason = job.refused.substr(job.refused.find(": ") + 2);
    std::fprintf(stderr, "berth: job %s: %s; rejected\n", trace.jobs[job.job].name.c_str(),
                 reason.c_str());
  }
}

Expected<void> simulate(const SimArguments& arguments) {
  const auto text = read_text(arguments.trace);
  if (!text) return std::unexpected(text.error());
  auto jobs = trace::read(arguments.format, *text, arguments.trace);
  if (!jobs) return std::unexpected(jobs.error());
  const auto cluster = cluster_of(arguments.cluster);
  if (!cluster) return std::unexpected(cluster.error());
  if (auto done = trace::accept_types(*jobs, *cluster); !done) return done;
  const auto service = service_of(arguments);
  if (!service) return std::unexpected(service.error());
  auto policy = make_policy(arguments.policy, arguments.place, {.service = *service});
  if (!policy) return std::unexpected(policy.error());
  const auto result = sim::simulate(*jobs, *cluster, std::move(*policy));
  if (!result) return std::unexpected(result.error());

  warn_of_rejected(*jobs, *result);
  const sim::Metrics metrics = sim::measure(*jobs, *cluster, *result);
  const sim::RunNames names{arguments.trace, arguments.cluster, arguments.policy, arguments.place};
  if (!arguments.jobs.empty()) {
    if (auto done = write_file(arguments.jobs, sim::jobs_csv(*jobs, *result)); !done) return done;
  }
  if (!arguments.summary.empty()) {
    if (auto done = write_file(arguments.summary, sim::summary_json(names, metrics)); !done) {
      return done;
    }
  }
  std::fputs(sim::summary_table(names, metrics).c_str(), stdout);
  return {};
}

std::string counted(std::int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

Expected<void> verify(const std::string& path) {
  const auto done = journal::verify(path);
  if (!done) return std::unexpected(done.error());
  const std::string line =
      path + ": " + counted(done->segments, "segment", "segments") + ", " +
      counted(done->entries, "entry", "entries") + ", " + counted(done->inputs, "input", "inputs") +
      ", " + counted(done->decisions, "decision", "decisions") + ": all decided again alike";
  std::puts(line.c_str());
  return {};
}

/// A trace and its cluster, or a journal, which has both in it.
void check_what_is_asked(const SimArguments& arguments) {
  if (!arguments.verify.empty()) return;
  if (arguments.trace.empty()) throw CLI::RequiredError("--trace");
  if (arguments.cluster.empty()) throw CLI::RequiredError("--cluster");
}

}  // namespace

void add_sim(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<SimArguments>();
  CLI::App* const verb = app.add_subcommand("sim", "Replay a trace under a policy.");
  CLI::Option* const trace = verb->add_option("--trace", arguments->trace, "The trace file.");
  verb->add_option("--format", arguments->format, "Its format: tiresias.")->capture_default_str();
  CLI::Option* const cluster = verb->add_option(
      "--cluster", arguments->cluster, "NODESxGPUS, SWITCHESxNODESxGPUS, or a cluster file.");
  verb->add_option("--policy", arguments->policy, "The policy.")->capture_default_str();
  verb->add_option("--place", arguments->place, "The placement.")->capture_default_str();
  verb->add_option("--service", arguments->service,
                   "Service of past jobs in GPU-seconds, one to a line after a header: what the "
                   "Gittins policies learn from.");
  verb->add_option("--jobs", arguments->jobs, "Write one line per job to this CSV file.");
  verb->add_option("--summary", arguments->summary, "Write the summary to this JSON file.");
  verb->add_option("--verify", arguments->verify,
                   "Decide this journal again instead, and compare with what it records.")
      ->excludes(trace)
      ->excludes(cluster);
  verb->callback([arguments, &chosen] {
    check_what_is_asked(*arguments);
    chosen = [arguments] {
      const auto done =
          arguments->verify.empty() ? simulate(*arguments) : verify(arguments->verify);
      return done ? 0 : report_failure(done.error().message);
    };
  });
}

}  // namespace berth::cli
