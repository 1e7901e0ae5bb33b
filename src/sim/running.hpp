// The running jobs: remaining work, speed and end of each, which a machine knows and the engine
// does not.
//
// A job's end is planned at its rate. When its neighbours change, its rate may change, and then its
// end is planned again. Jobs are indices in the trace.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "core/ask.hpp"
#include "core/base/time.hpp"
#include "sim/costs.hpp"
#include "sim/options.hpp"
#include "sim/rates.hpp"
#include "sim/tenants.hpp"
#include "sim/work.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// The parts of a job's time with its GPUs.
struct Spent {
  Duration ran{0};       ///< With its GPUs.
  Duration shared{0};    ///< Of that, with another job on one of them.
  Duration ruled{0};     ///< Of `ran`: at a speed of which some is by rule, not measured.
  Duration overhead{0};  ///< Of `ran`: starting, restoring, saving.
  Duration lost{0};      ///< Work at full speed that was lost.
};

class Running {
 public:
  /// Requires: all outlive it.
  Running(const trace::Trace& trace, const Cluster& cluster, const Options& options);

  /// Where it was suspended, its memory is copied back first, which takes so long.
  void begin(std::size_t job, const Grant& grant, Instant now, Duration copy = Duration(0));
  /// Stops a job, which keeps its work.
  void pause(std::size_t job, Instant now);
  /// Drops a job's work since its last checkpoint. Requires: the job does not run.
  void fall_back(std::size_t job);
  /// Returns: for how long a job keeps its GPUs after it stopped, where its memory is copied for so
  /// long.
  Duration linger(std::size_t job, Duration copy);
  bool runs(std::size_t job) const { return truths_[job].runs; }
  /// Of its work, when it last stopped.
  Duration done(std::size_t job) const {
    return trace_.jobs[job].duration - truths_[job].work.left();
  }
  const Spent& spent(std::size_t job) const { return truths_[job].spent; }

  /// GPU time with at least one tenant, by GPU type, up to the last stop on each; where the machine
  /// is modelled.
  const std::vector<Duration>& busy() const { return busy_; }

  /// Updates rates by the jobs on each GPU. Call it after all events of an instant.
  void settle(Instant now);
  /// kNever if none runs.
  Instant next_end();
  /// When a job reports how far it is; kNever if none does.
  Instant next_report();
  struct Report {
    std::size_t job = 0;
    std::int64_t done = 0;   ///< Millionths of what is done between two reports, as live.
    std::int64_t total = 0;  ///< Likewise, of all its work.
  };
  /// The next report that is due: what it begins with, once it has started, and then with every
  /// so much more work done. Requires: the jobs done by `now` were taken.
  std::optional<Report> take_report(Instant now);
  /// Asks for a word when this much of the work of a job is done, as long as it runs; if more is
  /// done, when it makes progress. Replaces what was asked before. Requires: it runs.
  void mark(std::size_t job, Duration done);
  /// When the next of them is due; kNever if none is.
  Instant next_mark() { return next(marked_); }
  struct Mark {
    std::size_t job = 0;
    Duration done{0};  ///< Of its work.
  };
  /// The next one that is due. Requires: the jobs done by `now` were taken.
  std::optional<Mark> take_mark(Instant now);
  /// When a job that was starting makes progress; kNever if none does. Only where loads are known.
  Instant next_warm() { return next(warm_); }
  /// A change of the load of one GPU: the part of the time with a kernel of its tenants on it, in
  /// parts per million.
  struct LoadChange {
    GpuId gpu;
    std::int64_t more = 0;
  };
  /// All that there were at this instant. Requires: settle() was called.
  std::vector<LoadChange> take_load_changes() { return std::exchange(load_changes_, {}); }
  bool knows_loads() const { return !duties_.empty(); }
  /// The next one that is done by `now`, stopped. By planned end, then by place in the trace.
  std::optional<std::size_t> take_end(Instant now);

 private:
  struct Truth {
    Work work;
    Pace pace;
    Instant since;         ///< What it did is in `work` and `spent` up to here.
    Duration overhead{0};  ///< To come before it makes progress.
    bool started = false;  ///< At least once.
    bool runs = false;
    bool dirty = false;      ///< Its company changed since the last settle().
    bool reported = false;   ///< Since it began.
    bool warm = false;       ///< Makes progress; only where loads are known.
    std::uint32_t plan = 0;  ///< Of its planned end; older plans are void.
    std::vector<GpuId> gpus;
    Spent spent;
  };
  struct Planned {
    Instant at;
    std::size_t job;
    std::uint32_t plan;
    auto operator<=>(const Planned&) const = default;
  };
  using Plans = std::priority_queue<Planned, std::vector<Planned>, std::greater<>>;

  Duration overhead_of(std::size_t job, Start start) const;
  static void catch_up(Truth& truth, Instant now);
  void plan_end(std::size_t job);
  void plan_report(std::size_t job);
  void plan_mark(std::size_t job);
  Instant next(Plans& plans) const;
  void touch(const Truth& truth);
  void load_gpus(std::size_t job);
  void warm_up(Instant now);

  const trace::Trace& trace_;
  const Options& options_;
  const bool watches_;  ///< Follows neighbours; not on a perfect machine.
  const Cluster& cluster_;
  Rates rates_;
  Tenants tenants_;
  std::vector<Truth> truths_;
  std::vector<Instant> busy_since_;  ///< By GPU; of those with a tenant.
  std::vector<Duration> busy_;
  std::vector<std::size_t> dirty_;
  Plans ends_;
  Plans reports_;
  Plans marked_;
  Plans warm_;
  std::vector<std::int64_t> duties_;  ///< See duties_of(); empty where nobody asks.
  std::vector<std::int64_t> loads_;   ///< By job, on each of its GPUs; empty as duties_ is.
  std::vector<LoadChange> load_changes_;
  std::vector<Duration> marks_;  ///< By job; kForever: none. Empty until one is asked for.
};

}  // namespace berth::sim
