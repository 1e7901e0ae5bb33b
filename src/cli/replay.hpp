// What the verbs that replay a trace have in common: its options, and reading what they name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/machine_options.hpp"
#include "cli/trace_input.hpp"
#include "core/cluster.hpp"
#include "core/error.hpp"
#include "sim/report.hpp"
#include "sim/simulator.hpp"
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
  std::string place;  ///< Empty: the one each policy is meant to go with.
  std::string service;
  std::string weights;
  std::string admission = "guarantee";
  std::string estimates = "exact";
  double load = 1;
  std::uint64_t seed = 0;
  MachineArguments machine;
  bool waits = false;
  std::size_t predictions = 0;
};

/// The two that say what is replayed, for `excludes`.
struct ReplayOptions {
  CLI::Option* trace;
  CLI::Option* cluster;
};

ReplayOptions add_replay_options(CLI::App& verb, ReplayArguments& arguments);

/// Errors: CLI::RequiredError, thrown as the parser's own, without --trace or --cluster.
void check_replay_is_named(const ReplayArguments& arguments);

/// What a run replays under.
struct Way {
  std::string word;  ///< As it was asked for.
  std::string policy;
  std::string place;  ///< As in ReplayArguments.
};

/// `POLICY`, with the placement of `arguments`, or `POLICY@PLACE`. Errors: NotFound with the known
/// names; InvalidArgument for a policy that learns from past jobs if there are none.
Expected<Way> way_named(const std::string& word, const ReplayArguments& arguments);

/// What the arguments name, read.
struct Replay {
  trace::Trace trace;
  Cluster cluster;
  std::vector<std::int64_t> service;
  sim::Options options;  ///< All that does not differ from run to run.
};

/// Errors: of reading each file, naming it; InvalidArgument for a word that is none of the known.
Expected<Replay> read_replay(const ReplayArguments& arguments);

/// Runs it one way; of `options` only what to record and whom to tell counts. Errors: those of
/// sim::simulate().
Expected<sim::Result> run_replay(const Replay& replay, const ReplayArguments& arguments,
                                 const Way& way, const sim::Options& options);

/// What a run is called: with the placement that it has in the end.
sim::RunNames names_of(const ReplayArguments& arguments, const Way& way);

}  // namespace berth::cli
