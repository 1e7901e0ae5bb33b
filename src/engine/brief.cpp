#include "engine/brief.hpp"

#include <algorithm>
#include <string_view>

#include "core/text/text.hpp"

namespace berth {

namespace {

constexpr std::size_t kMostNamed = 3;  ///< More jobs than that are counted.

std::string count_text(std::int64_t count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

std::string jobs_text(const std::vector<JobId>& jobs, const ClusterView& view) {
  if (jobs.size() <= kMostNamed) return list_of(jobs, view);
  return count_text(static_cast<std::int64_t>(jobs.size()), "job");
}

/// ` (job 3, non-berth python of eve, 8.3 GiB)`; "" if nothing is known to be there.
std::string holders_text(const Shortage& shortage, const ClusterView& view,
                         const ForeignUse& foreign) {
  std::string text = shortage.holders.empty() ? "" : jobs_text(shortage.holders, view);
  const Bytes use = view.use().gpu(shortage.gpu).foreign;
  if (use > Bytes(0)) {
    const std::string whose = foreign ? foreign(shortage.gpu) : "";
    text += (text.empty() ? "" : "; ") + std::string("non-berth ") +
            (whose.empty() ? "processes, " + to_text(use) : whose);
  }
  return text.empty() ? "" : " (" + text + ")";
}

/// What keeps the job off a GPU whose memory suffices.
std::string tenancy_text(const GpuSpec& gpu, const GpuUse& use) {
  if (use.tenants >= gpu.slots) return " has all " + std::to_string(gpu.slots) + " slots taken";
  return " cannot be shared with this job";
}

std::string shortage_text(const Shortage& shortage, const JobView& job, const ClusterView& view,
                          const ForeignUse& foreign) {
  const std::string name = gpu_name(view.cluster(), shortage.gpu);
  if (const std::string closed = closed_text(shortage, view); !closed.empty()) {
    return name + " " + closed;
  }
  const std::string holders = holders_text(shortage, view, foreign);
  const GpuUse& use = view.use().gpu(shortage.gpu);
  const bool wants_alone = takes_whole(ask_of(job)) || job.request().gpu.sharing == Sharing::Alone;
  const bool is_one = job.gpus() == GpuCount(1);
  if (wants_alone && use.tenants + use.foreign.raw() > 0) {
    return (is_one ? "needs " + name + " alone" : name + " is in use") + holders;
  }
  if (const std::string alone = held_alone_text(shortage, view); !alone.empty()) {
    return name + " " + alone;
  }
  if (shortage.lacking > Bytes(0)) {
    const std::string amount = to_text(shortage.lacking);
    return (is_one ? "needs " + amount + " more on " + name : name + " lacks " + amount) + holders;
  }
  return name + tenancy_text(view.cluster().gpu(shortage.gpu), use) + holders;
}

/// Of a gang: how many it has, and what the nearest of the others lacks.
std::string capacity_text(const Explanation& found, const JobView& job, const ClusterView& view,
                          const ForeignUse& foreign) {
  if (!found.host.empty() && found.fitting >= job.gpus().raw()) return found.host;
  if (found.nearest.empty()) return "needs more than is free";
  const std::string host = found.host.empty() ? "" : "; " + found.host;
  constexpr std::int64_t kMostShown = 2;
  const std::int64_t missing = std::max<std::int64_t>(1, job.gpus().raw() - found.fitting);
  std::string nearest;
  for (const Shortage& shortage : found.nearest) {
    if (nearest.empty() || &shortage - found.nearest.data() < std::min(missing, kMostShown)) {
      nearest += (nearest.empty() ? "" : ", ") + shortage_text(shortage, job, view, foreign);
    }
  }
  if (job.gpus() <= GpuCount(1)) return nearest + host;
  const std::string fitting = found.fitting == 0   ? "none has"
                              : found.fitting == 1 ? "1 has"
                                                   : std::to_string(found.fitting) + " have";
  return "needs " + std::to_string(job.gpus().raw()) + " GPUs, " + fitting + " room: " + nearest +
         host;
}

std::string kept_text(const KeptPlace& kept, const ClusterView& view) {
  std::string names;
  for (const GpuId gpu : kept.placement.gpus) {
    names += (names.empty() ? "" : ", ") + gpu_name(view.cluster(), gpu);
  }
  return names.empty() ? "a place is reserved for it" : names + " reserved for it";
}

}  // namespace

std::string brief_text(const Explanation& found, const JobView& job, const ClusterView& view,
                       const ForeignUse& foreign) {
  switch (found.why) {
    case Why::Limit:
      return "user limit reached: " + limit_text(job, view);
    case Why::Order:
      return "waits its turn: " + gate_text(found, view);
    case Why::Patience:
      // What keeps it off the GPU now may be over long before that.
      return gate_text(found, view) +
             (found.behind.empty() ? "" : "; must not delay " + jobs_text(found.behind, view));
    case Why::Locality:
      return "waits for GPUs closer together";
    case Why::Reservation:
      if (found.behind.empty()) return "waits for a place that is reserved";
      return "would delay the reserved start of " + jobs_text(found.behind, view);
    case Why::Capacity:
    case Why::Health:
    case Why::Drain: {
      std::string text = capacity_text(found, job, view, foreign);
      if (found.gate.what == GateWord::What::HostMemory) text += "; " + gate_text(found, view);
      return found.kept ? text + "; " + kept_text(*found.kept, view) : text;
    }
    case Why::Fits:
      break;
  }
  return found.kept ? kept_text(*found.kept, view)
                    : "there is room: the scheduler has not placed it yet";
}

}  // namespace berth
