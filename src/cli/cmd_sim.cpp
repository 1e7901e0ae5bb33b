#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/files.hpp"
#include "cli/progress.hpp"
#include "cli/replay.hpp"
#include "cli/verbs.hpp"
#include "journal/verify.hpp"
#include "sim/metrics.hpp"
#include "sim/page.hpp"
#include "sim/report.hpp"
#include "sim/timeline.hpp"
#include "trace/csv.hpp"

namespace berth::cli {

namespace {

struct SimArguments {
  ReplayArguments replay;
  std::string policy = "fifo-skip";
  std::string jobs;
  std::string summary;
  std::string timeline;
  std::string report;
  std::string verify;
};

/// One line, however many there are: how many, and why the first few.
void warn_of_rejected(const trace::Trace& trace, const sim::Result& result) {
  constexpr std::size_t kExamples = 3;
  std::size_t count = 0;
  std::string examples;
  for (const sim::JobResult& job : result.jobs) {
    if (job.refused.empty() || ++count > kExamples) continue;
    const std::string reason = job.refused.substr(job.refused.find(": ") + 2);
    examples += (examples.empty() ? "job " : "; job ") + trace::shown(trace.jobs[job.job].name) +
                ": " + reason;
  }
  if (count == 0) return;
  std::fprintf(stderr, "berth: %zu of %zu jobs are rejected, they can never start here: %s%s\n",
               count, trace.jobs.size(), examples.c_str(), count > kExamples ? "; ..." : "");
}

/// Writes `text()` if a file was named for it.
template <class Text>
Expected<void> write_if_named(const std::string& path, Text text) {
  return path.empty() ? Expected<void>() : write_file(path, text());
}

Expected<void> simulate(const SimArguments& arguments) {
  const auto way = way_named(arguments.policy, arguments.replay);  // before a large file is read
  if (!way) return std::unexpected(way.error());
  const auto replay = read_replay(arguments.replay);
  if (!replay) return std::unexpected(replay.error());
  const bool record = !arguments.timeline.empty() || !arguments.report.empty();
  Progress progress(arguments.policy, replay->trace.jobs.size());
  auto result = run_replay(*replay, arguments.replay, *way,
                           {.record = record, .progress = std::ref(progress)});
  progress.end();
  if (!result) return std::unexpected(result.error());

  const trace::Trace& trace = replay->trace;
  warn_of_rejected(trace, *result);
  const sim::Metrics metrics = sim::measure(trace, replay->cluster, *result);
  const sim::RunNames names = names_of(arguments.replay, *way);
  auto done = write_if_named(arguments.jobs, [&] { return sim::jobs_csv(trace, *result); });
  if (!done) return done;
  done = write_if_named(arguments.summary, [&] { return sim::summary_json(names, metrics); });
  if (!done) return done;
  done = write_if_named(arguments.timeline,
                        [&] { return sim::timeline_json(trace, replay->cluster, *result); });
  if (!done) return done;
  done = write_if_named(arguments.report, [&] {
    const sim::PageRun run{names, metrics, std::move(*result)};
    return sim::page(trace, replay->cluster, std::span(&run, 1));
  });
  if (!done) return done;
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

}  // namespace

void add_sim(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<SimArguments>();
  CLI::App* const verb = app.add_subcommand("sim", "Replay a trace under a policy.");
  const ReplayOptions named = add_replay_options(*verb, arguments->replay);
  verb->add_option("--policy", arguments->policy, "The policy, or POLICY@PLACE.")
      ->capture_default_str();
  verb->add_option("--jobs", arguments->jobs, "Write one line per job to this CSV file.");
  verb->add_option("--summary", arguments->summary, "Write the summary to this JSON file.");
  verb->add_option("--timeline", arguments->timeline,
                   "Write what ran where as a Trace Event file, for Perfetto.");
  verb->add_option("--report", arguments->report, "Write a page with charts, one HTML file.");
  verb->add_option("--verify", arguments->verify,
                   "Decide this journal again instead, and compare with what it records.")
      ->excludes(named.trace)
      ->excludes(named.cluster);
  verb->callback([arguments, &chosen] {
    if (arguments->verify.empty()) check_replay_is_named(arguments->replay);
    chosen = [arguments] {
      const auto done =
          arguments->verify.empty() ? simulate(*arguments) : verify(arguments->verify);
      return done ? 0 : report_failure(done.error().message);
    };
  });
}

}  // namespace berth::cli
