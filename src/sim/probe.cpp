#include "sim/probe.hpp"

#include <algorithm>

#include "core/rate.hpp"
#include "core/steady.hpp"

namespace berth::sim {

namespace {

/// A change is in the middle of a period; the first whole one with it ends a look later.
constexpr std::int32_t kLooksAfterChange = 2;

}  // namespace

Probe::Probe(const Cluster& cluster, Duration every, Instant from)
    : cluster_(cluster), every_(every), from_(from) {
  if (is_on()) cards_.resize(cluster.gpus().size(), {.since = from});
}

/// What was before the period does not count; the load was the same since then.
void Probe::advance(Card& card, Instant period, Instant now) {
  if (card.since < period) {
    card.since = period;
    card.busy = 0;
  }
  card.busy += std::min(card.load, Rate::kWhole) * micros(now - card.since);
  card.since = now;
}

void Probe::expect(GpuId gpu) {
  cards_[gpu.value()].looks = kLooksAfterChange;
  due_.insert(gpu);
}

void Probe::add_load(GpuId gpu, std::int64_t more, Instant now) {
  if (!is_on()) return;
  Card& card = cards_[gpu.value()];
  advance(card, now - (now - from_) % every_, now);
  card.load += more;
  expect(gpu);
}

void Probe::touch(GpuId gpu) {
  if (is_on()) expect(gpu);
}

Instant Probe::next(Instant now) const {
  return due_.empty() ? kNever : now - (now - from_) % every_ + every_;
}

std::optional<Measured> Probe::look(Measured seen, Instant now) {
  Card& card = cards_[seen.gpu.value()];
  advance(card, now - every_, now);
  seen.utilisation = static_cast<std::int16_t>(card.busy / micros(every_) * 100 / Rate::kWhole);
  card.busy = 0;
  if (--card.looks == 0) due_.erase(seen.gpu);
  const Measured* const told = card.told ? &*card.told : nullptr;
  auto news = steadied(seen, told, cluster_.gpu(seen.gpu).capacity);
  if (news) card.told = news;
  return news;
}

}  // namespace berth::sim
