// Places kept for jobs that have waited, by limits that are enforced.
#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "policy/backfills.hpp"
#include "policy/kit/classes.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/holds.hpp"

namespace berth {

constexpr auto kPromiseKeys = std::to_array<Key>({
    kReserveAfterKey,
    kReservationsKey,
    kLendKey,
});

constexpr About kPromise{
    .title = "Places kept: any job that fits may pass, until one has waited long enough.",
    .rule =
        "A job that has waited `reserve_after` gets a place kept, for `reservations` jobs at most. "
        "The place is chosen by time limits, and if they do not suffice by estimates and classes. "
        "It is kept until the jobs in its way have left. If each of them has a limit, the last of "
        "these is promised. If not, another job may borrow the place if its limit ends it before "
        "the predicted time, or within max(`lend`, the time the job has waited).",
    .reads = "Waiting time, time limits, estimates, classes.",
    .source = "berth's own, for `headroom` (doc/adr/0010-headroom.md).",
    .differs = "Nothing known.",
    .cost = "O(lanes that may start) per pass, O(running log running) per place that is chosen.",
    .proof =
        "The bounds of doc/problem.md, section 3, hold on a thousand random streams "
        "(test/property/starvation_test.cpp).",
    .keys = kPromiseKeys};

namespace {

void sort_by_departure(std::vector<Leaving>& leaving) {
  std::ranges::sort(leaving, {}, [](const Leaving& l) { return std::pair(l.at, l.grant_number); });
}

/// One pass.
class Promises {
 public:
  explicit Promises(Walk& walk)
      : walk_(walk), view_(walk.view()), trial_(walk.trial()), options_(walk.options()) {}

  void run();

 private:
  void load();
  void start_held();
  void serve_all();
  std::expected<void, Refusal> serve(const Head& head, const Ask& ask);
  void start(JobId id, const Ask& ask, Placement placement);
  bool may_keep_more() const;
  const Hold* hold_of(JobId id) const;
  void keep_place_for(JobId id, const Ask& ask);
  std::optional<Hold> find_place(JobId id, const Ask& ask);
  std::vector<Leaving> leaving_by_limit() const;
  std::vector<Leaving> leaving_by_expectation() const;
  void await(Hold& hold, std::span<const Leaving> leaving);
  void renew(Hold& hold, std::span<const JobId> occupants);
  Duration lend_for(JobId id);

  Walk& walk_;
  const ClusterView& view_;
  Trial& trial_;
  const PipelineOptions& options_;
  std::vector<Hold> holds_;
  std::vector<Ask> unkeepable_;   ///< Minimal asks for which there was no place to keep.
  bool another_is_next_ = false;  ///< A job has come that waits for the places kept to be used.
  bool hold_dropped_ = false;
};

void Promises::run() {
  load();
  if (may_keep_more()) walk_.context().index.reopen();  // a job refused before may get one now
  start_held();
  serve_all();
  while (std::exchange(hold_dropped_, false)) {  // what it kept out may fit now
    walk_.forget_refusals();
    unkeepable_.clear();
    another_is_next_ = false;
    walk_.context().index.reopen();
    serve_all();
  }
  walk_.keep(holds_);
}

void Promises::load() {
  for (const Hold& hold : view_.holds()) {
    if (is_usable(hold, view_, walk_.tally())) holds_.push_back(hold);
  }
  const std::vector<std::vector<JobId>> occupants = occupants_of(holds_, view_);
  for (std::size_t h = 0; h < holds_.size(); ++h) {
    renew(holds_[h], occupants[h]);
    count_outlasting(holds_[h], occupants[h], view_, walk_.started());
  }
  std::erase_if(holds_, [&](const Hold& hold) { return !can_still_serve(hold, view_); });
  trial_.respect(holds_, view_.now());
}

/// Jobs with a place kept go first: a job behind them in rank must not hide them. One that starts
/// may have kept another from starting.
void Promises::start_held() {
  for (std::size_t before = holds_.size() + 1; holds_.size() < before;) {
    before = holds_.size();
    const std::vector<Hold> held = holds_;
    for (const Hold& hold : held) {
      if (!walk_.tally().allows(view_.job(hold.job))) continue;
      Placed placed = walk_.placer().place(hold.ask, hold.job, trial_);
      if (placed) start(hold.job, hold.ask, std::move(*placed));
    }
  }
  for (const Hold& hold : holds_) walk_.tally().take(view_.job(hold.job));
}

void Promises::serve_all() {
  walk_.begin_open();
  while (const auto head = walk_.next()) {
    if (walk_.is_started(head->job())) {
      walk_.pass_on(*head);
    } else if (const Hold* const hold = hold_of(head->job()); hold != nullptr) {
      Walk::note(*head, {.why = Why::Capacity, .until = hold->from});
      walk_.pass_on(*head);
    } else if (const auto served = serve(*head, walk_.ask_of(*head->lane)); served) {
      walk_.pass_on(*head);
    } else {
      Walk::close(*head, served.error());
    }
  }
  walk_.end();
}

/// Returns: nothing if the next job of its lane may get a place, or have one kept.
std::expected<void, Refusal> Promises::serve(const Head& head, const Ask& ask) {
  const JobId id = head.job();
  Placed placed = walk_.place(id, ask);
  if (placed) {
    start(id, ask, std::move(*placed));
    return {};
  }
  Refusal refusal = placed.error();
  walk_.rule_out(ask, refusal);
  if (refusal.is_personal()) return std::unexpected(refusal);
  const Duration left = options_.reserve_after - view_.job(id).waited();
  if (left > Duration::zero()) {
    if (may_keep_more()) walk_.look_again(later(view_.now(), left));
  } else if (may_keep_more()) {
    keep_place_for(id, ask);
  }
  if (const Hold* const hold = hold_of(id); hold != nullptr) {
    refusal.until = hold->from;
    Walk::note(head, refusal);
    if (may_keep_more()) return {};
  }
  return std::unexpected(refusal);
}

void Promises::start(JobId id, const Ask& ask, Placement placement) {
  const auto is_own = [&](const Hold& hold) { return hold.job == id; };
  const bool passes = !std::ranges::all_of(holds_, is_own);
  const Grant& grant =
      walk_.start(id, ask, std::move(placement), passes ? Because::Backfilled : Because::ItsTurn);
  for (Hold& hold : holds_) count_if_outlasting(hold, grant, ask.planned, view_.now());
  if (std::erase_if(holds_, is_own) == 0) return;
  hold_dropped_ = true;
  trial_.respect(holds_, view_.now());
}

bool Promises::may_keep_more() const {
  return !another_is_next_ && std::ssize(holds_) < options_.reservation_depth;
}

const Hold* Promises::hold_of(JobId id) const {
  const auto found = std::ranges::find(holds_, id, &Hold::job);
  return found == holds_.end() ? nullptr : &*found;
}

void Promises::keep_place_for(JobId id, const Ask& ask) {
  trial_.respect({}, view_.now());
  if (auto hold = find_place(id, ask)) {
    count_outlasting(*hold, occupants_of(std::span(&*hold, 1), view_).front(), view_,
                     walk_.started());
    holds_.push_back(std::move(*hold));
    walk_.tally().take(view_.job(id));
  }
  trial_.respect(holds_, view_.now());
}

/// Calls visit(grant number, grant, job) for every occupant, those started in this pass included.
template <class Visit>
void for_each_occupant(const Walk& walk, Visit visit) {
  const ClusterView& view = walk.view();
  for (const JobId id : view.running()) {
    const JobView job = view.job(id);
    visit(job.grant_number(), job.grant(), job);
  }
  std::uint64_t number = view.grants();
  for (const Fresh& given : walk.started()) visit(++number, given.grant, view.job(given.job));
}

std::vector<Leaving> Promises::leaving_by_limit() const {
  std::vector<Leaving> leaving;
  for_each_occupant(walk_, [&](std::uint64_t number, const Grant& grant, JobView job) {
    const bool stops = job.state() == JobState::Stopping;
    const Instant end = stops ? view_.now() : later(view_.now(), job.enforced());
    if (end != kNever) leaving.push_back({end, number, &grant, true});
  });
  sort_by_departure(leaving);
  return leaving;
}

std::vector<Leaving> Promises::leaving_by_expectation() const {
  std::vector<Leaving> leaving;
  for_each_occupant(walk_, [&](std::uint64_t number, const Grant& grant, JobView job) {
    const bool stops = job.state() == JobState::Stopping;
    const Duration left = expected(job, options_.classes);
    leaving.push_back({.at = stops ? view_.now() : later(view_.now(), left),
                       .grant_number = number,
                       .grant = &grant,
                       .is_sure = stops || job.enforced() != kForever});
  });
  sort_by_departure(leaving);
  return leaving;
}

std::optional<Hold> Promises::find_place(JobId id, const Ask& ask) {
  const bool hopeless = std::ranges::any_of(
      unkeepable_, [&](const Ask& other) { return is_no_larger(other, ask, view_.cluster()); });
  if (hopeless && !options_.rebuild) return std::nullopt;
  const Placer& placer = walk_.placer();
  std::vector<Leaving> leaving = leaving_by_limit();
  auto earliest = earliest_start({id, ask}, placer, leaving, holds_, trial_);
  if (!earliest) {
    leaving = leaving_by_expectation();
    earliest = earliest_start({id, ask}, placer, leaving, holds_, trial_);
  }
  if (!earliest) {
    unkeepable_.push_back(ask);
    // Places kept for others are all that is in the way: none is kept for jobs behind it until they
    // are gone. Else it is a matter of health.
    another_is_next_ = earliest_start({id, ask}, placer, leaving, {}, trial_).has_value();
    return std::nullopt;
  }
  Hold hold{
      .job = id, .ask = ask, .placement = std::move(earliest->placement), .from = view_.now()};
  await(hold, std::span(leaving).first(earliest->gone));
  return hold;
}

/// Lists those on the place that must leave, of those that will have left. One without a limit that
/// the job fits beside need not: it would only make the time uncertain.
void Promises::await(Hold& hold, std::span<const Leaving> leaving) {
  const Trial::Mark before = trial_.mark();
  for (const Leaving& occupant : leaving) trial_.take(*occupant.grant);
  for (const Hold& kept : holds_) trial_.put(kept.ask, kept.placement);
  const auto fits_beside = [&](const Grant& grant) {
    const Trial::Mark mark = trial_.mark();
    trial_.put(grant);
    const bool fits = trial_.look(hold.placement, hold.ask, hold.job) == Why::Fits;
    if (!fits) trial_.rollback(mark);
    return fits;
  };
  bool sure = true;
  for (const Leaving& occupant : std::views::reverse(leaving)) {  // the last to leave may stay
    if (!touches(hold, *occupant.grant, view_.cluster())) continue;
    if (!occupant.is_sure && fits_beside(*occupant.grant)) continue;
    hold.awaited.push_back(occupant.grant_number);
    hold.from = std::max(hold.from, occupant.at);
    sure = sure && occupant.is_sure;
  }
  trial_.rollback(before);
  std::ranges::sort(hold.awaited);
  if (!sure) hold.lend = lend_for(hold.job);
  if (sure && !hold.awaited.empty()) hold.promised = hold.from;
}

/// For how long a place may be lent while nobody knows when it will be free: for as long as its job
/// has waited, in doubling steps, so that the wait at most doubles by it.
Duration Promises::lend_for(JobId id) {
  if (options_.lend == Duration::zero()) return Duration::zero();
  const Duration waited = view_.job(id).waited();
  Duration lend = options_.lend;
  while (lend <= waited / 2) lend *= 2;
  walk_.look_again(later(view_.now(), 2 * lend - waited));
  return lend;
}

/// Lends on while somebody without a limit is awaited. Once they have all gone, everybody there is
/// bounded, and the time is promised.
void Promises::renew(Hold& hold, std::span<const JobId> occupants) {
  const bool lends = hold.lend > Duration::zero();
  if (lends) hold.lend = lend_for(hold.job);
  const Instant until = lent_until(hold, view_.now());
  Instant gone = view_.now();
  bool sure = true;
  for (const JobId id : occupants) {
    const JobView job = view_.job(id);
    if (job.state() == JobState::Stopping || !touches(hold, job.grant(), view_.cluster())) continue;
    const Instant end = later(view_.now(), job.enforced());
    const bool awaited = std::ranges::binary_search(hold.awaited, job.grant_number());
    if (awaited && end == kNever) sure = false;
    if (end != kNever && (awaited || end <= until)) gone = std::max(gone, end);
  }
  if (!sure) {
    hold.lend = lend_for(hold.job);
    if (hold.from < view_.now()) hold.from = kNever;  // the prediction was wrong
  } else if (lends) {
    hold.lend = Duration::zero();
    hold.from = hold.promised = gone;
  }
}

class Promise final : public Backfill {
 public:
  bool by_plan() const override { return true; }

  /// A job that ends, or plans to end otherwise, may let others in before any release.
  bool looks_again(const ClusterView&, std::span<const Event> events) const override {
    return std::ranges::any_of(events, [](const Event& event) {
      return event.kind != EventKind::Submitted && event.kind != EventKind::Granted;
    });
  }

  void run(Walk& walk) override { Promises(walk).run(); }
};

}  // namespace

std::unique_ptr<Backfill> promise() { return std::make_unique<Promise>(); }

}  // namespace berth
