// EASY backfilling, in the form of Mu'alem and Feitelson.
#include <array>

#include "policy/backfills.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/easy_pass.hpp"

namespace berth {

constexpr auto kEasyKeys = std::to_array<Key>({kOverdueFactorKey, kOverdueMostKey});

constexpr About kEasy{
    .title =
        "EASY backfilling: a job may pass the first that does not fit if it does not delay it.",
    .rule =
        "The first job in rank order that does not fit is promised start = the earliest time at "
        "which it fits if running jobs leave as planned and no other job starts. A later job may "
        "start if now + its run time <= start or if it fits beside the first job then, for which "
        "the first job may be placed again. A job without a limit that has outlived its estimate "
        "e by x is taken to run on for max(x, e/8) to 3 times that, in steps; one without a limit "
        "or an estimate to run for as long as its class may, a long one for a day, then two. With "
        "`overdue_factor`, overdue jobs come first: each is tried, and the first that does not fit "
        "has the promise.",
    .reads = "Time limit or else estimate, run time.",
    .source = "Lifka, JSSPP 1995, in the form of Mu'alem and Feitelson, TPDS 2001.",
    .differs =
        "GPUs are places: a job that passes takes the first choice of its placement, or else the "
        "choice beside the promised place; no other is tried (exact with placement `count`). "
        "Published EASY ends jobs at their estimates, so that none outlives its own. The "
        "promised job counts against its user's limits. Where users are ordered by their holdings, "
        "a promise stands until its job starts.",
    .cost =
        "O(GPUs + shapes) per pass with a promise, O(log running) placements for one that is new; "
        "O(log waiting) for a job that is submitted and waits.",
    .proof =
        "An independent restatement of the published definition on 1,000 random traces: every job "
        "starts at the same second (test/paper/easy_test.cpp).",
    .needs = {.estimates = true},
    .passing = {.who = Passing::Who::WhoDelaysNone},
    .keys = kEasyKeys};

namespace {

class Easy final : public Backfill {
 public:
  explicit Easy(const OverdueAfter& after) : overdue_(after) {}
  bool by_run() const override { return true; }
  void run(Walk& walk) override {
    overdue_.follow(walk.context());
    StartPromise promise = last_.follow(walk);
    EasyPass pass(walk, promise);
    if (!pass.all_wait_on(overdue_)) pass.run(&overdue_);
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

std::unique_ptr<Backfill> easy(const Keys& keys) {
  return std::make_unique<Easy>(OverdueAfter{.milli = keys.number(kOverdueFactorKey.name),
                                             .most = keys.time(kOverdueMostKey.name)});
}

}  // namespace berth
