// One pass of the pipeline: who starts, who gives way, who gets a place kept.
//
// Lives for one decide() call. The three parts are ordered: place on what is free; else on what is
// being freed; else, if the policy preempts, on what jobs of worse rank hold.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/decision.hpp"
#include "core/view.hpp"
#include "policy/kit/tally.hpp"
#include "policy/kit/timeline.hpp"
#include "policy/pipeline/index.hpp"
#include "policy/pipeline/running_index.hpp"
#include "policy/policy.hpp"

namespace berth {

class Pass {
 public:
  Pass(const ClusterView& view, Order& order, const Placer& placer, const PipelineOptions& options);

  /// Walks the open lanes by rank and closes those that were refused. `running` is only looked at
  /// if the policy preempts.
  void run(PendingIndex& index, const RunningIndex& running);
  Decisions take() { return std::move(decisions_); }
  /// When a place that is kept will be lent for longer.
  std::optional<Instant> revisit() const { return revisit_; }

 private:
  /// A job that is stopped to wait again. It is walked as if it waited already, so that nobody
  /// behind it is given what it would take back at once.
  struct Returning {
    enum class Stops : std::uint8_t { Already, Now, Never };
    Lane lane;    ///< Of this job alone.
    Stops stops;  ///< Since an earlier pass; displaced in this one; or spared in the end.
  };
  struct Head {  ///< The next job of a lane.
    Rank group;  ///< Of its user or its lane.
    std::set<Position>::const_iterator at;
    Lane* lane;
    Returning* returning = nullptr;
  };
  /// Whom a job may displace, worst first: positions in `worst_`, found as far as one asks.
  struct Victims {
    const Head& head;
    std::size_t next = 0;  ///< Not looked at yet.
    std::vector<std::size_t> found = {};
  };
  enum class Verdict { Next, CloseLane, Stop };

  // The walk (pass.cpp).
  void walk(PendingIndex& index);
  std::vector<Head> heads_of(PendingIndex& index);
  Head head_of(Returning& returning);
  Rank group_rank(UserId user);
  Rank group_rank(const Lane& lane, JobId first);
  bool has_fallen_back(Head& head);
  Verdict visit(const Head& head);
  Ask ask_of_lane(const Lane& lane) const;
  Why why_ruled_out(const Ask& ask) const;
  void rule_out(const Ask& ask, Why why);
  bool is_placed(JobId id) const;
  bool is_held(JobId id) const;
  bool has_holds_left() const;

  // Placing one job.
  Why try_start(const Head& head, const Ask& ask);
  void avoid_slow_company(JobId id);
  bool must_wait_to_share(JobId id, const Placement& placement) const;
  bool must_wait_to_spread(JobId id, const Placement& placement) const;
  void start(JobId id, const Ask& ask, Placement placement);
  bool displace_for(const Head& head, const Ask& ask);

  // Whom a job may displace (displace.cpp).
  void load_running(const RunningIndex& running);
  void rank_others();
  void wake_for_running();
  void add_returning(JobId id, Returning::Stops stops);
  void visit_returning(const Head& head);
  bool stays_after_all(Returning& returning, const Ask& ask);
  void take_off_promised();
  void emit_stops();
  bool has(Victims& victims, std::size_t count);
  std::vector<std::size_t> needed(std::span<const std::size_t> chosen, const Head& head,
                                  const Ask& ask, Placement& placement);
  bool needs_vacant(const Ask& ask) const;
  void displace(std::size_t victim);
  std::optional<std::size_t> fewest_victims(JobId id, const Ask& ask, Victims& victims);
  void take_off(std::span<const std::size_t> victims);
  std::optional<std::size_t> least_victims(const Ask& ask, Victims& victims);
  void take_off_leaving();
  bool keep_promise(const Head& head, const Ask& ask);
  void promise(const Head& head, const Ask& ask, Placement placement);
  std::optional<Placement> place_without_leaving(JobId id, const Ask& ask);

  // Places kept for jobs that wait (holds.cpp).
  void load_holds();
  bool may_reserve(JobId id, Why why) const;
  bool is_usable(const Hold& hold) const;
  bool can_still_serve(const Hold& hold) const;
  std::vector<std::vector<JobId>> occupants_of(std::span<const Hold> holds) const;
  void count_outlasting(Hold& hold, std::span<const JobId> occupants) const;
  void lend(Hold& hold, const Grant& grant, Duration planned) const;
  void start_held();
  void reserve(JobId id, const Ask& ask);
  void drop_hold(JobId id);
  void emit_holds();

  // The same where only enforced limits count (promises.cpp).
  void promise_place(JobId id, const Ask& ask);
  std::vector<Leaving> leaving_by_limit() const;
  std::vector<Leaving> leaving_by_expectation() const;
  void await(Hold& hold, std::span<const Leaving> leaving);
  void renew(Hold& hold, std::span<const JobId> occupants);
  Duration lend_for(JobId id);
  bool touches(const Hold& hold, const Grant& grant) const;
  Duration counted(const JobView& job) const;

  void wake(Instant at);

  const ClusterView& view_;
  Order& order_;
  const Placer& placer_;
  const PipelineOptions& options_;
  Trial trial_;
  Tally tally_;
  Decisions decisions_;
  std::vector<Ask> ruled_out_;  ///< Minimal asks refused for capacity in this walk.
  std::vector<Ask> kept_from_;  ///< Minimal asks refused for a reservation in this walk.
  std::map<UserId, Rank> group_ranks_;
  std::vector<JobId> placed_;  ///< Started or promised in this pass.
  std::vector<Fresh> fresh_;   ///< What those started here were given.
  std::vector<Hold> holds_;
  std::vector<Ask> unkeepable_;   ///< Minimal asks for which there was no place to keep.
  bool another_is_next_ = false;  ///< A job has come that waits for the places kept to be used.
  bool hold_dropped_ = false;
  std::optional<Instant> revisit_;
  std::vector<JobId> leaving_;  ///< Stopping already, or displaced in this pass.
  std::deque<Returning> returning_;
  std::size_t joined_ = 0;  ///< Those of `returning_` that are in the walk.
  const RunningIndex* running_ = nullptr;
  WorstFirst worst_;
  std::vector<std::uint32_t> gained_;  ///< By node: scratch of least_victims(), zero between.
  bool ranked_ = false;                ///< All of `running_` are in `worst_`.
};

/// True if whoever can take `large` can take `small` too: less of everything, on as many nodes.
bool is_no_larger(const Ask& small, const Ask& large, const Cluster& cluster);

}  // namespace berth
