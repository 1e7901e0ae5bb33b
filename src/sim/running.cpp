#include "sim/running.hpp"

#include <algorithm>

#include "core/base/wide.hpp"

namespace berth::sim {

namespace {

constexpr std::int64_t kReportUnit = 1'000'000;

bool is_elastic(const trace::TraceJob& job) { return job.spec.request.gpu.is_elastic(); }

bool states_duty(const trace::TraceJob& job) { return job.duty != trace::kUnstatedDuty; }

/// Whether anything says, or asks, for which part of the time GPUs are busy.
bool wants_loads(const trace::Trace& trace, const Options& options) {
  return options.rates.reads_duties() || options.probe_every != kForever ||
         std::ranges::any_of(trace.jobs, states_duty);
}

}  // namespace

Running::Running(const trace::Trace& trace, const Cluster& cluster, const Options& options)
    : trace_(trace),
      options_(options),
      watches_(options.is_modelled() || wants_loads(trace, options) ||
               std::ranges::any_of(trace.jobs, is_elastic)),
      cluster_(cluster),
      rates_(options.rates, trace, cluster),
      tenants_(cluster),
      truths_(trace.jobs.size()),
      busy_since_(cluster.gpus().size()),
      busy_(cluster.type_names().size()) {
  if (wants_loads(trace, options)) duties_ = duties_of(trace, options.rates);
  loads_.resize(duties_.size());
  for (std::size_t i = 0; i < truths_.size(); ++i) truths_[i].work = Work(trace.jobs[i].duration);
}

void Running::fall_back(std::size_t job) {
  Truth& truth = truths_[job];
  const Duration all = trace_.jobs[job].duration;
  const Duration done = all - truth.work.left();
  const Duration saved = kept(options_.costs, done);
  truth.spent.lost += done - saved;
  truth.work = Work(all - saved);
}

Duration Running::linger(std::size_t job, Duration copy) {
  const Duration time = options_.costs.stop + copy;
  truths_[job].spent.ran += time;
  truths_[job].spent.overhead += time;
  for (const GpuId gpu : truths_[job].gpus) {
    if (tenants_.on(gpu).empty()) busy_[cluster_.gpu(gpu).type] += time;
  }
  return time;
}

void Running::begin(std::size_t job, const Grant& grant, Instant now, Duration copy) {
  Truth& truth = truths_[job];
  truth.since = now;
  truth.runs = true;
  truth.reported = false;
  truth.overhead = overhead_of(job, truth.started ? Start::Again : Start::First) + copy;
  truth.started = true;
  if (!watches_) return plan_end(job);
  truth.gpus.clear();
  for (const Share& share : grant.shares) truth.gpus.push_back(share.gpu);
  for (const GpuId gpu : truth.gpus) {
    if (tenants_.on(gpu).empty()) busy_since_[gpu.value()] = now;
  }
  tenants_.add(job, truth.gpus);
  touch(truth);
  truth.pace = rates_.of(job, truth.gpus, tenants_);
  truth.warm = truth.overhead == Duration(0);
  plan_end(job);
  load_gpus(job);
}

Duration Running::overhead_of(std::size_t job, Start start) const {
  const bool by_model = options_.rates.speeds.has_costs();
  const auto facts = by_model ? options_.rates.speeds.facts(trace_.jobs[job].model) : ModelFacts{};
  return overhead(options_.costs, facts, start);
}

void Running::pause(std::size_t job, Instant now) {
  Truth& truth = truths_[job];
  catch_up(truth, now);
  truth.runs = false;
  ++truth.plan;
  if (!marks_.empty()) marks_[job] = kForever;
  if (!watches_) return;
  load_gpus(job);
  tenants_.remove(job, truth.gpus);
  for (const GpuId gpu : truth.gpus) {
    if (!tenants_.on(gpu).empty()) continue;
    busy_[cluster_.gpu(gpu).type] += now - busy_since_[gpu.value()];
  }
  touch(truth);
}

void Running::settle(Instant now) {
  warm_up(now);
  for (const std::size_t job : dirty_) {
    Truth& truth = truths_[job];
    truth.dirty = false;
    if (!truth.runs) continue;
    const Pace pace = rates_.of(job, truth.gpus, tenants_);
    if (pace == truth.pace) continue;
    catch_up(truth, now);
    truth.pace = pace;
    plan_end(job);
    load_gpus(job);
  }
  dirty_.clear();
}

/// Of those that still hold.
Instant Running::next(Plans& plans) const {
  while (!plans.empty() && truths_[plans.top().job].plan != plans.top().plan) plans.pop();
  return plans.empty() ? kNever : plans.top().at;
}

Instant Running::next_end() { return next(ends_); }

Instant Running::next_report() { return next(reports_); }

std::optional<Running::Report> Running::take_report(Instant now) {
  if (next_report() > now) return std::nullopt;
  const std::size_t job = reports_.top().job;
  reports_.pop();
  Truth& truth = truths_[job];
  catch_up(truth, now);
  truth.reported = true;
  plan_report(job);
  const Wide all = micros(trace_.jobs[job].duration);
  const Wide part = micros(options_.report_every);
  return Report{.job = job,
                .done = (micros(trace_.jobs[job].duration) - micros(truth.work.left())) /
                        micros(options_.report_every) * kReportUnit,
                .total = static_cast<std::int64_t>((all * kReportUnit + part - 1) / part)};
}

void Running::mark(std::size_t job, Duration done) {
  if (marks_.empty()) marks_.resize(truths_.size(), kForever);
  marks_[job] = done < trace_.jobs[job].duration ? done : kForever;  // its end says the rest
  if (marks_[job] != kForever) plan_mark(job);
}

std::optional<Running::Mark> Running::take_mark(Instant now) {
  if (next_mark() > now) return std::nullopt;
  const std::size_t job = marked_.top().job;
  marked_.pop();
  marks_[job] = kForever;
  catch_up(truths_[job], now);
  return Mark{job, done(job)};
}

std::optional<std::size_t> Running::take_end(Instant now) {
  if (next_end() > now) return std::nullopt;
  const std::size_t job = ends_.top().job;
  ends_.pop();
  pause(job, now);
  return job;
}

void Running::catch_up(Truth& truth, Instant now) {
  const Duration time = now - truth.since;
  const Duration idle = std::min(time, truth.overhead);
  truth.overhead -= idle;
  truth.work.advance(time - idle, truth.pace.rate);
  truth.spent.ran += time;
  truth.spent.overhead += idle;
  if (truth.pace.shares) truth.spent.shared += time;
  if (truth.pace.ruled) truth.spent.ruled += time;
  truth.since = now;
}

void Running::plan_end(std::size_t job) {
  Truth& truth = truths_[job];
  const Duration left = truth.overhead + truth.work.time_at(truth.pace.rate);
  ends_.push({later(truth.since, left), job, ++truth.plan});
  if (options_.report_every != kForever) plan_report(job);
  if (!marks_.empty() && marks_[job] != kForever) plan_mark(job);
  if (!duties_.empty() && !truth.warm)
    warm_.push({later(truth.since, truth.overhead), job, truth.plan});
}

void Running::plan_report(std::size_t job) {
  const Truth& truth = truths_[job];
  const Duration all = trace_.jobs[job].duration;
  Duration time = truth.overhead;
  if (truth.reported) {
    const Duration done = all - truth.work.left();
    const Duration target = (done / options_.report_every + 1) * options_.report_every;
    if (target >= all) return;  // its end says the rest
    time += truth.work.time_until(all - target, truth.pace.rate);
  }
  reports_.push({later(truth.since, time), job, truth.plan});
}

void Running::plan_mark(std::size_t job) {
  const Truth& truth = truths_[job];
  const Duration left = trace_.jobs[job].duration - marks_[job];
  Duration time = truth.overhead;
  if (left < truth.work.left()) time += truth.work.time_until(left, truth.pace.rate);
  marked_.push({later(truth.since, time), job, truth.plan});
}

/// What it does to its GPUs from now on.
void Running::load_gpus(std::size_t job) {
  if (duties_.empty()) return;
  const Truth& truth = truths_[job];
  const bool works = truth.runs && truth.warm;
  const Wide kernels = Wide{duties_[job]} * truth.pace.rate.ppm() * truth.pace.kernel_cost;
  const auto load =
      works ? static_cast<std::int64_t>(kernels / (Wide{Rate::kWhole} * Rate::kWhole)) : 0;
  const std::int64_t more = load - std::exchange(loads_[job], load);
  if (more == 0) return;
  for (const GpuId gpu : truth.gpus) load_changes_.push_back({gpu, more});
}

void Running::warm_up(Instant now) {
  while (next_warm() <= now) {
    const std::size_t job = warm_.top().job;
    warm_.pop();
    truths_[job].warm = true;
    load_gpus(job);
  }
}

/// The jobs on its GPUs may go faster or slower from now on.
void Running::touch(const Truth& truth) {
  for (const GpuId gpu : truth.gpus) {
    for (const std::size_t other : tenants_.on(gpu)) {
      if (truths_[other].dirty) continue;
      truths_[other].dirty = true;
      dirty_.push_back(other);
    }
  }
}

}  // namespace berth::sim
