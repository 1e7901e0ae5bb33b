#include "cli/study/experiment.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "cli/print/files.hpp"
#include "cli/print/output.hpp"
#include "cli/print/progress.hpp"
#include "core/base/sha256.hpp"
#include "report/figures.hpp"
#include "report/timeline.hpp"
#include "trace/gzip.hpp"
#include "trace/rows.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kMostGroups = 30;
constexpr int kLabelWidth = 28;

using Outcomes = std::vector<std::optional<Expected<sim::Result>>>;

bool is_recorded(const Outputs& outputs) {
  return !outputs.timeline.empty() || !outputs.report.empty();
}

/// Alone on a terminal, it says how far it is.
Outcomes run_one(const Replay& replay, const ReplayArguments& arguments, const Way& way,
                 const sim::Options& options) {
  Progress progress(way.word, replay.trace.jobs.size());
  sim::Options all = options;
  all.progress = std::ref(progress);
  Outcomes outcomes;
  outcomes.emplace_back(run_replay(replay, arguments, way, all));
  progress.end();
  return outcomes;
}

/// Each run on a thread of its own, as many at a time as there are cores: they share nothing but
/// what they read.
Outcomes run_all(const Replay& replay, const ReplayArguments& arguments, const Plan& plan,
                 const sim::Options& options) {
  const std::vector<Way>& ways = plan.ways;
  if (plan.policies == Policies::One) return run_one(replay, arguments, ways.front(), options);
  Outcomes outcomes(ways.size());
  std::atomic<std::size_t> next = 0;
  const std::string seed =
      arguments.seeds.empty() ? "" : ", seed " + std::to_string(replay.options.seed);
  const auto work = [&] {
    for (std::size_t i = next++; i < outcomes.size(); i = next++) {
      outcomes[i] = run_replay(replay, arguments, ways[i], options);
      std::fprintf(stderr, "berth: %s%s: %s\n", ways[i].word.c_str(), seed.c_str(),
                   *outcomes[i] ? "done" : outcomes[i]->error().message.c_str());
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < std::min<std::size_t>(plan.cores, outcomes.size()); ++i) {
    threads.emplace_back(work);
  }
  work();
  threads.clear();
  return outcomes;
}

/// What a run is of.
struct Asked {
  const ReplayArguments& arguments;
  const Outputs& outputs;
  Plan plan;  ///< Of its ways those that have not failed.
};

struct Columns {
  std::string heads;
  std::string values;
};

/// What tells the lines of one run from those of others in one file.
Columns run_columns(const Experiment& experiment, const Plan& plan, const Way& way,
                    std::uint64_t seed) {
  Columns columns;
  if (plan.policies == Policies::Several) {
    columns.heads += ",policy";
    columns.values += "," + trace::plain(way.word);
  }
  if (experiment.seeds.size() > 1) {
    columns.heads += ",seed";
    columns.values += "," + std::to_string(seed);
  }
  return columns;
}

/// The lines of a CSV with columns behind, to follow `before`: its header only if that is empty.
void append_csv(std::string& before, const std::string& csv, const Columns& columns) {
  const bool is_first = before.empty();
  for (std::size_t at = 0, line = 0; at < csv.size(); ++line) {
    const std::size_t end = csv.find('\n', at);
    if (line > 0 || is_first) {
      before += csv.substr(at, end - at) + (line == 0 ? columns.heads : columns.values) + "\n";
    }
    at = end + 1;
  }
}

/// What a summary and a page have beyond a table.
bool wants_all(const Asked& asked) {
  return !asked.outputs.summary.empty() || !asked.outputs.report.empty() || asked.arguments.json;
}
/// Figures by group cost another pass over the jobs,
bool wants_groups(const Asked& asked) { return wants_all(asked) || !asked.arguments.by.empty(); }
/// and the bound about as much as all others, but once for all policies.
bool wants_bound(const Asked& asked) {
  return wants_all(asked) || asked.plan.policies == Policies::Several;
}

/// Of seeds before, a way that failed has no figures either.
void drop_failed(Experiment& experiment, Outcomes& outcomes, std::vector<Way>& ways) {
  for (std::size_t i = outcomes.size(); i-- > 0;) {
    if (*outcomes[i]) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    experiment.failures.insert(experiment.failures.begin(), {ways[i].word, outcomes[i]->error()});
    outcomes.erase(outcomes.begin() + at);
    ways.erase(ways.begin() + at);
    if (!experiment.runs.empty()) experiment.runs.erase(experiment.runs.begin() + at);
  }
}

/// One seed, every way that has not failed yet. Errors: the first, if there is no such way left.
Expected<void> run_seed(Experiment& experiment, Asked& asked, Replay replay) {
  const std::uint64_t seed = replay.options.seed;
  const bool is_first = seed == experiment.seeds.front();
  Outcomes outcomes = run_all(replay, asked.arguments, asked.plan,
                              {.record = is_first && is_recorded(asked.outputs)});
  drop_failed(experiment, outcomes, asked.plan.ways);
  if (outcomes.empty()) return std::unexpected(experiment.failures.front().error);
  sim::Bounds bounds(replay.trace, replay.cluster, replay.options);
  for (std::size_t i = 0; i < asked.plan.ways.size(); ++i) {
    const Way& way = asked.plan.ways[i];
    auto& result = *outcomes[i];
    sim::Metrics metrics = sim::measure(replay.trace, replay.cluster, *result);
    if (wants_bound(asked)) metrics.bound = bounds.of(*result);
    if (!asked.outputs.jobs.empty()) {
      const std::string csv = sim::jobs_csv(replay.trace, replay.cluster, *result);
      append_csv(experiment.jobs, csv, run_columns(experiment, asked.plan, way, seed));
    }
    if (is_first) {
      sim::PageRun run{.names = names_of(asked.arguments, way, seed),
                       .metrics = metrics,
                       .result = std::move(*result)};
      if (wants_groups(asked)) {
        run.groups = {.users = sim::by_user(replay.trace, run.result),
                      .sizes = sim::by_size(replay.trace, run.result)};
      }
      experiment.runs.push_back(std::move(run));
    }
    experiment.runs[i].seeds.push_back(std::move(metrics));
  }
  if (is_first) experiment.first = std::move(replay);
  return {};
}

/// What the figures are of, where they are written down.
void note_trace(Experiment& experiment, const ReplayArguments& arguments, const Outputs& outputs) {
  if (outputs.summary.empty() && outputs.report.empty() && !arguments.json) return;
  const auto bytes = read_file(arguments.trace, trace::kMostText);
  if (!bytes || bytes->empty()) return;  // a pipe that was read once
  const std::string sum = sha256(*bytes);
  for (sim::PageRun& run : experiment.runs) run.names.how.trace_sha256 = sum;
}

nlohmann::ordered_json seeds_json(const Experiment& experiment, const sim::PageRun& run) {
  nlohmann::ordered_json json = sim::to_json(run.names);
  json.erase("seed");
  json["seeds"] = experiment.seeds;
  auto& figures = json["figures"] = nlohmann::ordered_json::object();
  for (const sim::Figure& figure : sim::figures_of(run.seeds)) {
    const auto interval = sim::interval_of(figure, run.seeds);
    if (!interval) continue;
    auto values = nlohmann::ordered_json::array();
    for (const sim::Metrics& one : run.seeds) {
      const auto value = figure.value(one);
      values.push_back(value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json());
    }
    auto& entry = figures[std::string(figure.key)] = {{"mean", interval->mean}};
    if (interval->half) entry["ci95"] = *interval->half;
    entry["values"] = std::move(values);
  }
  auto& runs = json["runs"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < run.seeds.size(); ++i) {
    sim::RunNames names = run.names;
    names.how.seed = experiment.seeds[i];
    runs.push_back(sim::summary_json(names, run.seeds[i], i == 0 ? run.groups : sim::Groups{}));
  }
  return json;
}

nlohmann::ordered_json json_of(const Experiment& experiment, const sim::PageRun& run) {
  if (experiment.seeds.size() > 1) return seeds_json(experiment, run);
  return sim::summary_json(run.names, run.metrics, run.groups);
}

/// A page under the name of a picture is opened by the wrong program, or by none.
Expected<void> check_page(const std::string& path) {
  constexpr auto kPictures = std::to_array<std::string_view>({".png", ".pdf", ".svg", ".csv"});
  const std::filesystem::path name(path);
  if (std::ranges::find(kPictures, name.extension().string()) == kPictures.end()) return {};
  return fail(ErrorCode::InvalidArgument,
              "--report " + path + ": is a page of HTML; name it " + name.stem().string() +
                  ".html, where each figure has links to its SVG and CSV");
}

Expected<void> check_files(const ReplayArguments& arguments, const Outputs& outputs) {
  std::vector<NamedFile> inputs = inputs_of(arguments.trace, arguments.how);
  inputs.insert(inputs.end(), {{"the cluster", arguments.cluster},
                               {"--service", arguments.service},
                               {"--weights", arguments.weights},
                               {"--virtual-clusters", arguments.virtual_clusters},
                               {"--estimates", arguments.estimates},
                               {"--limits", arguments.limits}});
  for (const std::string& speeds : arguments.machine.speeds) inputs.push_back({"--speeds", speeds});
  const auto written = std::to_array<NamedFile>({{"--json", arguments.json ? "-" : ""},
                                                 {"--jobs", outputs.jobs},
                                                 {"--summary", outputs.summary},
                                                 {"--timeline", outputs.timeline},
                                                 {"--report", outputs.report}});
  if (auto page = check_page(outputs.report); !page) return page;
  return check_apart(inputs, written);
}

/// Writes `text()` if a file was named for it.
template <class Text>
Expected<void> write_if_named(const std::string& path, Text text) {
  return path.empty() ? Expected<void>() : write_file(path, text());
}

}  // namespace

bool Outputs::print() const {
  return std::ranges::any_of(std::to_array({&jobs, &summary, &timeline, &report}),
                             [](const std::string* path) { return is_standard_output(*path); });
}

Expected<Experiment> run_experiment(const ReplayArguments& arguments, const Outputs& outputs,
                                    const Plan& plan) {
  if (auto apart = check_files(arguments, outputs); !apart) return std::unexpected(apart.error());
  const auto seeds = seeds_of(arguments);
  if (!seeds) return std::unexpected(seeds.error());
  auto inputs = read_inputs(arguments);
  if (!inputs) return std::unexpected(inputs.error());
  Experiment experiment{.seeds = *seeds, .first = {}, .runs = {}, .failures = {}, .jobs = {}};
  Asked asked{arguments, outputs, plan};
  for (std::size_t i = 0; i < seeds->size(); ++i) {
    const bool is_last = i + 1 == seeds->size();
    auto replay = replay_of(is_last ? std::move(*inputs) : *inputs, arguments, (*seeds)[i]);
    if (!replay) return std::unexpected(replay.error());
    auto done = run_seed(experiment, asked, std::move(*replay));
    if (!done) return std::unexpected(done.error());
  }
  note_trace(experiment, arguments, outputs);
  return experiment;
}

Expected<void> write_outputs(const Experiment& experiment, const Outputs& outputs,
                             Policies policies) {
  const Replay& first = experiment.first;
  auto done = write_if_named(outputs.jobs, [&] { return experiment.jobs; });
  if (!done) return done;
  done = write_if_named(outputs.summary, [&] { return summary_of(experiment, policies); });
  if (!done) return done;
  done = write_if_named(outputs.timeline, [&] {
    return sim::timeline_json(first.trace, first.cluster, experiment.runs.front().result);
  });
  if (!done) return done;
  return write_if_named(outputs.report,
                        [&] { return sim::page(first.trace, first.cluster, experiment.runs); });
}

std::string summary_of(const Experiment& experiment, Policies policies) {
  if (policies == Policies::One) {
    return sim::json_text(json_of(experiment, experiment.runs.front()));
  }
  auto list = nlohmann::ordered_json::array();
  for (const sim::PageRun& run : experiment.runs) list.push_back(json_of(experiment, run));
  return sim::json_text(list);
}

namespace {

/// A name and its cells in a line, each as wide as its column.
std::string line_of(const std::string& name, const std::vector<std::string>& cells,
                    const std::vector<std::size_t>& widths) {
  char label[160];
  std::snprintf(label, sizeof label, "%-*s", kLabelWidth, name.c_str());
  std::string text = label;
  for (std::size_t i = 0; i < cells.size(); ++i)
    text += " " + padded(cells[i], widths[i], Align::Right);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

/// Cells under these figures, empty without a bound; none if there is no bound at all.
std::vector<std::string> least_of(const std::vector<sim::Figure>& figures,
                                  std::span<const sim::Metrics> seeds) {
  std::vector<std::string> cells;
  bool knows = false;
  for (const sim::Figure& figure : figures) {
    const auto least = sim::least_of(figure, seeds);
    knows = knows || least;
    cells.push_back(least ? sim::to_text(figure, least) : "");
  }
  return knows ? cells : std::vector<std::string>();
}

/// Names and cells, line by line.
using TableRows = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::string table_of(const std::vector<sim::Figure>& figures, std::string_view head,
                     TableRows rows) {
  std::vector<std::string> heads;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    heads.emplace_back(figures[i].head);
    widths.push_back(static_cast<std::size_t>(figures[i].width));
    for (const auto& [name, cells] : rows) widths[i] = std::max(widths[i], cells[i].size());
  }
  rows.emplace(rows.begin(), head, std::move(heads));
  std::string text;
  for (const auto& [name, cells] : rows) text += line_of(name, cells, widths);
  return text;
}

}  // namespace

std::string table_of(const Experiment& experiment) {
  std::vector<sim::Metrics> all;
  for (const sim::PageRun& run : experiment.runs) {
    all.insert(all.end(), run.seeds.begin(), run.seeds.end());
  }
  std::string text;
  for (const sim::Topic topic : sim::kTopics) {
    const std::vector<sim::Figure> shown = sim::figures_of(all, topic);
    if (shown.empty()) continue;
    TableRows rows;
    for (const sim::PageRun& run : experiment.runs) {
      auto& [name, cells] = rows.emplace_back(run.names.label, std::vector<std::string>());
      for (const sim::Figure& figure : shown) {
        cells.push_back(sim::to_text(figure, sim::interval_of(figure, run.seeds)));
      }
    }
    const std::vector<std::string> least = least_of(shown, sim::fullest(experiment.runs).seeds);
    if (!least.empty()) rows.emplace_back(sim::kBoundRow, least);
    text += (text.empty() ? "" : "\n") + table_of(shown, sim::head_of(topic), std::move(rows));
  }
  return text;
}

std::string draws_nothing_text(const Experiment& experiment) {
  for (const sim::PageRun& run : experiment.runs) {
    const auto first = sim::summary_json(run.names, run.seeds.front(), {});
    for (const sim::Metrics& other : run.seeds) {
      if (sim::summary_json(run.names, other, {}) != first) return "";
    }
  }
  return "nothing here is drawn at random: all seeds are the same run; an interval needs several "
         "traces (berth trace generate --seed)\n";
}

std::string seeds_text(const sim::PageRun& run) {
  std::string text;
  for (const sim::Figure& figure : sim::figures_of(run.seeds)) {
    char line[160];
    std::snprintf(line, sizeof line, "%-12s %s\n", std::string(figure.head).c_str(),
                  sim::to_text(figure, sim::interval_of(figure, run.seeds)).c_str());
    text += line;
  }
  return text;
}

std::string groups_text(const Experiment& experiment, const std::vector<std::string>& by) {
  std::string text;
  for (const std::string& what : by) {
    for (const sim::PageRun& run : experiment.runs) {
      const bool is_user = what == "user";
      const auto& groups = is_user ? run.groups.users : run.groups.sizes;
      text += "\n";
      if (experiment.runs.size() > 1) text += run.names.label + "\n";
      if (groups.empty()) {
        text += "the trace names no users\n";
      } else {
        text += sim::to_text(is_user ? "user" : "GPUs asked", groups, kMostGroups);
      }
    }
  }
  return text;
}

}  // namespace berth::cli
