#include "sim/memory.hpp"

#include <algorithm>

#include "core/base/rng.hpp"

namespace berth::sim {

namespace {

constexpr std::uint64_t kMemoryStream = std::uint64_t{1} << 32;  ///< Apart from those of estimates.

Bytes true_need(const trace::TraceJob& asked, std::int64_t error, std::uint64_t seed,
                std::size_t job) {
  if (!asked.use.empty()) return asked.use.peak();
  const Bytes request = asked.spec.request.gpu.vram;
  if (error == 0) return request;
  Rng rng(seed, kMemoryStream + job);
  const std::int64_t ppm = 1'000'000 + rng.between(-10'000 * error, 10'000 * error);
  const std::int64_t whole = request.raw() / 1'000'000 * ppm;
  return Bytes(whole + request.raw() % 1'000'000 * ppm / 1'000'000);
}

}  // namespace

std::string_view word_for(OomKind kind) {
  switch (kind) {
    case OomKind::OwnOverrun:
      return "own_overrun";
    case OomKind::NeighbourOverrun:
      return "neighbours_overrun";
    case OomKind::Foreign:
      return "foreign";
    case OomKind::Admission:
      return "admission";
  }
  return "";
}

Memory::Memory(const trace::Trace& trace, const Cluster& cluster, const MemoryModel& model,
               std::uint64_t seed)
    : trace_(trace), cluster_(cluster), model_(model) {
  if (!model.is_on) return;
  held_.resize(trace.jobs.size());
  due_at_.resize(trace.jobs.size(), kNever);
  cards_.resize(cluster.gpus().size());
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    needs_.push_back(true_need(trace.jobs[i], model.error, seed, i));
  }
}

void Memory::begin(std::size_t job, const Grant& grant, Instant now) {
  if (!model_.is_on || needs_[job] == Bytes(0)) return;
  for (const Share& share : grant.shares) {
    const Bytes context = cluster_.gpu(share.gpu).context;
    Card& card = cards_[share.gpu.value()];
    use_more(share.gpu, context);
    card.foreign_seen = card.foreign;
    card.tenants.push_back(job);
    held_[job].push_back(
        {.gpu = share.gpu, .used = context, .charge = share.granted, .most = context});
  }
  if (has_curve(job)) return;
  due_at_[job] = later(now, model_.ramp);
  due_.emplace(due_at_[job], job);
}

void Memory::end(std::size_t job) {
  if (!model_.is_on) return;
  for (const Held& held : held_[job]) {
    use_more(held.gpu, Bytes(0) - held.used);
    std::erase(cards_[held.gpu.value()].tenants, job);
  }
  held_[job].clear();
  freeze(job);
}

void Memory::freeze(std::size_t job) {
  if (!model_.is_on) return;
  due_.erase({due_at_[job], job});
  due_at_[job] = kNever;
}

std::vector<Oom> Memory::grow(Instant now) {
  std::vector<Oom> failed;
  while (next() <= now) {
    const std::size_t job = due_.begin()->second;
    due_.erase(due_.begin());
    due_at_[job] = kNever;
    if (const auto its = resize(job, needs_[job])) failed.push_back(*its);
  }
  return failed;
}

std::optional<Oom> Memory::follow(std::size_t job, Duration done) {
  return resize(job, trace_.jobs[job].use.at(done));
}

/// All or nothing: a gang fails on its first GPU without room.
std::optional<Oom> Memory::resize(std::size_t job, Bytes use) {
  for (const Held& held : held_[job]) {
    const GpuSpec& gpu = cluster_.gpu(held.gpu);
    const Bytes more = gpu.context + use - held.used;
    const bool has_room = cards_[held.gpu.value()].used + more <= gpu.capacity;
    if (more <= Bytes(0) || has_room) continue;
    const Oom oom{job, blame(job, held, more)};
    end(job);
    return oom;
  }
  for (Held& held : held_[job]) {
    const Bytes more = cluster_.gpu(held.gpu).context + use - held.used;
    if (more == Bytes(0)) continue;
    held.used += more;
    held.most = std::max(held.most, held.used);
    use_more(held.gpu, more);
  }
  return std::nullopt;
}

OomKind Memory::blame(std::size_t job, const Held& held, Bytes more) const {
  if (held.used + more > held.charge) return OomKind::OwnOverrun;
  const Card& card = cards_[held.gpu.value()];
  const bool beside = std::ranges::any_of(
      card.tenants, [&](std::size_t other) { return other != job && overruns(other, held.gpu); });
  if (beside) return OomKind::NeighbourOverrun;
  return card.foreign > card.foreign_seen ? OomKind::Foreign : OomKind::Admission;
}

bool Memory::overruns(std::size_t job, GpuId gpu) const {
  const auto held = std::ranges::find(held_[job], gpu, &Held::gpu);
  return held != held_[job].end() && held->used > held->charge;
}

void Memory::take_foreign(GpuId gpu, Bytes bytes) {
  Card& card = cards_[gpu.value()];
  if (card.used + bytes > cluster_.gpu(gpu).capacity) return;
  use_more(gpu, bytes);
  card.foreign += bytes;
}

void Memory::free_foreign(GpuId gpu) {
  Card& card = cards_[gpu.value()];
  if (card.foreign == Bytes(0)) return;
  use_more(gpu, Bytes(0) - card.foreign);
  card.foreign = Bytes(0);
}

std::vector<TenantPeak> Memory::peaks_of(std::size_t job) const {
  std::vector<TenantPeak> peaks;
  for (const Held& held : held_[job]) peaks.push_back({held.gpu, held.most});
  return peaks;
}

Bytes Memory::used(std::size_t job, GpuId gpu) const {
  if (!model_.is_on) return Bytes(0);
  const auto held = std::ranges::find(held_[job], gpu, &Held::gpu);
  return held == held_[job].end() ? Bytes(0) : held->used;
}

void Memory::recharge(std::size_t job, GpuId gpu, Bytes charge) {
  const auto held = std::ranges::find(held_[job], gpu, &Held::gpu);
  if (held != held_[job].end()) held->charge = std::min(held->charge, charge);
}

std::vector<GpuId> Memory::take_changed() {
  const std::vector<GpuId> changed(changed_.begin(), changed_.end());
  changed_.clear();
  return changed;
}

Measured Memory::measured(GpuId gpu) const {
  const Card& card = cards_[gpu.value()];
  Measured measured{.gpu = gpu, .foreign = card.foreign, .used = card.used, .tenants = {}};
  for (const std::size_t job : card.tenants) {
    const auto held = std::ranges::find(held_[job], gpu, &Held::gpu);
    measured.tenants.push_back({JobId(job + 1), held->used});
  }
  return measured;
}

std::vector<Measured> Memory::measured() {
  std::vector<Measured> seen;
  for (const GpuId gpu : take_changed()) seen.push_back(measured(gpu));
  return seen;
}

void Memory::use_more(GpuId gpu, Bytes more) {
  cards_[gpu.value()].used += more;
  held_in_all_ += more;
  changed_.insert(gpu);
}

}  // namespace berth::sim
