#include "policy/diff.hpp"

#include <algorithm>

#include "policy/tally.hpp"

namespace berth {

namespace {

/// True if all these jobs take whole GPUs of any kind, so that only their number matters.
bool only_numbers_matter(const ClusterView& view, std::span<const JobId> list,
                         const Placer& placer) {
  if (!placer.is_fungible()) return false;
  return std::ranges::all_of(list, [&](JobId id) {
    const Ask ask = ask_of(view.job(id));
    const Request& request = ask.request;
    return takes_whole(ask) && request.gpu.types == 0 && request.gpu.profile == 0 &&
           request.cpu == CpuMilli(0) && request.host == Bytes(0) && ask.gpus() > GpuCount(0);
  });
}

bool is_running(const Job& job) {
  return job.state == JobState::Starting || job.state == JobState::Running;
}

/// The same jobs that fill() would choose on an empty cluster, but those that run keep their GPUs.
std::vector<Wanted> fill_in_place(const ClusterView& view, std::span<const JobId> list,
                                  const Placer& placer) {
  GpuCount free = view.use().vacant();
  for (const JobId id : view.running()) free += view.job(id).gpus();
  std::vector<Wanted> wanted;
  Tally tally(view, Tally::From::Nothing);
  for (const JobId id : list) {
    const Job& job = *view.find(id);
    const GpuCount gpus = job.spec.request.gpu.count;
    if (gpus > free || !tally.allows(view.job(id))) continue;
    tally.take(view.job(id));
    free -= gpus;
    wanted.push_back({id, is_running(job) ? placement_of(job.grant) : Placement{}});
  }
  Trial trial = view.trial();
  for (Wanted& entry : wanted) {
    const JobView job = view.job(entry.job);
    if (!entry.placement.gpus.empty()) continue;
    if (Placed placed = placer.place(ask_of(job), entry.job, trial)) {
      trial.put(ask_of(job), *placed);
      entry.placement = std::move(*placed);
    }  // else it waits for those that leave
  }
  return wanted;
}

}  // namespace

std::vector<Wanted> fill(const ClusterView& view, std::span<const JobId> list,
                         const Placer& placer) {
  if (only_numbers_matter(view, list, placer)) return fill_in_place(view, list, placer);
  Trial trial = view.trial();
  for (const JobId id : view.running()) trial.take(view.find(id)->grant);
  std::vector<Wanted> wanted;
  Tally tally(view, Tally::From::Nothing);
  for (const JobId id : list) {
    const Ask ask = ask_of(view.job(id));
    if (!tally.allows(view.job(id))) continue;
    if (Placed placed = placer.place(ask, id, trial)) {
      trial.put(ask, *placed);
      tally.take(view.job(id));
      wanted.push_back({id, std::move(*placed)});
    }
  }
  return wanted;
}

Decisions diff(const ClusterView& view, std::span<const Wanted> wanted, PreemptHow how) {
  Decisions decisions;
  std::vector<JobId> ids;
  for (const Wanted& entry : wanted) ids.push_back(entry.job);
  std::ranges::sort(ids);
  for (const JobId id : view.running()) {
    const Job& job = *view.find(id);
    if (is_running(job) && !std::ranges::binary_search(ids, id)) {
      decisions.list.push_back(Preempt{.job = id, .how = how});
    }
  }
  Trial trial = view.trial();
  Tally tally(view, Tally::From::Now);
  for (const Wanted& entry : wanted) {
    const JobView job = view.job(entry.job);
    const bool placed = !entry.placement.gpus.empty() || job.gpus() == GpuCount(0);
    if (!placed || job.state() == JobState::Stopping) continue;
    if (is_running(*view.find(entry.job))) {
      if (placement_of(job.grant()) == entry.placement) continue;
      decisions.list.push_back(Migrate{entry.job, entry.placement});
    } else if (tally.allows(job) &&
               trial.look(entry.placement, ask_of(job), entry.job) == Why::Fits) {
      tally.take(job);
      trial.put(ask_of(job), entry.placement);
      if (job.state() == JobState::Suspended) {
        decisions.list.push_back(Resume{entry.job, entry.placement});
      } else {
        decisions.list.push_back(Start{.job = entry.job, .placement = entry.placement});
      }
    }
  }
  return decisions;
}

}  // namespace berth
