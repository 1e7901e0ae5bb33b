#include "dst/daemon.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::dst {

namespace {

std::string name_of(const Effect& effect) {
  constexpr std::array kNames = {"launch", "continue", "stop",   "finish",
                                 "hurt",   "spoiled",  "consult"};
  static_assert(kNames.size() == std::variant_size_v<Effect>);
  return kNames[effect.index()];
}

std::string words_of(const Effect& effect) {
  std::string words = name_of(effect);
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

std::string words_of(live::Setback setback) {
  constexpr std::array kWords = {"a request is refused", "a request is half done",
                                 "a request may be lost"};
  return kWords[static_cast<std::size_t>(setback)];
}

template <class... Kinds>
bool is_any(const Input& input) {
  return (std::holds_alternative<Kinds>(input) || ...);
}

/// The largest number of a job that left anything.
JobId last_named(const Machines& machines) {
  return machines.runs().empty() ? JobId(0) : machines.runs().rbegin()->first.job;
}

}  // namespace

// ---- Opening ---------------------------------------------------------------------------------

std::unique_ptr<Daemon> Daemon::open(World& world, const Rules& rules, After after) {
  world.checker.found(world.disk.journal(), after);
  const int failed_syncs = world.disk.failed_syncs();
  auto host = std::make_unique<Host>(world);
  auto keeper = live::Keeper::open(*host,
                                   {.path = world.disk.journal(),
                                    .last_job = last_named(world.machines),
                                    .snapshots = world.plan.snapshots},
                                   world.plan.cluster, rules.rules);
  const bool may_fail = world.disk.is_full() || world.disk.failed_syncs() > failed_syncs;
  if (!keeper && !world.fate.is_dead() && !may_fail) {
    world.report.broken("the journal does not open: " + keeper.error().message);
  }
  if (!keeper || world.fate.is_dead()) return nullptr;
  world.checker.recovered(*keeper, after, rules.number);
  world.report.tell("a daemon starts, after entries up to " + seconds_text(keeper->last()));
  std::unique_ptr<Daemon> daemon(new Daemon(world, std::move(host), std::move(*keeper)));
  daemon->conductor_.recover();
  daemon->report_nodes();
  return daemon;
}

Daemon::Daemon(World& world, std::unique_ptr<Host> host, live::Keeper keeper)
    : world_(world),
      host_(std::move(host)),
      keeper_(std::move(keeper)),
      clock_(world, keeper_),
      alarms_(world, [this](live::Alarm alarm) { on_alarm(alarm); }),
      syncs_(world, keeper_, [this](const Error& error) { conductor_.on_sync_failed(error); }),
      executor_(
          world,
          {.started = [this](Key key) { conductor_.on_started(key.job, key.attempt); },
           .failed =
               [this](Key key) { conductor_.on_failed(key.job, key.attempt, "its shim died"); },
           .ended = [this](Key key, Exit exit) { on_ended(key, exit); },
           .lost = [this](Key key) { conductor_.on_lost(key.job, key.attempt, "lost"); },
           .suspended = [this](Key key) { conductor_.on_suspended(key.job, key.attempt); },
           .suspend_failed =
               [this](Key key) {
                 conductor_.on_suspend_failed(key.job, key.attempt, "not suspended", seconds(30));
               }}),
      eyes_(world, executor_, clock_,
            [this](live::Look look) { conductor_.on_look(std::move(look)); }),
      solver_(world, [this](berth::Answer answer) { conductor_.on_answer(std::move(answer)); }),
      conductor_(keeper_,
                 {.problems = std::vector<std::string>(world.plan.cluster.gpus().size()),
                  .probe = world.plan.probe,
                  .fast = world.plan.probe / 16},
                 {.executor = executor_,
                  .eyes = &eyes_,
                  .clock = clock_,
                  .alarms = alarms_,
                  .syncs = syncs_,
                  .audience = *this,
                  .solver = &solver_}) {}

// ---- What happens ----------------------------------------------------------------------------

void Daemon::ask(Asked asked) {
  conductor_.ask({.submission = std::move(asked.submission),
                  .inputs = std::move(asked.inputs),
                  .answer = [answer = asked.answer](JobId job) -> live::Send {
                    return [answer, job] { answer(Answer::Done, job); };
                  },
                  .fail =
                      [this, answer = asked.answer](live::Setback setback, const Error&) {
                        if (world_.fate.is_dead()) return;
                        world_.report.tell(words_of(setback));
                        answer(Answer::Refused, JobId(0));
                      }});
}

void Daemon::on_ended(Key key, Exit exit) {
  conductor_.on_ended(key.job, key.attempt,
                      {.outcome = exit.outcome, .code = exit.code, .at = clock_.now(), .note = ""});
}

void Daemon::on_alarm(live::Alarm alarm) {
  conductor_.on_alarm(alarm);
  if (alarm == live::Alarm::Probe) report_nodes();
}

void Daemon::report_nodes() {
  if (world_.defect == Defect::HidesBadGpus) return;
  for (std::uint32_t n = 0; n < world_.plan.cluster.nodes().size(); ++n) {
    const bool is_up = world_.machines.is_up(NodeId(n));
    const auto [reported, is_new] = reported_.try_emplace(NodeId(n), is_up);
    if (is_new || reported->second != is_up) conductor_.on_node(NodeId(n), is_up);
    reported->second = is_up;
  }
}

/// Again, in a later step or in one of a later daemon.
void Daemon::report_old_news() {
  if (!world_.has(&Troubles::old_news) || world_.old_news.empty() || !world_.rng.one_in(4)) return;
  const std::int64_t at = world_.rng.between(0, std::ssize(world_.old_news) - 1);
  world_.agenda.after(world_.delay(), life_,
                      [this, news = world_.old_news[static_cast<std::size_t>(at)]] {
                        ++world_.seen["old news"];
                        conductor_.tell({news});
                      });
}

std::set<GpuId> Daemon::bad_gpus() const {
  std::set<GpuId> bad;
  for (std::uint32_t g = 0; g < world_.plan.cluster.gpus().size(); ++g) {
    const std::string& problem = conductor_.watcher().problem(GpuId(g));
    if (problem.empty()) continue;
    bad.insert(GpuId(g));
    if (problem == "the driver does not answer") ++world_.seen["silent GPU"];
  }
  return bad;
}

void Daemon::on_step(const live::StepTaken& step) {
  for (const Input& input : step.inputs) {
    if (is_any<Started, StartFailed, AttemptEnded, Released>(input)) {
      world_.old_news.push_back(input);
    }
  }
  for (const Effect& effect : step.effects.list) {
    world_.report.tell(words_of(effect));
    ++world_.seen[name_of(effect)];
    const auto* const stop = std::get_if<Stop>(&effect);
    if (stop != nullptr && stop->why == StopFor::GpuFailure) ++world_.seen["left a lost GPU"];
  }
  world_.checker.stepped({.keeper = keeper_,
                          .now = step.now,
                          .inputs = step.inputs,
                          .effects = step.effects,
                          .looked = eyes_.began(),
                          .bad = bad_gpus()});
  report_old_news();
}

void Daemon::stop() {
  syncs_.run();
  if (has_failed()) return;
  if (!keeper_.snapshot_at_end() && !world_.fate.is_dead()) world_.report.tell("no snapshot");
}

}  // namespace berth::dst
