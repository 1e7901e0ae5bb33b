// EASY backfilling, in the form of Mu'alem and Feitelson.
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "policy/backfills.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/overdue.hpp"
#include "policy/pipeline/start_promise.hpp"

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
  EasyPass(Walk& walk, StartPromise& promise) : walk_(walk), promise_(promise) {}

  void run(const Overdue& overdue) {
    if (const auto first = promised_before()) serve(*first);
    serve_overdue(overdue);
    std::size_t before = 0;
    do {  // a job refused for the promise may be placed otherwise beside those that passed
      before = walk_.started().size();
      refused_any_ = false;
      longer_refused_.clear();
      walk_.begin_all();
      while (const auto head = walk_.next()) {
        switch (serve(*head)) {
          case Next::None:
            break;
          case Next::Briefer:
            walk_.pass_on_within(*head, walk_.counted_on(head->job()) - Duration(1));
            break;
          case Next::Any:
            pass_on(*head);
        }
      }
    } while (refused_any_ && walk_.started().size() > before);
  }

 private:
  /// Where users are ordered by what they hold, a start may put another job first: then a promise
  /// stands until its job starts.
  std::optional<Head> promised_before() {
    const auto holds = walk_.view().holds();
    if (walk_.order().depends_on() != DependsOn::Group || holds.empty()) return std::nullopt;
    return walk_.head_of(holds.front().job);
  }
  /// Until one of them has the promise; the others wait for their turn.
  void serve_overdue(const Overdue& overdue) {
    for (const auto& [due, id] : overdue.jobs()) {
      if (due > walk_.view().now()) return walk_.wake(due);
      if (promise_.is_made()) return;
      if (const auto head = walk_.head_of(id)) serve(*head);
    }
  }
  enum class Next : std::uint8_t {
    Any,      ///< The next job of the lane may start too,
    Briefer,  ///< the next that runs for a shorter time, or
    None,     ///< none.
  };
  Next serve(const Head& head);
  void pass_on(const Head& head);

  Walk& walk_;
  StartPromise& promise_;
  bool refused_any_ = false;              ///< For the promise, in this walk.
  std::set<const Lane*> longer_refused_;  ///< Jobs of these that outlast the start need no look.
};

void EasyPass::pass_on(const Head& head) {
  if (!longer_refused_.contains(head.lane)) return walk_.pass_on(head);
  walk_.pass_on_within(head, promise_.start() - walk_.view().now());
}

EasyPass::Next EasyPass::serve(const Head& head) {
  const JobId id = head.job();
  const Ask ask = walk_.ask_of(*head.lane);
  if (walk_.is_started(id)) return Next::Any;  // in a walk before
  Placed placed = promise_.is_to(id) ? std::unexpected(Refusal{}) : walk_.place(id, ask);
  if (!placed) {
    Refusal refusal = placed.error();
    if (!promise_.is_to(id)) walk_.rule_out(ask, refusal);
    if (!promise_.is_made() && !refusal.is_personal()) promise_.make(id, ask);
    if (promise_.is_to(id)) refusal.until = promise_.start();
    Walk::note(head, refusal);
    return refusal.why == Why::Patience ? Next::Briefer : Next::None;
  }
  auto place = promise_.place_beside(id, ask, std::move(*placed));
  if (!place) {
    refused_any_ = true;
    Walk::note(head, {.why = Why::Reservation, .until = promise_.start()});
    longer_refused_.insert(head.lane);
    return Next::Any;
  }
  walk_.start(id, ask, std::move(*place),
              promise_.is_made() ? Because::Backfilled : Because::ItsTurn);
  return Next::Any;
}

class Easy final : public Backfill {
 public:
  bool by_run() const override { return true; }
  void run(Walk& walk) override {
    overdue_.follow(walk.context());
    StartPromise promise(walk, last_.still_true(walk));
    EasyPass(walk, promise).run(overdue_);
    last_.keep(promise, walk);
  }
  Expected<void> restore(const Snapshot&) override {
    last_ = {};
    return {};
  }

 private:
  Overdue overdue_;
  LastPromise last_;
};

}  // namespace

std::unique_ptr<Backfill> easy() { return std::make_unique<Easy>(); }

}  // namespace berth
