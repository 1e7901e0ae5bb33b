#include "live/watcher.hpp"

#include <algorithm>
#include <utility>

namespace berth::live {

namespace {

bool has_charge(const Job* job, GpuId gpu) {
  return job != nullptr &&
         std::ranges::find(job->grant.shares, gpu, &Share::gpu) != job->grant.shares.end();
}

/// As measure() wants it. A job of ours without a charge there trespasses, unless it was there
/// before it got the berth that it has, or has none: then it is a stranger.
OwnerOf owner_of(const Look& look, const ClusterView& view, Trespass trespass) {
  return [&look, &view, trespass](pid_t pid) -> Owner {
    const auto found = look.owners.find(pid);
    if (found == look.owners.end()) return OfNobody{};
    const auto* const ours = std::get_if<OfJob>(&found->second);
    if (ours == nullptr) return found->second;
    const Job* const job = view.find(ours->job);
    if (has_charge(job, look.gpu)) return found->second;
    const bool trespasses = trespass == Trespass::IsTold && job != nullptr &&
                            holds_berth(job->state) && look.began > job->since;
    return trespasses ? Owner(OfTrespasser{ours->job}) : Owner(OfStranger{});
  };
}

/// What a glance leaves out is as the look before told it.
void complete(Look& look, const Look* before) {
  if (!look.sample->is_glance || before == nullptr || !before->sample) return;
  look.sample->millijoules = before->sample->millijoules;
  if (!look.sample->processes || !before->sample->processes) return;
  for (GpuProcess& process : *look.sample->processes) {
    const auto known = std::ranges::find(*before->sample->processes, process.pid, &GpuProcess::pid);
    if (known == before->sample->processes->end()) continue;
    process.utilisation_percent = known->utilisation_percent;
  }
}

bool holds_anything(const Look& look, JobId job) {
  if (!look.sample->processes) return false;
  return std::ranges::any_of(look.owners, [&](const auto& entry) {
    const auto* const owner = std::get_if<OfJob>(&entry.second);
    return owner != nullptr && owner->job == job;
  });
}

/// The charges there of processes that are being adopted, and whose they are the look does not know
/// yet.
Bytes adopting_on(const Look& look, const ClusterView& view) {
  Bytes sum(0);
  for (const JobId id : view.tenants_of(look.gpu)) {
    const Job& job = *view.find(id);
    if (job.state != JobState::Starting || !is_adopted(job.spec)) continue;
    if (holds_anything(look, id)) continue;
    sum += std::ranges::find(job.grant.shares, look.gpu, &Share::gpu)->charge;
  }
  return sum;
}

/// True if no tenant is told to hold more than it was charged for at its start.
bool is_within_grants(const Measured& measured, const ClusterView& view) {
  return std::ranges::all_of(measured.tenants, [&](const TenantUse& tenant) {
    const Job* const job = view.find(tenant.job);
    if (job == nullptr) return false;
    const auto share = std::ranges::find(job->grant.shares, measured.gpu, &Share::gpu);
    return share != job->grant.shares.end() && tenant.bytes <= share->granted;
  });
}

/// True if its job gives its berth back and runs again.
bool requeues(const Input& input, const ClusterView& view) {
  const auto* const released = std::get_if<Released>(&input);
  const auto* const failed = std::get_if<StartFailed>(&input);
  const auto* const kept = std::get_if<ResumeFailed>(&input);
  if (released == nullptr && failed == nullptr && kept == nullptr) return false;
  const Job* const job = view.find(released != nullptr ? released->job
                                   : failed != nullptr ? failed->job
                                                       : kept->job);
  return job != nullptr && !job->ending;
}

}  // namespace

bool somebody_waits(const ClusterView& view, std::span<const Input> inputs) {
  return view.job_count() > view.running().size() ||
         std::ranges::any_of(inputs, [&](const Input& input) { return requeues(input, view); });
}

void Watcher::changed(const std::vector<GpuId>& gpus, Instant now) {
  for (const GpuId gpu : gpus) gpus_[gpu.value()].changed = now;
}

void Watcher::follow(const ClusterView& view) {
  for (const GpuId gpu : view.cluster().gpu_ids()) {
    auto& told = gpus_[gpu.value()].told;
    if (told) told->foreign = view.use().gpu(gpu).foreign;
  }
}

void Watcher::leaves(JobId job, Attempt attempt, const std::vector<GpuId>& gpus, Instant now) {
  changed(gpus, now);
  if (gpus.empty()) {
    released_.emplace_back(Released{job, attempt});
    return;
  }
  leaving_.push_back({job, attempt, now, std::set<GpuId>(gpus.begin(), gpus.end())});
}

std::vector<Input> Watcher::on_look(Look look, const ClusterView& view) {
  Known& known = gpus_[look.gpu.value()];
  const bool is_lost = !look.sample && look.sample.error().code == ErrorCode::Lost;
  known.lost = is_lost ? look.sample.error().message : "";
  if (!look.sample) {
    see_off(look.gpu, look.began, nullptr);
    return set_problem(look.gpu, look.sample.error().message);
  }
  std::vector<Input> inputs = set_problem(look.gpu, "");
  energy_.on_reading(look.gpu, look.began, look.sample->millijoules);
  account(look, known.look ? &*known.look : nullptr);
  const auto measured = measure({.gpu = look.gpu,
                                 .sample = *look.sample,
                                 .began = look.began,
                                 .changed = known.changed,
                                 .adopting = adopting_on(look, view),
                                 .tenants = view.use().gpu(look.gpu).tenants,
                                 .previous = known.told ? &*known.told : nullptr},
                                owner_of(look, view, trespass_));
  if (measured) {
    for (const TenantUse& tenant : measured->tenants) {
      if (!has_charge(view.find(tenant.job), look.gpu)) continue;  // it has nothing to learn there
      if (is_leaving(tenant.job)) continue;                        // its peak is written
      Bytes& peak = peaks_[tenant.job];
      peak = std::max(peak, tenant.bytes);
    }
  }
  if (!measured) {
    known.told_of = look.began;
  } else if (!can_wait(known, look, *measured, view)) {
    known.told_of = look.began;
    known.told = measured;
    inputs.emplace_back(*measured);
  }
  see_off(look.gpu, look.began, &look);
  complete(look, known.look ? &*known.look : nullptr);
  known.look = std::move(look);
  return inputs;
}

/// The driver's accounts of processes that have ended since the look before, which knew whose they
/// were: a peak between two looks. It also counts for an attempt whose end is written.
void Watcher::account(const Look& look, const Look* before) {
  if (before == nullptr) return;
  for (const GpuProcess& process : look.sample->ended) {
    const auto owner = before->owners.find(process.pid);
    if (owner == before->owners.end()) continue;
    const auto* const ours = std::get_if<OfJob>(&owner->second);
    if (ours == nullptr || !process.bytes) continue;
    const auto late = late_peaks_.find(ours->job);
    Bytes& peak = late == late_peaks_.end() ? peaks_[ours->job] : late->second;
    peak = std::max(peak, *process.bytes);
  }
}

/// Growth within charges changes nothing that the engine decides, and looks may come by the
/// hundred.
bool Watcher::can_wait(const Known& known, const Look& look, const Measured& measured,
                       const ClusterView& view) const {
  const Duration usual = longest_ / 3;
  if (view.settings().admission.mode != AdmissionMode::Guarantee) return false;
  if (!known.told || !known.told_of || look.began - *known.told_of >= usual) return false;
  if (known.changed && *known.told_of <= *known.changed) return false;
  return measured.foreign == known.told->foreign && is_within_grants(*known.told, view) &&
         is_within_grants(measured, view);
}

/// An attempt that is leaving and not in this look, begun after its end, has freed its memory. A
/// GPU that cannot be sampled gets no new jobs, so releasing its attempts does no harm.
void Watcher::see_off(GpuId gpu, Instant began, const Look* look) {
  for (Leaving& leaving : leaving_) {
    const bool holds = look != nullptr && holds_anything(*look, leaving.job);
    if (began < leaving.ended || holds) continue;
    leaving.unseen.erase(gpu);
    if (leaving.unseen.empty()) released_.emplace_back(Released{leaving.job, leaving.attempt});
  }
  std::erase_if(leaving_, [](const Leaving& leaving) { return leaving.unseen.empty(); });
}

std::vector<Input> Watcher::set_problem(GpuId gpu, std::string problem) {
  Known& known = gpus_[gpu.value()];
  if (known.faulty) return {};
  const bool was_healthy = known.problem.empty();
  known.problem = std::move(problem);
  if (known.problem.empty() == was_healthy) return {};
  return {GpuHealth{gpu, known.problem.empty()}};
}

std::vector<Input> Watcher::on_silence(const std::set<GpuId>& gpus, Instant now) {
  std::vector<Input> inputs;
  for (const GpuId gpu : gpus) {
    see_off(gpu, now, nullptr);
    for (Input& input : set_problem(gpu, "the driver does not answer")) {
      inputs.push_back(std::move(input));
    }
  }
  return inputs;
}

std::vector<Input> Watcher::on_fault(GpuId gpu, std::string problem) {
  std::vector<Input> inputs = set_problem(gpu, std::move(problem));
  gpus_[gpu.value()].faulty = true;
  return inputs;
}

std::set<GpuId> Watcher::stale(Instant now) const {
  std::set<GpuId> stale;
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    const Known& known = gpus_[g];
    if (!known.problem.empty()) continue;  // gets no jobs, so no step waits for it
    const Freshness last{.began = known.look ? std::optional(known.look->began) : std::nullopt,
                         .changed = known.changed};
    if (must_sample(last, now, longest_)) stale.insert(GpuId(static_cast<std::uint32_t>(g)));
  }
  return stale;
}

std::set<GpuId> Watcher::left() const {
  std::set<GpuId> gpus;
  for (const Leaving& leaving : leaving_) gpus.insert(leaving.unseen.begin(), leaving.unseen.end());
  return gpus;
}

bool Watcher::is_leaving(JobId job) const {
  return std::ranges::find(leaving_, job, &Leaving::job) != leaving_.end();
}

std::vector<Input> Watcher::take_released() { return std::exchange(released_, {}); }

std::vector<Watcher::Trespasser> Watcher::trespasses_of(const Job& job) const {
  std::vector<Trespasser> all;
  for (const Known& known : gpus_) {
    if (!known.look || !known.look->sample->processes) continue;
    if (has_charge(&job, known.look->gpu)) continue;
    std::optional<Trespasser> found;
    for (const GpuProcess& process : *known.look->sample->processes) {
      const auto owner = known.look->owners.find(process.pid);
      if (owner == known.look->owners.end()) continue;
      const auto* const ours = std::get_if<OfJob>(&owner->second);
      if (ours == nullptr || ours->job != job.id) continue;
      if (!found) found = Trespasser{.gpu = known.look->gpu, .pid = process.pid};
      found->bytes += process.bytes.value_or(Bytes(0));
    }
    if (found) all.push_back(*found);
  }
  return all;
}

const Look* Watcher::latest(GpuId gpu) const {
  const Known& known = gpus_[gpu.value()];
  return known.look ? &*known.look : nullptr;
}

}  // namespace berth::live
