#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <thread>

#include "cli/print/amounts.hpp"
#include "cli/print/numbers.hpp"
#include "cli/print/output.hpp"
#include "cli/print/report.hpp"
#include "cli/print/verbs.hpp"
#include "cli/study/experiment.hpp"
#include "policy/registry.hpp"
#include "report/figures.hpp"

namespace berth::cli {

namespace {

constexpr unsigned kMostCores = 4096;

struct CompareArguments {
  ReplayArguments replay;
  Outputs outputs;
  std::vector<std::string> policies;
  unsigned cores = 0;
};

/// Nothing unless starts were predicted.
std::string predictions_of(std::span<const sim::PageRun> runs) {
  if (!runs.front().metrics.predictions) return "";
  char line[200];
  std::snprintf(line, sizeof line, "\n%-28s %12s %12s %12s %12s %12s %12s %12s %12s\n",
                "predicted starts", "at once", "predicted", "median off", "p90 off", "bias",
                "off/wait", "by 50 % time", "by 90 % time");
  std::string text = line;
  for (const sim::PageRun& run : runs) {
    const sim::PredictionFigures& p = *run.metrics.predictions;
    const std::string predicted =
        std::to_string(p.predicted) + "/" + std::to_string(p.predicted + p.unknown);
    std::snprintf(line, sizeof line, "%-28s %12zu %12s %12.1f %12.1f %+12.1f %12.2f %12s %12s\n",
                  run.names.label.c_str(), p.at_once, predicted.c_str(), p.off.median, p.off.p90,
                  p.bias, p.off_over_wait, sim::to_text(p.calibration.share_by_half(), 2).c_str(),
                  sim::to_text(p.calibration.share_by_ninety(), 2).c_str());
    text += line;
  }
  return text;
}

/// Columns that tell no policy from another; nothing of one policy.
std::string same_of(const Experiment& experiment) {
  if (experiment.runs.size() < 2) return "";
  std::string heads;
  for (const sim::Figure& figure : sim::figures()) {
    std::vector<double> means;
    for (const sim::PageRun& run : experiment.runs) {
      if (const auto value = sim::interval_of(figure, run.seeds)) means.push_back(value->mean);
    }
    if (means.size() < experiment.runs.size() || figure.topic != sim::Topic::Efficiency) continue;
    const auto [least, most] = std::ranges::minmax(means);
    if (most <= 0 || most - least > sim::kSame * most) continue;
    heads += (heads.empty() ? "" : "; ") + std::string(figure.head);
  }
  return heads.empty() ? "" : "within 1 % under all policies: " + heads + "\n";
}

/// What the tables do not say of themselves.
std::string notes_of(const Experiment& experiment) {
  std::string text;
  const sim::Metrics& first = experiment.runs.front().metrics;
  if (experiment.seeds.size() > 1) {
    const std::string none = draws_nothing_text(experiment);
    text += !none.empty() ? none
                          : "means of " + std::to_string(experiment.seeds.size()) +
                                " seeds, with 95 % confidence intervals\n";
  }
  text += same_of(experiment);
  if (first.arriving) {
    char line[120];
    std::snprintf(line, sizeof line, "* while jobs arrive: the first %.0f s\n",
                  first.arriving->seconds);
    text += line;
  }
  if (first.short_wait.count + first.large_wait.count > 0) {
    text += "short jobs run for " + std::to_string(sim::kShortRun / minutes(1)) +
            " minutes or less when alone, large ones ask for " +
            std::to_string(sim::kLargeGpus.raw()) + " GPUs or more\n";
  }
  for (const Failure& failure : experiment.failures) {
    text += failure.label + ": no figures: " + failure.error.message + "\n";
  }
  for (const sim::PageRun& run : experiment.runs) {
    const sim::Metrics& m = run.metrics;
    if (m.jobs == m.submitted) continue;
    text += run.names.label + ": figures are of " + std::to_string(m.jobs) + " of " +
            std::to_string(m.submitted) + " jobs: " + std::to_string(m.rejected) + " rejected, " +
            std::to_string(m.timed_out) + " stopped by their time limit, " +
            std::to_string(m.out_of_memory) + " failed for lack of memory\n";
  }
  return text;
}

/// A placement for all is none for those that have one of their own.
Expected<Way> way_of(const std::string& word, const ReplayArguments& arguments) {
  if (word.find('@') != std::string::npos) return way_named(word, arguments);
  const auto placed = check_place(word, arguments.place);
  if (placed || placed.error().code != ErrorCode::InvalidArgument) {
    return way_named(word, arguments);
  }
  ReplayArguments its_own = arguments;
  its_own.place = "";
  auto way = way_named(word, its_own);
  if (way) std::fprintf(stderr, "berth: --place: %s\n", placed.error().message.c_str());
  return way;
}

/// `all` stands for every policy there is but those that lack what they learn from.
Expected<std::vector<Way>> ways_named(const CompareArguments& arguments) {
  std::vector<Way> ways;
  for (const std::string& word : arguments.policies) {
    if (word == "all") {
      for (const PolicyEntry& entry : policies()) {
        auto way = way_of(std::string(entry.name), arguments.replay);
        if (!way && way.error().code == ErrorCode::InvalidArgument) {
          std::fprintf(stderr, "berth: all leaves out %s: %s\n", std::string(entry.name).c_str(),
                       way.error().message.c_str());
          continue;
        }
        if (!way) return std::unexpected(way.error());
        ways.push_back(std::move(*way));
      }
      continue;
    }
    auto way = way_of(word, arguments.replay);
    if (!way) return std::unexpected(way.error());
    ways.push_back(std::move(*way));
  }
  return ways;
}

/// The arguments under each model of `--share`. Errors: of a model, before hours are spent.
Expected<std::vector<ReplayArguments>> by_share(const CompareArguments& arguments) {
  std::vector<ReplayArguments> all;
  std::istringstream models(tight_list(arguments.replay.machine.share));
  for (std::string model; std::getline(models, model, ',');) {
    if (model != "exclusive") {
      if (const auto known = sim::parse_share(model); !known) return std::unexpected(known.error());
    }
    ReplayArguments& one = all.emplace_back(arguments.replay);
    one.machine.share = model;
    for (auto& [name, value] : one.given) {
      if (name == "--share") value = model;
    }
  }
  const Outputs& to = arguments.outputs;
  if (all.size() < 2 || (to.jobs.empty() && to.report.empty() && to.summary.empty())) return all;
  return fail(ErrorCode::InvalidArgument,
              "--share: '" + arguments.replay.machine.share +
                  "' are several models; --jobs, --report and --summary are of one");
}

/// Of one comparison, or of one of several.
std::string compared_text(const Experiment& experiment, const ReplayArguments& arguments,
                          std::size_t comparisons) {
  const std::string& model = arguments.machine.share;
  if (arguments.json) {
    const std::string summary = summary_of(experiment, Policies::Several);
    return comparisons == 1 ? summary : "\"" + model + "\": " + summary;
  }
  return (comparisons == 1 ? "" : "--share " + model + "\n") + table_of(experiment) +
         notes_of(experiment) + predictions_of(experiment.runs) +
         groups_text(experiment, arguments.by);
}

/// One text after the other; of objects one object.
std::string joined(const std::vector<std::string>& texts, bool is_json) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : is_json ? "," : "\n") + text;
  return texts.size() > 1 && is_json ? "{" + all + "}\n" : all;
}

int compare(const CompareArguments& arguments) {
  const auto ways = ways_named(arguments);  // before hours are spent
  if (!ways) return report(ways.error());
  const auto under = by_share(arguments);
  if (!under) return report(under.error());
  const unsigned cores =
      arguments.cores != 0 ? arguments.cores : std::max(1U, std::thread::hardware_concurrency());
  std::size_t failures = 0;
  std::vector<std::string> texts;
  for (const ReplayArguments& replay : *under) {
    const auto experiment =
        run_experiment(replay, arguments.outputs, {.ways = *ways, .cores = cores});
    if (!experiment) return report(experiment.error());
    if (auto done = write_outputs(*experiment, arguments.outputs, Policies::Several); !done) {
      return report(done.error());
    }
    failures += experiment->failures.size();
    texts.push_back(compared_text(*experiment, replay, under->size()));
  }
  const int printed = arguments.outputs.print() ? 0 : print(joined(texts, arguments.replay.json));
  if (printed != 0 || failures == 0) return printed;
  return report_failure(std::to_string(failures) + " of " +
                        std::to_string(ways->size() * under->size()) + " policies have no figures");
}

}  // namespace

void add_compare(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* const verb =
      app.add_subcommand("compare", "Replay a trace under several policies, side by side.");
  add_replay_options(*verb, arguments->replay);
  verb->add_option(
          "--policies", arguments->policies,
          "Policies, separated by commas, each as POLICY or POLICY@PLACE; `all` runs every policy.")
      ->delimiter(',')
      ->transform(tight_list)
      ->required();
  Outputs& outputs = arguments->outputs;
  add_output(*verb, "--jobs", outputs.jobs, "Write one line per policy and job to this CSV file.");
  add_output(*verb, "--report", outputs.report, "Write one HTML file with charts.");
  add_output(*verb, "--summary", outputs.summary, "Write the summaries to this JSON file.");
  verb->add_option("--cores", arguments->cores,
                   "Number of runs at a time; 0: as many as there are cores.")
      ->check(whole_number(0, kMostCores))
      ->group("Results")
      ->capture_default_str();
  verb->callback([arguments, verb, &chosen] {
    check_replay_is_named(arguments->replay);
    note_given(*verb, arguments->replay);
    chosen = [arguments] { return compare(*arguments); };
  });
}

}  // namespace berth::cli
