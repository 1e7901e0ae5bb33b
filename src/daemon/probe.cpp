#include "daemon/probe.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::daemon {

/// Shared with the thread, so that one that hangs in a driver can be left behind.
struct Probe::State {
  GpuPort& port;
  const Clock& clock;
  const ShimTable& shims;
  std::function<void(live::Look)> deliver;

  std::mutex mutex;
  std::condition_variable changed;
  std::set<GpuId> asked;
  bool stopping = false;
  bool ended = false;
};

Probe::Probe(GpuPort& port, const Clock& clock, const ShimTable& shims,
             std::function<void(live::Look)> deliver)
    : state_(
          new State{.port = port, .clock = clock, .shims = shims, .deliver = std::move(deliver)}) {
  std::thread([state = state_] { run(state); }).detach();
}

bool Probe::stop() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  return state_->changed.wait_for(lock, seconds(1), [&] { return state_->ended; });
}

void Probe::look_at(const std::set<GpuId>& gpus) {
  const std::lock_guard lock(state_->mutex);
  state_->asked.insert(gpus.begin(), gpus.end());
  state_->changed.notify_all();
}

live::Look Probe::look(State& state, GpuId gpu) {
  live::Look look{.gpu = gpu,
                  .began = state.clock.now(),
                  .sample = state.port.sample(gpu.value()),
                  .owners = {}};
  if (!look.sample || !look.sample->processes) return look;
  const auto shims = state.shims.get();  // after the sample, so it has all jobs of the sample
  Kinship kinship(*shims);
  for (const GpuProcess& process : *look.sample->processes) {
    look.owners[process.pid] = kinship.of(process.pid);
  }
  return look;
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
live::Look merged(live::Look first, live::Look second) {
  if (!first.sample || !second.sample) return second;
  std::ranges::move(first.sample->ended, std::back_inserter(second.sample->ended));
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
    for (const GpuId gpu : gpus) {
      live::Look seen = look(*state, gpu);
      if (lists_vanished(seen)) seen = merged(std::move(seen), look(*state, gpu));
      state->deliver(std::move(seen));
    }
    lock.lock();
  }
  state->ended = true;
  state->changed.notify_all();
}

}  // namespace berth::daemon
