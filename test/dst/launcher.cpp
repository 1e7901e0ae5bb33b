#include "dst/launcher.hpp"

#include <utility>

namespace berth::dst {

using live::Look;
using live::Trace;

// ---- Launcher
// --------------------------------------------------------------------------------

Launcher::Launcher(World& world, Hooks hooks) : world_(world), hooks_(std::move(hooks)) {
  world_.machines.listener = [this](Key key, News news) { on_news(key, news); };
}

Expected<void> Launcher::launch(const Order& order) {
  if (world_.machines.find(order.key) != nullptr && adopt(order.key) != Trace::None) return {};
  if (auto begun = world_.machines.begin(order); !begun) return begun;
  live_[order.key] = {};
  return {};
}

Trace Launcher::adopt(Key key) {
  const Run* const run = world_.machines.find(key);
  if (run == nullptr) return Trace::None;
  if (run->locked) {
    live_[key] = {.is_ours = false};
    if (run->go) on_news(key, News::Go);
    return Trace::Lives;
  }
  if (!run->go && !run->exit) {
    world_.machines.forget(key);
    return Trace::None;
  }
  world_.agenda.after(Duration(0), life_, [this, key] { tell_end(key); });
  return Trace::Over;
}

void Launcher::on_news(Key key, News news) {
  const auto found = live_.find(key);
  if (found == live_.end()) return;
  if (world_.defect == Defect::DropsAnEnd && news != News::Go && key.job == JobId(3)) return;
  if (news == News::Ended && !found->second.is_ours) return;
  world_.agenda.after(world_.delay(), life_, [this, key, news] {
    if (news == News::Go) return on_started(key);
    if (news == News::Ended) return on_ended(key);
    on_exit(key);
  });
}

void Launcher::on_started(Key key) {
  if (const auto found = live_.find(key); found != live_.end()) found->second.has_go = true;
  hooks_.started(key);
}

void Launcher::on_ended(Key key) {
  if (live_.erase(key) > 0) tell_end(key);
}

void Launcher::on_exit(Key key) {
  const auto found = live_.find(key);
  if (found == live_.end()) return;
  const Run* const run = world_.machines.find(key);
  const bool has_go = found->second.has_go || (run != nullptr && run->go);
  live_.erase(found);
  if (!has_go && run != nullptr && !run->exit) return hooks_.failed(key);
  tell_end(key);
}

void Launcher::tell_end(Key key) {
  const Run* const run = world_.machines.find(key);
  if (run != nullptr && run->exit) return hooks_.ended(key, *run->exit);
  world_.machines.end_orphans(key);
  world_.agenda.after(world_.delay(), life_, [this, key] { hooks_.lost(key); });
}

void Launcher::forget(Key key) {
  const Run* const run = world_.machines.find(key);
  const bool is_over = run != nullptr && !run->process && (run->exit || !run->locked);
  if (is_over) world_.machines.forget(key);
}

void Launcher::sweep(const std::function<bool(Key)>& is_current) {
  const auto runs = world_.machines.runs();
  for (const auto& [key, run] : runs) {
    if (is_current(key)) continue;
    world_.machines.stop(key, live::Manner::AtOnce);  // suspended, when its job ended
    forget(key);
  }
}

// ---- Probe
// -----------------------------------------------------------------------------------

Probe::Probe(World& world, const Launcher& launcher, std::function<Instant()> clock,
             std::function<void(Look)> deliver)
    : world_(world), launcher_(launcher), clock_(std::move(clock)), deliver_(std::move(deliver)) {}

void Probe::ask(const std::set<GpuId>& gpus) {
  for (const GpuId gpu : gpus) {
    if (++asked_[gpu] == 1) begin(gpu, 1);
  }
}

void Probe::begin(GpuId gpu, int tries) {
  const Begun begun{.gpu = gpu, .clock = clock_(), .world = world_.agenda.now(), .tries = tries};
  asked_[gpu] = 1;
  world_.agenda.after(Duration(world_.rng.between(20, 300)), life_,
                      [this, begun] { sample(begun); });
}

void Probe::sample(const Begun& begun) {
  if (world_.machines.is_hung(begun.gpu)) {
    return world_.agenda.after(seconds(1), life_, [this, begun] { sample(begun); });
  }
  Look look{.gpu = begun.gpu,
            .began = begun.clock,
            .sample = world_.machines.sample(begun.gpu),
            .owners = {}};
  bool lists_vanished = false;
  if (look.sample) {
    for (const GpuProcess& process : *look.sample->processes) {
      const auto key = world_.machines.owner(process.pid);
      lists_vanished = lists_vanished || !key;
      const bool ours = key && *key && launcher_.holds(**key);
      look.owners[process.pid] = !key   ? Owner(OfNobody{})
                                 : ours ? Owner(OfJob{(*key)->job})
                                        : Owner(OfStranger{});
    }
  }
  if (lists_vanished && begun.tries == 1) return begin(begun.gpu, 2);
  world_.agenda.after(Duration(world_.rng.between(20, 300)), life_,
                      [this, begun, look = std::move(look)] { deliver(begun, look); });
}

void Probe::deliver(const Begun& begun, Look look) {
  const int asked = std::exchange(asked_[begun.gpu], 0);
  began_[begun.gpu] = begun.world;
  deliver_(std::move(look));
  if (asked > 1 && asked_[begun.gpu] == 0) ask({begun.gpu});
}

// ---- Syncer
// ----------------------------------------------------------------------------------

void Syncer::after_sync(Promise promise) {
  promises_.push_back(std::move(promise));
  if (promises_.size() > 1) return;
  const bool slow = world_.rng.one_in(8) && !world_.is_calm;
  world_.agenda.after(Duration(world_.rng.between(100, slow ? 2'000'000 : 10'000)), life_,
                      [this] { run(); });
}

Expected<void> Syncer::sync() {
  auto done = keeper_.sync();
  if (done) world_.checker.synced();
  if (!done) ++world_.seen["failed sync"];
  world_.report.tell(done ? "synced" : "a sync fails");
  return done;
}

void Syncer::run() {
  if (promises_.empty()) return;
  const auto promises = std::exchange(promises_, {});
  const Expected<void> synced = sync();
  for (const Promise& promise : promises) promise(synced);
}

}  // namespace berth::dst
