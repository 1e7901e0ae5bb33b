#include "policy/kit/host_room.hpp"

#include <utility>

namespace berth {

namespace {

/// As it asks for, or as it had; a job that states no memory is charged the whole GPU, which is not
/// more than the largest.
Bytes wanted_by(const JobView& job, const ClusterView& view) {
  if (job.in_host() > Bytes(0)) return job.in_host();
  const GpuRequest gpu = ask_of(job).request.gpu;
  const Bytes each = gpu.vram > Bytes(0) ? gpu.vram : view.cluster().largest_gpu();
  return each * gpu.count.raw();
}

}  // namespace

void HostRoom::follow(const ClusterView& view, std::span<const Event> events, bool is_fresh) {
  if (!is_bounded(view) || is_fresh || !follows_) *this = HostRoom();
  if (!is_bounded(view)) return;
  if (!std::exchange(follows_, true)) {
    view.for_each_job([&](const Job& job) { update(job.id, view); });
  } else {
    for (const Event& event : events) update(event.job, view);
  }
}

void HostRoom::update(JobId id, const ClusterView& view) {
  if (const auto found = held_.extract(id)) taken_ -= found.mapped();
  const Job* const job = view.find(id);
  if (job == nullptr || !has_idle_process(*job)) return;
  held_.emplace(id, job->in_host);
  taken_ += job->in_host;
}

Wide HostRoom::left(const JobView& newcomer, const ClusterView& view,
                    std::span<const JobId> leaving, std::span<const JobId> victims) const {
  Bytes taken = taken_;
  // What it holds itself comes back to the GPUs.
  if (const auto found = held_.find(newcomer.id()); found != held_.end()) taken -= found->second;
  for (const std::span<const JobId> jobs : {leaving, victims}) {
    for (const JobId id : jobs) {
      const Job& job = *view.find(id);
      if (!job.ending && !saves_itself(job)) taken += view.held_by(job);
    }
  }
  return Wide{view.settings().suspend_room->raw()} - taken.raw();
}

Wide HostRoom::need(const JobView& newcomer, const ClusterView& view) {
  if (newcomer.stays() || newcomer.saves_itself()) return 0;
  return Wide{wanted_by(newcomer, view).raw()} *
         static_cast<std::int64_t>(view.cluster().nodes().size());
}

}  // namespace berth
