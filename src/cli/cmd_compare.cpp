#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <optional>
#include <thread>

#include "cli/files.hpp"
#include "cli/replay.hpp"
#include "cli/verbs.hpp"
#include "policy/registry.hpp"
#include "sim/metrics.hpp"
#include "sim/page.hpp"

namespace berth::cli {

namespace {

struct CompareArguments {
  ReplayArguments replay;
  std::vector<std::string> policies;
  std::string report;
  std::string summary;
  unsigned jobs = 0;
};

using Outcomes = std::vector<std::optional<Expected<sim::Result>>>;

/// Each run on a thread of its own, as many at a time as there are cores: they share nothing but
/// what they read.
Outcomes run_all(const Replay& replay, const CompareArguments& arguments) {
  Outcomes outcomes(arguments.policies.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < outcomes.size(); i = next++) {
      outcomes[i] = run_replay(replay, arguments.replay, arguments.policies[i],
                               {.record = !arguments.report.empty()});
      std::fprintf(stderr, "berth: %s: %s\n", arguments.policies[i].c_str(),
                   *outcomes[i] ? "done" : outcomes[i]->error().message.c_str());
    }
  };
  const unsigned cores =
      arguments.jobs != 0 ? arguments.jobs : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < std::min<std::size_t>(cores, outcomes.size()); ++i) {
    threads.emplace_back(work);
  }
  work();
  threads.clear();
  return outcomes;
}

std::string table_of(std::span<const sim::PageRun> runs) {
  char line[200];
  std::snprintf(line, sizeof line, "%-28s %12s %12s %12s %9s %9s %12s %7s %9s\n", "", "mean JCT",
                "p95 JCT", "mean wait", "slowdown", "fairness", "makespan", "alloc", "preempt");
  std::string text = line;
  for (const sim::PageRun& run : runs) {
    const sim::Metrics& m = run.metrics;
    std::snprintf(line, sizeof line,
                  "%-28s %12.1f %12.1f %12.1f %9.2f %9.3f %12.0f %5.1f %% %9lld\n",
                  run.names.policy.c_str(), m.jct.mean, m.jct.p95, m.wait.mean, m.slowdown.mean,
                  m.fairness, m.makespan, 100 * m.allocated, static_cast<long long>(m.preemptions));
    text += line;
  }
  return text;
}

Expected<void> compare(const CompareArguments& arguments) {
  for (const std::string& policy : arguments.policies) {  // before hours are spent
    if (auto made = make_policy(policy, arguments.replay.place); !made) {
      return std::unexpected(made.error());
    }
  }
  const auto replay = read_replay(arguments.replay);
  if (!replay) return std::unexpected(replay.error());
  Outcomes outcomes = run_all(*replay, arguments);
  std::vector<sim::PageRun> runs;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    auto& result = *outcomes[i];
    if (!result) return std::unexpected(result.error());
    const sim::Metrics metrics = sim::measure(replay->trace, replay->cluster, *result);
    runs.push_back({{arguments.replay.trace, arguments.replay.cluster, arguments.policies[i],
                     arguments.replay.place},
                    metrics,
                    std::move(*result)});
  }
  std::fputs(table_of(runs).c_str(), stdout);
  if (!arguments.summary.empty()) {
    std::string text = "[";
    for (const sim::PageRun& run : runs) {
      text += (text.size() > 1 ? "," : "") + sim::summary_json(run.names, run.metrics);
    }
    if (auto done = write_file(arguments.summary, text + "]\n"); !done) return done;
  }
  if (arguments.report.empty()) return {};
  return write_file(arguments.report, sim::page(replay->trace, replay->cluster, runs));
}

}  // namespace

void add_compare(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* const verb =
      app.add_subcommand("compare", "Replay a trace under several policies, side by side.");
  add_replay_options(*verb, arguments->replay);
  verb->add_option("--policies", arguments->policies, "The policies, with commas between.")
      ->delimiter(',')
      ->required();
  verb->add_option("--report", arguments->report, "Write a page with charts, one HTML file.");
  verb->add_option("--summary", arguments->summary, "Write the summaries to this JSON file.");
  verb->add_option("--cores", arguments->jobs, "Runs at a time; as many as there are cores if 0.")
      ->capture_default_str();
  verb->callback([arguments, &chosen] {
    check_replay_is_named(arguments->replay);
    chosen = [arguments] {
      const auto done = compare(*arguments);
      return done ? 0 : report_failure(done.error().message);
    };
  });
}

}  // namespace berth::cli
