#include "daemon/machine/probe.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::daemon {

/// Shared with the thread, so that one that hangs in a driver can be left behind.
struct Probe::State {
  Parts parts;
  std::function<void(Sighting)> deliver;

  std::mutex mutex;
  std::condition_variable changed;
  std::map<GpuId, bool> asked;  ///< Whether a glance will do.
  bool stopping = false;
  bool ended = false;
};

Probe::Probe(Parts parts, std::function<void(Sighting)> deliver)
    : state_(new State{.parts = std::move(parts), .deliver = std::move(deliver)}) {
  std::thread([state = state_] { run(state); }).detach();
}

bool Probe::stop() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  return state_->changed.wait_for(lock, seconds(1), [&] { return state_->ended; });
}

void Probe::ask(const std::set<GpuId>& gpus, bool glance) {
  const std::lock_guard lock(state_->mutex);
  for (const GpuId gpu : gpus) {
    const auto [at, is_new] = state_->asked.try_emplace(gpu, glance);
    at->second = at->second && glance;
  }
  state_->changed.notify_all();
}

Sighting Probe::look(State& state, GpuId gpu, bool glance) {
  GpuPort& port = state.parts.port;
  const Instant began = state.parts.clock.now();
  Sighting seen{.look = {.gpu = gpu,
                         .began = began,
                         .sample = glance ? port.glance(gpu.value()) : port.sample(gpu.value()),
                         .owners = {}},
                .declared = {}};
  live::Look& look = seen.look;
  if (!look.sample || !look.sample->processes) return seen;
  const auto shims = state.parts.shims.get();  // after the sample, so it has all jobs of the sample
  Kinship kinship(*shims);
  for (const GpuProcess& process : *look.sample->processes) {
    const Owner owner = look.owners[process.pid] = kinship.of(process.pid);
    if (!std::holds_alternative<OfStranger>(owner)) continue;
    if (const auto job = state.parts.declarations.job_of(process.pid)) {
      seen.declared[process.pid] = *job;
    }
  }
  return seen;
}

namespace {

bool lists_vanished(const live::Look& look) {
  if (!look.sample) return false;
  return lists_vanished(*look.sample, [&](pid_t pid) -> Owner {
    const auto found = look.owners.find(pid);
    return found == look.owners.end() ? OfStranger{} : found->second;
  });
}

/// A sample tells of ends once, and the first one is not seen by others.
Sighting merged(Sighting first, Sighting second) {
  if (!first.look.sample || !second.look.sample) return second;
  std::ranges::move(first.look.sample->ended, std::back_inserter(second.look.sample->ended));
  return second;
}

}  // namespace

void Probe::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->stopping || !state->asked.empty(); });
    if (state->stopping) break;
    const auto gpus = std::exchange(state->asked, {});
    lock.unlock();
    for (const auto& [gpu, glance] : gpus) {
      Sighting seen = look(*state, gpu, glance);
      if (lists_vanished(seen.look)) seen = merged(std::move(seen), look(*state, gpu, glance));
      state->deliver(std::move(seen));
    }
    lock.lock();
  }
  state->ended = true;
  state->changed.notify_all();
}

}  // namespace berth::daemon
