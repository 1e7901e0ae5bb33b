#include "dst/checker.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/text/text.hpp"

namespace berth::dst {

namespace {

std::string name_of(JobId job) { return "job " + std::to_string(job.value()); }
std::string name_of(GpuId gpu) { return "GPU " + std::to_string(gpu.value()); }

std::size_t hash_of(const Engine& engine) { return std::hash<std::string>()(engine.save()); }

std::int64_t last_entry(const journal::Store& store) {
  const auto recovered = store.recover();
  if (!recovered || !recovered->snapshot) return 0;
  return recovered->entries.empty() ? recovered->snapshot->after : recovered->entries.back().number;
}

template <class Map, class Entry>
void forget_after(Map& map, std::int64_t entry, Entry entry_of) {
  std::erase_if(map, [&](const auto& item) { return entry_of(item.second) > entry; });
}

}  // namespace

void Checker::accepted(JobId job, std::size_t script) {
  if (!accepted_.emplace(job, script).second) broken(name_of(job) + ": its number was given twice");
}

std::map<Outcome, int> Checker::outcomes() const {
  std::map<Outcome, int> outcomes;
  for (const auto& [job, end] : ended_) ++outcomes[end.outcome];
  return outcomes;
}

// ---- A step ---------------------------------------------------------------------------------

void Checker::stepped(const Step& step) {
  ++entry_;
  const Engine& engine = step.keeper.engine();
  std::set<Key> charged;
  for (const JobId id : engine.view().running()) {
    charged.insert({id, engine.view().find(id)->attempt});
  }
  machines_.set_charged(charged);
  for (const Input& input : step.inputs) {
    const auto* const started = std::get_if<Started>(&input);
    if (started != nullptr) started_.try_emplace({started->job, started->attempt}, entry_);
    if (const auto* const lost = std::get_if<GpuLost>(&input)) check_left(engine, lost->gpu);
  }
  check_engine(step);
  for (const Effect& effect : step.effects.list) {
    std::visit([&](const auto& what) { check(step, what); }, effect);
  }
  check_charges(engine);
  check_accepted(engine);
  states_[entry_] = {.rules = rules_, .hash = hash_of(engine)};
}

void Checker::check_engine(const Step& step) {
  const Engine& engine = step.keeper.engine();
  if (const auto wrong = engine.check()) broken("the engine: " + *wrong);
  if (engine.dropped() > 0) broken("a decision was not valid");
  if (step.now < last_) broken("time went back to " + seconds_text(step.now));
  if (step.effects.wake_at && *step.effects.wake_at <= step.now) broken("a wake-up in the past");
  last_ = step.now;
}

/// A job that outlives its GPUs leaves one in the step that hears of the loss.
void Checker::check_left(const Engine& engine, GpuId lost) {
  for (const JobId id : engine.view().tenants_of(lost)) {
    const Job& job = *engine.view().find(id);
    const Conditions& asked = *job.spec.conditions;
    const bool stays = is_running(job.state);
    if (stays && asked.requeue_on_gpu_failure && asked.requeues > 0) {
      broken(name_of(id) + " stays on " + name_of(lost) + ", which is lost");
    }
  }
}

void Checker::check(const Step& step, const Launch& launch) {
  note_adoption(step, launch.job);
  check_grant(step, {launch.job, launch.attempt}, launch.grant);
}

/// What it holds was in the engine's figure of foreign use, and is charged from here on.
void Checker::note_adoption(const Step& step, JobId id) {
  const Job* const job = step.keeper.engine().view().find(id);
  if (job == nullptr || !is_adopted(job->spec)) return;
  const auto blob = step.keeper.store().blob(job->spec.command);
  const auto command = blob ? live::decode_command(*blob) : std::unexpected(blob.error());
  if (!command || !command->adopted)
    return broken(name_of(id) + " is adopted and names no process");
  machines_.claim(command->adopted->pid, id);
}

void Checker::check(const Step& step, const Continue& resumed) {
  check_grant(step, {resumed.job, resumed.attempt}, resumed.grant);
}

void Checker::check_grant(const Step& step, Key key, const Grant& grant) {
  const Engine& engine = step.keeper.engine();
  const std::string name = "attempt " + to_text(key);
  if (!granted_.emplace(key, entry_).second) broken(name + " is granted again");
  if (ended_.contains(key.job)) broken(name + ": its job has ended");
  if (cancelled_.contains(key.job)) broken(name + ": its cancellation was confirmed");
  const Job* const job = engine.view().find(key.job);
  if (job == nullptr || job->attempt != key.attempt) return broken(name + " is of no known job");
  if (std::ssize(grant.shares) != job->spec.request.gpu.count.raw()) {
    broken(name + ": its gang is not whole");
  }
  if (std::ranges::adjacent_find(grant.shares, std::greater_equal(), &Share::gpu) !=
      grant.shares.end()) {
    broken(name + ": a GPU twice");
  }
  believe(engine, grant);
  for (const Share& share : grant.shares) {
    check_room(engine, key, share);
    check_look(step, share.gpu);
    check_health(step, key, share.gpu);
  }
}

void Checker::believe(const Engine& engine, const Grant& grant) {
  for (const Share& share : grant.shares) {
    machines_.set_believed(share.gpu, engine.view().use().gpu(share.gpu).foreign);
  }
}

/// The inequality of the admission mode, from first principles, after the step.
void Checker::check_room(const Engine& engine, Key key, const Share& share) {
  const GpuUse& use = engine.view().use().gpu(share.gpu);
  const GpuSpec& gpu = plan_.cluster.gpu(share.gpu);
  const Job& job = *engine.view().find(key.job);
  const std::string name = "attempt " + to_text(key) + " on " + name_of(share.gpu) + ": ";
  if (!use.healthy || !use.reachable) broken(name + "it is not in health");
  const GpuTypes types = job.spec.request.gpu.types;
  if (types != 0 && (types >> gpu.type & 1) == 0) broken(name + "of another type");
  const AdmissionMode mode = plan_.rules.settings.admission.mode;
  if (mode == AdmissionMode::None) return;
  const bool crowded = use.tenants > std::max<std::uint16_t>(1, gpu.slots) ||
                       (use.alone > 0 && use.tenants > 1) || use.milli > kWholeGpu ||
                       (gpu.share_mode == ShareMode::Exclusive && use.tenants > 1);
  if (crowded) broken(name + "has " + std::to_string(use.tenants) + " tenants");
  if (mode == AdmissionMode::Declared && use.charged > gpu.capacity) {
    broken(name + "declared beyond its capacity");
  }
  if (mode != AdmissionMode::Guarantee) return;
  const Bytes guard =
      use.tenants > 1 ? std::max(Bytes(512 << 20), Bytes(gpu.capacity.raw() / 50)) : Bytes(0);
  if (use.foreign + use.charged + guard > gpu.capacity) broken(name + "charged beyond its room");
}

/// What lay there uncharged when the latest look began must be in the engine's
/// figure.
void Checker::check_look(const Step& step, GpuId gpu) {
  if (plan_.rules.settings.admission.mode != AdmissionMode::Guarantee) return;
  const auto looked = step.looked.find(gpu);
  if (looked == step.looked.end()) return broken("a start on " + name_of(gpu) + " without a look");
  const Bytes there = machines_.uncharged(gpu, looked->second);
  const Bytes known = step.keeper.engine().view().use().gpu(gpu).foreign;
  if (there > known) {
    broken("a start on " + name_of(gpu) + ", where " + to_text(there) + " are foreign and " +
           to_text(known) + " known");
  }
}

/// A GPU that was found to be broken gets no jobs, and one that is must have been found by a look
/// that began later.
void Checker::check_health(const Step& step, Key key, GpuId gpu) {
  const std::string name = "attempt " + to_text(key) + " starts on " + name_of(gpu);
  if (step.bad.contains(gpu)) broken(name + ", found to be broken");
  const auto looked = step.looked.find(gpu);
  const auto since = machines_.bad_since(gpu);
  const bool must_be_known = looked != step.looked.end() && since && *since < looked->second;
  if (must_be_known) broken(name + ", broken when it was looked at");
}

void Checker::check(const Step& step, const Stop& stop) {
  if (stop.why != StopFor::Overrun) return;
  const Key key{stop.job, stop.attempt};
  if (machines_.has_overrun(key) || !step.keeper.engine().view().knows(stop.job)) return;
  broken("attempt " + to_text(key) + " is ended for an overrun and stayed within its charge");
}

void Checker::check(const Step&, const Finished& finished) {
  const std::string name = name_of(finished.job);
  if (!ended_.try_emplace(finished.job, Ended{entry_, finished.outcome}).second) {
    broken(name + " ends again");
  }
  if (finished.outcome == Outcome::Done && !machines_.has_finished(finished.job)) {
    broken(name + " is done and did not finish");
  }
}

/// Whatever runs has its charge, and keeps it until the memory is seen free -
/// or GPUs cannot be sampled.
void Checker::check_charges(const Engine& engine) {
  for (std::uint32_t g = 0; g < plan_.cluster.gpus().size(); ++g) {
    if (!is_usable(engine.view().use().gpu(GpuId(g)))) continue;
    for (const Block& block : machines_.blocks(GpuId(g))) {
      if (!block.key || !block.alive) continue;
      const Job* const job = engine.view().find(block.key->job);
      const bool charged =
          job != nullptr && job->attempt == block.key->attempt &&
          std::ranges::find(job->grant.shares, GpuId(g), &Share::gpu) != job->grant.shares.end();
      if (!charged) {
        broken("attempt " + to_text(*block.key) + " holds memory on " + name_of(GpuId(g)) +
               " without a charge");
      }
    }
  }
}

void Checker::check_accepted(const Engine& engine) {
  for (const auto& [job, script] : accepted_) {
    const bool known = engine.view().knows(job);
    const bool over = ended_.contains(job);
    if (!known && !over) broken(name_of(job) + " was accepted and is lost");
    if (known && over) broken(name_of(job) + " has ended and is back");
  }
}

// ---- Coming back ----------------------------------------------------------------------------

void Checker::found(const std::string& journal, After after) {
  const std::int64_t least = after == After::PowerLoss ? durable_ : entry_;
  if (least == 0) return go_back_to(0);  // there may be no journal yet
  const auto store = journal::Store::open(journal, journal::Access::ReadOnly);
  if (!store) return broken("the journal cannot be read: " + store.error().message);
  const std::int64_t there = last_entry(*store);
  if (there < least) {
    broken("entry " + std::to_string(least) + " was written for good, the last is " +
           std::to_string(there));
  }
  go_back_to(there);
}

void Checker::recovered(const live::Keeper& keeper, After after, int rules) {
  const std::int64_t found = std::exchange(entry_, last_entry(keeper.store()));
  const auto known = states_.find(entry_);
  const bool comparable = found == entry_ && known != states_.end() && known->second.rules == rules;
  if (comparable && known->second.hash != hash_of(keeper.engine())) {
    broken("the engine after entry " + std::to_string(entry_) + " is another one than before");
  }
  if (keeper.last() < last_ && after != After::PowerLoss) broken("the journal's time went back");
  rules_ = rules;
  last_ = keeper.last();
  learn(keeper);
  if (const auto wrong = keeper.engine().check()) broken("the engine that came back: " + *wrong);
  check_accepted(keeper.engine());
  for (const auto& [job, script] : accepted_) check_row(keeper, job);
  if (after != After::PowerLoss) return;
  std::set<Key> started;
  for (const auto& [key, entry] : started_) started.insert(key);
  machines_.remember_started(std::move(started));
}

void Checker::go_back_to(std::int64_t entry) {
  const auto as_is = [](std::int64_t at) { return at; };
  forget_after(ended_, entry, [](const Ended& end) { return end.entry; });
  forget_after(granted_, entry, as_is);
  forget_after(started_, entry, as_is);
  states_.erase(states_.upper_bound(entry), states_.end());
  entry_ = entry;
  durable_ = std::min(durable_, entry);
}

/// What an entry says that was written by a daemon which did not live to do it.
void Checker::learn(const live::Keeper& keeper) {
  const ClusterView view = keeper.engine().view();
  view.for_each_job([&](const Job& job) {
    const Key key{job.id, job.attempt};
    const bool is_new = job.attempt != Attempt() && granted_.try_emplace(key, entry_).second;
    if (is_new) believe(keeper.engine(), job.grant);
    if (job.state == JobState::Running) started_.try_emplace(key, entry_);
  });
  for (const auto& [job, script] : accepted_) {
    const auto row = keeper.store().job(job);
    if (view.knows(job) || !row || !*row || !(*row)->end) continue;
    ended_.try_emplace(job, Ended{entry_, (*row)->end->outcome});
  }
}

/// The history says of every job what the engine says, or how it ended.
void Checker::check_row(const live::Keeper& keeper, JobId job) {
  const auto row = keeper.store().job(job);
  if (!row || !*row) return broken(name_of(job) + " is not in the history");
  const auto end = ended_.find(job);
  const bool over = end != ended_.end();
  if (over != (*row)->end.has_value()) {
    broken(name_of(job) +
           (over ? ": its end is not in the history" : ": ended in the history only"));
  } else if (over && (*row)->end->outcome != end->second.outcome) {
    broken(name_of(job) + ": the history has another outcome");
  }
}

void Checker::ended(const live::Keeper& keeper) {
  for (const auto& [job, script] : accepted_) {
    check_row(keeper, job);
    if (!ended_.contains(job)) broken(name_of(job) + " never ended");
  }
  if (machines_.is_anything_left()) broken("something runs that no job owns");
}

}  // namespace berth::dst
