#include "sim/simulator.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/engine.hpp"
#include "engine/forecast.hpp"
#include "sim/arrivals.hpp"
#include "sim/estimates.hpp"
#include "sim/headway.hpp"
#include "sim/probe.hpp"
#include "sim/running.hpp"
#include "solve/solve.hpp"

namespace berth::sim {

namespace {

constexpr std::size_t kProgressEvery = 1000;
constexpr Duration kNoRoom = minutes(10);   ///< As live, before a job is suspended again.
constexpr std::int32_t kMostFaults = 1000;  ///< Of one job, after which it is said to never end.

/// What is kept of a job between its attempts.
struct Known {
  JobId id;  ///< The latest: a job that a fault ended is submitted again.
  Attempt attempt;
  std::size_t stretch = 0;  ///< Its latest one, where they are kept.
  bool holds = false;       ///< GPUs, or its place on a node.
};

/// When a stopped job's GPUs are free.
struct Release {
  Instant at;
  JobId job;
  Attempt attempt;
  auto operator<=>(const Release&) const = default;
};

/// What happens by chance: machines that fail, and foreign processes that come and go. Such events
/// never end.
class Chances {
 public:
  /// From `from` on. Requires: the cluster outlives it.
  Chances(const Cluster& cluster, const Options& options, Instant from)
      : faults_(cluster, options.faults, options.seed, from),
        foreign_(cluster, options.foreign, options.seed, from) {}

  /// The next event, where others come next at `next`. One of chance may let a job start when
  /// nothing else would; if all is healthy, or that has not helped for long, nothing waits for it.
  Instant with_next(Instant next) {
    const bool is_well = faults_.all_up() && foreign_.all_gone();
    if (next == kNever && (is_well || ++alone_ > kMost)) return kNever;
    if (next != kNever) alone_ = 0;
    return std::min({next, faults_.next(), foreign_.next()});
  }

  auto take_fault(Instant now) { return faults_.take(now); }
  auto take_foreign(Instant now) { return foreign_.take(now); }

 private:
  static constexpr std::size_t kMost = 1'000'000;

  Faults faults_;
  Foreign foreign_;
  std::size_t alone_ = 0;  ///< Events by chance in a row, with nothing else to come.
};

// ---- Runs that never end -----------------------------------------------------------------------

/// Jobs are left, and nothing happens any more.
Error never_start(const trace::Trace& trace, const Result& result) {
  std::size_t left = 0;
  std::size_t first = 0;
  for (const JobResult& job : result.jobs) {
    const bool is_over = job.end != kNever || job.timed_out || job.memory.failed;
    if (is_over || !job.refused.empty()) continue;
    if (left++ == 0) first = job.job;
  }
  return {ErrorCode::Conflict,
          std::to_string(left) + " jobs never start; the first is job " + trace.jobs[first].name};
}

/// Faults have ended this job too often.
Error never_ends(const trace::Trace& trace, const JobResult& job) {
  return {ErrorCode::Conflict, "job " + trace.jobs[job.job].name + " was lost to faults " +
                                   std::to_string(job.faults) +
                                   " times and may never end; save its work with "
                                   "--checkpoint-every"};
}

/// Jobs are preempted again and again.
Error gets_nowhere(const trace::Trace& trace, const Headway& headway, const Options& options) {
  std::string names;
  for (const std::size_t job : headway.latest()) {
    names += (names.empty() ? "" : ", ") + trace.jobs[job].name;
  }
  const bool is_kept = options.costs.can_suspend;
  const bool is_saved = options.costs.checkpoint != kForever;
  const char* const why =
      is_kept    ? "each start costs it as much time as it gets (--start-latency, --restart-cost, "
                   "--suspend-rate)"
      : is_saved ? "it gets no further than its last checkpoint (--checkpoint-every)"
                 : "it begins again from nothing each time (--checkpoint-every never)";
  return {ErrorCode::Conflict,
          "the run never ends: jobs were preempted " + std::to_string(headway.stops_in_vain()) +
              " times in a row without progress, the latest were jobs " + names + ": " + why};
}

// ---- The run ---------------------------------------------------------------------------------

class Replay {
 public:
  Replay(const trace::Trace& trace, const Cluster& cluster, std::unique_ptr<Policy> policy,
         const Options& options)
      : trace_(trace),
        options_(options),
        engine_(cluster,
                {.settings = settings_of(options, cluster),
                 .bounds = options.costs.checkpoint == kForever ? options.bounds : kUnbounded,
                 .seed = options.seed},
                std::move(policy)),
        running_(trace, cluster, options),
        known_(trace.jobs.size()),
        headway_(trace.jobs.size()),
        memory_(trace, cluster, options.memory, options.seed),
        suspension_(trace, options.suspend, options.seed),
        probe_(cluster, options.probe_every, first_submission(trace)),
        chances_(cluster, options, first_submission(trace)),
        arrivals_(trace, options),
        waits_(cluster),
        usage_(cluster.gpus().size(), first_submission(trace),
               options.arrivals.value_or(arrivals_of(trace, options.measured))) {
    if (options.predictions > 0) result_.predictions.emplace();
    if (options.told == Told::Learned) learner_.emplace(trace, options.programs);
    result_.jobs.resize(trace.jobs.size());
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
      result_.jobs[i].job = i;
      known_[i].id = JobId(i + 1);
    }
    if (!options.weights.empty()) inputs_.push_back(Weighed{options.weights});
    if (Speeds told = told_speeds(options.rates, options.told_speeds, options.seed);
        told != Speeds()) {
      inputs_.push_back(Profiled{std::move(told)});
    }
  }

  Expected<Result> run() {
    while (finished_ < trace_.jobs.size()) {
      const Instant told = next_event();
      const Instant next = std::min(told, next_inner_event());
      if (next == kNever) return std::unexpected(never_start(trace_, result_));
      if (hopeless_) return std::unexpected(never_ends(trace_, result_.jobs[*hopeless_]));
      if (headway_.is_lost()) return std::unexpected(gets_nowhere(trace_, headway_, options_));
      now_ = next;
      probe();
      collect_ends();
      collect_releases();
      collect_foreign();
      collect_ooms();
      collect_shrinks();
      collect_faults();
      collect_reports();
      collect_arrivals();
      if (told == now_ || has_news()) {
        do step();
        while (has_news());
      }
      running_.settle(now_);
      note_use();
      predict();
    }
    return whole_result();
  }

 private:
  // A job's id is its place in the trace plus one, so ties fall in file order; numbers do not come
  // back, so one that is submitted again gets the next above them all.
  JobId id_of(std::size_t index) const { return known_[index].id; }
  std::size_t index_of(JobId id) const {
    const auto place = static_cast<std::size_t>(id.value() - 1);
    return place < known_.size() ? place : again_[place - known_.size()];
  }

  static Instant first_submission(const trace::Trace& trace) {
    return trace.jobs.empty() ? kStart : trace.jobs.front().submit;
  }
  static Settings settings_of(const Options& options, const Cluster& cluster) {
    Settings settings = options.settings;
    settings.can_suspend = options.costs.can_suspend;
    settings.suspends_in_place = options.suspend.in_place;
    settings.suspend_room = options.suspend.room_on(cluster.nodes().size());
    settings.own_priority = true;
    return settings;
  }

  Instant next_event() {
    Instant next = running_.next_end();
    next = std::min(next, running_.next_report());
    next = std::min(next, memory_.next());
    if (!shrinks_.empty()) next = std::min(next, shrinks_.begin()->first);
    if (!releases_.empty()) next = std::min(next, releases_.begin()->at);
    return chances_.with_next(std::min({next, arrivals_.next(), wake_at_}));
  }
  /// Of what the engine may not be told.
  Instant next_inner_event() {
    return std::min({running_.next_mark(), running_.next_warm(), next_look_});
  }
  void collect_ends() {
    while (const auto job = running_.take_end(now_)) {
      note_end(*job);
      memory_.end(*job);
      result_.jobs[*job].end = now_;
      const Attempt attempt = known_[*job].attempt;
      inputs_.push_back(Exited{.job = id_of(*job), .attempt = attempt});
      inputs_.push_back(Released{id_of(*job), attempt});
    }
  }

  void collect_releases() {
    while (!releases_.empty() && releases_.begin()->at == now_) {
      const Release stopped = releases_.extract(releases_.begin()).value();
      note_end(index_of(stopped.job));
      memory_.end(index_of(stopped.job));
      inputs_.push_back(Released{stopped.job, stopped.attempt});
    }
  }

  void collect_ooms() {
    for (const Oom& oom : memory_.grow(now_)) lose(oom);
    while (const auto mark = running_.take_mark(now_)) {
      if (const auto oom = memory_.follow(mark->job, mark->done)) {
        lose(*oom);
      } else {
        running_.mark(mark->job, trace_.jobs[mark->job].use.next_step(mark->done));
      }
    }
  }
  void lose(const Oom& oom) {
    running_.pause(oom.job, now_);
    running_.fall_back(oom.job);
    note_end(oom.job);
    ++result_.jobs[oom.job].memory.ooms[static_cast<std::size_t>(oom.kind)];
    const JobId id = id_of(oom.job);
    const Attempt attempt = known_[oom.job].attempt;
    inputs_.push_back(Exited{.job = id, .attempt = attempt, .outcome = Outcome::Oom});
    inputs_.push_back(Released{id, attempt});
  }

  /// Attempts that have shown what they hold.
  void collect_shrinks() {
    while (!shrinks_.empty() && shrinks_.begin()->first <= now_) {
      const auto [job, attempt] = shrinks_.extract(shrinks_.begin()).value().second;
      if (known_[job].attempt != attempt || !running_.runs(job)) continue;
      for (const TenantPeak& peak : memory_.peaks_of(job)) {
        const Bytes charge = shrunk_charge(peak.bytes, *options_.shrink);
        memory_.recharge(job, peak.gpu, charge);
        inputs_.push_back(Shrunk{id_of(job), attempt, peak.gpu, charge});
      }
    }
  }

  /// For the engine.
  bool has_news() const { return !inputs_.empty() || (!probe_.is_on() && memory_.has_changed()); }

  /// A look at its time shows what was before anything else happens then.
  void probe() {
    if (now_ < next_look_) return;
    const std::set<GpuId> due = probe_.due();
    for (const GpuId gpu : due) look_at(gpu);
  }
  /// As live, no job starts on a GPU that was not looked at since a tenant came or went.
  void look_afresh() {
    const bool arrives = std::ranges::any_of(
        inputs_, [](const Input& input) { return std::holds_alternative<Submitted>(input); });
    const ClusterView& view = engine_.view();
    if (!arrives && view.job_count() == view.running().size()) return;
    const std::set<GpuId> stale = probe_.stale();
    for (const GpuId gpu : stale) look_at(gpu);
  }
  void look_at(GpuId gpu) {
    if (auto news = probe_.look(with_ids(memory_.measured(gpu)), now_)) {
      inputs_.push_back(std::move(*news));
    }
  }

  /// What the GPUs hold and do from this instant on.
  void note_use() {
    for (const auto& [gpu, more] : running_.take_load_changes()) {
      usage_.add_load(gpu, more, now_);
      probe_.add_load(gpu, more, now_);
    }
    if (options_.memory.is_on) usage_.hold(memory_.held(), now_);
    if (!probe_.is_on()) return;
    for (const GpuId gpu : memory_.take_changed()) probe_.touch(gpu, now_);
    next_look_ = probe_.next(now_);
  }

  void collect_foreign() {
    while (const auto change = chances_.take_foreign(now_)) {
      if (change->wants > Bytes(0)) {
        memory_.take_foreign(change->gpu, change->wants);
      } else {
        memory_.free_foreign(change->gpu);
      }
    }
  }

  void collect_faults() {
    while (const auto change = chances_.take_fault(now_)) {
      std::visit(
          [this](const auto& health) {
            inputs_.push_back(health);
            if (!health.healthy) lose_jobs_on(health);
          },
          *change);
    }
  }

  /// Jobs that run there die; a job that is stopping ends as planned.
  void lose_jobs_on(const auto& failed) {
    for (const JobId id : engine_.view().running()) {
      const std::size_t job = index_of(id);
      if (!running_.runs(job) || !is_on(engine_.view().find(id)->grant, failed)) continue;
      running_.pause(job, now_);
      running_.fall_back(job);
      memory_.end(job);
      note_end(job);
      if (++result_.jobs[job].faults > kMostFaults) hopeless_ = job;
      const Attempt attempt = known_[job].attempt;
      inputs_.push_back(Exited{.job = id, .attempt = attempt, .outcome = Outcome::Lost});
      inputs_.push_back(Released{id, attempt});
    }
  }
  bool is_on(const Grant& grant, const NodeHealth& failed) const {
    if (grant.host == failed.node) return true;
    return std::ranges::any_of(grant.shares, [&](const Share& share) {
      return engine_.view().cluster().node_of(share.gpu) == failed.node;
    });
  }
  static bool is_on(const Grant& grant, const GpuHealth& failed) {
    return std::ranges::find(grant.shares, failed.gpu, &Share::gpu) != grant.shares.end();
  }

  void collect_reports() {
    while (const auto report = running_.take_report(now_)) {
      inputs_.push_back(Reported{id_of(report->job), "total", report->total});
      inputs_.push_back(Reported{id_of(report->job), "done", report->done});
    }
  }

  void submit_again(std::size_t job) {
    again_.push_back(job);
    known_[job].id = JobId(known_.size() + again_.size());
    submit(job);
  }

  void collect_arrivals() {
    while (const auto job = arrivals_.take(now_)) {
      waits_.add(WaitReason::Dependency, now_ - trace_.jobs[*job].submit);
      submit(*job);
    }
  }

  /// Asks when those that were just submitted will start.
  void predict() {
    for (const std::size_t job : to_predict_) {
      Predictions& all = *result_.predictions;
      ++all.asked;
      if (result_.jobs[job].start != kNever || !result_.jobs[job].refused.empty()) {
        ++all.at_once;
      } else {
        all.waited.push_back(
            prediction_of(engine_, id_of(job), options_.again,
                          {.at_least = options_.costs.stop, .rate = options_.suspend.rate.out}));
        all.waited.back().job = job;
      }
    }
    to_predict_.clear();
  }

  void submit(std::size_t i) {
    const bool first = known_[i].id == JobId(i + 1);
    if (first) headway_.note_arrival();
    if (first && is_asked(i, known_.size(), options_.predictions)) to_predict_.push_back(i);
    const trace::TraceJob& job = trace_.jobs[i];
    Submitted submitted{.job = id_of(i), .spec = job.spec};
    if (options_.told == Told::Exact) submitted.spec.estimate = job.duration;
    if (learner_) learner_->estimate(i, submitted.spec);
    result_.jobs[i].told = submitted.spec.estimate;
    submitted.spec.model = job.model;
    submitted.spec.batch = job.batch;
    GpuRequest& gpu = submitted.spec.request.gpu;
    if (gpu.count > GpuCount(0) && gpu.sharing == Sharing::Shared) {
      gpu.sharing = usual_sharing(job.spec.duration_class, false);
    }
    if (options_.costs.can_suspend && !suspension_.can_be(i)) {
      submitted.spec.suspending = Suspending::No;
    }
    if (options_.memory.is_on) {
      submitted.spec.retries = std::max(job.spec.retries, options_.memory.retries);
    }
    inputs_.push_back(std::move(submitted));
    const Fingerprint what = fingerprint_of(job, options_.programs);
    if (what != Fingerprint(0)) inputs_.push_back(Identified{id_of(i), what});
  }

  /// With the jobs' numbers of today.
  Measured with_ids(Measured measured) const {
    for (TenantUse& tenant : measured.tenants) tenant.job = known_[tenant.job.value() - 1].id;
    return measured;
  }
  void note_memory() {
    for (Measured& measured : memory_.measured()) {
      inputs_.push_back(with_ids(std::move(measured)));
    }
  }
  /// Reports of starts change nothing a policy sees, so they ride along with the next step.
  void step() {
    if (probe_.is_on()) look_afresh();
    if (!probe_.is_on() && memory_.has_changed()) note_memory();
    if (options_.explain_waits) note_inputs();
    const Effects& effects = engine_.step(now_, inputs_);
    ++result_.steps;
    inputs_.clear();
    wake_at_ = effects.wake_at.value_or(kNever);
    for (const Effect& effect : effects.list) {
      std::visit([this](const auto& what) { perform(what); }, effect);
    }
    if (options_.explain_waits) waits_.settle(engine_);
    if (!learner_) return;
    const auto index = [this](JobId id) { return index_of(id); };
    for (const Estimated& late : learner_->late(engine_.view(), index)) inputs_.push_back(late);
  }

  void perform(const Launch& launch) { begin(launch.job, launch.attempt, launch.grant); }
  void perform(const Continue& resume) { begin(resume.job, resume.attempt, resume.grant); }
  void perform(const Stop& stop) {
    const std::size_t job = index_of(stop.job);
    Duration linger{0};
    if (running_.runs(job)) {
      const auto copy = suspend(stop, job);
      if (!copy) return;
      running_.pause(job, now_);
      linger = running_.linger(job, *copy);
    } else {
      suspension_.resume(job);  // to end
    }
    if (stop.why == StopFor::Preemption) ++result_.jobs[job].preemptions;
    if (stop.why == StopFor::Overrun) ++result_.jobs[job].memory.overruns;
    if (stop.how != PreemptHow::Kill) headway_.note_stop(job, running_.done(job));
    memory_.freeze(job);
    const bool is_lost =
        stop.why == StopFor::Overrun ||
        (stop.how == PreemptHow::Requeue && !saves_itself(*engine_.view().find(stop.job)));
    if (is_lost) running_.fall_back(job);
    if (linger > Duration(0)) {
      releases_.insert({later(now_, linger), stop.job, stop.attempt});
      return;
    }
    note_end(job);
    memory_.end(job);
    inputs_.push_back(Released{stop.job, stop.attempt});
  }
  /// Returns: how long its memory is copied; nothing for a job that runs on.
  std::optional<Duration> suspend(const Stop& stop, std::size_t job) {
    if (stop.how != PreemptHow::Suspend || options_.suspend.is_usual()) return Duration(0);
    const auto copy = suspension_.suspend(job, memory_by_node(stop.job));
    if (!copy) inputs_.push_back(SuspendFailed{stop.job, stop.attempt, later(now_, kNoRoom)});
    return copy;
  }
  /// What a job has on its GPUs, or was granted where its use is not known.
  std::vector<Suspension::OnNode> memory_by_node(JobId id) const {
    std::vector<Suspension::OnNode> nodes;
    const ClusterView& view = engine_.view();
    for (const Share& share : view.find(id)->grant.shares) {
      const Bytes used = memory_.used(index_of(id), share.gpu);
      const NodeId node = view.cluster().node_of(share.gpu);
      if (nodes.empty() || nodes.back().node != node) nodes.push_back({.node = node});
      nodes.back().bytes += used > Bytes(0) ? used : share.granted;
    }
    return nodes;
  }
  void perform(const Finished& finished) {
    if (finished.outcome == Outcome::Lost) return submit_again(index_of(finished.job));
    ++finished_;
    headway_.note_end();
    arrivals_.on_over(index_of(finished.job), now_);
    if (options_.explain_waits) waits_.touch(finished.job);
    if (options_.progress && finished_ % kProgressEvery == 0) options_.progress(finished_);
    JobResult& result = result_.jobs[index_of(finished.job)];
    result.over = now_;
    if (learner_ && result.start != kNever)
      learner_->learn(result.job, running_.spent(result.job).ran, finished.outcome);
    if (finished.outcome == Outcome::Rejected) result.refused = finished.note;
    if (finished.outcome == Outcome::Timeout) result.timed_out = true;
    if (finished.outcome == Outcome::Oom) result.memory.failed = true;
  }
  void perform(const Hurt&) {}
  void perform(const Spoiled&) {}
  void perform(const Consult& asked) { inputs_.push_back(Solved{solve::answer(asked.question)}); }

  void begin(JobId id, Attempt attempt, const Grant& grant) {
    const std::size_t job = index_of(id);
    JobResult& result = result_.jobs[job];
    if (result.start == kNever) result.start = now_;
    result.host = grant.host;
    result.gpus.clear();
    for (const Share& share : grant.shares) result.gpus.push_back(share.gpu);
    known_[job].attempt = attempt;
    note_begin(job);
    running_.begin(job, grant, now_, suspension_.resume(job));
    memory_.begin(job, grant, now_);
    if (memory_.has_curve(job)) running_.mark(job, running_.done(job));
    inputs_.push_back(Started{id, attempt});
    if (options_.shrink && options_.memory.is_on) {
      shrinks_.insert({later(now_, options_.shrink->warm_up), {job, attempt}});
    }
  }

  /// What the engine is about to be told.
  void note_inputs() {
    for (const Input& input : inputs_) {
      if (const auto* submitted = std::get_if<Submitted>(&input)) waits_.touch(submitted->job);
      if (const auto* measured = std::get_if<Measured>(&input)) waits_.touch(measured->gpu);
      if (const auto* health = std::get_if<GpuHealth>(&input)) waits_.touch(health->gpu);
      if (const auto* health = std::get_if<NodeHealth>(&input)) {
        const NodeSpec& node = engine_.view().cluster().node(health->node);
        for (const GpuId gpu : node.gpu_ids()) {
          waits_.touch(gpu);
        }
      }
      const auto* released = std::get_if<Released>(&input);
      if (released == nullptr) continue;
      waits_.touch(released->job);
      for (const GpuId gpu : result_.jobs[index_of(released->job)].gpus) waits_.touch(gpu);
    }
  }

  void note_begin(std::size_t job) {
    const std::vector<GpuId>& gpus = result_.jobs[job].gpus;
    probe_.note_tenant(gpus);
    known_[job].holds = true;
    usage_.begin(trace_.jobs[job].spec.request.gpu, gpus, now_);
    if (options_.explain_waits) {
      waits_.touch(id_of(job));
      for (const GpuId gpu : gpus) waits_.touch(gpu);
    }
    if (!options_.record) return;
    known_[job].stretch = result_.stretches.size();
    result_.stretches.push_back({.job = job, .from = now_, .gpus = gpus});
  }
  void note_end(std::size_t job) {
    if (!std::exchange(known_[job].holds, false)) return;
    const std::vector<GpuId>& gpus = result_.jobs[job].gpus;
    probe_.note_tenant(gpus);
    usage_.end(trace_.jobs[job].spec.request.gpu, gpus, now_);
    if (options_.record) result_.stretches[known_[job].stretch].to = now_;
  }

  Result whole_result() {
    result_.dropped = engine_.dropped();
    if (options_.explain_waits) result_.waits = waits_.times();
    if (!options_.prices.empty()) {
      result_.cost = cost_of(running_.busy(), engine_.view().cluster(), options_.prices);
    }
    if (!options_.power.empty()) {
      result_.energy = energy_of(running_.busy(), now_ - trace_.jobs.front().submit,
                                 engine_.view().cluster(), options_.power);
    }
    if (!options_.suspend.is_usual()) result_.suspended = suspension_.most();
    result_.is_modelled = options_.is_modelled();
    result_.is_perfect = options_.is_perfect();
    result_.lacks_memory = options_.memory.is_on;
    result_.knows_loads = running_.knows_loads();
    result_.has_faults = options_.faults.is_on();
    result_.measured = options_.measured;
    result_.arrivals = options_.arrivals.value_or(arrivals_of(trace_, options_.measured));
    result_.use = usage_.whole(now_);
    result_.arriving = usage_.arriving(now_);
    for (JobResult& job : result_.jobs) job.spent = running_.spent(job.job);
    return std::move(result_);
  }

  const trace::Trace& trace_;
  const Options& options_;
  Engine engine_;
  Running running_;
  std::vector<Known> known_;
  Headway headway_;
  Memory memory_;
  Suspension suspension_;
  Probe probe_;
  Chances chances_;
  Arrivals arrivals_;
  Waits waits_;
  Usage usage_;
  std::optional<Learner> learner_;
  std::vector<std::size_t> to_predict_;  ///< Submitted at this instant.
  std::vector<std::size_t> again_;       ///< Jobs submitted again, by id.
  /// Attempts that have shown by then what they hold.
  std::set<std::pair<Instant, std::pair<std::size_t, Attempt>>> shrinks_;
  Result result_;
  Instant now_ = kStart;
  Instant wake_at_ = kNever;
  Instant next_look_ = kNever;
  std::size_t finished_ = 0;
  std::optional<std::size_t> hopeless_;  ///< A job that faults have ended too often.
  std::vector<Input> inputs_;
  std::set<Release> releases_;
};

}  // namespace

Window arrivals_of(const trace::Trace& trace, const std::optional<Window>& measured) {
  if (trace.jobs.empty()) return {kStart, kStart};
  const Window all{trace.jobs.front().submit, trace.jobs.back().submit};
  if (!measured) return all;
  return {std::max(all.from, measured->from), std::min(all.to, measured->to)};
}

Expected<Result> simulate(const trace::Trace& trace, const Cluster& cluster,
                          std::unique_ptr<Policy> policy, const Options& options) {
  const bool has_curves =
      std::ranges::any_of(trace.jobs, [](const trace::TraceJob& job) { return !job.use.empty(); });
  const bool sees_memory = has_curves || options.probe_every != kForever;
  if (!sees_memory || options.memory.is_on) {
    return Replay(trace, cluster, std::move(policy), options).run();
  }
  Options modelled = options;
  modelled.memory.is_on = true;
  return Replay(trace, cluster, std::move(policy), modelled).run();
}

}  // namespace berth::sim
