#include "daemon/idle.hpp"

#include <algorithm>

#include "gpu/probe.hpp"

namespace berth::daemon {

namespace {

/// By what is told of its processes, or else of the GPU. What is unknown accuses nobody.
bool may_run_kernels(JobId job, const Sample& sample, const OwnerOf& owner_of) {
  if (sample.utilisation_percent == 0U) return false;
  if (!sample.processes) return true;
  return std::ranges::any_of(*sample.processes, [&](const GpuProcess& process) {
    const Owner owner = owner_of(process.pid);
    const auto* const of = std::get_if<OfJob>(&owner);
    return of != nullptr && of->job == job && process.utilisation_percent.value_or(1) > 0;
  });
}

}  // namespace

void IdleWatch::on_look(const live::Look& look, const ClusterView& view, Instant now) {
  if (rules_ == IdleRules{}) return;
  std::erase_if(seen_, [&](const auto& entry) {
    const Job* const job = view.find(entry.first);
    return job == nullptr || job->state != JobState::Running ||
           job->attempt != entry.second.attempt;
  });
  const auto owner_of = [&](pid_t pid) {
    const auto found = look.owners.find(pid);
    return found == look.owners.end() ? Owner(OfNobody{}) : found->second;
  };
  for (const JobId id : view.tenants_of(look.gpu)) {
    const Job* const job = view.find(id);
    if (job == nullptr || job->state != JobState::Running) continue;
    Seen& seen =
        seen_.try_emplace(id, Seen{.attempt = job->attempt, .busy = {}, .holds = {}}).first->second;
    const bool is_new = !seen.busy.contains(look.gpu);
    const bool is_busy = !look.sample || may_run_kernels(id, *look.sample, owner_of);
    if (is_new || is_busy) seen.busy[look.gpu] = now;
    const bool holds =
        look.sample && held_by(id, *look.sample, owner_of).value_or(Bytes(0)) > Bytes(0);
    holds ? static_cast<void>(seen.holds.insert(look.gpu))
          : static_cast<void>(seen.holds.erase(look.gpu));
    judge(*job, seen, now);
  }
}

void IdleWatch::judge(const Job& of, Seen& seen, Instant now) {
  const JobId job = of.id;
  if (seen.busy.size() < of.grant.shares.size()) return;  // a GPU of its was not looked at yet
  Instant since = kStart;
  for (const auto& [gpu, busy] : seen.busy) since = std::max(since, busy);
  const Duration idle = now - since;
  const Idleness found{.since = since, .holds = !seen.holds.empty()};
  if (rules_.end != kForever && idle >= rules_.end) {
    if (std::exchange(seen.told, Told::Ended) != Told::Ended) hooks_.end(job, found);
  } else if (rules_.suspend != kForever && idle >= rules_.suspend && of.stays_until <= now) {
    if (seen.told < Told::Suspended) hooks_.suspend(job, found);
    seen.told = std::max(seen.told, Told::Suspended);
  } else if (rules_.after != kForever && idle >= rules_.after) {
    if (seen.told == Told::Nothing) hooks_.warn(job, found);
    if (seen.told == Told::Nothing) seen.told = Told::Warned;
  } else {
    const Told before = std::exchange(seen.told, Told::Nothing);
    if (before == Told::Warned || before == Told::Suspended) hooks_.busy_again(job);
  }
}

}  // namespace berth::daemon
