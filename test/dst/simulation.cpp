#include "dst/simulation.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "dst/daemon.hpp"
#include "dst/users.hpp"
#include "dst/world.hpp"
#include "journal/verify.hpp"
#include "support/paths.hpp"

namespace berth::dst {

namespace {

constexpr int kMostTasks = 3'000'000;
constexpr Duration kDrain = seconds(60);  ///< For what is slow to go.

/// How long jobs may take to end once nothing goes wrong any more: a few times what one GPU would
/// take for all of them, for what was preempted or out of memory runs again, and some waits.
Duration patience_with(const Plan& plan) {
  Duration work = minutes(15);
  for (const Script& script : plan.scripts) work += 4 * script.work;
  return work;
}

class Simulation {
 public:
  Simulation(const Plan& plan, Defect defect)
      : world_(plan, defect),
        users_(world_, [this] { return daemon_.get(); }),
        rules_{.rules = plan.rules} {}

  Result run();

 private:
  // Daemons.
  void start();
  void start_later();
  void settle();
  void bury();
  void lose_power();
  void end_cleanly();
  void take_other_rules();
  void verify();

  // Trouble.
  void make_trouble();
  void make(bool Troubles::* kind);
  GpuId some_gpu();
  void break_a_gpu();
  void calm_down();
  void release_all();
  bool is_over();
  void finish();

  World world_;
  Users users_;
  Rules rules_;
  std::unique_ptr<Daemon> daemon_;
  bool power_goes_ = false;  ///< With the daemon, when it dies next.
  After after_ = After::Exit;
  std::optional<Instant> idle_since_;
};

// ---- Daemons --------------------------------------------------------------------------------

void Simulation::start() {
  if (daemon_) return;
  daemon_ = Daemon::open(world_, rules_, after_);
  if (daemon_) {
    after_ = After::Exit;
    return;
  }
  if (world_.fate.is_dead()) return bury();
  start_later();
}

void Simulation::start_later() {
  const Duration pause =
      Duration(world_.rng.between(10'000, world_.is_calm ? 100'000 : 20'000'000));
  world_.agenda.after(pause, [this] { start(); });
}

/// After every task: the daemon has its turn, and may be found dead.
void Simulation::settle() {
  if (!daemon_) return;
  if (!world_.fate.is_dead()) daemon_->turn();
  if (world_.fate.is_dead()) return bury();
  if (!daemon_->has_failed()) return;
  world_.report.tell("the daemon ends");
  after_ = After::Exit;
  daemon_.reset();
  if (world_.fate.is_dead()) return bury();
  users_.daemon_died();
  start_later();
}

void Simulation::bury() {
  daemon_.reset();
  world_.fate.revive();
  ++world_.seen[power_goes_ ? "power loss" : "kill"];
  // Of two deaths the worse counts: a daemon that died while it came back did
  // not bring it all.
  if (power_goes_) {
    lose_power();
  } else if (after_ != After::PowerLoss) {
    after_ = After::Kill;
  }
  if (world_.defect == Defect::ForgetsWrites) world_.disk.lose_power(world_.rng);
  power_goes_ = false;
  users_.daemon_died();
  verify();
  start_later();
}

void Simulation::lose_power() {
  world_.report.tell("the power goes");
  after_ = After::PowerLoss;
  world_.disk.lose_power(world_.rng);
  world_.machines.lose_power();
  world_.old_news.clear();  // of a past that may not have been
  world_.booted = world_.agenda.now();
  world_.clock_kept.reset();
}

void Simulation::end_cleanly() {
  if (!daemon_) return;
  world_.report.tell("the daemon is told to end");
  ++world_.seen["restart"];
  daemon_->stop();
  after_ = After::Exit;
  daemon_.reset();
  if (world_.fate.is_dead()) return bury();
  users_.daemon_died();
  start_later();
}

/// For the next daemon.
void Simulation::take_other_rules() {
  rules_ = {.rules = other_rules(rules_.rules, world_.rng), .number = rules_.number + 1};
  world_.report.tell("other rules: " + rules_.rules.policy + "/" + rules_.rules.place);
}

void Simulation::verify() {
  if (!world_.checker.promises_anything()) return;  // there may be no journal yet, or no more
  const auto verified = journal::verify(world_.disk.journal());
  if (!verified) world_.report.broken("the journal does not verify: " + verified.error().message);
}

// ---- Trouble --------------------------------------------------------------------------------

GpuId Simulation::some_gpu() {
  const std::int64_t gpus = world_.plan.cluster.gpu_count().raw();
  return GpuId(static_cast<std::uint32_t>(world_.rng.between(0, gpus - 1)));
}

void Simulation::break_a_gpu() {
  const GpuId gpu = some_gpu();
  const std::int64_t how = world_.rng.between(0, 4);
  ++world_.seen["broken GPU"];
  world_.report.tell("GPU " + std::to_string(gpu.value()) +
                     (how == 0   ? " has a fault"
                      : how == 1 ? " hangs"
                                 : " is lost"));
  if (how == 0 && daemon_) return daemon_->on_fault(gpu);
  if (how == 1) world_.machines.hang_gpu(gpu);
  if (how > 1) world_.machines.break_gpu(gpu);
  world_.agenda.after(Duration(world_.rng.between(10'000, 40'000'000)),
                      [this, gpu] { world_.machines.mend_gpu(gpu); });
}

void Simulation::make(bool Troubles::* kind) {
  Rng& rng = world_.rng;
  if (kind == &Troubles::kills || kind == &Troubles::power_losses) {
    power_goes_ = kind == &Troubles::power_losses;
    if (rng.one_in(4)) return daemon_ ? world_.fate.strike() : void();
    return world_.fate.strike_at(static_cast<int>(rng.between(1, 60)));
  }
  if (kind == &Troubles::restarts) {
    if (rng.one_in(2)) take_other_rules();
    return end_cleanly();
  }
  if (kind == &Troubles::full_disk) {
    world_.disk.fill();
    world_.report.tell("the disk is full");
    return world_.agenda.after(Duration(rng.between(1, 10'000'000)),
                               [this] { world_.disk.clear(); });
  }
  if (kind == &Troubles::failed_syncs) {
    world_.disk.fail_sync();
  } else if (kind == &Troubles::lost_nodes) {
    const std::int64_t nodes = std::ssize(world_.plan.cluster.nodes());
    const NodeId node(static_cast<std::uint32_t>(rng.between(0, nodes - 1)));
    ++world_.seen["lost node"];
    world_.machines.lose(node);
    world_.agenda.after(seconds(rng.between(1, 90)),
                        [this, node] { world_.machines.bring_back(node); });
  } else if (kind == &Troubles::broken_gpus) {
    break_a_gpu();
  } else if (kind == &Troubles::foreign_use) {
    ++world_.seen["foreign use"];
    const pid_t pid = world_.machines.add_stranger(some_gpu(), Bytes(rng.between(1, 24) << 30),
                                                   seconds(rng.between(1, 120)));
    if (rng.one_in(2)) return;
    world_.agenda.after(Duration(rng.between(0, 20'000'000)), [this, pid] { users_.adopt(pid); });
  } else if (kind == &Troubles::lost_shims) {
    world_.machines.kill_a_shim(rng);
  } else if (kind == &Troubles::clock_jumps) {
    world_.wall_ahead += seconds(rng.between(-100'000, 100'000));
  }
}

void Simulation::make_trouble() {
  if (world_.is_calm) return;
  constexpr std::array kKinds = {
      &Troubles::kills,       &Troubles::kills,       &Troubles::power_losses,
      &Troubles::restarts,    &Troubles::full_disk,   &Troubles::failed_syncs,
      &Troubles::lost_nodes,  &Troubles::broken_gpus, &Troubles::foreign_use,
      &Troubles::foreign_use, &Troubles::lost_shims,  &Troubles::clock_jumps};
  const auto at = static_cast<std::size_t>(world_.rng.between(0, std::ssize(kKinds) - 1));
  if (world_.has(kKinds[at])) make(kKinds[at]);
  world_.agenda.after(Duration(world_.rng.between(100'000, 12'000'000)),
                      [this] { make_trouble(); });
}

void Simulation::calm_down() {
  world_.report.tell("calm");
  world_.is_calm = true;
  world_.fate.spare();
  power_goes_ = false;
  world_.disk.spare_sync();
  world_.disk.clear();
  world_.machines.calm_down();
  release_all();
  end_cleanly();  // a GPU that had a fault is used again by the next daemon
}

void Simulation::release_all() {
  users_.release_all();
  world_.agenda.after(minutes(1), [this] { release_all(); });
}

// ---- A whole run ----------------------------------------------------------------------------

bool Simulation::is_over() {
  if (world_.report.finding()) return true;
  const bool idle = world_.is_calm && daemon_ && users_.are_content() &&
                    daemon_->engine().view().job_count() == 0;
  if (!idle) idle_since_.reset();
  if (idle && !idle_since_) idle_since_ = world_.agenda.now();
  return idle && world_.agenda.now() - *idle_since_ > kDrain;
}

void Simulation::finish() {
  if (world_.report.finding()) return;
  if (!is_over()) {
    std::string waiting;
    if (daemon_) {
      daemon_->engine().view().for_each_job([&](const Job& job) {
        waiting += " " + to_text(Key{job.id, job.attempt}) + " in state " +
                   std::to_string(static_cast<int>(job.state));
      });
    }
    return world_.report.broken("it does not come to an end in time:" + waiting);
  }
  world_.checker.ended(daemon_->keeper());
  for (const auto& [outcome, count] : world_.checker.outcomes()) {
    world_.seen["outcome " + std::to_string(static_cast<int>(outcome))] += count;
  }
  daemon_.reset();
  verify();
}

Result Simulation::run() {
  world_.agenda.after(Duration(0), [this] { start(); });
  world_.agenda.after(seconds(1), [this] { make_trouble(); });
  world_.agenda.after(world_.plan.calm - kStart, [this] { calm_down(); });
  const Instant latest = world_.plan.calm + patience_with(world_.plan);
  for (int tasks = 0; tasks < kMostTasks && !is_over(); ++tasks) {
    if (!world_.agenda.next() || world_.agenda.now() > latest) break;
    settle();
    ++world_.seen["task"];
  }
  finish();
  return {.plan = to_text(world_.plan),
          .finding = world_.report.finding(),
          .story = world_.report.story(),
          .seen = world_.seen};
}

/// Of the tree these tests were built from; "" where there is no repository.
std::string commit() {
  const std::string command =
      "git -C '" + test::source_dir().string() + "' describe --always --dirty --abbrev=12 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(command.c_str(), "r"), ::pclose);
  char line[128] = "";
  if (output && std::fgets(line, sizeof line, output.get()) == nullptr) return "";
  return std::string(line).substr(0, std::string(line).find('\n'));
}

}  // namespace

Result simulate(std::uint64_t seed, Defect defect) {
  return Simulation(plan_of(seed), defect).run();
}

std::string to_text(const Result& result) {
  return result.plan + "\ncommit " + commit() + "\n" + result.finding.value_or("all holds") +
         "\n\n" + result.story;
}

}  // namespace berth::dst
