// EASY backfilling, in the form of Mu'alem and Feitelson.
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "policy/backfills.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/lending.hpp"
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
    .cost = "O(GPUs + running + shapes) per pass, O(running log running) per promise.",
    .proof =
        "An independent restatement of the published definition on 1,000 random traces: every job "
        "starts at the same second (test/paper/easy_test.cpp).",
    .needs = {.estimates = true},
    .keys = kEasyKeys};

constexpr auto kLendKeys = std::to_array<Key>(
    {{.name = "delay",
      .type = KeyType::Time,
      .usual = "15m",
      .least = micros(seconds(1)),
      .most = kYear,
      .what = "Most time for which one job is kept from its place by loans, all of them together."},
     {.name = "after",
      .type = KeyType::Time,
      .usual = "30s",
      .least = 0,
      .most = kYear,
      .what = "A short job waits this long before it borrows a place."},
     {.name = "turn",
      .type = KeyType::Time,
      .usual = "5m",
      .least = 0,
      .most = kYear,
      .what = "A job has its GPUs for this long before its place is lent, again."}});

constexpr About kLend{
    .title = "Lending: EASY, and short jobs borrow the places of long ones for a bounded time.",
    .rule =
        "As `easy`. A short job with a time limit that found no place and has waited `after` takes "
        "the place of one medium or long job that has run for `turn`, the one delayed least first: "
        "that one is preempted. Its place is kept for it from first start + run time + `delay` on, "
        "less a tenth of `delay`; until then other jobs use it only if their limits end them in "
        "time, short ones first. The job goes on as soon as it fits and no short job has its "
        "place.",
    .reads = "As `easy`; class, enforced time limit, time since the first start.",
    .source = "berth's own (doc/adr/0015-lending.md).",
    .differs = "Nothing known.",
    .cost = "As `easy`; O(running) placements per shape of short jobs that find no place.",
    .proof =
        "None yet by others. That no job is delayed for longer is checked on random streams "
        "(test/property/lending_test.cpp).",
    .needs = {.preemption = true, .estimates = true},
    .keys = kLendKeys};

namespace {

/// One pass: walks over the waiting jobs until no more of them can start.
class EasyPass {
 public:
  EasyPass(Walk& walk, StartPromise& promise, Lending* lending = nullptr)
      : walk_(walk), promise_(promise), lending_(lending) {}

  void run(const Overdue& overdue, std::span<const JobId> before_all = {}) {
    for (const JobId id : before_all) {
      if (const auto head = walk_.head_of(id)) start_if_it_fits(*head);
    }
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
  void start_if_it_fits(const Head& head);
  void start(JobId id, const Ask& ask, Placement place);
  void pass_on(const Head& head);

  Walk& walk_;
  StartPromise& promise_;
  Lending* lending_;                      ///< Null for plain EASY.
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
    if (refusal.why != Why::Patience) return Next::None;
    return walk_.context().gates.go_by_run() ? Next::Briefer : Next::Any;
  }
  auto place = promise_.place_beside(id, ask, std::move(*placed));
  // Another place than the one that was found may be lent.
  const bool is_lent =
      place && lending_ != nullptr && walk_.trial().look(*place, ask, id) != Why::Fits;
  if (!place || is_lent) {
    refused_any_ = true;
    Walk::note(head, {.why = Why::Reservation, .until = promise_.start()});
    longer_refused_.insert(head.lane);
    return Next::Any;
  }
  start(id, ask, std::move(*place));
  return Next::Any;
}

void EasyPass::start(JobId id, const Ask& ask, Placement place) {
  const Because because = promise_.is_made() ? Because::Backfilled : Because::ItsTurn;
  const Grant& grant = walk_.start(id, ask, std::move(place), because);
  if (lending_ != nullptr) lending_->note_start(id, grant, ask.planned);
}

/// It is promised nothing: its place is kept otherwise, or it wants what is lent.
void EasyPass::start_if_it_fits(const Head& head) {
  const Ask ask = walk_.ask_of(*head.lane);
  Placed placed = walk_.place(head.job(), ask);
  if (placed) start(head.job(), ask, std::move(*placed));
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

/// With places of running jobs lent to short ones.
class Lend final : public Backfill {
 public:
  bool by_run() const override { return true; }
  bool by_plan() const override { return true; }
  void run(Walk& walk) override {
    Lending lending(walk, loans_, vacancy_);
    lending.keep_places();
    StartPromise promise(walk, last_.still_true(walk));
    EasyPass(walk, promise, &lending).run({}, lending.first());
    lending.lend();
    last_.keep(promise, walk, lending.holds());
  }
  Snapshot save() const override {
    return loans_.lent.empty() && loans_.borrowed.empty() ? Snapshot() : saved(loans_);
  }
  Expected<void> restore(const Snapshot& bytes) override {
    last_ = {};
    return restore_into(loans_, bytes, "loans", [](const Loans& loans) { return is_sane(loans); });
  }

 private:
  LastPromise last_;
  Loans loans_;
  Vacancy vacancy_;
};

}  // namespace

std::unique_ptr<Backfill> easy() { return std::make_unique<Easy>(); }
std::unique_ptr<Backfill> lend() { return std::make_unique<Lend>(); }

}  // namespace berth
