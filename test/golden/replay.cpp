// Drives the engine through a scenario: the shell answers at once and every action is free, as in
// the simulator, so that the log shows decisions and nothing else.
#include <algorithm>
#include <map>
#include <queue>

#include "core/text/text.hpp"
#include "core/text/words.hpp"
#include "engine/engine.hpp"
#include "golden/scenario.hpp"
#include "policy/registry.hpp"
#include "solve/solve.hpp"

namespace berth::golden {

namespace {

constexpr std::size_t kMostSteps = 100'000;

struct Truth {
  Duration left{0};
  Instant since;
  Attempt attempt;
  bool runs = false;
  Rate rate;
  bool continues = false;  ///< Its latest start went on where it was suspended.
  std::uint32_t plan = 0;  ///< Of its planned end; older plans are void.
};

struct PlannedEnd {
  Instant at;
  JobId job;
  std::uint32_t plan;
  auto operator<=>(const PlannedEnd&) const = default;
};

const char* words(Because because) {
  switch (because) {
    case Because::ItsTurn:
    case Because::Outranked:
    case Because::Moved:
    case Because::Waits:
    case Because::Impossible:
      return "";
    case Because::Backfilled:
      return " (backfilled)";
  }
  return "";
}

class Replay {
 public:
  Replay(const Scenario& scenario, std::unique_ptr<Policy> policy)
      : scenario_(scenario),
        engine_(scenario.cluster, {.settings = scenario.settings}, std::move(policy)),
        truths_(scenario.jobs.size()) {
    for (std::size_t i = 0; i < truths_.size(); ++i) truths_[i].left = scenario.jobs[i].run;
  }

  std::string run() {
    for (std::size_t steps = 0;;) {
      const Instant next = next_event();
      if (next == kNever) break;
      if (next > scenario_.until) return log_;
      now_ = next;
      inputs_.clear();
      if (steps == 0 && scenario_.speeds != Speeds()) inputs_.push_back(Profiled{scenario_.speeds});
      collect_ends();
      collect_happenings();
      collect_arrivals();
      if (inputs_.empty()) inputs_.push_back(Ticked{});
      for (; !inputs_.empty(); ++steps) step();
      if (steps > kMostSteps) return log_ + "does not settle\n";
    }
    for (const GoldenJob& job : scenario_.jobs) {
      const JobId id(static_cast<JobId::rep>(&job - scenario_.jobs.data() + 1));
      if (engine_.view().knows(id)) log_ += "never ends: " + job.name + "\n";
    }
    if (engine_.dropped() > 0) {
      log_ += "invalid decisions: " + std::to_string(engine_.dropped()) + "\n";
    }
    return log_;
  }

 private:
  const std::string& name(JobId id) const { return job(id).name; }
  const GoldenJob& job(JobId id) const {
    return scenario_.jobs[static_cast<std::size_t>(id.value() - 1)];
  }
  Truth& truth(JobId id) { return truths_[static_cast<std::size_t>(id.value() - 1)]; }
  const Truth& truth(JobId id) const { return truths_[static_cast<std::size_t>(id.value() - 1)]; }

  Instant next_event() {
    while (!ends_.empty() && truth(ends_.top().job).plan != ends_.top().plan) ends_.pop();
    Instant next = ends_.empty() ? kNever : ends_.top().at;
    if (arrived_ < scenario_.jobs.size()) next = std::min(next, scenario_.jobs[arrived_].submit);
    if (happened_ < scenario_.happenings.size()) {
      next = std::min(next, scenario_.happenings[happened_].at);
    }
    return std::min(next, wake_at_);
  }

  void collect_ends() {
    for (; !ends_.empty() && ends_.top().at == now_; ends_.pop()) {
      const auto [at, id, plan] = ends_.top();
      if (truth(id).plan != plan) continue;
      pause(truth(id));
      inputs_.push_back(Exited{.job = id, .attempt = truth(id).attempt});
      inputs_.push_back(Released{id, truth(id).attempt});
    }
  }
  void collect_happenings() {
    const auto& all = scenario_.happenings;
    for (; happened_ < all.size() && all[happened_].at == now_; ++happened_) {
      inputs_.push_back(all[happened_].input);
    }
  }
  void collect_arrivals() {
    for (; arrived_ < scenario_.jobs.size() && scenario_.jobs[arrived_].submit == now_;) {
      const GoldenJob& job = scenario_.jobs[arrived_++];
      inputs_.push_back(Submitted{.job = JobId(arrived_), .spec = job.spec});
      inputs_.push_back(Identified{JobId(arrived_), job.program});
    }
  }

  void step() {
    const Effects& effects = engine_.step(now_, inputs_);
    inputs_.clear();
    wake_at_ = effects.wake_at.value_or(kNever);
    for (const Effect& effect : effects.list) {
      std::visit([this](const auto& what) { perform(what); }, effect);
    }
    for (const Decision& decision : effects.decisions) {
      std::visit([this](const auto& what) { note(what); }, decision);
    }
    change_rates();
    if (const auto broken = engine_.check()) line("broken: " + *broken);
  }

  // What the shell does.
  void perform(const Launch& launch) {
    truth(launch.job).continues = false;
    begin(launch.job, launch.attempt);
  }
  void perform(const Continue& resume) {
    truth(resume.job).continues = true;
    begin(resume.job, resume.attempt);
  }
  void perform(const Stop& stop) {
    Truth& job = truth(stop.job);
    if (job.runs) pause(job);
    const bool saves = saves_itself(*engine_.view().find(stop.job));
    if (stop.how == PreemptHow::Requeue && !saves) job.left = this->job(stop.job).run;
    inputs_.push_back(Released{stop.job, stop.attempt});
  }
  void perform(const Finished& finished) {
    kept_.erase(finished.job);
    const bool told = !finished.note.empty();
    const std::string note = told ? finished.note.substr(finished.note.find(':')) : "";
    line(std::string(finished.outcome == Outcome::Done ? "end" : word_for(finished.outcome)) + " " +
         name(finished.job) + note);
  }
  void perform(const Hurt&) {}
  void perform(const Spoiled&) {}
  void perform(const Consult& asked) { inputs_.push_back(Solved{solve::answer(asked.question)}); }

  void begin(JobId id, Attempt attempt) {
    Truth& job = truth(id);
    job.attempt = attempt;
    go_on(id);
    inputs_.push_back(Started{id, attempt});
  }
  void go_on(JobId id) {
    Truth& job = truth(id);
    job.since = now_;
    job.runs = true;
    job.rate = rate_of(id);
    const Wide left = (Wide{micros(job.left)} * Rate::kWhole + job.rate.ppm() - 1) / job.rate.ppm();
    ends_.push({now_ + Duration(static_cast<std::int64_t>(left)), id, ++job.plan});
  }
  /// Of jobs beside which others began or stopped.
  void change_rates() {
    if (!scenario_.speeds.has_pairs()) return;
    for (const JobId id : engine_.view().running()) {
      if (!truth(id).runs || truth(id).rate == rate_of(id)) continue;
      pause(truth(id));
      go_on(id);
    }
  }
  /// On the type of the GPUs that it has, with their number, beside those that run there.
  Rate rate_of(JobId id) const {
    const Job& job = *engine_.view().find(id);
    if (job.grant.shares.empty()) return kFullSpeed;
    const Cluster& cluster = engine_.view().cluster();
    const std::string& type = cluster.type_names()[cluster.gpu(job.grant.shares.front().gpu).type];
    const std::int64_t gpus = job.grant.gpus().raw();
    const std::int64_t asked = job.spec.request.gpu.count.raw();
    Rate rate = scenario_.speeds.on_type(job.spec.model, gpus, type).value_or(kFullSpeed) *
                scenario_.speeds.scaled(job.spec.model, 0, asked, gpus);
    for (const JobId other : engine_.view().tenants_of(job.grant.shares.front().gpu)) {
      if (other == id || !truth(other).runs) continue;
      const std::string neighbour = Speeds::neighbour_on(this->job(other).spec.model, type);
      rate = rate * scenario_.speeds.beside(job.spec.model, gpus, neighbour).value_or(kFullSpeed);
    }
    return rate;
  }
  void pause(Truth& job) {
    const Wide done = Wide{micros(now_ - job.since)} * job.rate.ppm() / Rate::kWhole;
    job.left -= Duration(static_cast<std::int64_t>(done));
    job.runs = false;
    ++job.plan;
  }

  // What the log says.
  void line(const std::string& text) { log_ += seconds_text(now_) + " " + text + "\n"; }
  void note(const Start& start) {
    kept_.erase(start.job);
    line((truth(start.job).continues ? "resume " : "start ") + name(start.job) +
         where(start.placement) + words(start.because));
  }
  void note(const Preempt& preempt) { line("preempt " + name(preempt.job)); }
  void note(const Migrate& migrate) {
    line("move " + name(migrate.job) + " to" + where(migrate.placement));
  }
  /// Only changes: a place that is newly kept, elsewhere or for another time, or given up. One
  /// that ends because its job starts needs no line.
  void note(const Reserve& reserve) {
    std::map<JobId, std::string> kept;
    for (const Hold& hold : reserve.holds) {
      const std::string from =
          hold.from == kNever ? " at no known time" : " from " + seconds_text(hold.from);
      const bool is_sure = hold.promised != kNever;
      kept[hold.job] = where(hold.placement) + from + (is_sure ? ", promised" : "");
    }
    for (const auto& [id, text] : kept_) {
      if (!kept.contains(id)) line("reserve nothing for " + name(id));
    }
    for (const auto& [id, text] : kept) {
      if (!kept_.contains(id) || kept_[id] != text) line("reserve for " + name(id) + text);
    }
    kept_ = std::move(kept);
  }
  void note(const Reject&) {}  // its end says it
  void note(const Classify& classify) {
    line("classify " + name(classify.job) + " " + std::string(word_for(classify.duration_class)));
  }

  /// ` n0:0,1 n1:0-3`; the node alone for a job without GPUs.
  std::string where(const Placement& placement) const {
    if (placement.gpus.empty()) return " " + scenario_.cluster.node(placement.host).name;
    std::string text;
    std::optional<NodeId> last;
    for (std::size_t i = 0; i < placement.gpus.size();) {
      const NodeId id = scenario_.cluster.node_of(placement.gpus[i]);
      const NodeSpec& node = scenario_.cluster.node(id);
      const std::size_t run = run_length(std::span(placement.gpus).subspan(i));
      const std::uint32_t first = placement.gpus[i].value() - node.first_gpu.value();
      text += last == id ? "," : " " + node.name + ":";
      text += std::to_string(first);
      if (run > 2) text += "-" + std::to_string(first + run - 1);
      i += run > 2 ? run : 1;
      last = id;
    }
    return text;
  }
  /// How many of these, from the first on, follow one another on its node.
  std::size_t run_length(std::span<const GpuId> gpus) const {
    const GpuId end = scenario_.cluster.node(scenario_.cluster.node_of(gpus[0])).end_gpu();
    std::size_t run = 1;
    while (run < gpus.size() && gpus[run] < end && gpus[run].value() == gpus[0].value() + run)
      ++run;
    return run;
  }

  const Scenario& scenario_;
  Engine engine_;
  std::vector<Truth> truths_;
  std::string log_;
  std::map<JobId, std::string> kept_;  ///< Places kept, as last logged.
  Instant now_ = kStart;
  Instant wake_at_ = kNever;
  std::size_t arrived_ = 0;
  std::size_t happened_ = 0;
  std::vector<Input> inputs_;
  std::priority_queue<PlannedEnd, std::vector<PlannedEnd>, std::greater<>> ends_;
};

}  // namespace

Expected<std::string> run_scenario(const Scenario& scenario) {
  auto policy = make_policy(scenario.policy, scenario.place, {.service = scenario.service});
  if (!policy) return std::unexpected(policy.error());
  return Replay(scenario, std::move(*policy)).run();
}

}  // namespace berth::golden
