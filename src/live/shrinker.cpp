#include "live/shrinker.hpp"

#include <algorithm>
#include <optional>

namespace berth::live {

namespace {

/// By job; nothing where the driver does not tell all that a job holds.
std::map<JobId, std::optional<Bytes>> held_in(const Look& look) {
  std::map<JobId, std::optional<Bytes>> held;
  for (const GpuProcess& process : *look.sample->processes) {
    const auto owner = look.owners.find(process.pid);
    const auto* const ours =
        owner == look.owners.end() ? nullptr : std::get_if<OfJob>(&owner->second);
    if (ours == nullptr) continue;
    const auto [sum, is_new] = held.try_emplace(ours->job, Bytes(0));
    if (!process.bytes) {
      sum->second.reset();
    } else if (sum->second) {
      *sum->second += *process.bytes;
    }
  }
  return held;
}

}  // namespace

Shrinker::Seen& Shrinker::seen(const Job& job, Instant at) {
  Seen& seen = seen_[job.id];
  if (seen.peaks.empty() || seen.attempt != job.attempt) {
    const bool may = job.spec.request.gpu.sharing != Sharing::Alone && allows_(job);
    seen = {.attempt = job.attempt, .from = at, .is_allowed = may, .peaks = {}, .done = {}};
  }
  return seen;
}

void Shrinker::forget_ended(const ClusterView& view) {
  std::erase_if(seen_, [&](const auto& entry) {
    const Job* const job = view.find(entry.first);
    return job == nullptr || !holds_berth(job->state);
  });
}

std::vector<Input> Shrinker::on_look(const Look& look, const ClusterView& view) {
  forget_ended(view);
  if (!look.sample || !look.sample->processes) return {};
  std::vector<Input> inputs;
  const auto held = held_in(look);
  for (const JobId id : view.tenants_of(look.gpu)) {
    const Job& job = *view.find(id);
    const auto found = held.find(id);
    if (job.state != JobState::Running || found == held.end() || !found->second) continue;
    Seen& known = seen(job, look.began);
    Bytes& peak = known.peaks[look.gpu];
    peak = std::max(peak, *found->second);
    if (!known.is_allowed || look.began - known.from < rule_.warm_up) continue;
    if (!known.done.insert(look.gpu).second) continue;
    const auto share = std::ranges::find(job.grant.shares, look.gpu, &Share::gpu);
    const Bytes charge = shrunk_charge(peak, rule_);
    if (share == job.grant.shares.end() || charge >= share->charge) continue;
    inputs.emplace_back(Shrunk{id, job.attempt, look.gpu, charge});
  }
  return inputs;
}

}  // namespace berth::live
