// Lending: EASY, and places of running jobs for short ones.
#include <array>

#include "policy/backfills.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/easy_pass.hpp"
#include "policy/pipeline/lending.hpp"

namespace berth {

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
    .passing = {.who = Passing::Who::WhoDelaysNone,
                .by_holdings = "orders users by what they hold, which every loan would change"},
    .keys = kLendKeys};

namespace {

class Lend final : public Backfill {
 public:
  explicit Lend(const LendingOptions& options) : options_(options) {}
  bool by_run() const override { return true; }
  bool by_plan() const override { return true; }
  void run(Walk& walk) override {
    Lending lending(walk, options_, loans_, vacancy_);
    lending.keep_places();
    StartPromise promise = last_.follow(walk);
    EasyPass(walk, promise, &lending).run(nullptr, lending.first());
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
  LendingOptions options_;
  LastPromise last_;
  Loans loans_;
  Vacancy vacancy_;
};

}  // namespace

std::unique_ptr<Backfill> lend(const Keys& keys) {
  return std::make_unique<Lend>(LendingOptions{
      .delay = keys.time("delay"), .after = keys.time("after"), .turn = keys.time("turn")});
}

}  // namespace berth
