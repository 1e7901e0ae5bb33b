#include "sim/probe.hpp"

#include <algorithm>
#include <span>

#include "core/base/rate.hpp"
#include "core/steady.hpp"

namespace berth::sim {

namespace {

constexpr Duration kWindow = seconds(1);  ///< Of NVML's utilisation.

}  // namespace

Probe::Probe(const Cluster& cluster, Duration every, Instant from)
    : cluster_(cluster), every_(every), from_(from) {
  if (is_on()) cards_.resize(cluster.gpus().size(), {.loads = {{.from = from}}});
}

void Probe::expect(GpuId gpu, Instant stays) {
  Card& card = cards_[gpu.value()];
  card.stays = std::max(card.stays, stays);
  due_.insert(gpu);
}

void Probe::add_load(GpuId gpu, std::int64_t more, Instant now) {
  if (!is_on()) return;
  std::vector<Load>& loads = cards_[gpu.value()].loads;
  const std::int64_t ppm = loads.back().ppm + more;
  if (loads.back().from == now) {
    loads.back().ppm = ppm;
  } else {
    const auto recent = std::ranges::find_if(loads.begin() + 1, loads.end(), [&](const Load& load) {
      return load.from > now - kWindow;
    });
    loads.erase(loads.begin(), recent - 1);
    loads.push_back({now, ppm});
  }
  expect(gpu, later(now, kWindow));
}

void Probe::note_tenant(const std::vector<GpuId>& gpus) {
  if (is_on()) stale_.insert(gpus.begin(), gpus.end());
}

void Probe::touch(GpuId gpu, Instant now) {
  if (is_on()) expect(gpu, now);
}

Instant Probe::next(Instant now) const {
  return due_.empty() ? kNever : now - (now - from_) % every_ + every_;
}

std::optional<Measured> Probe::look(Measured seen, Instant now) {
  stale_.erase(seen.gpu);
  Card& card = cards_[seen.gpu.value()];
  std::int64_t busy = 0;  // microseconds times parts per million
  Instant to = now;
  for (std::size_t i = card.loads.size(); i-- > 0 && to > now - kWindow;) {
    const Instant from = std::max(card.loads[i].from, now - kWindow);
    busy += std::min(card.loads[i].ppm, Rate::kWhole) * micros(to - from);
    to = from;
  }
  seen.utilisation = static_cast<std::int16_t>(busy / micros(kWindow) * 100 / Rate::kWhole);
  if (now >= card.stays && (now - from_) % every_ == Duration(0)) due_.erase(seen.gpu);
  const Measured* const told = card.told ? &*card.told : nullptr;
  auto news = steadied(seen, told, cluster_.gpu(seen.gpu).capacity);
  if (news) card.told = news;
  return news;
}

}  // namespace berth::sim
