// EASY backfilling, in the form of Mu'alem and Feitelson.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "policy/backfills.hpp"
#include "policy/kit/outlook.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/overdue.hpp"
#include "policy/pipeline/shadow.hpp"

namespace berth {

constexpr auto kEasyKeys = std::to_array<Key>({kOverdueFactorKey, kOverdueMostKey});

constexpr About kEasy{
    .title =
        "EASY backfilling: a job may pass the first that does not fit if it does not delay it.",
    .rule =
        "The first job in rank order that does not fit is promised start = the earliest time at "
        "which it fits if running jobs leave as planned and no other job starts. A later job may "
        "start if now + its run time <= start or if it fits beside the first job then, for which "
        "the first job may be placed again. A job without a limit or an estimate runs for a year. "
        "With `overdue_factor`, overdue jobs come first: each is tried, and the first that does "
        "not fit "
        "has the promise.",
    .reads = "Time limit or else estimate, run time.",
    .source = "Lifka, JSSPP 1995, in the form of Mu'alem and Feitelson, TPDS 2001.",
    .differs =
        "GPUs are places: a job that passes takes the first choice of its placement, or else the "
        "choice beside the promised place; no other is tried (exact with placement `count`). The "
        "promised job counts against its user's limits. Where users are ordered by their holdings, "
        "a promise stands until its job starts.",
    .cost = "O(GPUs + running + shapes) per pass, O(running log running) per promise.",
    .proof =
        "An independent restatement of the published definition on 1,000 random traces: every job "
        "starts at the same second (test/paper/easy_test.cpp).",
    .needs = {.estimates = true},
    .keys = kEasyKeys};

namespace {

/// One pass: walks over the waiting jobs until no more of them can start.
class EasyPass {
 public:
  EasyPass(Walk& walk, const Overdue& overdue, std::optional<Shadow> known)
      : walk_(walk), overdue_(overdue), known_(std::move(known)) {}

  void run() {
    if (const auto first = promised_before()) serve(*first);
    serve_overdue();
    std::size_t before = 0;
    do {  // a job refused for the promise may be placed otherwise beside those that passed
      before = walk_.started().size();
      refused_any_ = false;
      longer_refused_.clear();
      walk_.begin_all();
      while (const auto head = walk_.next()) {
        if (!serve(*head)) continue;
        const bool no_longer_ones = longer_refused_.contains(head->lane);
        walk_.pass_on(*head, [&](JobId id) { return no_longer_ones && outlasts(id); });
      }
    } while (refused_any_ && walk_.started().size() > before);
  }
  const std::optional<Shadow>& promised() const { return shadow_; }

 private:
  /// Where users are ordered by what they hold, a start may put another job first: then a promise
  /// stands until its job starts.
  std::optional<Head> promised_before() {
    const auto holds = walk_.view().holds();
    if (walk_.order().depends_on() != DependsOn::Group || holds.empty()) return std::nullopt;
    return walk_.head_of(holds.front().job);
  }
  /// Until one of them has the promise; the others wait for their turn.
  void serve_overdue() {
    const Instant now = walk_.view().now();
    for (const auto& [due, id] : overdue_.jobs()) {
      if (due > now) return walk_.wake(due);
      if (shadow_) return;
      if (const auto head = walk_.head_of(id)) serve(*head);
    }
  }
  bool serve(const Head& head);
  void promise_to(JobId id, const Ask& ask);
  bool outlasts(JobId id) { return at_start_->is_outlasted_by(id); }

  Walk& walk_;
  const Overdue& overdue_;
  std::optional<Shadow> known_;  ///< Of the last pass, if it still holds.
  std::optional<Shadow> shadow_;
  std::optional<AtStart> at_start_;       ///< If there is a shadow.
  bool refused_any_ = false;              ///< For the promise, in this walk.
  std::set<const Lane*> longer_refused_;  ///< Jobs of these that outlast the start need no look.
};

/// Returns: whether the next job of its lane may start too.
bool EasyPass::serve(const Head& head) {
  const JobId id = head.job();
  const Ask ask = walk_.ask_of(*head.lane);
  if (walk_.is_started(id)) return true;  // in a walk before
  const auto is_promised = [&] { return shadow_ && shadow_->job == id; };
  Placed placed = is_promised() ? std::unexpected(Refusal{}) : walk_.place(id, ask);
  if (!placed) {
    Refusal refusal = placed.error();
    if (!is_promised()) walk_.rule_out(ask, refusal);
    if (!shadow_ && !refusal.is_personal()) promise_to(id, ask);
    if (is_promised()) refusal.until = shadow_->start;
    Walk::note(head, refusal);
    return false;
  }
  const bool stays = shadow_ && outlasts(id);
  auto place = stays ? at_start_->place_beside(id, ask, std::move(*placed)) : std::move(*placed);
  if (!place) {
    refused_any_ = true;
    Walk::note(head, {.why = Why::Reservation, .until = shadow_->start});
    longer_refused_.insert(head.lane);
    return true;
  }
  if (stays) at_start_->put(ask, *place);
  walk_.start(id, ask, std::move(*place), shadow_ ? Because::Backfilled : Because::ItsTurn);
  return true;
}

/// It stays with the promise of an earlier pass, if that still holds.
void EasyPass::promise_to(JobId id, const Ask& ask) {
  const bool is_known =
      known_ && walk_.started().empty() && known_->job == id && known_->ask == ask;
  shadow_ = is_known ? std::move(known_) : shadow_of(walk_, id, ask);
  if (!shadow_) return;
  at_start_.emplace(walk_, *shadow_);
  if (!is_known) at_start_->stay_where_kept();
  walk_.tally().take(walk_.view().job(id));
}

class Easy final : public Backfill {
 public:
  void run(Walk& walk) override {
    overdue_.follow(walk.context());
    EasyPass pass(walk, overdue_, still_true(walk));
    pass.run();
    shadow_ = pass.promised();
    outlook_.note(walk.view(), walk.started());
    walk.keep(shadow_ ? std::vector{hold_of(*shadow_, walk)} : std::vector<Hold>());
  }
  Expected<void> restore(const Snapshot&) override {
    shadow_.reset();
    return {};
  }

 private:
  /// The promise of the last pass, if every job keeps to the plans it rests on and its place is
  /// kept.
  std::optional<Shadow> still_true(const Walk& walk) const {
    const ClusterView& view = walk.view();
    if (walk.options().rebuild || !shadow_ || shadow_->start <= view.now()) return std::nullopt;
    const auto kept = std::ranges::find(view.holds(), shadow_->job, &Hold::job);
    if (kept == view.holds().end() || kept->placement != shadow_->place) return std::nullopt;
    return outlook_.look(view) == Outlook::Change::None ? shadow_ : std::nullopt;
  }

  Overdue overdue_;
  std::optional<Shadow> shadow_;  ///< Of the last pass.
  Outlook outlook_;               ///< What it rests on.
};

}  // namespace

std::unique_ptr<Backfill> easy() { return std::make_unique<Easy>(); }

}  // namespace berth
