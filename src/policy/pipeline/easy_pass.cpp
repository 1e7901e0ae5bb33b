#include "policy/pipeline/easy_pass.hpp"

#include <utility>

#include "policy/pipeline/lending.hpp"

namespace berth {

bool EasyPass::all_wait_on(const Overdue& overdue) {
  const std::optional<Shadow>& known = promise_.known();
  const bool any_is_due =
      !overdue.jobs().empty() && overdue.jobs().begin()->first <= walk_.view().now();
  if (!walk_.context().is_quiet || !known || any_is_due) return false;
  const Standing promised = walk_.standing_of(known->job);
  for (const Event& event : walk_.context().events) {
    if (!waits_on(event.job, promised)) return false;
  }
  if (!overdue.jobs().empty()) walk_.wake(overdue.jobs().begin()->first);
  promise_.make(known->job, Ask(known->ask));
  return true;
}

bool EasyPass::waits_on(JobId id, const Standing& promised) {
  const auto head = walk_.head_of(id);
  if (!head) return true;
  if (id == promised.position.job || walk_.standing_of(id) < promised) return false;
  const Placed placed = walk_.place(id, walk_.ask_of(*head->lane));
  if (placed || placed.error().is_personal()) return false;
  Walk::note(*head, placed.error());
  return true;
}

void EasyPass::run(const Overdue* overdue, std::span<const JobId> before_all) {
  for (const JobId id : before_all) {
    if (const auto head = walk_.head_of(id)) start_if_it_fits(*head);
  }
  if (const auto first = promised_before()) serve(*first);
  if (overdue != nullptr) serve_overdue(*overdue);
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

/// Where users are ordered by what they hold, a start may put another job first: then a promise
/// stands until its job starts.
std::optional<Head> EasyPass::promised_before() {
  const auto holds = walk_.view().holds();
  if (walk_.order().depends_on() != DependsOn::Group || holds.empty()) return std::nullopt;
  return walk_.head_of(holds.front().job);
}

/// Until one of them has the promise; the others wait for their turn.
void EasyPass::serve_overdue(const Overdue& overdue) {
  for (const auto& [due, id] : overdue.jobs()) {
    if (due > walk_.view().now()) return walk_.wake(due);
    if (promise_.is_made()) return;
    if (const auto head = walk_.head_of(id)) serve(*head);
  }
}

void EasyPass::pass_on(const Head& head) {
  if (!longer_refused_.contains(head.lane)) return walk_.pass_on(head);
  walk_.pass_on_within(head, promise_.start() - walk_.view().now());
}

EasyPass::Next EasyPass::serve(const Head& head) {
  const JobId id = head.job();
  const Ask ask = walk_.ask_of(*head.lane);
  if (walk_.is_started(id)) return Next::Any;  // in a walk before
  Walk::Choices* const choices = lending_ == nullptr ? &choices_ : nullptr;
  Placed placed = promise_.is_to(id) ? std::unexpected(Refusal{}) : walk_.place(id, ask, choices);
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
  choices_.clear();
  if (lending_ != nullptr) lending_->note_start(id, grant, ask.planned);
}

/// It is promised nothing: its place is kept otherwise, or it wants what is lent.
void EasyPass::start_if_it_fits(const Head& head) {
  const Ask ask = walk_.ask_of(*head.lane);
  Placed placed = walk_.place(head.job(), ask);
  if (placed) start(head.job(), ask, std::move(*placed));
}

}  // namespace berth
