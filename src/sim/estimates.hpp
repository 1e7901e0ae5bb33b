// The estimates of a trace's jobs at submission, and the rate of arrivals.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/history.hpp"
#include "core/input.hpp"
#include "core/knowledge/past_runs.hpp"
#include "core/view.hpp"
#include "sim/programs.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// How far a run time estimate may be from the truth.
struct Estimates {
  enum class Kind : std::uint8_t {
    None,         ///< There is none.
    Even,         ///< By at most `percent`, evenly.
    Helios,       ///< As the model of Helios (Hu et al., SC 2021) was: see apply_estimates().
    Learned,      ///< From the jobs that ended before: see Learner.
    Adversarial,  ///< As far from the truth as run times of the trace can be.
  };
  Kind kind = Kind::None;
  std::int64_t percent = 0;

  bool operator==(const Estimates&) const = default;
};

/// `exact`, `none`, `learned`, `helios`, `adversarial`, or `+-30%` (also `30%`). Errors:
/// InvalidArgument naming the text and the range, 0 to 99.
Expected<Estimates> parse_estimates(std::string_view text);

/// Sets each job's estimate: its run time times a number drawn evenly from 1 - N% to 1 + N%, the
/// same for a job by seed and place in the trace. For Helios the error is drawn from its artefact's
/// steps: a tenth of jobs within 10 %, four tenths from there to 50 %, two to 100 %, two to 1000 %
/// and one to 10,000 %, either way, never below nothing. For Learned there is none yet. For
/// Adversarial the n-th longest job of the trace has the run time of the n-th shortest; of jobs as
/// long as each other the first of the trace counts as shorter.
void apply_estimates(trace::Trace& trace, const Estimates& estimates, std::uint64_t seed);

/// Predicts run times during a run from what has ended by then, as berthd does
/// (core/run_estimate.hpp). Jobs are indices in the trace.
class Learner {
 public:
  /// With Programs::None jobs are still known by their model. Requires: the trace outlives it.
  Learner(const trace::Trace& trace, Programs programs);

  /// Learns from a job that ended after this time with its GPUs.
  void learn(std::size_t job, Duration ran, Outcome outcome);
  /// Of a job that states none: see learn_estimate().
  void estimate(std::size_t job, JobSpec& spec) const;
  /// What jobs that wait are told anew since the last call: see late_estimates(). `index_of` has
  /// their indices.
  std::vector<Estimated> late(const ClusterView& view,
                              const std::function<std::size_t(JobId)>& index_of);

 private:
  const trace::Trace& trace_;
  std::vector<Fingerprint> whats_;  ///< The program of each job.
  PastRuns runs_;
  std::vector<Ended> latest_;  ///< Runs from which jobs that wait have not learned yet.
};

/// Submissions `load` times as close together, from the first one on; each job has as long until
/// its deadline as before. Requires: load > 0.
void apply_load(trace::Trace& trace, double load);

}  // namespace berth::sim
