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
Outcomes run_all(const Replay& replay, const CompareArguments& arguments,
                 std::span<const Way> ways) {
  Outcomes outcomes(ways.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < outcomes.size(); i = next++) {
      outcomes[i] =
          run_replay(replay, arguments.replay, ways[i], {.record = !arguments.report.empty()});
      std::fprintf(stderr, "berth: %s: %s\n", ways[i].word.c_str(),
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

struct Column {
  const char* head;
  int width;
  int digits;
  double (*value)(const sim::Metrics& metrics);
};

constexpr Column kColumns[] = {
    {"mean JCT", 12, 1, [](const sim::Metrics& m) { return m.jct.mean; }},
    {"p95 JCT", 12, 1, [](const sim::Metrics& m) { return m.jct.p95; }},
    {"mean wait", 12, 1, [](const sim::Metrics& m) { return m.wait.mean; }},
    {"slowdown", 9, 2, [](const sim::Metrics& m) { return m.slowdown.mean; }},
    {"fairness", 9, 3, [](const sim::Metrics& m) { return m.fairness; }},
    {"makespan", 12, 0, [](const sim::Metrics& m) { return m.makespan; }},
    {"jobs/h", 9, 2, [](const sim::Metrics& m) { return m.jobs_per_hour; }},
    {"alloc, %", 9, 1, [](const sim::Metrics& m) { return 100 * m.allocated; }},
    {"preempt", 9, 0, [](const sim::Metrics& m) { return static_cast<double>(m.preemptions); }}};
constexpr Column kCost = {"cost", 12, 2, [](const sim::Metrics& m) { return *m.machine->cost; }};
constexpr Column kEnergy = {"kWh", 12, 1,
                            [](const sim::Metrics& m) { return sim::kwh(m.machine->energy); }};

/// Those that there are figures for.
std::vector<Column> columns_of(const sim::Metrics& metrics) {
  std::vector<Column> columns(std::begin(kColumns), std::end(kColumns));
  if (metrics.machine && metrics.machine->cost) columns.push_back(kCost);
  if (metrics.machine && !metrics.machine->energy.empty()) columns.push_back(kEnergy);
  return columns;
}

std::string table_of(std::span<const sim::PageRun> runs) {
  const std::vector<Column> columns = columns_of(runs.front().metrics);
  char cell[80];
  std::snprintf(cell, sizeof cell, "%-28s", "seconds");
  std::string text = cell;
  for (const Column& column : columns) {
    std::snprintf(cell, sizeof cell, " %*s", column.width, column.head);
    text += cell;
  }
  for (const sim::PageRun& run : runs) {
    std::snprintf(cell, sizeof cell, "\n%-28s", run.names.label.c_str());
    text += cell;
    for (const Column& column : columns) {
      const double value = column.value(run.metrics);
      std::snprintf(cell, sizeof cell, " %*.*f", column.width, column.digits, value);
      text += cell;
    }
  }
  return text + "\n";
}

/// Nothing unless starts were predicted.
std::string predictions_of(std::span<const sim::PageRun> runs) {
  if (!runs.front().metrics.predictions) return "";
  char line[200];
  std::snprintf(line, sizeof line, "\n%-28s %12s %12s %12s %12s %12s %12s\n", "predicted starts",
                "at once", "predicted", "median off", "p90 off", "bias", "off/wait");
  std::string text = line;
  for (const sim::PageRun& run : runs) {
    const sim::PredictionFigures& p = *run.metrics.predictions;
    const std::string predicted =
        std::to_string(p.predicted) + "/" + std::to_string(p.predicted + p.unknown);
    std::snprintf(line, sizeof line, "%-28s %12zu %12s %12.1f %12.1f %+12.1f %12.2f\n",
                  run.names.label.c_str(), p.at_once, predicted.c_str(), p.off.median, p.off.p90,
                  p.bias, p.off_over_wait);
    text += line;
  }
  return text;
}

/// `all` stands for every policy there is but those that lack what they learn from.
Expected<std::vector<Way>> ways_named(const CompareArguments& arguments) {
  std::vector<Way> ways;
  for (const std::string& word : arguments.policies) {
    if (word == "all") {
      for (const PolicyEntry& entry : policies()) {
        auto way = way_named(std::string(entry.name), arguments.replay);
        if (!way && way.error().code == ErrorCode::InvalidArgument) continue;
        if (!way) return std::unexpected(way.error());
        ways.push_back(std::move(*way));
      }
      continue;
    }
    auto way = way_named(word, arguments.replay);
    if (!way) return std::unexpected(way.error());
    ways.push_back(std::move(*way));
  }
  return ways;
}

Expected<void> compare(const CompareArguments& arguments) {
  const auto ways = ways_named(arguments);  // before hours are spent
  if (!ways) return std::unexpected(ways.error());
  const auto replay = read_replay(arguments.replay);
  if (!replay) return std::unexpected(replay.error());
  Outcomes outcomes = run_all(*replay, arguments, *ways);
  std::vector<sim::PageRun> runs;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    auto& result = *outcomes[i];
    if (!result) return std::unexpected(result.error());
    const sim::Metrics metrics = sim::measure(replay->trace, replay->cluster, *result);
    runs.push_back({names_of(arguments.replay, (*ways)[i]), metrics, std::move(*result)});
  }
  if (const std::size_t rejected = runs.front().metrics.rejected; rejected > 0) {
    std::fprintf(stderr, "berth: %zu of %zu jobs can never start there and are left out\n",
                 rejected, replay->trace.jobs.size());
  }
  std::fputs((table_of(runs) + predictions_of(runs)).c_str(), stdout);
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
  verb->add_option(
          "--policies", arguments->policies,
          "The policies, with commas between, each as POLICY or POLICY@PLACE; all: every one.")
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
