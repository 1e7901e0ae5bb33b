// Places kept for jobs that have waited, by limits that are enforced.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "policy/backfills.hpp"
#include "policy/kit/memory.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/holds.hpp"
#include "policy/pipeline/terms.hpp"

namespace berth {

constexpr auto kPromiseKeys = std::to_array<Key>({kReserveAfterKey, kReservationsKey, kLendKey});

constexpr About kPromise{
    .title = "Places kept: any job that fits may pass, until one has waited long enough.",
    .rule =
        "A job that has waited `reserve_after` gets a reserved place, `reservations` jobs at most. "
        "The place is that which is free first by time limits, or else by estimates and classes. "
        "If every job in its way has a limit, the last of these limits is promised. If not, "
        "another "
        "job may borrow the place if its limit ends it before the predicted time, or within "
        "max(`lend`, the time the job has waited).",
    .reads = "Waiting time, time limits, estimates, classes.",
    .source = "berth's own, for `headroom/places` (doc/adr/0010-headroom.md).",
    .differs = "Nothing known.",
    .cost = "O(lanes that may start) per pass, O(running log running) per place that is chosen.",
    .proof =
        "None yet by others. The bounds of doc/problem.md, section 3, hold on a thousand random "
        "streams (test/property/starvation_test.cpp).",
    .keys = kPromiseKeys};

namespace {

/// One pass.
class Promises {
 public:
  Promises(Walk& walk, TermsByJob& terms) : walk_(walk), terms_(terms) {}

  void run();

 private:
  void start_held();
  void serve_all();
  std::expected<void, Refusal> serve(const Head& head, const Ask& ask);
  void start(JobId id, const Ask& ask, Placement placement);
  bool may_keep_more() const {
    return !another_is_next_ && std::ssize(rooms_) < walk_.options().reservation_depth;
  }
  const Hold* hold_of(JobId id) const {
    const auto is_own = [&](const KeptRoom& room) { return room.hold.job == id; };
    const auto found = std::ranges::find_if(rooms_, is_own);
    return found == rooms_.end() ? nullptr : &found->hold;
  }
  void keep_place_for(JobId id, const Ask& ask);

  Walk& walk_;
  TermsByJob& terms_;  ///< Of every room, and of no other job.
  std::vector<KeptRoom> rooms_;
  std::vector<Ask> unkeepable_;   ///< Minimal asks for which there was no place to keep.
  bool another_is_next_ = false;  ///< A job has come that waits for the places kept to be used.
  bool hold_dropped_ = false;
};

void Promises::run() {
  rooms_ = still_kept(walk_, terms_);
  walk_.trial().respect(rooms_, walk_.view().now());
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
  std::vector<Hold> holds;
  for (const KeptRoom& room : rooms_) holds.push_back(room.hold);
  walk_.keep(std::move(holds));
  std::erase_if(terms_, [&](const auto& terms) { return hold_of(terms.first) == nullptr; });
}

/// Jobs with a place kept go first: a job behind them in rank must not hide them. One that starts
/// may have kept another from starting.
void Promises::start_held() {
  for (std::size_t before = rooms_.size() + 1; rooms_.size() < before;) {
    before = rooms_.size();
    const std::vector<KeptRoom> kept = rooms_;
    for (const KeptRoom& room : kept) {
      const Hold& hold = room.hold;
      if (!walk_.tally().allows(walk_.view().job(hold.job))) continue;
      Placed placed = walk_.placer().place(hold.ask, hold.job, walk_.trial());
      if (placed) start(hold.job, hold.ask, std::move(*placed));
    }
  }
  for (const KeptRoom& room : rooms_) walk_.tally().take(walk_.view().job(room.hold.job));
}

void Promises::serve_all() {
  walk_.begin_open();
  while (const auto head = walk_.next()) {
    const Hold* const hold = hold_of(head->job());
    if (hold != nullptr) Walk::note(*head, {.why = Why::Capacity, .until = hold->from});
    if (hold != nullptr || walk_.is_started(head->job())) {
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
  if (refusal.why == Why::Patience && !walk_.context().gates.go_by_run()) {
    Walk::note(head, refusal);
    return {};
  }
  if (refusal.is_personal()) return std::unexpected(refusal);
  const Duration left = walk_.options().reserve_after - walk_.view().job(id).waited();
  if (left > Duration::zero()) {
    if (may_keep_more()) walk_.look_again(later(walk_.view().now(), left));
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
  const auto is_own = [&](const KeptRoom& room) { return room.hold.job == id; };
  const bool passes = !std::ranges::all_of(rooms_, is_own);
  const Grant& grant =
      walk_.start(id, ask, std::move(placement), passes ? Because::Backfilled : Because::ItsTurn);
  for (KeptRoom& room : rooms_) count_if_staying(room, grant, ask.planned, walk_.view().now());
  if (std::erase_if(rooms_, is_own) == 0) return;
  hold_dropped_ = true;
  walk_.trial().respect(rooms_, walk_.view().now());
}

void Promises::keep_place_for(JobId id, const Ask& ask) {
  const bool is_hopeless = std::ranges::any_of(unkeepable_, [&](const Ask& other) {
    return is_no_larger(other, ask, walk_.view().cluster());
  });
  if (is_hopeless && !walk_.options().rebuild) return;
  walk_.trial().respect({}, walk_.view().now());
  if (auto place = first_free(walk_, id, ask, rooms_)) {
    auto& [room, terms] = *place;
    rooms_.push_back(std::move(room));
    terms_[id] = std::move(terms);
    walk_.tally().take(walk_.view().job(id));
  } else {
    unkeepable_.push_back(ask);
    // No place is kept for jobs behind it until those in its way are gone.
    another_is_next_ = place.error() == NoPlace::Others;
  }
  walk_.trial().respect(rooms_, walk_.view().now());
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

  void run(Walk& walk) override { Promises(walk, terms_).run(); }

  Snapshot save() const override { return terms_.empty() ? Snapshot() : saved(terms_); }
  Expected<void> restore(const Snapshot& bytes) override {
    return restore_into(terms_, bytes, "places kept", are_sane);
  }

 private:
  TermsByJob terms_;
};

}  // namespace

std::unique_ptr<Backfill> promise() { return std::make_unique<Promise>(); }

}  // namespace berth
