// One walk over the waiting jobs in rank order: what every backfill does it with.
//
// Lives for one decide() call. A backfill (backfill.hpp) takes the first job of each lane in turn,
// asks whether it has a place, and starts it, passes on or closes the lane.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/decision.hpp"
#include "core/view.hpp"
#include "policy/kit/tally.hpp"
#include "policy/kit/timeline.hpp"
#include "policy/pipeline/gate.hpp"
#include "policy/pipeline/index.hpp"
#include "policy/policy.hpp"

namespace berth {

/// The next waiting job of a lane.
struct Head {
  Rank group;  ///< Of its user or its lane.
  std::set<Position>::const_iterator at;
  Lane* lane;
  bool is_guest = false;  ///< Of a lane that is not in the index.

  JobId job() const { return at->job; }
};

/// Where a waiting job stands among all.
struct Standing {
  Rank group;
  Position position;
  auto operator<=>(const Standing&) const = default;
};

inline Plans plans_of(const PipelineOptions& options) { return {.classes = options.classes}; }

/// What a walk works with; all of it outlives the walk.
struct PassContext {
  const ClusterView& view;
  std::span<const Event> events;  ///< Since the last pass; hints, as everywhere.
  Order& order;
  const Placer& placer;
  const PipelineOptions& options;
  const Gates& gates;
  PendingIndex& index;
  bool is_fresh = false;       ///< The index was built anew: what was remembered may not hold.
  bool ranks_expired = false;  ///< In this pass, of jobs that no event may name.
  /// Since the last pass jobs were submitted, and nothing else happened that may move a rank, make
  /// room or end a wait.
  bool is_quiet = false;
};

class Walk {
 public:
  explicit Walk(const PassContext& context);

  const ClusterView& view() const { return context_.view; }
  const Order& order() const { return context_.order; }
  const Placer& placer() const { return context_.placer; }
  const PipelineOptions& options() const { return context_.options; }
  const PassContext& context() const { return context_; }
  Plans plans() const { return plans_of(options()); }
  /// Run time of a waiting job that plans assume.
  Duration counted_on(JobId job) const { return plans().counted_on(view().job(job)); }
  /// What has been given out in this pass is in it.
  Trial& trial() { return trial_; }
  Tally& tally() { return tally_; }

  // ---- The queue ----

  /// From the first jobs of all lanes on; a closed lane among them only shows that it is there.
  /// Until it is looked at, an open lane waits for its turn (Why::Order).
  void begin_all();
  /// From the first jobs of the open lanes on, likewise.
  void begin_open();
  /// Closes, before either, the open lanes whose ask has no place though nothing is given out yet,
  /// whatever their ranks. Only where ranks are dear: an order of many lanes.
  void close_hopeless();
  /// One more lane, which is not in the index.
  void add(Lane& lane);
  /// The first in rank order of what is left of the queue; nothing at its end. Requires of this
  /// and of passing on: no end() since the queue began.
  std::optional<Head> next();
  /// Puts the next job of the lane in the queue.
  void pass_on(const Head& head);
  /// The same, without jobs that are assumed to run for longer than this. Requires: the index has
  /// its lanes by run time. Costs O(log lane) for each job up to the next by rank or, if they are
  /// fewer, for each that is short enough.
  void pass_on_within(const Head& head, Duration longest);
  /// Why this job waits, and with it those of its lane behind it.
  static void note(const Head& head, Refusal refusal) { head.lane->refusal = refusal; }
  /// The same, and nothing of this lane is looked at until there may be more room. Effective after
  /// end().
  static void close(const Head& head, Refusal refusal) {
    note(head, refusal);
    head.lane->closed = true;
  }
  /// Lanes that were closed leave the index's open ones.
  void end();

  /// Users are served in the order of their group ranks.
  Rank group_rank(UserId user);
  /// As next() would return this job; nothing if it is not in the index.
  std::optional<Head> head_of(JobId id);
  /// Where this job of the index stands in the queue; small goes first.
  Standing standing_of(JobId id);

  // ---- Places ----

  /// What jobs of this lane are placed by.
  Ask ask_of(const Lane& lane) const { return context_.gates.ask(lane.key.ask); }
  /// What the placement chose for an ask, while nothing is given out and nothing kept from anybody.
  using Choices = std::map<Ask, Placement>;
  /// A place for this job on what is free now, or why it gets none: refused_before() and find().
  Placed place(JobId id, const Ask& ask, Choices* choices = nullptr);
  /// Why the job need not be tried: its user's limits, or what was ruled out in this walk. Fits if
  /// it must be.
  Why refused_before(JobId id, const Ask& ask) const;
  /// The second half of that.
  Why why_ruled_out(const Ask& ask) const;
  /// A place by the placement and the gates. A choice that is known is not made again, one that is
  /// made is noted.
  Placed find(JobId id, const Ask& ask, Choices* choices = nullptr);
  /// No larger ask is tried in this walk, where the reason holds for it too.
  void rule_out(const Ask& ask, Refusal refusal);

  /// Gives the job this place, out of turn if it is `because` of that.
  const Grant& start(JobId id, const Ask& ask, Placement placement, Because because);
  /// What was given out in this pass, in order; `planned` is the ask's.
  std::span<const Fresh> started() const { return started_; }
  bool is_started(JobId id) const;

  // ---- Decisions ----

  Decisions& decisions() { return decisions_; }
  /// Places kept from now on; decided if they are not those that the view shows.
  void keep(std::vector<Hold> holds);
  void wake(Instant at);
  /// Wakes then, and all lanes are open again: time alone may change what closed ones are refused.
  /// Unlike wake() it need not be said again in every pass until then.
  void look_again(Instant at) { look_again_ = std::min(look_again_, at); }
  Instant looks_again_at() const { return look_again_; }

 private:
  /// Asked for every lane in every pass, and the same for all with most orders.
  Rank group_rank(Lane& lane, JobId job) {
    const bool tells = depends_on_ == DependsOn::Group || depends_on_ == DependsOn::Lane;
    return tells ? known_group_rank(lane, job) : Rank();
  }
  Rank known_group_rank(Lane& lane, JobId job);
  Placed choose(JobId id, const Ask& ask, Choices* choices) const;
  bool has_fallen_back(Head& head);
  void push(const Head& head);
  void push(Head head, std::set<Position>::const_iterator at);

  PassContext context_;
  DependsOn depends_on_;
  std::optional<std::uint64_t> lanes_version_;
  Trial trial_;
  Tally tally_;
  Decisions decisions_;
  std::vector<Head> heads_;     ///< A heap, the best first.
  bool has_ended_ = false;      ///< Since the queue began.
  std::vector<Ask> ruled_out_;  ///< Minimal asks refused for capacity in this walk.
  std::vector<Ask> kept_from_;  ///< Minimal asks refused for a reservation in this walk.
  std::map<UserId, Rank> group_ranks_;
  std::vector<Fresh> started_;
  Instant look_again_ = kNever;
};

/// True if any place for `large` has room for `small` too: less of everything, on as many nodes.
bool is_no_larger(const Ask& small, const Ask& large, const Cluster& cluster);

}  // namespace berth
