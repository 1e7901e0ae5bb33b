#include "dst/shell.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "live/command.hpp"

namespace berth::dst {

using live::gpus_of;
using live::Manner;
using live::Trace;

namespace {

constexpr Duration kSilence = seconds(3);
constexpr Duration kLookAgain = Duration(10'000);
constexpr Duration kRetry = seconds(1);
constexpr Duration kStartAgain = seconds(1);

std::string words_of(const Effect& effect) {
  constexpr std::array kNames = {"launch", "continue", "stop", "finish",
                                 "adjust", "compute",  "hurt"};
  static_assert(kNames.size() == std::variant_size_v<Effect>);
  std::string words = kNames[effect.index()];
  std::visit(
      [&](const auto& what) {
        if constexpr (requires { what.job; }) words += " " + std::to_string(what.job.value());
        if constexpr (requires { what.attempt; }) {
          words += "." + std::to_string(what.attempt.value());
        }
      },
      effect);
  return words;
}

template <class... Kinds>
bool is_any(const Input& input) {
  return (std::holds_alternative<Kinds>(input) || ...);
}

/// As daemon::Clock: by wall time, but under jobs that hold berths as it was
/// before.
Duration ahead_of_boot(World& world, const live::Keeper& keeper) {
  const Instant boot = kStart + world.boot_time();
  const bool goes_on = world.clock_kept && !keeper.engine().view().running().empty();
  if (goes_on) return std::max(keeper.last() - boot, *world.clock_kept);
  world.clock_kept = std::max(keeper.last(), world.wall()) - boot;
  return *world.clock_kept;
}

}  // namespace

// ---- Opening
// ---------------------------------------------------------------------------------

std::unique_ptr<Shell> Shell::open(World& world, const Rules& rules, After after) {
  world.checker.found(world.disk.journal(), after);
  const int failed_syncs = world.disk.failed_syncs();
  auto keeper = live::Keeper::open(world.host, {.path = world.disk.journal()}, world.plan.cluster,
                                   rules.rules);
  const bool may_fail = world.disk.is_full() || world.disk.failed_syncs() > failed_syncs;
  if (!keeper && !world.fate.is_dead() && !may_fail) {
    world.report.broken("the journal does not open: " + keeper.error().message);
  }
  if (!keeper || world.fate.is_dead()) return nullptr;
  world.checker.recovered(*keeper, after, rules.number);
  world.report.tell("a daemon starts, after entries up to " + seconds_text(keeper->last()));
  std::unique_ptr<Shell> shell(new Shell(world, std::move(*keeper)));
  shell->recover();
  return shell;
}

Shell::Shell(World& world, live::Keeper keeper)
    : world_(world),
      keeper_(std::move(keeper)),
      ahead_(ahead_of_boot(world, keeper_)),
      watcher_(world.plan.cluster.gpus().size(), world.plan.probe * 5 / 2),
      launcher_(world, {.started = [this](Key key) { on_started(key); },
                        .failed = [this](Key key) { on_failed(key); },
                        .ended = [this](Key key, Exit exit) { on_ended(key, exit); },
                        .lost = [this](Key key) { on_over(key, Outcome::Lost, 0); }}),
      probe_(
          world, launcher_, [this] { return now(); },
          [this](live::Look look) { on_look(std::move(look)); }),
      syncer_(world, keeper_),
      wake_(world.agenda, [this] { inputs_.emplace_back(Ticked{}); }),
      probe_alarm_(world.agenda, [this] { on_probe(); }),
      silence_alarm_(world.agenda, [this] { on_silence(); }),
      leaving_alarm_(world.agenda, [this] { look_at(watcher_.left()); }),
      retry_alarm_(world.agenda, [this] { is_retrying_ = false; }),
      start_again_alarm_(world.agenda, [this] {
        if (world_.disk.is_full()) return start_again_alarm_.set(kStartAgain);
        for (Input& input : std::exchange(not_started_, {})) tell(std::move(input));
      }) {}

void Shell::recover() {
  const ClusterView view = engine().view();
  std::vector<const Job*> suspended;
  view.for_each_job([&](const Job& job) {
    if (holds_berth(job.state) || job.state == JobState::Suspended) current_[job.id] = job.attempt;
    if (job.state == JobState::Suspended) suspended.push_back(&job);
  });
  for (std::uint32_t g = 0; g < world_.plan.cluster.gpus().size(); ++g) {
    inputs_.emplace_back(GpuHealth{GpuId(g), true});
  }
  for (const JobId id : view.running()) recover(*view.find(id));
  for (const Job* const job : suspended) recover_suspended(*job);
  launcher_.sweep([&](Key key) {
    const auto found = current_.find(key.job);
    // A job that starts goes on with the process it was suspended with.
    return found != current_.end() && key.attempt <= found->second;
  });
  on_probe();
}

void Shell::recover(const Job& job) {
  const Key key{job.id, job.attempt};
  const bool blind = world_.defect == Defect::StartsAgain && job.state == JobState::Running;
  if (blind) return launch(job.id, Attempt(job.attempt.value()), job.grant);
  const Trace trace = launcher_.adopt(key);
  if (trace == Trace::Over) return;
  if (trace == Trace::Lives) {
    watcher_.changed(gpus_of(job.grant), now());
    if (job.state != JobState::Stopping) return;
    const bool suspends = job.after_stop == JobState::Suspended && !job.ending;
    return stop(
        {job.id, job.attempt, suspends ? PreemptHow::Suspend : PreemptHow::Kill, StopFor::Cancel});
  }
  if (job.state == JobState::Starting) return launch(job.id, job.attempt, job.grant);
  if (job.state == JobState::Stopping) return leave(key);
  on_over(key, Outcome::Lost, 0);
}

void Shell::recover_suspended(const Job& job) {
  const Key key{job.id, job.attempt};
  if (launcher_.adopt(key) == Trace::None) on_over(key, Outcome::Lost, 0);
}

// ---- What comes in
// ---------------------------------------------------------------------------

void Shell::tell(Input input) {
  if (world_.defect == Defect::HidesBadGpus && is_any<GpuHealth, NodeHealth>(input)) return;
  inputs_.push_back(std::move(input));
}

/// Again, in a later step or in one of a later daemon.
void Shell::tell_old_news() {
  if (!world_.has(&Troubles::old_news) || world_.old_news.empty() || !world_.rng.one_in(4)) return;
  ++world_.seen["old news"];
  const std::int64_t at = world_.rng.between(0, std::ssize(world_.old_news) - 1);
  inputs_.push_back(world_.old_news[static_cast<std::size_t>(at)]);
}

void Shell::on_failed(Key key) {
  const Job* const known = engine().view().find(key.job);
  if (known != nullptr && known->state == JobState::Running) return on_over(key, Outcome::Lost, 0);
  ++world_.seen["failed start"];
  tell(StartFailed{key.job, key.attempt});
}

void Shell::on_ended(Key key, Exit exit) {
  if (overran_.erase(key) > 0) return on_over(key, Outcome::Oom, exit.code);
  on_over(key, exit.outcome, exit.code);
}

void Shell::on_over(Key key, Outcome outcome, std::int32_t code) {
  const Job* const known = engine().view().find(key.job);
  if (known == nullptr || known->attempt != key.attempt) return;
  tell(Exited{key.job, key.attempt, outcome, code});
  leave(key);
}

void Shell::leave(Key key) {
  const Job* const known = engine().view().find(key.job);
  if (known == nullptr || known->attempt != key.attempt) return;
  if (world_.defect == Defect::ReleasesTooEarly) return tell(Released{key.job, key.attempt});
  const auto gpus = gpus_of(known->grant);
  watcher_.leaves(key.job, key.attempt, gpus, now());
  look_at({gpus.begin(), gpus.end()});
}

void Shell::on_look(live::Look look) {
  looking_.erase(look.gpu);
  for (Input& input : watcher_.on_look(std::move(look), engine().view())) tell(std::move(input));
  if (!watcher_.left().empty() && looking_.empty()) leaving_alarm_.set(kLookAgain);
}

void Shell::on_silence() {
  std::set<GpuId> silent;
  for (const auto& [gpu, since] : looking_) {
    if (now() - since >= kSilence) silent.insert(gpu);
  }
  if (!silent.empty()) ++world_.seen["silent GPU"];
  for (Input& input : watcher_.on_silence(silent, now())) tell(std::move(input));
  if (!looking_.empty()) silence_alarm_.set(kSilence);
}

void Shell::on_fault(GpuId gpu) {
  for (Input& input : watcher_.on_fault(gpu, "Xid 79")) tell(std::move(input));
}

void Shell::on_probe() {
  std::set<GpuId> all;
  for (std::uint32_t g = 0; g < world_.plan.cluster.gpus().size(); ++g) all.insert(GpuId(g));
  look_at(all);
  for (std::uint32_t n = 0; n < world_.plan.cluster.nodes().size(); ++n) {
    const bool is_up = world_.machines.is_up(NodeId(n));
    const auto [told, is_new] = told_.try_emplace(NodeId(n), is_up);
    if (is_new || told->second != is_up) tell(NodeHealth{NodeId(n), is_up});
    told->second = is_up;
  }
  probe_alarm_.set(world_.plan.probe);
}

void Shell::look_at(const std::set<GpuId>& gpus) {
  if (gpus.empty()) return;
  if (looking_.empty()) silence_alarm_.set(kSilence);
  for (const GpuId gpu : gpus) looking_.emplace(gpu, now());
  probe_.ask(gpus);
}

// ---- A step
// ----------------------------------------------------------------------------------

void Shell::turn() {
  for (Input& input : watcher_.take_released()) tell(std::move(input));
  if ((inputs_.empty() && asked_.empty()) || is_retrying_ || wait_for_look()) return;
  step();
}

bool Shell::wait_for_look() {
  const bool could_start = !asked_.empty() || live::somebody_waits(engine().view(), inputs_);
  if (!could_start || world_.defect == Defect::DoesNotLook) return false;
  if (!waits_since_) waits_since_ = now();
  std::set<GpuId> stale = watcher_.stale(*waits_since_);
  if (stale.empty()) return false;
  std::erase_if(stale, [&](GpuId gpu) { return looking_.contains(gpu); });
  look_at(stale);
  return true;
}

std::set<GpuId> Shell::bad_gpus() const {
  std::set<GpuId> bad;
  for (std::uint32_t g = 0; g < world_.plan.cluster.gpus().size(); ++g) {
    if (!watcher_.problem(GpuId(g)).empty()) bad.insert(GpuId(g));
  }
  return bad;
}

void Shell::step() {
  waits_since_.reset();
  tell_old_news();
  live::Batch batch{.inputs = std::exchange(inputs_, {}), .submissions = {}};
  std::vector<Asked> asked = std::exchange(asked_, {});
  const std::vector<Input> own = batch.inputs;
  for (Asked& one : asked) {
    batch.inputs.insert(batch.inputs.end(), one.inputs.begin(), one.inputs.end());
    if (one.submission) batch.submissions.push_back(std::move(*one.submission));
  }
  const Instant at = std::max(now(), keeper_.last());
  const auto stepped = keeper_.step(at, batch);
  if (!stepped) {
    if (world_.fate.is_dead()) return;
    refuse(std::move(asked));
    if (keeper_.is_broken()) {
      failed_ = true;
      return;
    }
    inputs_.insert(inputs_.begin(), own.begin(), own.end());
    is_retrying_ = true;
    return retry_alarm_.set(kRetry);
  }
  for (const Input& input : own) {
    if (is_any<Started, StartFailed, Exited, Released>(input)) world_.old_news.push_back(input);
  }
  const Effects effects = *stepped->effects;
  world_.checker.stepped({.keeper = keeper_,
                          .now = at,
                          .inputs = batch.inputs,
                          .effects = effects,
                          .looked = probe_.began(),
                          .bad = bad_gpus()});
  for (const Effect& effect : effects.list) {
    if (world_.fate.strikes(words_of(effect))) return;
    perform(effect);
  }
  if (effects.wake_at) wake_.set(std::max(Duration::zero(), *effects.wake_at - now()));
  answer(std::move(asked), stepped->submitted);
}

void Shell::refuse(std::vector<Asked> asked) {
  ++world_.seen[keeper_.is_broken() ? "half-written step" : "refused step"];
  world_.report.tell(keeper_.is_broken() ? "a step is half written" : "a step cannot be written");
  for (const Asked& one : asked) one.answer(Answer::Refused, JobId(0));
}

void Shell::answer(std::vector<Asked> asked, const std::vector<JobId>& submitted) {
  auto id = submitted.begin();
  for (Asked& one : asked) {
    const JobId job = one.submission ? *id++ : JobId(0);
    if (world_.defect == Defect::AnswersTooEarly) {
      one.answer(Answer::Done, job);
      continue;
    }
    syncer_.after_sync([this, answer = std::move(one.answer), job](const Expected<void>& synced) {
      if (!synced) failed_ = true;
      answer(synced ? Answer::Done : Answer::Refused, job);
    });
  }
}

void Shell::stop() {
  syncer_.run();
  if (failed_) return;
  if (!keeper_.snapshot_at_end() && !world_.fate.is_dead()) world_.report.tell("no snapshot");
}

// ---- Effects
// ---------------------------------------------------------------------------------

void Shell::perform(const Effect& effect) {
  world_.report.tell(words_of(effect));
  ++world_.seen[std::string(words_of(effect), 0, words_of(effect).find(' '))];
  if (const auto* wanted = std::get_if<Launch>(&effect)) {
    if (world_.defect == Defect::ForgetsAStart && wanted->job == JobId(4)) return;
    launch(wanted->job, wanted->attempt, wanted->grant);
  } else if (const auto* resumed = std::get_if<Continue>(&effect)) {
    launch(resumed->job, resumed->attempt, resumed->grant);
  } else if (const auto* stopped = std::get_if<Stop>(&effect)) {
    stop(*stopped);
  } else if (const auto* finished = std::get_if<Finished>(&effect)) {
    const auto runs = world_.machines.runs();
    for (const auto& [key, run] : runs) {
      if (key.job != finished->job) continue;
      world_.machines.stop(key, Manner::AtOnce);  // one that was suspended, and not resumed
      launcher_.forget(key);
    }
    current_.erase(finished->job);
  }
}

void Shell::stop(const Stop& wanted) {
  const Key key{wanted.job, wanted.attempt};
  if (wanted.how == PreemptHow::Suspend) {
    launcher_.suspend(key);
    const Run* const run = world_.machines.find(key);
    if (run != nullptr && run->suspended) leave(key);
    return;
  }
  if (wanted.why == StopFor::Overrun) overran_.insert(key);
  launcher_.stop(key, wanted.why == StopFor::Overrun ? Manner::AtOnce : Manner::Gently);
}

void Shell::launch(JobId job, Attempt attempt, const Grant& grant) {
  const Key key{job, attempt};
  if (const auto before = current_.find(job); before != current_.end()) {
    if (before->second != attempt) launcher_.forget({job, before->second});
  }
  current_[job] = attempt;
  watcher_.changed(gpus_of(grant), now());
  const auto order = order_of(key, grant);
  if (order && launcher_.launch(*order)) return;
  ++world_.seen["failed launch"];
  not_started_.emplace_back(StartFailed{job, attempt});
  if (not_started_.size() == 1) start_again_alarm_.set(kStartAgain);
}

/// The script is the job's command, as the journal has it.
std::optional<Order> Shell::order_of(Key key, const Grant& grant) const {
  const Job* const known = engine().view().find(key.job);
  if (known == nullptr) return std::nullopt;
  const auto blob = keeper_.store().blob(known->spec.command);
  const auto command = blob ? live::decode_command(*blob) : std::unexpected(blob.error());
  if (!command) {
    world_.report.broken("attempt " + to_text(key) + ": " + command.error().message);
    return std::nullopt;
  }
  const Order order{.key = key, .script = std::stoul(command->arguments.at(1)), .grant = grant};
  const auto accepted = world_.checker.jobs().find(key.job);
  if (accepted != world_.checker.jobs().end() && accepted->second != order.script) {
    world_.report.broken("attempt " + to_text(key) + " is of another job's command");
  }
  return order;
}

}  // namespace berth::dst
