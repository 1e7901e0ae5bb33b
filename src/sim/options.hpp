// The options of a run: what policies know, the machine, and what is recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "core/base/ids.hpp"
#include "core/settings.hpp"
#include "core/shrink.hpp"
#include "policy/policy.hpp"
#include "sim/costs.hpp"
#include "sim/faults.hpp"
#include "sim/foreign.hpp"
#include "sim/memory.hpp"
#include "sim/power.hpp"
#include "sim/predictions.hpp"
#include "sim/prices.hpp"
#include "sim/programs.hpp"
#include "sim/rates.hpp"
#include "sim/suspension.hpp"
#include "sim/window.hpp"

namespace berth::sim {

/// What policies know of run times.
enum class Told : std::uint8_t {
  Exact,     ///< The truth.
  AsStated,  ///< The jobs' own estimates (JobSpec::estimate), or that there is none.
  Learned,   ///< As berthd: as stated, else from jobs that ended before a submission: Learner.
};

struct Options {
  Settings settings;
  std::map<UserId, std::int64_t> weights;  ///< Of users, in thousandths: see Weighed.
  Told told = Told::Exact;
  std::uint64_t seed = 0;
  RateModel rates;
  ToldSpeeds told_speeds;
  Costs costs;                   ///< Its `can_suspend` stands for that of the settings.
  SuspendModel suspend;          ///< Only where jobs are suspended.
  PreemptionBounds bounds = {};  ///< Only where nothing of a preempted job's work is kept.
  MemoryModel memory;
  ForeignModel foreign;              ///< Only where memory is modelled.
  std::optional<ShrinkRule> shrink;  ///< Charges follow use; only where memory is modelled.
  FaultModel faults;
  Prices prices;
  Power power;
  Programs programs = Programs::None;
  Duration probe_every = kForever;   ///< GPUs are looked at so often (probe.hpp); else at once.
  Duration report_every = kForever;  ///< Work between a job's reports of its progress.
  bool dependencies = false;         ///< Jobs wait for those they come after (TraceJob::after).
  std::optional<Window> measured;    ///< Jobs that arrive then count in figures; none: all do.
  std::optional<Window> arrivals;    ///< When jobs arrive, if it is not the trace that says it.
  bool record = false;               ///< Keep every stretch, for timelines and reports.
  bool explain_waits = false;        ///< Find out why jobs wait.
  std::size_t predictions = 0;       ///< Ask when so many jobs will start (sim/predictions.hpp).
  MakePolicy again;                  ///< Makes the run's policy again; for predictions.
  /// Called now and then with the jobs that are finished; may print.
  std::function<void(std::size_t)> progress;

  /// True if jobs run at full speed, start and stop at once, and never fail.
  bool is_perfect() const {
    return rates.is_plain() && !rates.speeds.has_costs() && costs.are_none() && !memory.is_on &&
           !faults.is_on() && suspend.rate == SuspendRate{};
  }
  /// True if there is more to measure than on a perfect machine.
  bool is_modelled() const {
    return !is_perfect() || !suspend.is_usual() || !prices.empty() || !power.empty();
  }
};

}  // namespace berth::sim
