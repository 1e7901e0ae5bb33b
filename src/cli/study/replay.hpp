// The common part of the verbs that replay a trace: their options, and reading the files they name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/study/machine_options.hpp"
#include "cli/study/trace_input.hpp"
#include "core/base/error.hpp"
#include "core/cluster.hpp"
#include "core/settings.hpp"
#include "policy/registry.hpp"
#include "report/report.hpp"
#include "sim/estimates.hpp"
#include "sim/given_times.hpp"
#include "sim/simulator.hpp"
#include "sim/virtual_clusters.hpp"
#include "trace/trace.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace berth::cli {

struct ReplayArguments {
  std::string trace;
  TraceArguments how;
  std::string cluster;
  std::string place;  ///< Empty: each policy's default.
  std::string service;
  std::string weights;
  std::string gpu_values;
  std::string half_life;  ///< Of past service; "": the usual one.
  std::string virtual_clusters;
  std::string admission = "guarantee";
  std::string estimates = "exact";
  std::string limits;
  std::int64_t shards = 0;  ///< Of a GPU; 0: jobs ask for memory as the trace says.
  double load = 1;
  std::uint64_t seed = 0;
  std::string seeds;    ///< A number of them, or a list; "": `seed` alone.
  std::string measure;  ///< FROM:TO; "": everything.
  std::vector<std::string> by;
  MachineArguments machine;
  bool waits = false;
  std::size_t predictions = 0;
  bool json = false;
  /// Options as they were given, beside those that have members of their own in a summary and those
  /// that only say where results go. Filled by note_given().
  std::vector<std::pair<std::string, std::string>> given;
};

/// The two that say what is replayed, for `excludes`.
struct ReplayOptions {
  CLI::Option* trace;
  CLI::Option* cluster;
};

ReplayOptions add_replay_options(CLI::App& verb, ReplayArguments& arguments);
/// An option that says where results go: it changes none of them.
CLI::Option* add_output(CLI::App& verb, const std::string& name, std::string& path,
                        const std::string& help);
/// Errors: CLI::ValidationError, thrown, of an option with an empty value: a variable that is not
/// set would leave out what it was to say.
void note_given(const CLI::App& verb, ReplayArguments& arguments);

/// Errors: CLI::RequiredError, thrown as the parser's own, without --trace or --cluster.
void check_replay_is_named(const ReplayArguments& arguments);

/// The policy and placement of a run.
struct Way {
  std::string word;  ///< As it was asked for.
  Chosen chosen;
};

/// As in policy/spec.hpp; the placement of `arguments` if the word has none. Errors: those of
/// check_place(); InvalidArgument for a policy that learns from past jobs if there are none.
Expected<Way> way_named(const std::string& word, const ReplayArguments& arguments);

/// `--seeds`, or the one of `--seed`. Errors: InvalidArgument.
Expected<std::vector<std::uint64_t>> seeds_of(const ReplayArguments& arguments);

/// The files that the arguments name, read once for all seeds.
struct Inputs {
  /// Given times; of limits instead a factor of the run time in thousandths, if it is above 0.
  struct Times {
    std::optional<sim::JobTimes> by_job;
    std::int64_t factor = 0;
  };

  trace::Trace trace;
  Cluster cluster;
  std::vector<sim::VirtualCluster> virtual_clusters;
  std::vector<std::int64_t> service;
  std::map<UserId, std::int64_t> weights;
  Duration half_life = Settings{}.service_half_life;
  AdmissionMode admission = AdmissionMode::Guarantee;
  sim::Estimates estimates;
  Times told;  ///< Estimates by job, instead.
  Times limits;
  std::optional<std::pair<Duration, Duration>> measured;  ///< From the first submission on.
};

/// Warns on standard error of possible mistakes. Errors: of reading each file, naming it;
/// InvalidArgument for an unknown word.
Expected<Inputs> read_inputs(const ReplayArguments& arguments);

/// A trace as a run replays it.
struct Replay {
  trace::Trace trace;
  Cluster cluster;
  std::vector<sim::VirtualCluster> virtual_clusters;  ///< None: the cluster is one.
  std::vector<std::int64_t> service;
  sim::Options options;  ///< All that does not differ from run to run.
};

/// Adds the draws of this seed. Errors: as read_inputs(), of the machine's options.
Expected<Replay> replay_of(Inputs inputs, const ReplayArguments& arguments, std::uint64_t seed);

/// Runs it one way; of `options` only recording and progress count. Errors: those of
/// sim::simulate().
Expected<sim::Result> run_replay(const Replay& replay, const ReplayArguments& arguments,
                                 const Way& way, const sim::Options& options);

/// The name of a run, with the placement in use.
sim::RunNames names_of(const ReplayArguments& arguments, const Way& way, std::uint64_t seed);

}  // namespace berth::cli
