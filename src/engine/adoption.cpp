// How a process that its user started by hand becomes a job that runs.
#include "engine/adoption.hpp"

#include <algorithm>

#include "core/base/limits.hpp"
#include "core/occupancy.hpp"
#include "core/text/text.hpp"
#include "engine/engine.hpp"

namespace berth {

namespace {

/// The figures of its GPU without what it holds. What is foreign may not have been told with it
/// yet.
GpuUse use_without(const ClusterView& view, const AdoptedShare& share) {
  GpuUse use = view.use().gpu(share.gpu);
  use.foreign = std::max({Bytes(0), share.rest, use.foreign - share.held});
  return use;
}

/// Of its charge alone: what it holds is measured, contexts included.
Ask ask_for(const AdoptedShare& share, ReservationBits barred) {
  Ask ask;
  ask.request.gpu.count = GpuCount(1);
  ask.request.gpu.vram = share.charge;
  ask.request.gpu.processes = 0;
  ask.barred = barred;
  return ask;
}

/// The reservations that have begun and are not for this user. One that is to begin does not bar a
/// process that is there already.
ReservationBits begun_for_others(const ClusterView& view, UserId user) {
  ReservationBits bits = 0;
  for (const auto& [id, reservation] : view.calendar()) {
    const bool is_for_user = std::ranges::binary_search(reservation.users, user);
    if (reservation.from <= view.now() && !is_for_user) bits |= bit_of(id);
  }
  return bits;
}

/// Requires: it is not admitted there.
std::string refusal_on(const ClusterView& view, const AdoptedShare& share, const Ask& ask) {
  const GpuUse use = use_without(view, share);
  if (!is_usable(use)) return "takes no jobs now";
  if ((use.reserved & ask.barred) != 0) return "is reserved for others now";
  if (!tenancy_holds(view.cluster().gpu(share.gpu), use, ask)) {
    return "has " + std::to_string(use.tenants) + (use.tenants == 1 ? " job, and" : " jobs, and") +
           " takes no other beside";
  }
  const Bytes room = std::max(Bytes(0), room_for_adopted(view, share));
  return "the process holds " + to_text(share.held) + ", is to be charged " +
         to_text(share.charge) +
         ", and beside what others hold and were promised there is room "
         "for " +
         to_text(room);
}

bool are_sensible(std::span<const AdoptedShare> shares, const Cluster& cluster) {
  const bool ascend = std::ranges::adjacent_find(shares, std::ranges::greater_equal(),
                                                 &AdoptedShare::gpu) == shares.end();
  return ascend && !shares.empty() && shares.back().gpu.value() < cluster.gpus().size() &&
         std::ranges::all_of(
             shares,
             [](const AdoptedShare& share) {
               return share.held >= Bytes(0) && share.charge > Bytes(0) && share.rest >= Bytes(0) &&
                      share.rest <= limits::kMostMemory && share.charge >= share.held &&
                      share.charge <= limits::kMostMemory;
             });
}

/// It stays where it is until it ends, and nothing starts it again.
void make_unmovable(JobSpec& spec) {
  Conditions conditions;
  conditions.comment = spec.conditions->comment;
  conditions.adopted = true;
  spec.conditions = std::move(conditions);
  spec.suspending = Suspending::No;
  spec.retries = 0;
}

}  // namespace

Bytes room_for_adopted(const ClusterView& view, const AdoptedShare& share) {
  const GpuSpec& spec = view.cluster().gpu(share.gpu);
  const GpuUse use = use_without(view, share);
  const Bytes guard = use.tenants == 0 ? Bytes(0) : guard_band(view.settings().admission, spec);
  return spec.capacity - use.foreign - use.charged - guard;
}

std::optional<std::string> why_not_adopted(const ClusterView& view, UserId user,
                                           std::span<const AdoptedShare> shares) {
  Occupancy use = view.use();
  const ReservationBits barred = begun_for_others(view, user);
  for (const AdoptedShare& share : shares) {
    use.set_gpu(view.cluster(), share.gpu, use_without(view, share));
    const Ask ask = ask_for(share, barred);
    const Placement there{.gpus = {share.gpu}, .host = view.cluster().node_of(share.gpu)};
    if (fits(view.cluster(), use, there, ask)) continue;
    return "GPU " + std::to_string(share.gpu.value()) + ": " + refusal_on(view, share, ask);
  }
  return std::nullopt;
}

std::optional<std::string> Engine::why_not(const Job& job, const Adopted& adopted) const {
  const std::string name = "job " + std::to_string(job.id.value()) + ": ";
  if (!are_sensible(adopted.shares, state_.cluster)) return name + "holds no GPU memory";
  if (auto why = impossible(job)) return why;
  Placement there{.gpus = {}, .host = state_.cluster.node_of(adopted.shares.front().gpu)};
  for (const AdoptedShare& share : adopted.shares) there.gpus.push_back(share.gpu);
  if (!is_well_formed(there, job)) return name + "does not ask for the GPUs that it holds";
  const GpuCount gpus(std::ssize(there.gpus));
  if (!is_within_limits(job, gpus)) return name + "its user may hold no more (user_gpus)";
  const auto why = why_not_adopted(view(), job.spec.user, adopted.shares);
  return why ? std::optional(name + *why) : std::nullopt;
}

/// Nothing holds it: it is foreign use again, until a look says less.
void Engine::disown(const Job& job) {
  for (const Share& share : job.grant.shares) {
    GpuUse use = state_.ledger.use().gpu(share.gpu);
    use.foreign += share.charge;
    state_.ledger.set_gpu(state_.cluster, share.gpu, use);
  }
}

void Engine::on(const Adopted& adopted) {
  if (adopted.job.value() == 0 || adopted.job > kLastJob) return;
  if (state_.jobs.find(adopted.job) != nullptr) return;
  Job& job = state_.jobs.insert(
      adopted.job, Job{.id = adopted.job, .spec = adopted.spec, .submitted = now_, .since = now_});
  make_unmovable(job.spec);
  if (const auto why = why_not(job, adopted)) return reject(job, *why);
  make_sensible(job.spec);
  emit(EventKind::Submitted, job.id);
  job.stays_until = kNever;
  job.grant = {.shares = {}, .host = state_.cluster.node_of(adopted.shares.front().gpu)};
  for (const AdoptedShare& share : adopted.shares) {
    state_.ledger.set_gpu(state_.cluster, share.gpu, use_without(view(), share));
    job.grant.shares.push_back({.gpu = share.gpu, .charge = share.charge, .granted = share.charge});
  }
  take_berth(job);
  job.attempt = Attempt(1);
  effects_.list.push_back(Launch{job.id, job.attempt, job.grant});
}

}  // namespace berth
