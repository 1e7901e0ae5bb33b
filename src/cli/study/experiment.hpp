// Policies x seeds: the runs of `sim` and `compare`, and their output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/study/replay.hpp"
#include "core/base/error.hpp"
#include "report/page.hpp"

namespace berth::cli {

/// Where results go; "": nowhere.
struct Outputs {
  std::string jobs;
  std::string summary;
  std::string timeline;  ///< Of the first way and seed.
  std::string report;

  /// True if one of them goes to standard output, which then has nothing else: a program reads it.
  bool print() const;
};

/// A way that has no figures.
struct Failure {
  std::string label;
  Error error;
};

struct Experiment {
  std::vector<std::uint64_t> seeds;
  Replay first;                    ///< As the first seed has it.
  std::vector<sim::PageRun> runs;  ///< One for each way that came to its end with every seed;
                                   ///< results are of the first.
  std::vector<Failure> failures;   ///< The other ways.
  std::string jobs;                ///< The lines of `--jobs`, if that was asked for.
};

/// Whether a file of jobs says which policy each line is of.
enum class Policies { One, Several };

struct Plan {
  std::vector<Way> ways;
  Policies policies = Policies::Several;
  unsigned cores = 1;  ///< Runs at a time.
};

/// Reads what the arguments name and runs each way with each seed; one that fails is left out from
/// then on. Errors: of reading, and the first of a run if there is no way that did not fail.
Expected<Experiment> run_experiment(const ReplayArguments& arguments, const Outputs& outputs,
                                    const Plan& plan);

/// Errors: Io naming the file.
Expected<void> write_outputs(const Experiment& experiment, const Outputs& outputs,
                             Policies policies);

/// An object of one way; of several an array.
std::string summary_of(const Experiment& experiment, Policies policies);

/// Each run's figures side by side; over several seeds with their confidence intervals.
std::string table_of(const Experiment& experiment);

/// A run's figures over the seeds, one to a line with its confidence interval.
std::string seeds_text(const sim::PageRun& run);
/// A line where all seeds gave the same, so that an interval says nothing; else "".
std::string draws_nothing_text(const Experiment& experiment);

/// What `--by` asks for, of every run.
std::string groups_text(const Experiment& experiment, const std::vector<std::string>& by);

}  // namespace berth::cli
