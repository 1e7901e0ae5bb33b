#include "lab/simulate.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "core/words.hpp"
#include "engine/engine.hpp"
#include "gpu/probe.hpp"
#include "policy/registry.hpp"

namespace berth::lab {

namespace {

using namespace literals;

constexpr Duration kTick(1'000);
constexpr Duration kProbe(200'000);  ///< As stage.cpp configures berthd.
constexpr Duration kLongestStep = hours(1);
constexpr const char* kPlace = "least-shared";  ///< berthd's own, whatever the policy.

/// One attempt of a job, as an operating system would know it.
struct Process {
  const Task* task = nullptr;
  Attempt attempt;
  std::vector<GpuId> gpus;
  Instant began;
  Bytes held{0};  ///< Per GPU, context included.
  std::int64_t steps = 0;
  Duration kernel{0};  ///< Of the step under way: left to do on the GPU,
  Duration host{0};    ///< and then beside it.
};

/// What a GPU has done since it was last looked at.
struct Card {
  Bytes used{0};
  std::int64_t kernels = 0;  ///< Under way in this tick.
  std::int64_t busy_ticks = 0;
  std::optional<Instant> changed;
  std::optional<Measured> told;
};

Duration kernel_of(const Task& task) {
  return Duration(static_cast<std::int64_t>(static_cast<double>(micros(task.step)) * task.duty));
}

void begin_step(Process& process) {
  process.kernel = kernel_of(*process.task);
  process.host = process.task->step - process.kernel;
}

Cluster cluster_of(const Gpus& gpus) {
  Cluster cluster;
  cluster.add_switch();
  const std::int64_t steps = (gpus.context.raw() + kProbeStep.raw() - 1) / kProbeStep.raw();
  cluster.add_node({.name = "n",
                    .gpus = gpus.count,
                    .vram = gpus.capacity,
                    .context = kProbeStep * steps});  // as berthd charges it
  return cluster;
}

JobSpec spec_of(const Task& task) {
  JobSpec spec{.user = UserId(static_cast<std::uint32_t>(task.user + 1)),
               .duration_class = task.duration_class,
               .retries = task.retries};
  spec.request.gpu = {.count = task.gpus, .vram = task.asks};
  return spec;
}

class Simulation {
 public:
  Simulation(const Workload& workload, const Gpus& gpus, std::unique_ptr<Policy> policy,
             AdmissionMode mode)
      : workload_(workload),
        gpus_(gpus),
        engine_(cluster_of(gpus), {.settings = settings(mode)}, std::move(policy)),
        cards_(gpus.count),
        fates_(workload.tasks.size()) {}

  Expected<void> run() {
    while (finished_ < workload_.tasks.size()) {
      if (now_ - kStart > kLongestStep)
        return fail(ErrorCode::Conflict, "jobs are left after an hour");
      now_ += kTick;
      submit_due();
      run_processes();
      if ((now_ - kStart) % kProbe == Duration::zero()) probe();
      if (now_ >= wake_at_) inputs_.emplace_back(Ticked{});
      while (!inputs_.empty()) step();
    }
    return {};
  }

  const std::vector<Fate>& fates() const { return fates_; }
  Use use() const {
    if (looks_ == 0) return {};
    return {.memory = memory_ / looks_, .busy = busy_ / looks_};
  }

 private:
  static Settings settings(AdmissionMode mode) {
    Settings settings{.admission = {.mode = mode}};
    settings.can_suspend = false;
    return settings;
  }
  static std::size_t index_of(JobId id) { return static_cast<std::size_t>(id.value() - 1); }

  void submit_due() {
    for (; arrived_ < workload_.tasks.size(); ++arrived_) {
      const Task& task = workload_.tasks[arrived_];
      if (kStart + task.at > now_) return;
      fates_[arrived_].submitted = now_;
      inputs_.emplace_back(Submitted{.job = JobId(arrived_ + 1), .spec = spec_of(task)});
    }
  }

  void run_processes() {
    for (Card& card : cards_) card.kernels = 0;
    for (const auto& [id, process] : processes_) {
      if (process.kernel == Duration::zero()) continue;
      for (const GpuId gpu : process.gpus) ++cards_[gpu.value()].kernels;
    }
    for (Card& card : cards_) card.busy_ticks += card.kernels > 0 ? 1 : 0;
    std::vector<std::pair<JobId, Outcome>> ended;
    for (auto& [id, process] : processes_) {
      if (!grow(process)) {
        give_back(process);  // at once: the next one's allocation finds it free
        ended.emplace_back(id, Outcome::Oom);
      } else if (work(process)) {
        ended.emplace_back(id, Outcome::Done);
      }
    }
    for (const auto& [id, outcome] : ended) {
      const Attempt attempt = processes_.at(id).attempt;
      remove(id);
      inputs_.emplace_back(Exited{.job = id, .attempt = attempt, .outcome = outcome});
      inputs_.emplace_back(Released{id, attempt});
    }
  }

  /// Returns: whether there was room for what it wants now.
  bool grow(Process& process) {
    const Task& task = *process.task;
    const double age = static_cast<double>(micros(now_ - process.began));
    const double ramp = static_cast<double>(std::max(micros(task.ramp), std::int64_t{1}));
    const double share = std::min(1.0, age / ramp);
    const Bytes wanted =
        gpus_.context +
        Bytes(static_cast<std::int64_t>(static_cast<double>(task.needs.raw()) * share));
    const Bytes more = std::max(Bytes(0), wanted - process.held);
    for (const GpuId gpu : process.gpus) {
      if (cards_[gpu.value()].used + more > gpus_.capacity) return false;
    }
    for (const GpuId gpu : process.gpus) cards_[gpu.value()].used += more;
    process.held += more;
    return true;
  }

  /// One tick. Returns: whether its last step is done.
  bool work(Process& process) const {
    std::int64_t crowd = 1;
    for (const GpuId gpu : process.gpus) crowd = std::max(crowd, cards_[gpu.value()].kernels);
    Duration left = kTick;
    while (left > Duration::zero()) {
      const Duration on_gpu = std::min(left, process.kernel * crowd);
      process.kernel -= (on_gpu + Duration(crowd - 1)) / crowd;
      left -= on_gpu;
      const Duration beside = std::min(left, process.host);
      process.host -= beside;
      left -= beside;
      if (process.kernel > Duration::zero() || process.host > Duration::zero()) continue;
      if (--process.steps == 0) return true;
      begin_step(process);
    }
    return false;
  }

  void give_back(Process& process) {
    for (const GpuId gpu : process.gpus) {
      cards_[gpu.value()].used -= process.held;
      cards_[gpu.value()].changed = now_;
    }
    process.held = Bytes(0);
  }

  void remove(JobId id) {
    const auto found = processes_.find(id);
    if (found == processes_.end()) return;
    give_back(found->second);
    processes_.erase(found);
  }

  void probe() {
    for (std::uint32_t g = 0; g < gpus_.count; ++g) look_at(GpuId(g));
  }

  void look_at(GpuId gpu) {
    Card& card = cards_[gpu.value()];
    const double busy = static_cast<double>(card.busy_ticks) / static_cast<double>(kProbe / kTick);
    card.busy_ticks = 0;
    memory_ += static_cast<double>(card.used.raw()) / static_cast<double>(gpus_.capacity.raw());
    busy_ += busy;
    ++looks_;
    Sample sample{.total = gpus_.capacity,
                  .used = card.used,
                  .utilisation_percent = static_cast<std::uint32_t>(busy * 100),
                  .processes = std::vector<GpuProcess>{}};
    for (const auto& [id, process] : processes_) {
      if (std::ranges::find(process.gpus, gpu) == process.gpus.end()) continue;
      sample.processes->push_back({static_cast<pid_t>(id.value()), process.held});
    }
    const auto measured =
        measure({.gpu = gpu,
                 .sample = sample,
                 .began = now_,
                 .changed = card.changed,
                 .tenants = engine_.view().use().gpu(gpu).tenants,
                 .previous = card.told ? &*card.told : nullptr},
                [](pid_t pid) -> Owner { return OfJob{JobId(static_cast<std::uint64_t>(pid))}; });
    if (!measured) return;
    card.told = measured;
    inputs_.emplace_back(*measured);
  }

  void step() {
    const std::vector<Input> inputs = std::exchange(inputs_, {});
    const Effects& effects = engine_.step(now_, inputs);
    wake_at_ = effects.wake_at.value_or(kNever);
    for (const Effect& effect : effects.list) {
      std::visit([this](const auto& what) { perform(what); }, effect);
    }
  }

  void perform(const Launch& launch) {
    const std::size_t index = index_of(launch.job);
    Process process{.task = &workload_.tasks[index], .attempt = launch.attempt, .began = now_};
    for (const Share& share : launch.grant.shares) {
      process.gpus.push_back(share.gpu);
      cards_[share.gpu.value()].changed = now_;
    }
    process.steps = process.task->steps;
    begin_step(process);
    Fate& fate = fates_[index];
    if (fate.started == kNever) fate.started = now_;
    fate.attempts = static_cast<int>(launch.attempt.value());
    processes_.emplace(launch.job, std::move(process));
    inputs_.emplace_back(Started{launch.job, launch.attempt});
  }
  void perform(const Stop& stop) {
    remove(stop.job);
    inputs_.emplace_back(Released{stop.job, stop.attempt});
  }
  void perform(const Finished& finished) {
    Fate& fate = fates_[index_of(finished.job)];
    fate.state = user_word(finished.outcome);
    fate.ended = now_;
    ++finished_;
  }
  void perform(const Continue&) {}  // nothing is suspended: Settings::can_suspend
  void perform(const Hurt&) {}

  const Workload& workload_;
  Gpus gpus_;
  Engine engine_;
  std::vector<Card> cards_;
  std::map<JobId, Process> processes_;
  std::vector<Fate> fates_;
  std::vector<Input> inputs_;
  Instant now_ = kStart;
  Instant wake_at_ = kNever;
  std::size_t arrived_ = 0;
  std::size_t finished_ = 0;
  double memory_ = 0;
  double busy_ = 0;
  double looks_ = 0;
};

}  // namespace

Gpus two_cards() {
  const Bytes total = 24_GiB;
  return {.count = 2, .capacity = total - Bytes(total.raw() / 64), .context = 300_MiB};
}

Expected<Run> simulate(const Workload& workload, const Gpus& gpus, const Way& way) {
  auto policy = make_policy(way.policy, kPlace);
  if (!policy) return std::unexpected(policy.error());
  Simulation simulation(workload, gpus, std::move(*policy), way.admission);
  if (auto done = simulation.run(); !done) return std::unexpected(done.error());
  return Run{.name = way.name, .fates = simulation.fates(), .use = simulation.use()};
}

}  // namespace berth::lab
