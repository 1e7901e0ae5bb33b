// Mixes of named workloads: traces drawn from definitions that are data (doc/scenarios.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "trace/trace.hpp"

namespace berth::trace {

/// One job as a file of workloads has it: what its user asks for, and what it truly does.
struct Workload {
  std::string name;
  GpuCount gpus{1};
  Bytes asks{0};  ///< Of memory, per GPU.
  UseCurve use;   ///< Never empty.
  GpuMilli duty{1000};
  Duration run_time{0};  ///< Above 0.
  DurationClass duration_class = DurationClass::Medium;
};

enum class RunTimes : std::uint8_t {
  Table,   ///< The workload's own.
  Philly,  ///< Philly's for its number of GPUs; curve and class follow.
};
enum class Arrivals : std::uint8_t {
  Daily,     ///< By the hour of the day and the day of the week, as Philly's.
  Steady,    ///< At any time with the same chance.
  Together,  ///< As Steady, but as many jobs as there are users at each instant.
};
enum class LoadOf : std::uint8_t {
  Gpus,    ///< GPUs x run time, over GPUs x the span of arrivals.
  Memory,  ///< GPU memory at its peak x run time, over GPU memory x the span.
};

struct Mix {
  /// One of these workloads, each as likely.
  struct Choice {
    std::int64_t weight = 1;             ///< In thousandths.
    std::vector<std::size_t> workloads;  ///< Their indices; not empty.
  };
  /// One job beside those that are drawn, which does not count in the load.
  struct Extra {
    std::size_t workload = 0;
    std::int64_t at = 0;  ///< Of the span of arrivals, in thousandths.
  };

  std::string name;
  std::vector<Choice> choices;
  std::vector<Extra> extras = {};
  RunTimes run_times = RunTimes::Table;
  Arrivals arrivals = Arrivals::Daily;
  LoadOf load_of = LoadOf::Gpus;
  std::int64_t load = 1000;  ///< In thousandths, above 0.
  std::int64_t users = 8;
  std::int64_t greedy = 0;  ///< So many of the users submit ten times as much as each other one.
  std::int64_t lying = 0;   ///< So many others of them lie: see draw_mix().
  std::int64_t limit = 0;   ///< Run times x this many thousandths; 0: none.
  /// What policies know of run times, for `berth sim --estimates`; it does not change the trace.
  std::string estimates = "none";
};

/// The limit of a user who lies, where jobs have limits: no job reaches it.
inline constexpr Duration kNeverReached = hours(24) * 365 * 10;

/// The files of examples/scenarios, as they were at build time: workloads.csv, mixes.toml, and the
/// cluster 4x8x80g.toml.
std::string_view shipped_workloads();
std::string_view shipped_mixes();
std::string_view shipped_cluster();

/// Columns as in doc/scenarios.md; others are ignored. Errors: BadData naming file, line, column,
/// value and what was expected; for a name that comes twice, and for no workload.
Expected<std::vector<Workload>> read_workloads(std::string_view text, std::string_view file);

/// [[mix]] tables, in the order of the file; `like` names one above with all its keys. Errors:
/// BadData naming file, line, column and key, also for a workload that is not among these.
Expected<std::vector<Mix>> read_mixes(std::string_view text, std::string_view file,
                                      std::span<const Workload> workloads);

/// Changes one key of a mix: `load=1.2`, `run_times=philly`; a value is as in TOML, and a word may
/// go without its quotes. Errors: as read_mixes(); the mix is then as before.
Expected<void> change(Mix& mix, std::string_view key_and_value,
                      std::span<const Workload> workloads);

/// What is drawn from a mix, and for which machine.
struct MixSize {
  std::int64_t jobs = 0;  ///< Above 0, at most kMostGenerated; those that are extra not counted.
  std::int64_t gpus = 0;  ///< Above 0.
  Bytes memory{0};        ///< Of all of them together.
};

/// The same mix, size and seed give the same trace everywhere. Mixes that differ only in users,
/// limits or load have the same workloads and run times for one seed. A job's model is its
/// workload. Users are `user1`, ..., `greedy1`, `liar1`; an extra job's user is `extra`. A user who
/// lies says short for every job, asks for half of the job's peak, and states kNeverReached where
/// jobs have limits. The load is exact: the first job arrives at 0 and the last at the span's end.
/// Errors: InvalidArgument if the span is longer than a century.
Expected<Trace> draw_mix(const Mix& mix, std::span<const Workload> workloads, const MixSize& size,
                         std::uint64_t seed);

}  // namespace berth::trace
