#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/print/files.hpp"
#include "cli/print/json.hpp"
#include "cli/print/output.hpp"
#include "cli/print/report.hpp"
#include "cli/print/verbs.hpp"
#include "cli/study/experiment.hpp"
#include "journal/recorded.hpp"
#include "journal/verify.hpp"
#include "trace/csv.hpp"

namespace berth::cli {

namespace {

struct SimArguments {
  ReplayArguments replay;
  Outputs outputs;
  std::string policy = "fifo-skip";
  std::string verify;
};

/// One line, however many there are: how many, and why the first few.
void warn_of_rejected(const trace::Trace& trace, const sim::Result& result,
                      const std::string& cluster) {
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
  const bool says_no_size = cluster.find_first_not_of("0123456789x") == cluster.npos;
  if (examples.contains(" per GPU") && says_no_size) {
    std::fprintf(stderr, "berth: the GPUs of --cluster %s have 24 GiB; %sx80G has GPUs of 80 GiB\n",
                 cluster.c_str(), cluster.c_str());
  }
}

/// Nobody has chosen this model, and it is behind every figure of a trace whose jobs say how much
/// memory they need.
std::string free_sharing_text(const Experiment& experiment, const SimArguments& arguments) {
  const bool any_shares =
      std::ranges::any_of(experiment.first.trace.jobs, [](const trace::TraceJob& job) {
        return job.spec.request.gpu.vram > Bytes(0) &&
               job.spec.request.gpu.sharing != Sharing::Alone;
      });
  if (!any_shares || arguments.replay.machine.share != "free") return "";
  return "jobs that share a GPU run as fast as alone here; --share duty or timeslice slows them\n";
}

std::string shown_text(const Experiment& experiment, const SimArguments& arguments) {
  if (arguments.replay.json) return summary_of(experiment, Policies::One);
  const sim::PageRun& run = experiment.runs.front();
  std::string text;
  if (experiment.seeds.size() > 1) {
    text = "first of " + std::to_string(experiment.seeds.size()) + " seeds: ";
  }
  text += sim::summary_table(run.names, run.metrics);
  if (experiment.seeds.size() > 1) {
    const std::string none = draws_nothing_text(experiment);
    text += !none.empty() ? "\n" + none
                          : "\nover all seeds, with 95 % confidence intervals (* while jobs "
                            "arrive):\n" +
                                seeds_text(run);
  }
  return text + free_sharing_text(experiment, arguments) +
         groups_text(experiment, arguments.replay.by);
}

int simulate(const SimArguments& arguments) {
  auto way = way_named(arguments.policy, arguments.replay);  // before a large file is read
  if (!way) return report(way.error());
  const auto experiment = run_experiment(arguments.replay, arguments.outputs,
                                         {.ways = {*way}, .policies = Policies::One});
  if (!experiment) return report(experiment.error());
  warn_of_rejected(experiment->first.trace, experiment->runs.front().result,
                   arguments.replay.cluster);
  if (auto done = write_outputs(*experiment, arguments.outputs, Policies::One); !done) {
    return report(done.error());
  }
  return arguments.outputs.print() ? 0 : print(shown_text(*experiment, arguments));
}

std::string counted(std::int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

int verify(const SimArguments& arguments) {
  const std::string& path = arguments.verify;
  const NamedFile verified{"--verify", path};
  const auto written = std::to_array<NamedFile>(
      {{"--json", arguments.replay.json ? "-" : ""}, {"--jobs", arguments.outputs.jobs}});
  if (auto apart = check_apart({&verified, 1}, written); !apart) return report(apart.error());
  journal::Recorded recorded;
  const auto done = journal::verify(
      path, [&](Instant now, std::span<const Input> inputs, const Effects& effects) {
        if (!arguments.outputs.jobs.empty()) recorded.add(now, inputs, effects);
      });
  if (!done) return report_failure(done.error().message);
  if (!arguments.outputs.jobs.empty()) {
    auto done_writing = write_file(arguments.outputs.jobs, recorded.csv());
    if (!done_writing) return report_failure(done_writing.error().message);
  }
  if (arguments.outputs.print()) return 0;
  if (arguments.replay.json) {
    return print(json_text({{"journal", path},
                            {"segments", done->segments},
                            {"entries", done->entries},
                            {"inputs", done->inputs},
                            {"decisions", done->decisions}}));
  }
  return print(
      path + ": " + counted(done->segments, "segment", "segments") + ", " +
      counted(done->entries, "entry", "entries") + ", " + counted(done->inputs, "input", "inputs") +
      ", " + counted(done->decisions, "decision", "decisions") + ": all decided again the same\n");
}

}  // namespace

void add_sim(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<SimArguments>();
  CLI::App* const verb = app.add_subcommand("sim", "Replay a trace under a policy.");
  const ReplayOptions named = add_replay_options(*verb, arguments->replay);
  verb->add_option("--policy", arguments->policy, "The policy, or POLICY@PLACE.")
      ->capture_default_str();
  Outputs& outputs = arguments->outputs;
  add_output(*verb, "--jobs", outputs.jobs,
             "Write one line per job to this CSV file; with --verify when it had its berth.");
  add_output(*verb, "--summary", outputs.summary, "Write the summary to this JSON file.");
  add_output(*verb, "--timeline", outputs.timeline,
             "Write a Trace Event file for Perfetto: which job ran on which GPU.");
  add_output(*verb, "--report", outputs.report, "Write one HTML file with charts.");
  CLI::Option* const verified =
      verb->add_option(
              "--verify", arguments->verify,
              "Instead of a trace: decide this journal again and compare with its decisions.")
          ->excludes(named.trace)
          ->excludes(named.cluster);
  for (const char* const other : {"--summary", "--timeline", "--report"}) {
    verified->excludes(verb->get_option(other));
  }
  verb->callback([arguments, verb, &chosen] {
    if (arguments->verify.empty()) check_replay_is_named(arguments->replay);
    note_given(*verb, arguments->replay);
    chosen = [arguments] {
      return arguments->verify.empty() ? simulate(*arguments) : verify(*arguments);
    };
  });
}

}  // namespace berth::cli
