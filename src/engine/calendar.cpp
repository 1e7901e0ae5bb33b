// GPUs that are reserved for users: who may not start where, and until when.
//
// A reservation is a bit of its GPUs, and of the jobs that keep off them: those of other users that
// could be there still when it begins. Asks carry their job's bits (core/ask.hpp), so policies see
// a GPU that does not fit, and admission refuses it whatever a policy says. A job that has a berth
// there keeps it.
#include <algorithm>

#include "engine/engine.hpp"
#include "engine/possible.hpp"

namespace berth {

namespace {

/// The last instant at which a job of another user may start on what is reserved from `from` on.
Instant last_start(const JobView& job, Instant from) {
  const Duration enforced = job.enforced();
  return enforced == kForever ? Instant::min() : from - enforced;
}

}  // namespace

void Engine::on(const Reserved& reserved) {
  const Reservation& made = reserved.reservation;
  const bool is_new = reserved.id > state_.last_reservation;
  if (!is_new || !is_sensible(made, state_.cluster.gpus().size())) return;
  if ((calendar_bits() & bit_of(reserved.id)) != 0 || made.until <= now_) return;
  state_.last_reservation = reserved.id;
  state_.calendar.emplace(reserved.id, made);
  mark_reserved();
}

void Engine::on(const Unreserved& unreserved) {
  if (state_.calendar.erase(unreserved.id) > 0) mark_reserved();
}

void Engine::end_reservations() {
  bool is_any_over = false;
  for (auto at = state_.calendar.begin(); at != state_.calendar.end();) {
    const auto next = std::next(at);
    if (at->second.until <= now_) {
      past_terms_.calendar.insert(state_.calendar.extract(at));
      is_any_over = true;
    }
    at = next;
  }
  while (past_terms_.calendar.size() > kMostReservations) {
    past_terms_.calendar.erase(past_terms_.calendar.begin());
  }
  if (is_any_over) mark_reserved();
}

ReservationBits Engine::calendar_bits() const {
  ReservationBits bits = 0;
  for (const auto& [id, reservation] : state_.calendar) bits |= bit_of(id);
  return bits;
}

ReservationBits Engine::reserved_bits(GpuId gpu) const {
  ReservationBits bits = 0;
  for (const auto& [id, reservation] : state_.calendar) {
    if (std::ranges::binary_search(reservation.gpus, gpu)) bits |= bit_of(id);
  }
  return bits;
}

void Engine::mark_reserved() {
  for (const GpuId gpu : state_.cluster.gpu_ids()) {
    GpuUse use = state_.ledger.use().gpu(gpu);
    const ReservationBits bits = reserved_bits(gpu);
    if (use.reserved == bits) continue;
    use.reserved = bits;
    state_.ledger.set_gpu(state_.cluster, gpu, use);
  }
}

/// The reservations whose GPUs this job keeps off now: those of others that begin before its time
/// limit would end it. Where it has a berth it may stay.
ReservationBits Engine::bars_of(const Job& job) const {
  const bool has_berth = holds_berth(job.state);
  if (!has_berth && !is_waiting(job.state)) return 0;
  if (job.spec.request.gpu.count == GpuCount(0)) return 0;
  const JobView view(job, now_);
  ReservationBits bits = 0;
  for (const auto& [id, reservation] : state_.calendar) {
    if (std::ranges::binary_search(reservation.users, job.spec.user)) continue;
    const bool has_begun = reservation.from <= now_;
    if (has_begun || last_start(view, reservation.from) < now_) bits |= bit_of(id);
  }
  for (const Share& share : job.grant.shares) bits &= ~state_.ledger.use().gpu(share.gpu).reserved;
  return bits;
}

/// Time alone bars a waiting job, so a pass is due then: another may go first.
void Engine::watch_bars(const Job& job) {
  if (!is_waiting(job.state) || job.spec.time_limit == kForever) return;
  const JobView view(job, now_);
  for (const auto& [id, reservation] : state_.calendar) {
    const bool is_affected = job.spec.request.gpu.count > GpuCount(0) &&
                             !std::ranges::binary_search(reservation.users, job.spec.user);
    const Instant last = last_start(view, reservation.from);
    if (is_affected && last >= now_) next_bar_ = std::min(next_bar_, later(last, Duration(1)));
  }
}

/// Cost: O(jobs x reservations) while there are any, else nothing.
void Engine::bar_jobs() {
  next_bar_ = kNever;
  if (state_.calendar.empty() && !are_barred_) return;
  are_barred_ = false;
  state_.jobs.for_each([&](JobId id, const Job& known) {
    watch_bars(known);
    const ReservationBits bits = bars_of(known);
    are_barred_ = are_barred_ || bits != 0;
    if (bits == known.barred) return;
    state_.jobs.at(id).barred = bits;
    if (!is_waiting(known.state)) return;
    drop_holds(id);
    emit(EventKind::Withdrawn, id);  // policies know it by what it asks
    emit(EventKind::Submitted, id);
  });
}

}  // namespace berth
