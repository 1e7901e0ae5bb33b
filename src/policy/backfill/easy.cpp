// EASY backfilling, in the form of Mu'alem and Feitelson.
#include <algorithm>
#include <set>
#include <utility>

#include "policy/backfills.hpp"
#include "policy/kit/outlook.hpp"
#include "policy/kit/overlay.hpp"
#include "policy/pipeline/backfill.hpp"

namespace berth {

constexpr About kEasy{
    .title =
        "EASY backfilling: a job may pass the first that does not fit if it does not delay it.",
    .rule =
        "The first job in rank order that does not fit is promised a start: the "
        "earliest time at which it would fit if every running job left as planned and nothing else "
        "started. A later job may start if it ends before that time or fits beside the first job "
        "then. The promise is a time and not a place: before a job is refused, the first job is "
        "placed again around it. A job without a limit or an estimate is taken to run for a year.",
    .reads = "Time limit or else estimate, run time.",
    .source = "Lifka, JSSPP 1995, in the form of Mu'alem and Feitelson, TPDS 2001.",
    .differs =
        "Where users are ordered by what they hold, a promise stands until its job starts. "
        "GPUs are places and not a number: a job that passes takes the place its placement chooses "
        "first, or else the one it chooses beside the kept place; others are not tried. With "
        "placement `count` that is exact. The promised job counts against its user's limits.",
    .cost = "O(GPUs + running + shapes) per pass, O(running log running) per promise.",
    .proof =
        "An independent restatement of the published definition on 1,000 random traces: every job "
        "starts at the same second (test/paper/easy_test.cpp).",
    .needs = {.estimates = true}};

namespace {

/// The first job that does not fit, and what it is promised.
struct Shadow {
  JobId job;
  Ask ask;
  Instant start = kNever;
  Placement place;  ///< Where it would fit then; any other place is as good.
};

/// One pass: walks over the waiting jobs until no more of them can start.
class EasyPass {
 public:
  EasyPass(Walk& walk, std::optional<Shadow> known)
      : walk_(walk), view_(walk.view()), known_(std::move(known)) {}

  void run() {
    if (const auto first = promised_before()) serve(*first);
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
  std::optional<Head> promised_before();
  bool serve(const Head& head);
  std::optional<Placement> beside_promise(JobId id, const Ask& ask, Placement wanted);
  void promise_to(JobId id, const Ask& ask);
  bool outlasts(JobId id) const {
    return later(view_.now(), counted_on(view_.job(id))) > shadow_->start;
  }
  Trial& then() {
    if (then_) return *then_;
    at_start_ = occupancy_at(shadow_->start, view_, walk_.trial().use(), walk_.started());
    return then_.emplace(view_.cluster(), *at_start_);
  }

  Walk& walk_;
  const ClusterView& view_;
  std::optional<Shadow> known_;  ///< Of the last pass, if it still holds.
  std::optional<Shadow> shadow_;
  std::optional<Scratch> at_start_;  ///< The cluster at the promised start, without that job.
  std::optional<Trial> then_;
  bool refused_any_ = false;              ///< For the promise, in this walk.
  std::set<const Lane*> longer_refused_;  ///< Jobs of these that outlast the start need no look.
};

/// Where users are ordered by what they hold, a start may put another job first: then a promise
/// stands until its job starts.
std::optional<Head> EasyPass::promised_before() {
  if (walk_.order().depends_on() != DependsOn::Group || view_.holds().empty()) return std::nullopt;
  return walk_.head_of(view_.holds().front().job);
}

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
  auto place = stays ? beside_promise(id, ask, std::move(*placed)) : std::move(*placed);
  if (!place) {
    refused_any_ = true;
    Walk::note(head, {.why = Why::Reservation, .until = shadow_->start});
    longer_refused_.insert(head.lane);
    return true;
  }
  if (stays) then().put(ask, *place);
  walk_.start(id, ask, std::move(*place), shadow_ ? Because::Backfilled : Because::ItsTurn);
  return true;
}

/// Where a job may go that will still be there at the promised start: where it wants to, else
/// beside the place kept, else where it wants to with the promised job in another place.
std::optional<Placement> EasyPass::beside_promise(JobId id, const Ask& ask, Placement wanted) {
  const Placer& placer = walk_.placer();
  const Trial::Mark mark = then().mark();
  then().put(ask, wanted);
  const bool fits = then().look(shadow_->place, shadow_->ask, shadow_->job) == Why::Fits;
  then().rollback(mark);
  if (fits) return wanted;

  then().put(shadow_->ask, shadow_->place);
  Scratch both = free_at_both(view_.cluster(), walk_.trial().use(), then().use(), shadow_->place);
  then().rollback(mark);
  const Trial beside(view_.cluster(), both);
  if (Placed other = placer.place(ask, id, beside)) return std::move(*other);

  then().put(ask, wanted);
  Placed moved = placer.place(shadow_->ask, shadow_->job, then());
  then().rollback(mark);
  if (!moved) return std::nullopt;
  shadow_->place = std::move(*moved);
  return wanted;
}

/// Promises nothing if the job would not fit even when every job has left, which is a matter of
/// health. It stays with the place kept since an earlier pass, if it would still fit there.
void EasyPass::promise_to(JobId id, const Ask& ask) {
  if (known_ && walk_.started().empty() && known_->job == id && known_->ask == ask) {
    shadow_ = std::move(known_);
  } else {
    const std::vector<Leaving> leaving = leaving_as_counted(view_, walk_.started());
    auto earliest = earliest_start({id, ask}, walk_.placer(), leaving, {}, walk_.trial());
    if (!earliest) return;
    shadow_ = Shadow{.job = id,
                     .ask = ask,
                     .start = earliest->gone == 0 ? view_.now() : earliest->from,
                     .place = std::move(earliest->placement)};
    const auto kept = std::ranges::find(view_.holds(), id, &Hold::job);
    if (kept != view_.holds().end() && then().look(kept->placement, ask, id) == Why::Fits) {
      shadow_->place = kept->placement;
    }
  }
  walk_.tally().take(view_.job(id));
}

class Easy final : public Backfill {
 public:
  void run(Walk& walk) override {
    EasyPass pass(walk, still_true(walk));
    pass.run();
    shadow_ = pass.promised();
    outlook_.note(walk.view(), walk.started());
    std::vector<Hold> holds;
    if (shadow_) {
      holds.push_back({.job = shadow_->job,
                       .ask = shadow_->ask,
                       .placement = shadow_->place,
                       .from = rests_on_plans(walk) ? shadow_->start : kNever});
    }
    walk.keep(std::move(holds));
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
  /// False if a job without a plan is among the last to leave before the promised start.
  bool rests_on_plans(const Walk& walk) const {
    const ClusterView& view = walk.view();
    const auto is_guess = [&](JobId id) {
      const JobView job = view.job(id);
      return !has_plan(job) && counted_end(job, view.now()) == shadow_->start;
    };
    return std::ranges::none_of(view.running(), is_guess) &&
           std::ranges::none_of(walk.started(), is_guess, &Fresh::job);
  }

  std::optional<Shadow> shadow_;  ///< Of the last pass.
  Outlook outlook_;               ///< What it rests on.
};

}  // namespace

std::unique_ptr<Backfill> easy() { return std::make_unique<Easy>(); }

}  // namespace berth
