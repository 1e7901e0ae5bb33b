#include "live/surplus.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "core/steady.hpp"

namespace berth::live {

namespace {

const Share& most_beyond(const Job& job) {
  return *std::ranges::max_element(job.grant.shares, {}, surplus_on);
}

/// The cluster as it is, and as it would be if each running job gave its surplus back.
class Surpluses {
 public:
  explicit Surpluses(const Engine& engine) : engine_(engine), without_(engine.view().use()) {
    for (const JobId id : engine.view().running()) {
      const Job& job = *engine.view().find(id);
      if (!is_running(job.state) || surplus_of(job) == Bytes(0)) continue;
      Grant kept = job.grant;
      for (Share& share : kept.shares) share.charge = std::min(share.charge, share.granted);
      without_.take(engine.view().cluster(), job.grant);
      without_.put(engine.view().cluster(), kept);
      holders_.push_back(id);
    }
  }

  bool are_none() const { return holders_.empty(); }

  /// The holders in the way of this job; none if it fits now, or would not fit then either.
  std::vector<JobId> in_the_way_of(const JobView& job) const {
    const ClusterView view = engine_.view();
    const Ask ask = ask_of(job);
    const auto wanted = static_cast<std::size_t>(job.gpus().raw());
    for (std::uint32_t n = 0; n < view.cluster().nodes().size() && wanted > 0; ++n) {
      std::vector<GpuId> now;
      std::vector<GpuId> then;
      for (const GpuId gpu : view.cluster().node(NodeId(n)).gpu_ids()) {
        const auto admits_it = [&](const Occupancy& use) {
          return admits(use.admission(), view.cluster().gpu(gpu), use.gpu(gpu), ask);
        };
        if (admits_it(view.use())) {
          now.push_back(gpu);
        } else if (admits_it(without_)) {
          then.push_back(gpu);
        }
      }
      if (now.size() >= wanted) return {};  // it waits for something else
      if (now.size() + then.size() < wanted) continue;
      then.resize(wanted - now.size());
      Placement place{.gpus = now, .host = NodeId(n)};
      std::ranges::copy(then, std::back_inserter(place.gpus));
      std::ranges::sort(place.gpus);
      if (fits(view.cluster(), without_, place, ask)) return holders_on(then);
    }
    return {};
  }

 private:
  std::vector<JobId> holders_on(const std::vector<GpuId>& gpus) const {
    std::vector<JobId> found;
    std::ranges::copy_if(holders_, std::back_inserter(found), [&](JobId id) {
      return std::ranges::any_of(engine_.view().find(id)->grant.shares, [&](const Share& share) {
        return surplus_on(share) > Bytes(0) && std::ranges::find(gpus, share.gpu) != gpus.end();
      });
    });
    return found;
  }

  const Engine& engine_;
  Occupancy without_;
  std::vector<JobId> holders_;
};

/// Of several GPUs a policy may name the one that takes no jobs.
bool is_no_room(Why why) { return why == Why::Capacity || why == Why::Health || why == Why::Drain; }

/// True if it waits for room, as far as the policy says.
bool waits_for_room(const Engine& engine, JobId job) {
  const auto decided = engine.refused(job);
  if (!decided || is_no_room(decided->refusal.why)) return true;
  // Policies that repack say whose turn it is, and never that there is no room.
  return decided->refusal.why == Why::Order && decided->refusal.gate.what != GateWord::What::None;
}

}  // namespace

Bytes surplus_on(const Share& share) {
  const Bytes surplus = share.charge - share.granted;
  return surplus < kProbeStep ? Bytes(0) : surplus;
}

Bytes surplus_of(const Job& job) {
  return job.grant.shares.empty() ? Bytes(0) : surplus_on(most_beyond(job));
}

std::vector<WantedSurplus> wanted_surplus(const Engine& engine) {
  const Surpluses surpluses(engine);
  if (surpluses.are_none()) return {};
  std::map<JobId, WantedSurplus> found;
  std::size_t looked_at = 0;
  engine.view().for_each_pending([&](const JobView& job) {
    if (looked_at == kMostLookedAt || !waits_for_room(engine, job.id())) return;
    ++looked_at;
    for (const JobId id : surpluses.in_the_way_of(job)) {
      const Job& holder = *engine.view().find(id);
      const Share& most = most_beyond(holder);
      found.try_emplace(id, WantedSurplus{.holder = id,
                                          .attempt = holder.attempt,
                                          .gpu = most.gpu,
                                          .held = most.charge,
                                          .granted = most.granted,
                                          .wanted_by = job.id()});
    }
  });
  std::vector<WantedSurplus> list;
  for (const auto& [id, one] : found) list.push_back(one);
  return list;
}

}  // namespace berth::live
