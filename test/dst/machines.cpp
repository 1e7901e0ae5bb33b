#include "dst/machines.hpp"

#include <algorithm>
#include <utility>

namespace berth::dst {

namespace {

constexpr Exit kKilled{.outcome = Outcome::Failed, .code = 143};

bool is_on(const Cluster& cluster, const Grant& grant, NodeId node) {
  if (grant.shares.empty()) return grant.host == node;
  return std::ranges::any_of(grant.shares,
                             [&](const Share& s) { return cluster.node_of(s.gpu) == node; });
}

}  // namespace

std::string to_text(Key key) {
  return std::to_string(key.job.value()) + "." + std::to_string(key.attempt.value());
}

Machines::Machines(const Plan& plan, Agenda& agenda, Report& report, Rng rng)
    : plan_(plan),
      agenda_(agenda),
      report_(report),
      rng_(rng),
      memory_(plan.cluster.gpus().size()) {}

// ---- Small things ---------------------------------------------------------------------------

bool Machines::has_trouble(bool Troubles::* kind, std::int64_t one_in) {
  return !calm_ && plan_.troubles.*kind && rng_.one_in(one_in);
}

/// Mostly milliseconds, now and then seconds.
Duration Machines::soon() {
  return Duration(rng_.one_in(6) && !calm_ ? rng_.between(0, 3'000'000) : rng_.between(100, 5'000));
}

Run* Machines::run(Key key) {
  const auto found = runs_.find(key);
  return found == runs_.end() ? nullptr : &found->second;
}
const Run* Machines::find(Key key) const {
  const auto found = runs_.find(key);
  return found == runs_.end() ? nullptr : &found->second;
}

void Machines::plan(Run& run, Duration delay, std::function<void(Key)> what) {
  agenda_.after(delay, run.plans, [key = run.order.key, what = std::move(what)] { what(key); });
}

void Machines::tell(Key key, News news) {
  if (listener) listener(key, news);
}

// ---- Shims ----------------------------------------------------------------------------------

Expected<void> Machines::begin(const Order& order) {
  for (const auto& [node, since] : lost_) {
    if (is_on(plan_.cluster, order.grant, node)) {
      return fail(ErrorCode::Io, "node " + std::to_string(node.value()) + " does not answer");
    }
  }
  if (has_trouble(&Troubles::failed_starts, 12)) {
    return fail(ErrorCode::Io, "berth-shim: cannot be started");
  }
  Run& run = runs_[order.key];
  const auto saved = saved_.find(order.key.job);
  run = {.order = order,
         .left = saved != saved_.end() ? saved->second
                 : order.adopted != 0  ? kForever
                                       : plan_.scripts[order.script].work,
         .plans = new_life()};
  for (auto& [key, other] : runs_) {
    if (key.job != order.key.job || !other.suspended) continue;
    run.left = other.left;
    end_process(other);
    runs_.erase(key);
    break;
  }
  if (has_trouble(&Troubles::failed_starts, 12)) {
    plan(run, soon(), [this](Key key) { unlock(key); });
    return {};
  }
  const bool slow = has_trouble(&Troubles::slow_starts, 3);
  plan(run, slow ? seconds(rng_.between(1, 90)) : soon(), [this](Key key) { go(key); });
  return {};
}

void Machines::go(Key key) {
  Run& run = *this->run(key);
  if (!began_.insert(key).second) report_.broken("attempt " + to_text(key) + " runs again");
  for (const auto& [other, its] : runs_) {
    if (other.job == key.job && other != key && its.process) {
      report_.broken("attempt " + to_text(key) + " runs beside " + to_text(other));
    }
  }
  report_.tell("  " + to_text(key) + " runs");
  if (run.order.adopted != 0) return take_stranger(key);
  run.go = true;
  run.process = true;
  run.since = agenda_.now();
  run.pid = ++last_pid_;
  plan(run, run.left, [this](Key ended) {
    const Script& script = plan_.scripts[find(ended)->order.script];
    if (script.code == 0) finished_.insert(ended.job);
    finish(ended,
           {.outcome = script.code == 0 ? Outcome::Done : Outcome::Failed, .code = script.code});
  });
  plan(run, run.left / 3, [this](Key grown) { allocate(grown, 100); });
  tell(key, News::Go);
  allocate(key, 50);
}

/// One that is gone cannot be held.
void Machines::take_stranger(Key key) {
  Run& run = *this->run(key);
  const bool is_there = !held_by_stranger(run.order.adopted).empty();
  if (!is_there) return finish(key, {.outcome = Outcome::Failed, .code = 125});
  run.go = true;
  run.process = true;
  run.since = agenda_.now();
  run.pid = run.order.adopted;
  for (auto& blocks : memory_) {
    for (Block& block : blocks) {
      if (block.pid == run.pid) block.key = key;
    }
  }
  tell(key, News::Go);
}

/// Its own end, be it a job's by now.
void Machines::end_stranger(pid_t pid) {
  for (auto& [key, run] : runs_) {
    if (run.order.adopted != pid || !run.process) continue;
    finished_.insert(key.job);
    return finish(Key(key), {.outcome = Outcome::Done, .code = 0});
  }
  free_blocks(pid);
}

std::vector<AdoptedShare> Machines::held_by_stranger(pid_t pid) const {
  std::vector<AdoptedShare> shares;
  for (std::uint32_t g = 0; g < memory_.size(); ++g) {
    Bytes others(0);
    const Block* its = nullptr;
    for (const Block& block : memory_[g]) {
      const bool is_its = block.pid == pid && block.alive && !block.key;
      if (is_its) its = &block;
      if (!is_its && (!block.key || !charged_.contains(*block.key))) others += block.bytes;
    }
    if (its == nullptr || its->bytes == Bytes(0)) continue;
    shares.push_back({GpuId(g), its->bytes, its->bytes, others});
  }
  return shares;
}

void Machines::claim(pid_t pid, JobId job) {
  for (auto& blocks : memory_) {
    for (Block& block : blocks) {
      if (block.pid == pid) block.claimed = job;
    }
  }
}

void Machines::stop(Key key, live::Manner manner) {
  Run* const run = this->run(key);
  if (run == nullptr || !run->locked || run->exit) return;
  report_.tell("  " + to_text(key) + " is told to end");
  if (!run->go) {
    run->plans = new_life();
    return plan(*run, soon(), [this](Key stopped) { unlock(stopped); });
  }
  // One that has saved its state may end well, and is not done.
  static constexpr Exit kSaved{.outcome = Outcome::Done, .code = 0};
  if (manner == live::Manner::Save && rng_.one_in(2)) {
    return plan(*run, seconds(rng_.between(0, 10)), [this](Key saved) {
      saved_[saved.job] = left_of(*this->run(saved));
      finish(saved, kSaved);
    });
  }
  const bool at_once = manner == live::Manner::AtOnce;
  const Duration grace = rng_.one_in(8) && !at_once ? seconds(rng_.between(1, 10)) : soon();
  plan(*run, grace, [this](Key stopped) { finish(stopped, kKilled); });
}

void Machines::suspend(Key key) {
  Run* const run = this->run(key);
  if (run == nullptr || !run->locked || run->exit || run->suspended) return;
  if (!run->go) return stop(key, live::Manner::Gently);
  report_.tell("  " + to_text(key) + " is suspended");
  run->plans = new_life();
  run->suspended = true;
  run->left = left_of(*run);
  free_blocks(run->pid);
}

Duration Machines::left_of(const Run& run) const {
  return std::max(Duration(1), run.left - (agenda_.now() - run.since));
}

void Machines::finish(Key key, Exit exit) {
  Run& run = *this->run(key);
  report_.tell("  " + to_text(key) + " ends with " + std::to_string(exit.code));
  end_process(run);
  if (!run.locked) return;  // no shim is left to write it
  run.exit = exit;
  plan(run, soon(), [this](Key over) { unlock(over); });
  tell(key, News::Ended);
}

void Machines::end_process(Run& run) {
  run.plans = new_life();
  run.process = false;
  run.suspended = false;
  free_blocks(run.pid);
}

void Machines::unlock(Key key) {
  Run& run = *this->run(key);
  if (!run.go) run.plans = new_life();
  run.locked = false;
  tell(key, News::ShimGone);
}

void Machines::end_orphans(Key key) {
  Run* const run = this->run(key);
  if (run != nullptr && run->process) end_process(*run);
}

// ---- Memory ---------------------------------------------------------------------------------

void Machines::allocate(Key key, std::int64_t of_hundred) {
  Run& run = *this->run(key);
  const Script& script = plan_.scripts[run.order.script];
  for (const Share& share : run.order.grant.shares) {
    const Bytes context = plan_.cluster.gpu(share.gpu).context;
    const Bytes wanted = Bytes(script.needs.raw() / 100 * of_hundred) + context;
    if (take(run, share.gpu, wanted)) continue;
    check_refusal(run, share.gpu);
    return finish(key, {.outcome = Outcome::Oom, .code = 1});
  }
}

/// As much as that in all. Returns: false if there is not so much.
bool Machines::take(Run& run, GpuId gpu, Bytes bytes) {
  auto& blocks = memory_[gpu.value()];
  Bytes others(0);
  Block* mine = nullptr;
  for (Block& block : blocks) {
    if (block.pid == run.pid) {
      mine = &block;
    } else {
      others += block.bytes;
    }
  }
  if (others + bytes > plan_.cluster.gpu(gpu).capacity) return false;
  if (mine == nullptr) {
    blocks.push_back({.pid = run.pid, .key = run.order.key, .since = agenda_.now()});
    mine = &blocks.back();
  }
  mine->bytes = bytes;
  const auto share = std::ranges::find(run.order.grant.shares, gpu, &Share::gpu);
  if (bytes > share->granted) overrun_.insert(run.order.key);
  return true;
}

/// The promise: if every tenant stays within its charge and foreign use does
/// not grow, no allocation within a charge fails.
void Machines::check_refusal(const Run& run, GpuId gpu) const {
  if (plan_.rules.settings.admission.mode != AdmissionMode::Guarantee) return;
  const Script& script = plan_.scripts[run.order.script];
  const auto share = std::ranges::find(run.order.grant.shares, gpu, &Share::gpu);
  if (script.needs + plan_.cluster.gpu(gpu).context > share->granted) return;
  for (const Block& block : memory_[gpu.value()]) {
    if (block.key && overrun_.contains(*block.key)) return;
  }
  const auto believed = believed_.find(gpu);
  if (believed == believed_.end() || uncharged(gpu, kNever) > believed->second) return;
  report_.broken("attempt " + to_text(run.order.key) +
                 " ran out of memory within its charge on GPU " + std::to_string(gpu.value()));
}

void Machines::free_blocks(pid_t pid) {
  if (pid == 0) return;
  for (auto& blocks : memory_) {
    for (Block& block : blocks) {
      if (block.pid == pid) block.alive = false;
    }
  }
  agenda_.after(soon(), [this, pid] {
    for (auto& blocks : memory_) {
      std::erase_if(blocks, [&](const Block& b) { return b.pid == pid && !b.alive; });
    }
  });
}

Expected<Sample> Machines::sample(GpuId gpu) const {
  if (!is_up(plan_.cluster.node_of(gpu))) return fail(ErrorCode::Io, "its node does not answer");
  if (broken_.contains(gpu)) return fail(ErrorCode::Lost, "GPU is lost");
  Sample sample{.total = plan_.cluster.gpu(gpu).capacity,
                .utilisation_percent = 50,
                .processes = std::vector<GpuProcess>()};
  for (const Block& block : memory_[gpu.value()]) {
    sample.used += block.bytes;
    // A dying process stays on the list of some drivers.
    if (block.alive || block.pid % 2 == 0) sample.processes->push_back({block.pid, block.bytes});
  }
  std::ranges::sort(*sample.processes, {}, &GpuProcess::pid);
  return sample;
}

Expected<std::optional<Key>> Machines::owner(pid_t pid) const {
  for (const auto& blocks : memory_) {
    for (const Block& block : blocks) {
      if (block.pid == pid && block.alive) return block.key;
    }
  }
  return fail(ErrorCode::NotFound, "pid " + std::to_string(pid));
}

std::optional<Instant> Machines::bad_since(GpuId gpu) const {
  std::optional<Instant> since;
  if (const auto broken = broken_.find(gpu); broken != broken_.end()) since = broken->second;
  const auto lost = lost_.find(plan_.cluster.node_of(gpu));
  if (lost != lost_.end()) since = std::min(since.value_or(lost->second), lost->second);
  return since;
}

std::vector<Block> Machines::blocks(GpuId gpu) const { return memory_[gpu.value()]; }

Bytes Machines::uncharged(GpuId gpu, Instant before) const {
  Bytes sum(0);
  for (const Block& block : memory_[gpu.value()]) {
    const bool is_claimed =
        std::ranges::any_of(charged_, [&](const Key& key) { return key.job == block.claimed; });
    const bool has_charge = is_claimed || (block.key && charged_.contains(*block.key));
    if (!has_charge && block.since < before) sum += block.bytes;
  }
  return sum;
}

// ---- Trouble --------------------------------------------------------------------------------

void Machines::kill_a_shim(Rng& rng) {
  std::vector<Key> shims;
  for (const auto& [key, run] : runs_) {
    if (run.locked && !run.exit) shims.push_back(key);
  }
  if (shims.empty()) return;
  const Key key = shims[static_cast<std::size_t>(rng.between(0, std::ssize(shims) - 1))];
  report_.tell("  the shim of " + to_text(key) + " is killed");
  unlock(key);
}

void Machines::lose(NodeId node) {
  if (!lost_.try_emplace(node, agenda_.now()).second) return;
  report_.tell("node " + std::to_string(node.value()) + " is lost");
  for (auto& [key, run] : runs_) {
    if (!is_on(plan_.cluster, run.order.grant, node)) continue;
    const bool was_locked = std::exchange(run.locked, false);
    end_process(run);
    if (was_locked) tell(key, News::ShimGone);
  }
  const NodeSpec& spec = plan_.cluster.node(node);
  for (std::uint32_t g = spec.first_gpu.value(); g < spec.end_gpu().value(); ++g) {
    memory_[g].clear();
  }
}

void Machines::bring_back(NodeId node) {
  if (lost_.erase(node) > 0) report_.tell("node " + std::to_string(node.value()) + " is back");
}

pid_t Machines::add_stranger(GpuId gpu, Bytes bytes, Duration how_long) {
  auto& blocks = memory_[gpu.value()];
  Bytes room = plan_.cluster.gpu(gpu).capacity;
  for (const Block& block : blocks) room -= block.bytes;
  const pid_t pid = ++last_pid_;
  blocks.push_back({.pid = pid, .key = {}, .bytes = std::min(bytes, room), .since = agenda_.now()});
  report_.tell("a stranger on GPU " + std::to_string(gpu.value()) + " takes " +
               to_text(blocks.back().bytes));
  agenda_.after(how_long, [this, pid] { end_stranger(pid); });
  return pid;
}

void Machines::lose_power() {
  for (auto& blocks : memory_) blocks.clear();
  for (auto run = runs_.begin(); run != runs_.end();) {
    end_process(run->second);
    run->second.locked = false;
    if (rng_.one_in(4)) run->second.exit.reset();
    if (!run->second.exit && rng_.one_in(4)) run->second.go = false;
    run = rng_.one_in(4) ? runs_.erase(run) : std::next(run);
  }
  lost_.clear();
  hung_.clear();
  broken_.clear();
  charged_.clear();
}

void Machines::calm_down() {
  calm_ = true;
  lost_.clear();
  hung_.clear();
  broken_.clear();
  for (const auto& blocks : std::vector(memory_)) {
    for (const Block& block : blocks) {
      if (!block.key) free_blocks(block.pid);
    }
  }
}

bool Machines::is_anything_left() const {
  const auto lives = [](const auto& entry) { return entry.second.locked || entry.second.process; };
  return std::ranges::any_of(runs_, lives) ||
         std::ranges::any_of(memory_, [](const auto& blocks) { return !blocks.empty(); });
}

}  // namespace berth::dst
