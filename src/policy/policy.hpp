// The interfaces of scheduling policies. The same objects run live and simulated.
//
// Most published policies are an Order; some are a Placer; Pipeline (pipeline.hpp) supplies the
// rest. A policy that does not decompose implements Policy. All are pure functions of the view and
// of their saved memory: no clock, no randomness but the view's, no I/O. Not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/event.hpp"
#include "core/decision.hpp"
#include "core/view.hpp"
#include "policy/kit/classes.hpp"

namespace berth {

/// A policy's memory as bytes; empty for most.
using Snapshot = std::string;

/// What a policy lets a job wait for, for people: a gate, or one that repacks the cluster.
struct GateWord {
  enum class What : std::uint8_t {
    None,      ///< The gate does not say.
    Busy,      ///< A GPU that is less busy than `percent`.
    Settling,  ///< That it is seen how busy a job makes the GPU that has just begun there.
    Slow,      ///< Neighbours beside which it, or they, run at `percent` of full speed or more.
    Spread,    ///< GPUs that are closer together.
    Service,   ///< That the services there are not busy.
    // With Why::Order:
    Ahead,  ///< Jobs ahead of it.
    Turn,   ///< The turns of other jobs.
    Round,  ///< The end of a round that has other jobs.
    Plan,   ///< A plan that has it.
    Left,   ///< What jobs whose deadlines are promised leave: its own is not.
    Freed,  ///< Its own place, which others leave.
    // With Why::Capacity:
    HostMemory,  ///< Of which too little is left to suspend others for it.
  };
  What what = What::None;
  std::int32_t percent = 0;  ///< With Round: of the time, that its plan gives it.
  GpuId gpu;                 ///< Of the place that it is kept from: the one that keeps it longest;
                             ///< with Round: of the type of which its plan gives it most.
  JobId beside = JobId(0);   ///< With Round: that its plan has it share GPUs with; 0: none.

  bool operator==(const GateWord&) const = default;
};

/// Why a waiting job has no place, as a policy decided.
struct Refusal {
  Why why = Why::Capacity;
  Instant until =
      kNever;  ///< It has no place before then if nothing else changes; kNever: unknown.
  GateWord gate =
      {};  ///< With Why::Patience; with Why::Order and Why::Capacity, if the policy says more.

  /// True if the job or its user is what it waits for, and not room.
  constexpr bool is_personal() const { return why == Why::Limit || why == Why::Patience; }
};

/// A refusal with the ask that was refused, which may be stricter than the job's own.
struct Refused {
  Ask ask;
  Refusal refusal;
};

/// What the engine sees.
class Policy {
 public:
  virtual ~Policy() = default;

  /// One pass. Decisions take effect in order. Must be correct if `events` is empty or incomplete,
  /// and a second call at the same instant, after the first took effect, must change nothing. What
  /// time alone changes the policy must be woken for: a pass before `wake_at`, with no event since
  /// this one, must start and stop no job (one with a quantum: none earlier than that).
  virtual Decisions decide(const ClusterView& view, std::span<const Event> events) = 0;

  /// Why this waiting job waits, as the last decide() found for it or for the job of its lane that
  /// is ahead of it; nothing if the policy does not say. After restore() nothing, or what the
  /// memory says. O(log jobs).
  virtual std::optional<Refused> refused(JobId, const ClusterView&) const { return std::nullopt; }

  /// How long a job of this class runs at most by what the policy tells users; kForever: no bound.
  virtual Duration class_bound(DurationClass of) const { return bound_of(of, {}); }

  virtual Snapshot save() const { return {}; }
  virtual Expected<void> restore(const Snapshot&) { return {}; }
};

/// Small goes first. Ties fall to the smaller JobId.
struct Rank {
  std::int64_t major = 0;
  std::int64_t minor = 0;
  auto operator<=>(const Rank&) const = default;
};

/// How the rank of a job moves while it runs: its major part by so much every microsecond.
struct Drift {
  std::int64_t per_microsecond = 0;
  Instant until = kNever;
};

struct Ranked {
  Rank rank;
  std::optional<Instant> valid_until;  ///< Then rank() must be asked again.
  /// Of a running job; without it rank() is asked in every pass that needs it.
  std::optional<Drift> drift = std::nullopt;
};

/// The changes that can move a rank, and so the jobs that an index must update.
enum class DependsOn : std::uint8_t {
  Job,    ///< The job alone. A waiting job's rank moves only at its `valid_until`.
  Group,  ///< Also its user: group_rank() comes first, rank() orders within the user.
  Lane,   ///< Anything, but jobs of one user and one lane() that ask alike keep their order, which
          ///< rank() says; lane_rank() is asked for the first of them in every pass. O(lanes).
  Cluster,  ///< Anything: every rank is asked again in every pass. O(queue).
};

struct PipelineOptions;
struct Gates;

class Order {
 public:
  virtual ~Order() = default;
  virtual DependsOn depends_on() const { return DependsOn::Job; }

  /// Once, when the pipeline is made: what the order's keys say about the pipeline around it.
  virtual void configure(PipelineOptions&, Gates&) const {}
  /// Once per pass, before any rank. Returns: decisions of its own (classes), and when it must be
  /// asked again, which is how ranks that depend on more than the job follow the time (they have no
  /// `valid_until`); ranks of this pass must already follow them.
  virtual Decisions prepare(const ClusterView&, std::span<const Event>) { return {}; }
  virtual Ranked rank(const JobView& job, const ClusterView& view) const = 0;
  /// Where depends_on() is Group: users are served in this order.
  virtual Rank group_rank(UserId, const ClusterView&) const { return {}; }
  /// Where depends_on() is Lane: jobs of different lanes may overtake each other.
  virtual std::int64_t lane(const JobView&, const ClusterView&) const { return 0; }
  /// Where depends_on() is Lane: the first of a lane among those of the others.
  virtual Rank lane_rank(const JobView&, const ClusterView&) const { return {}; }
  /// Where it is told: as long as it is the same, so is the lane_rank() of every waiting job that
  /// no event names.
  virtual std::optional<std::uint64_t> lanes_version() const { return std::nullopt; }
  /// True for a waiting job that is not displaced any more once it runs.
  virtual bool is_settled(const JobView&) const { return false; }
  /// Notes a grant of the current pass, which the view does not show yet. Returns: whether the
  /// user's group_rank() grew, so that another user may be next; it never falls within a pass.
  virtual bool note_start(const JobView&, const Grant&) { return false; }

  virtual Snapshot save() const { return {}; }
  virtual Expected<void> restore(const Snapshot&) { return {}; }
};

using Placed = std::expected<Placement, Refusal>;

/// Chooses GPUs. Must be monotone: if it places an ask, it places every smaller one (fewer GPUs on
/// as many nodes or fewer, less memory) on the same trial.
class Placer {
 public:
  virtual ~Placer() = default;

  /// Called once per pass, before any place(): reads settings, jobs and chance (view.run_rng()).
  /// Without this call place() works, but knows no jobs.
  virtual void prepare(const ClusterView&, std::span<const Event>) {}

  /// Returns a placement that fits by trial.look(), or the reason why there is none. For jobs that
  /// ask for the same it is the same on the same trial, but for what is kept for one of them.
  virtual Placed place(const Ask& ask, JobId job, const Trial& trial) const = 0;

  /// True if a job that fits one node gets its GPUs on one node or not at all.
  virtual bool keeps_on_node() const { return false; }
  /// True if only the number of free GPUs matters, so that any set is as good as another.
  virtual bool is_fungible() const { return false; }
};

struct PipelineOptions {
  ClassBounds classes;  ///< Predict when jobs without a limit end.
  /// A displaced or displacing job keeps its state this long, and waiting jobs are looked at as
  /// often.
  Duration quantum = Duration::zero();
  bool rebuild = false;  ///< Forget the index before every pass: the tests' oracle.
  /// How much a pass that goes on later looks at (Bookings::kMostLooks); nothing: as it says.
  std::optional<std::int64_t> most_looks = std::nullopt;
};

}  // namespace berth
