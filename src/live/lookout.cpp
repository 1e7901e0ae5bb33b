#include "live/lookout.hpp"

#include <cstdint>

namespace berth::live {

namespace {

constexpr Duration kSilence = seconds(3);  ///< Eyes that take longer count as hung.

}  // namespace

void Lookout::look_at_all() {
  std::set<GpuId> all;
  for (std::uint32_t g = 0; g < gpus_; ++g) all.insert(GpuId(g));
  look_at(all);
}

void Lookout::look_at_due() {
  ask(pacer_.due(hands_.clock.now()), Depth::Glance);
  set_watch();
}

void Lookout::set_watch() {
  if (hands_.eyes == nullptr) return;
  if (const auto wait = pacer_.next(hands_.clock.now())) hands_.alarms.set(Alarm::Watch, *wait);
}

void Lookout::changed(const Grant& grant) {
  const Instant now = hands_.clock.now();
  watcher_.changed(gpus_of(grant), now);
  pacer_.changed(gpus_of(grant), now);
  set_watch();
}

void Lookout::ask(const std::set<GpuId>& gpus, Depth depth) {
  if (hands_.eyes == nullptr || gpus.empty()) return;
  if (looking_.empty()) hands_.alarms.set(Alarm::Silence, kSilence);
  for (const GpuId gpu : gpus) {
    looking_.emplace(gpu, hands_.clock.now());
    pacer_.asked(gpu);
  }
  depth == Depth::Glance ? hands_.eyes->glance_at(gpus) : hands_.eyes->look_at(gpus);
}

void Lookout::on_look(const Look& look, const ClusterView& view, const std::set<JobId>& limited) {
  looking_.erase(look.gpu);
  pacer_.saw(look, view, hands_.clock.now(), limited);
  set_watch();
}

std::set<GpuId> Lookout::take_silent() {
  const Instant now = hands_.clock.now();
  std::set<GpuId> silent;
  for (const auto& [gpu, since] : looking_) {
    if (now - since >= kSilence) silent.insert(gpu);
  }
  // One that answers may fall silent again.
  if (!looking_.empty()) hands_.alarms.set(Alarm::Silence, kSilence);
  return silent;
}

bool Lookout::must_wait() {
  if (!waits_since_) waits_since_ = hands_.clock.now();
  std::set<GpuId> stale = watcher_.stale(*waits_since_);
  if (stale.empty()) return false;
  std::erase_if(stale, [&](GpuId gpu) { return looking_.contains(gpu); });
  look_at(stale);
  return true;
}

}  // namespace berth::live
