#include "live/pace.hpp"

#include <algorithm>
#include <tuple>

#include "core/steady.hpp"

namespace berth::live {

namespace {

constexpr int kTight = 5;  ///< Times `fast`.

bool is_recent(const std::optional<Instant>& at, Instant now, Duration within) {
  return at && now - *at < within;
}

Bytes taken_within(Duration time) {
  return Bytes(kTakenInASecond.raw() / 1'000'000 * micros(time));
}

/// What the job's processes hold.
Bytes held_by(const Look& look, JobId job) {
  Bytes held(0);
  for (const GpuProcess& process : *look.sample->processes) {
    const auto owner = look.owners.find(process.pid);
    const auto* const of =
        owner == look.owners.end() ? nullptr : std::get_if<OfJob>(&owner->second);
    if (of != nullptr && of->job == job) held += process.bytes.value_or(Bytes(0));
  }
  return held;
}

Bytes charge_on(const Job& job, GpuId gpu) {
  const auto share = std::ranges::find(job.grant.shares, gpu, &Share::gpu);
  return share == job.grant.shares.end() ? Bytes(0) : share->charge;
}

}  // namespace

std::optional<Duration> pause_of(const Scene& scene, Instant now, const Rhythm& rhythm) {
  const bool can_hurt = scene.tenants > 1 && scene.watched > 0 && scene.unfilled > Bytes(0);
  if (!can_hurt) return std::nullopt;
  const bool ramps = is_recent(scene.grew, now, kRamp);
  const bool began = is_recent(scene.changed, now, kBegan);
  const bool is_tight = scene.free < taken_within(rhythm.usual);
  if (!ramps && !began && !is_tight) return std::nullopt;
  const Duration slow = rhythm.fast * kTight;
  const Duration least = ramps ? rhythm.fast : slow;
  const Duration pause = std::clamp(scene.took * kMostShare, least, std::max(least, slow));
  if (pause >= rhythm.usual) return std::nullopt;
  return pause;
}

void Pacer::changed(const std::vector<GpuId>& gpus, Instant now) {
  for (const GpuId gpu : gpus) gpus_[gpu.value()].scene.changed = now;
}

void Pacer::saw(const Look& look, const ClusterView& view, Instant now,
                const std::set<JobId>& limited) {
  Known& known = gpus_[look.gpu.value()];
  known.asked = false;
  Scene& scene = known.scene;
  scene.began = look.began;
  scene.took = now - look.began;
  scene.tenants = 0;
  scene.watched = 0;
  if (!look.sample || !look.sample->processes) return;  // nobody's part is known
  const auto tenants = view.tenants_of(look.gpu);
  scene.tenants = tenants.size();
  scene.unfilled = Bytes(0);
  for (const JobId id : tenants) {
    if (!limited.contains(id)) ++scene.watched;
    const Bytes charge = charge_on(*view.find(id), look.gpu);
    const Bytes lacks = charge - held_by(look, id);
    if (lacks > kProbeStep) scene.unfilled += lacks;  // charges are whole steps
  }
  const Bytes used = look.sample->used;
  scene.free = look.sample->total - look.sample->reserved - used;
  if (used >= known.level + kProbeStep) scene.grew = now;
  if (used >= known.level + kProbeStep || used < known.level) known.level = used;
}

std::optional<Instant> Pacer::due_at(const Known& known, Instant now) const {
  if (known.asked) return std::nullopt;
  const auto& [began, changed] = std::tie(known.scene.began, known.scene.changed);
  const Duration slow = rhythm_.fast * kTight;
  if (changed && (!began || *began <= *changed)) {  // who is there now has not been seen
    return slow < rhythm_.usual ? std::optional(*changed + slow) : std::nullopt;
  }
  const auto pause = began ? pause_of(known.scene, now, rhythm_) : std::nullopt;
  if (!pause) return std::nullopt;
  return *began + *pause;
}

std::set<GpuId> Pacer::due(Instant now) const {
  std::set<GpuId> gpus;
  for (std::uint32_t g = 0; g < gpus_.size(); ++g) {
    const auto at = due_at(gpus_[g], now);
    if (at && *at <= now) gpus.insert(GpuId(g));
  }
  return gpus;
}

std::optional<Duration> Pacer::next(Instant now) const {
  std::optional<Duration> first;
  for (const Known& known : gpus_) {
    const auto at = due_at(known, now);
    if (!at) continue;
    const Duration wait = std::max(Duration::zero(), *at - now);
    first = first ? std::min(*first, wait) : wait;
  }
  return first;
}

}  // namespace berth::live
