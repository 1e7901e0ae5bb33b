#include "core/view.hpp"

#include <algorithm>

#include "core/base/assert.hpp"

namespace berth {

Ask ask_of(const JobView& job) {
  Ask ask{.request = job.request(),
          .planned = job.planned(),
          .barred = job.barred(),
          .home = job.home()};
  GpuRequest& gpu = ask.request.gpu;
  if (job.rooted() != 0) gpu.only = job.rooted();
  if (job.bound() != 0) gpu.types = job.bound();
  if (gpu.count.raw() == 0 || gpu.vram.raw() > 0 || gpu.sharing == Sharing::Alone) return ask;
  gpu.vram = job.spec().vram_estimate;
  if (gpu.vram.raw() == 0) gpu.sharing = Sharing::Alone;
  return ask;
}

Bytes ClusterView::held_by(const Job& job) const {
  Bytes sum{0};
  for (const Share& share : job.grant.shares) {
    const Bytes used = use().gpu(share.gpu).used;
    sum += used > Bytes(0) ? std::min(share.charge, used) : share.charge;
  }
  return sum;
}

std::optional<ReservationId> ClusterView::next_reservation() const {
  ReservationBits taken = 0;
  for (const auto& [id, reservation] : calendar()) taken |= bit_of(id);
  for (std::uint32_t n = 1; n <= kMostReservations; ++n) {
    const ReservationId next(state_->last_reservation.value() + n);
    if ((taken & bit_of(next)) == 0) return next;
  }
  return std::nullopt;
}

Ask ask_of(const JobView& job, GpuCount gpus) {
  const GpuRequest& asked = job.request().gpu;
  BERTH_ASSERT(gpus >= asked.least() && gpus <= asked.most());
  Ask ask = ask_of(job);
  ask.request.gpu.count = gpus;
  return ask;
}

namespace {

/// As few nodes as hold so many GPUs.
std::int64_t nodes_needed(const Cluster& cluster, std::int64_t gpus) {
  const std::int64_t most = std::max<std::int64_t>(1, cluster.largest_node());
  return (gpus + most - 1) / most;
}

}  // namespace

Rate ClusterView::speed(const JobView& job, const Where& where) const {
  const Speeds& table = state_->speeds;
  const JobSpec& spec = job.spec();
  const std::int64_t asked = spec.request.gpu.count.raw();
  if (asked == 0) return kFullSpeed;
  Rate rate = table.scaled(spec.model, spec.batch, asked, where.gpus);
  if (where.nodes > 1) {
    const bool is_spread = where.nodes > nodes_needed(cluster(), where.gpus);
    const Rate else_rate = is_spread ? table.unmeasured_spread() : kFullSpeed;
    rate = rate * table.spread(spec.model, where.gpus, where.nodes).value_or(else_rate);
  }
  if (table.has_types()) {
    const std::string& type = cluster().type_names()[where.type];
    rate = rate * table.on_type(spec.model, asked, type).value_or(kFullSpeed);
  }
  for (const JobId id : where.beside) {
    if (id != job.id()) rate = rate * speed_beside(job, id, where.type);
  }
  return rate;
}

Rate ClusterView::speed_beside(const JobView& job, JobId id, std::uint8_t type) const {
  const Job* const other = find(id);
  if (other == nullptr) return kFullSpeed;
  const std::string& name = cluster().type_names()[type];
  const auto known = state_->speeds.beside(job.spec().model, job.spec().request.gpu.count.raw(),
                                           Speeds::neighbour_on(other->spec.model, name));
  if (known) return *known;
  return Rate(company().rate_ppm(company().of(job.id()), company().of(id)));
}

std::optional<Rate> ClusterView::mean_beside(const JobView& job) const {
  if (const auto known = state_->speeds.mean_beside(job.spec().model)) return known;
  const auto learned = company().mean_ppm(company().of(job.id()));
  return learned ? std::optional(Rate(*learned)) : std::nullopt;
}

Rate ClusterView::speed(const JobView& job, const Placement& placement) const {
  const std::vector<GpuId>& gpus = placement.gpus;
  if (gpus.empty()) return kFullSpeed;
  Where where{.gpus = std::ssize(gpus)};
  for (std::size_t i = 1; i < gpus.size(); ++i) {
    where.nodes += cluster().node_of(gpus[i]) != cluster().node_of(gpus[i - 1]) ? 1 : 0;
  }
  Rate slowest(Rate::kMost);
  for (const GpuId gpu : gpus) {
    where.type = cluster().gpu(gpu).type;
    where.beside.assign(tenants_of(gpu).begin(), tenants_of(gpu).end());
    slowest = std::min(slowest, speed(job, where));
  }
  return slowest;
}

}  // namespace berth
