#include "dst/hands.hpp"

#include <algorithm>
#include <utility>

#include "solve/solve.hpp"

namespace berth::dst {

using live::Look;
using live::Trace;

namespace {

std::string words(const char* what, Key key) { return std::string(what) + " of " + to_text(key); }

}  // namespace

// ---- Executor --------------------------------------------------------------------------------

Executor::Executor(World& world, Hooks hooks) : world_(world), hooks_(std::move(hooks)) {
  world_.machines.listener = [this](Key key, News news) { on_news(key, news); };
}

Expected<void> Executor::launch(const live::Assignment& assigned) {
  const Key key{assigned.job.id, assigned.attempt};
  if (world_.fate.strikes(words("launch", key))) return {};
  if (world_.defect == Defect::ForgetsAStart && key.job == JobId(4)) return {};
  const auto order = order_of(assigned);
  if (!order) return std::unexpected(order.error());
  if (world_.machines.find(key) != nullptr && adopt(key.job, key.attempt) != Trace::None) return {};
  if (auto begun = world_.machines.begin(*order); !begun) {
    ++world_.seen["failed launch"];
    return begun;
  }
  live_[key] = {};
  return {};
}

/// The script is the job's command, as the journal has it.
Expected<Order> Executor::order_of(const live::Assignment& assigned) {
  const Key key{assigned.job.id, assigned.attempt};
  if (const auto& adopted = assigned.command.adopted) {
    return Order{.key = key, .grant = assigned.grant, .adopted = adopted->pid};
  }
  const Order order{
      .key = key, .script = std::stoul(assigned.command.arguments.at(1)), .grant = assigned.grant};
  const auto accepted = world_.checker.jobs().find(key.job);
  if (accepted != world_.checker.jobs().end() && accepted->second != order.script) {
    world_.report.broken("attempt " + to_text(key) + " is of another job's command");
  }
  return order;
}

Trace Executor::adopt(JobId job, Attempt attempt) {
  const Key key{job, attempt};
  const Run* const run = world_.machines.find(key);
  if (world_.fate.strikes(words("adoption", key))) return Trace::Over;
  if (run == nullptr) return Trace::None;
  if (run->locked) {
    live_[key] = {.is_ours = false};
    const bool is_blind = world_.defect == Defect::StartsAgain && run->go;
    if (is_blind) static_cast<void>(world_.machines.begin(Order(run->order)));
    if (run->go) on_news(key, News::Go);
    return Trace::Lives;
  }
  if (!run->go && !run->exit) {
    world_.machines.forget(key);
    return Trace::None;
  }
  world_.agenda.after(Duration(0), life_, [this, key] { report_end(key); });
  return Trace::Over;
}

void Executor::stop(JobId job, Attempt attempt, live::Manner manner) {
  const Key key{job, attempt};
  if (world_.fate.strikes(words("stop", key)) || !live_.contains(key)) return;
  if (manner == live::Manner::Suspend) return suspend(key);
  if (manner == live::Manner::Save) ++world_.seen["told to save"];
  world_.machines.stop(key, manner);
}

void Executor::suspend(Key key) {
  const Run* const before = world_.machines.find(key);
  const bool may_fail =
      before != nullptr && before->locked && before->process && !before->suspended;
  if (may_fail && !world_.is_calm && world_.rng.one_in(4)) {
    ++world_.seen["failed suspension"];
    world_.agenda.after(world_.delay(), life_, [this, key] {
      if (live_.contains(key)) hooks_.suspend_failed(key);
    });
    return;
  }
  world_.machines.suspend(key);
  const Run* const run = world_.machines.find(key);
  if (run == nullptr || !run->suspended) return;
  world_.agenda.after(world_.delay(), life_, [this, key] {
    const Run* const still = world_.machines.find(key);
    if (still != nullptr && still->suspended) hooks_.suspended(key);
  });
}

void Executor::forget(JobId job, Attempt attempt) {
  if (world_.fate.strikes(words("removal", Key{job, attempt}))) return;
  const auto runs = world_.machines.runs();
  for (const auto& [key, run] : runs) {
    if (key.job != job || key.attempt > attempt) continue;
    if (run.suspended) world_.machines.end_orphans(key);
    const bool is_over = run.suspended || (!run.process && (run.exit || !run.locked));
    if (is_over) world_.machines.forget(key);
  }
}

std::vector<std::string> Executor::sweep(const live::StandingOf& standing_of, JobId) {
  const auto runs = world_.machines.runs();
  for (const auto& [key, run] : runs) {
    const auto standing = standing_of(key.job, key.attempt);
    if (standing == live::Standing::Over) forget(key.job, key.attempt);
    const bool lives = run.locked || run.process;
    if (standing == live::Standing::Unknown && !lives) world_.machines.forget(key);
  }
  return {};
}

void Executor::on_news(Key key, News news) {
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

void Executor::on_started(Key key) {
  if (const auto found = live_.find(key); found != live_.end()) found->second.has_go = true;
  const Run* const run = world_.machines.find(key);
  if (run != nullptr && run->order.adopted != 0) ++world_.seen["adopted"];
  hooks_.started(key);
}

void Executor::on_ended(Key key) {
  if (live_.erase(key) > 0) report_end(key);
}

void Executor::on_exit(Key key) {
  const auto found = live_.find(key);
  if (found == live_.end()) return;
  const Run* const run = world_.machines.find(key);
  const bool has_go = found->second.has_go || (run != nullptr && run->go);
  live_.erase(found);
  if (has_go || run == nullptr || run->exit) return report_end(key);
  ++world_.seen["failed start"];
  hooks_.failed(key);
}

void Executor::report_end(Key key) {
  const Run* const run = world_.machines.find(key);
  if (run != nullptr && run->exit) return hooks_.ended(key, *run->exit);
  world_.machines.end_orphans(key);
  world_.agenda.after(world_.delay(), life_, [this, key] { hooks_.lost(key); });
}

// ---- Eyes ------------------------------------------------------------------------------------

void Eyes::look_at(const std::set<GpuId>& gpus) {
  if (world_.fate.strikes("a look")) return;
  for (const GpuId gpu : gpus) {
    if (++asked_[gpu] == 1) begin(gpu, 1);
  }
}

void Eyes::begin(GpuId gpu, int tries) {
  const Begun begun{
      .gpu = gpu, .clock = clock_.now(), .world = world_.agenda.now(), .tries = tries};
  asked_[gpu] = 1;
  world_.agenda.after(Duration(world_.rng.between(20, 300)), life_,
                      [this, begun] { sample(begun); });
}

Owner Eyes::owner_of(pid_t pid) const {
  const auto key = world_.machines.owner(pid);
  if (!key) return OfNobody{};
  if (*key && executor_.holds(**key)) return OfJob{(*key)->job};
  return OfStranger{};
}

void Eyes::sample(const Begun& begun) {
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
      const Owner owner = look.owners[process.pid] = owner_of(process.pid);
      lists_vanished = lists_vanished || std::holds_alternative<OfNobody>(owner);
    }
  }
  if (lists_vanished && begun.tries == 1) return begin(begun.gpu, 2);
  distort(look);
  world_.agenda.after(Duration(world_.rng.between(20, 300)), life_,
                      [this, begun, look = std::move(look)] { deliver(begun, look); });
}

/// What eyes with a defect show.
void Eyes::distort(Look& look) {
  if (world_.defect == Defect::ReleasesTooEarly && look.sample) hide_the_dead(look);
  const bool hides = world_.defect == Defect::HidesBadGpus && !look.sample;
  const bool is_old = world_.defect == Defect::ShowsOldFigures;
  const auto remembered = remembered_.find(look.gpu);
  if (remembered != remembered_.end() && (hides || is_old)) {
    look.sample = remembered->second.sample;
    look.owners = remembered->second.owners;
  } else if (look.sample) {
    remembered_.insert_or_assign(look.gpu, look);
  }
}

/// As if memory were free once its process has ended.
void Eyes::hide_the_dead(Look& look) const {
  for (const Block& block : world_.machines.blocks(look.gpu)) {
    if (block.alive) continue;
    look.sample->used -= block.bytes;
    std::erase_if(*look.sample->processes,
                  [&](const GpuProcess& process) { return process.pid == block.pid; });
  }
}

void Eyes::deliver(const Begun& begun, Look look) {
  const int asked = std::exchange(asked_[begun.gpu], 0);
  began_[begun.gpu] = begun.world;
  deliver_(std::move(look));
  if (asked > 1 && asked_[begun.gpu] == 0) look_at({begun.gpu});
}

// ---- Time ------------------------------------------------------------------------------------

Clock::Clock(World& world, const live::Keeper& keeper) : world_(world) {
  const Instant boot = kStart + world.boot_time();
  const bool goes_on = world.clock_kept && !keeper.engine().view().running().empty();
  if (!goes_on) world.clock_kept = std::max(keeper.last(), world.wall()) - boot;
  ahead_ = std::max(keeper.last() - boot, *world.clock_kept);
}

void Alarms::set(live::Alarm alarm, Duration from_now) {
  if (world_.fate.is_dead()) return;
  if (alarm == live::Alarm::Retry) ++world_.seen["refused step"];
  const bool is_lost = world_.defect == Defect::LosesAlarms && world_.rng.one_in(3);
  Life& life = set_[static_cast<std::size_t>(alarm)];
  life = new_life();
  if (!is_lost) world_.agenda.after(from_now, life, [this, alarm] { ring_(alarm); });
}

void Alarms::post(std::function<void()> task) {
  if (!world_.fate.is_dead()) world_.agenda.after(Duration(0), life_, std::move(task));
}

void Solver::solve(Question question) {
  if (world_.fate.is_dead() || world_.rng.one_in(6)) return;
  const bool slow = world_.rng.one_in(4) && !world_.is_calm;
  world_.agenda.after(Duration(world_.rng.between(1'000, slow ? 60'000'000 : 100'000)), life_,
                      [this, question] { deliver_(solve::answer(question)); });
}

// ---- The disk --------------------------------------------------------------------------------

void Syncs::after_sync(Promise promise) {
  if (world_.fate.is_dead()) return;
  if (world_.defect == Defect::AnswersTooEarly) return promise({});
  promises_.push_back(std::move(promise));
  if (promises_.size() > 1) return;
  const bool slow = world_.rng.one_in(8) && !world_.is_calm;
  world_.agenda.after(Duration(world_.rng.between(100, slow ? 2'000'000 : 10'000)), life_,
                      [this] { run(); });
}

Expected<void> Syncs::sync() {
  auto done = keeper_.store().sync();
  if (done) world_.checker.synced();
  if (!done) ++world_.seen["failed sync"];
  world_.report.tell(done ? "synced" : "a sync fails");
  return done;
}

void Syncs::run() {
  if (promises_.empty()) return;
  const auto promises = std::exchange(promises_, {});
  const Expected<void> synced = sync();
  for (const Promise& promise : promises) promise(synced);
  if (!synced) failed_(synced.error());
}

namespace {

/// A copy of the engine's state that takes its time and may fail.
class Copy : public live::StateCopy {
 public:
  Copy(World& world, const Engine& engine)
      : world_(world),
        engine_(engine),
        state_(engine.save()),
        ready_(world.agenda.now() + Duration(world.rng.between(0, 5'000'000))),
        fails_(!world.is_calm && world.rng.one_in(6)) {}

  Progress look() override {
    if (world_.agenda.now() < ready_) return Progress::Busy;
    const bool is_first = !std::exchange(was_seen_, true);
    if (is_first && world_.defect == Defect::CopiesTooLate) state_ = engine_.save();
    ++world_.seen[fails_ ? "failed snapshot" : "part of a snapshot"];
    return fails_ ? Progress::Failed : Progress::Done;
  }
  std::int64_t size() const override { return std::ssize(state_); }
  Expected<std::string> read(std::int64_t offset, std::size_t most) const override {
    return state_.substr(static_cast<std::size_t>(offset), most);
  }

 private:
  World& world_;
  const Engine& engine_;
  std::string state_;
  Instant ready_;
  bool fails_;
  bool was_seen_ = false;
};

}  // namespace

Expected<Bytes> Host::free_room() const {
  if (!world_.disk.is_full()) return Bytes(std::int64_t{1} << 40);
  ++world_.seen["no room"];
  return Bytes(0);
}

Expected<std::unique_ptr<live::StateCopy>> Host::copy(const Engine& engine) {
  return std::make_unique<Copy>(world_, engine);
}

}  // namespace berth::dst
