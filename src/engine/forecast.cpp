#include "engine/forecast.hpp"

#include <algorithm>
#include <map>
#include <variant>

#include "core/run_estimate.hpp"
#include "core/text/text.hpp"
#include "engine/explain.hpp"
#include "policy/kit/classes.hpp"

namespace berth {

namespace {

std::string name_of(JobId job) { return "job " + std::to_string(job.value()); }

bool is_to_give_way(StopFor why) {
  return why == StopFor::Preemption || why == StopFor::Migration || why == StopFor::LeaseEnd ||
         why == StopFor::Suspension;
}

/// How long it takes to copy what it holds on the node where it holds most.
Duration time_to_leave(const Job& job, const Cluster& cluster, const GiveWay& how) {
  if (how.rate <= Bytes(0)) return how.at_least;
  std::map<NodeId, Bytes> on;
  Bytes most{0};
  for (const Share& share : job.grant.shares) {
    Bytes& its = on[cluster.node_of(share.gpu)];
    its += share.charge;
    most = std::max(most, its);
  }
  return how.at_least +
         Duration(static_cast<std::int64_t>(Wide{most.raw()} * 1'000'000 / how.rate.raw()));
}

std::string text_of(const Forecast& found, bool has_outlived, bool gives_way) {
  if (!found.guessed.empty()) {
    std::vector<std::string> names;
    for (const JobId job : found.guessed) {
      const auto task = found.handles.find(job);
      names.push_back(task == found.handles.end() ? std::to_string(job.value()) : task->second);
    }
    return list_of(names) + (found.guessed.size() == 1 ? " is" : " are") + " expected to end by " +
           (found.guessed.size() == 1 ? "its estimate" : "their estimates") + " or class" +
           (has_outlived ? "; a job that is past that is expected to run as long again" : "");
  }
  if (gives_way) return "the policy is expected to let it run then, if no other job comes";
  if (found.before_count == 0) return "nothing has to happen before";
  if (found.must_end.empty()) return "no job has to end before";
  return "each job that ends before it has a time limit";
}

Evidence evidence_of(Basis basis) {
  switch (basis) {
    case Basis::Limit:
    case Basis::Estimate:
      return Evidence::Known;
    case Basis::Learned:
      return Evidence::Learned;
    case Basis::Class:
    case Basis::Outlived:
    case Basis::None:
      break;
  }
  return Evidence::Unknown;
}

}  // namespace

JobId next_job(const ClusterView& view) {
  const auto last = view.job_back_from(kLastJob);
  return JobId(last ? last->value() + 1 : 1);
}

ForwardRun::ForwardRun(Engine copy, JobId target, const ForecastOptions& options)
    : engine_(std::move(copy)),
      target_(target),
      past_(engine_.view().past_runs()),
      options_(options),
      now_(std::max(options.now, engine_.now())),
      first_(now_) {
  const Job* const job = engine_.view().find(target);
  if (job == nullptr) {
    give_up("there is no " + name_of(target));
  } else if (job->ending || job->state == JobState::Held) {
    give_up(job->ending              ? "it is being ended"
            : has_idle_process(*job) ? "it is suspended until it is resumed"
                                     : "it is held");
  } else if (is_running(job->state)) {
    predict(*job);
  } else {
    answer_what_is_under_way();
  }
}

ForwardRun::ForwardRun(Engine copy, const Updated& change, const ForecastOptions& options)
    : ForwardRun(std::move(copy), change.job, options) {
  inputs_.emplace_back(change);
}

ForwardRun::ForwardRun(Engine copy, const Submitted& job, const ForecastOptions& options)
    : engine_(std::move(copy)),
      target_(job.job),
      past_(engine_.view().past_runs()),
      options_(options),
      now_(std::max(options.now, engine_.now())),
      first_(now_) {
  answer_what_is_under_way();
  inputs_.emplace_back(job);
  if (job.held) give_up("it is held");
}

ForwardRun::ForwardRun(Engine copy, const ForecastOptions& options)
    : engine_(std::move(copy)),
      past_(engine_.view().past_runs()),
      options_(options),
      now_(std::max(options.now, engine_.now())),
      first_(now_) {
  engine_.view().for_each_job([this](const Job& job) {
    if (is_waiting(job.state) || job.state == JobState::Deferred) awaited_.insert(job.id);
  });
  answer_what_is_under_way();
}

// ---- When jobs end -----------------------------------------------------------------------------

/// Of a job whose run time is learned, what jobs like it ran for that ran longer than it has.
std::optional<Duration> ForwardRun::learned_whole(const JobView& job) const {
  if (job.spec().learned_from == 0) return std::nullopt;
  const Fingerprint what = engine_.view().company().of(job.id());
  const auto runs = runs_like(job.spec(), what, {.runs = past_, .fewest = 1}, job.progressed());
  return runs.empty() ? std::nullopt : std::optional(median_of(runs));
}

/// By what is predicted of its run time; a limit is no prediction.
ForwardRun::Plan ForwardRun::prediction_of(const JobView& job) const {
  const bool is_estimated = job.spec().estimate != kForever;
  if (const auto learned = learned_whole(job)) {
    return {.end = later(now_, *learned - job.progressed()), .basis = Basis::Learned};
  }
  const Duration whole =
      is_estimated ? job.spec().estimate : engine_.class_bound(job.duration_class());
  if (whole == kForever) return {};
  // Run times have long tails: a job that has run for long will run for long (Tsafrir, Etsion and
  // Feitelson, TPDS 2007, raise outlived predictions in steps for the same reason).
  const bool is_over = whole <= job.progressed();
  return {.end = later(now_, (is_over ? 2 * job.progressed() : whole) - job.progressed()),
          .basis = is_over        ? Basis::Outlived
                   : is_estimated ? Basis::Estimate
                                  : Basis::Class};
}

/// A class says less than a limit does.
ForwardRun::Plan ForwardRun::plan_of(const Job& job) const {
  const JobView view(job, engine_.now());
  const bool has_limit = job.spec.time_limit != kForever;
  const Plan limit{.end = later(now_, view.enforced()), .basis = Basis::Limit};
  const bool by_limit = options_.ends == Ends::AtLimits || job.spec.estimate == kForever;
  Plan plan = has_limit && by_limit ? limit : prediction_of(view);
  if (has_limit && limit.end <= plan.end) plan = limit;
  plan.attempt = job.attempt;
  return plan;
}

void ForwardRun::schedule(JobId id) {
  const Plan plan = plan_of(*engine_.view().find(id));
  plans_[id] = plan;
  if (plan.end != kNever) ends_.emplace(plan.end, id);
  if (target_ == JobId(0)) note_end_of_array(id, plan);
}

/// A class says too little of when a whole array ends.
void ForwardRun::note_end_of_array(JobId id, const Plan& plan) {
  const auto span = array_of(id, engine_.view().find(id)->spec.conditions->array);
  if (!span) return;
  const bool is_known =
      plan.basis == Basis::Limit || plan.basis == Basis::Estimate || plan.basis == Basis::Learned;
  auto& [its, at] = array_ends_.try_emplace(span->first, *span, kStart).first->second;
  at = is_known ? std::max(at, plan.end) : kNever;
}

std::vector<PredictedEnd> ForwardRun::ends_of_arrays() const {
  std::vector<PredictedEnd> ends;
  const ClusterView view = engine_.view();
  for (const auto& [first, known] : array_ends_) {
    const auto& [span, at] = known;
    bool is_whole = at != kNever;
    for (auto id = view.job_from(first); is_whole && id && span.has(*id);
         id = view.job_from(JobId(id->value() + 1))) {
      is_whole = holds_berth(view.find(*id)->state);
    }
    if (is_whole) ends.push_back({.array = first, .at = at});
  }
  return ends;
}

void ForwardRun::unschedule(JobId id) {
  const auto found = plans_.find(id);
  if (found == plans_.end()) return;
  ends_.erase({found->second.end, id});
  plans_.erase(found);
}

// ---- The run -----------------------------------------------------------------------------------

/// What a shell has been asked for and has not reported is taken to happen at once.
void ForwardRun::answer_what_is_under_way() {
  const ClusterView view = engine_.view();
  for (const JobId id : view.running()) {
    const Job& job = *view.find(id);
    there_.insert(id);
    if (job.state == JobState::Starting) inputs_.emplace_back(Started{id, job.attempt});
    if (job.state != JobState::Stopping) continue;
    gives_way_ = gives_way_ || !job.ending;
    if (job.ending || !free_later(job)) inputs_.emplace_back(Released{id, job.attempt});
  }
}

bool ForwardRun::advance() {
  if (done_) return false;
  const bool is_first = steps_ == 0;
  if (!is_first && !find_next()) return false;
  end_what_is_due();
  free_what_is_due();
  do step();
  while (again_ && !done_);
  const bool is_of_all = target_ == JobId(0);
  if (!is_first || (done_ && !is_of_all)) return !done_;
  const ClusterView view = engine_.view();
  for (const JobId id : view.running()) {
    if (!plans_.contains(id) && view.find(id)->state != JobState::Stopping) schedule(id);
  }
  if (is_of_all && awaited_.empty()) done_ = true;
  return !done_;
}

void ForwardRun::stop_here() {
  if (done_) return;
  name_what_is_in_the_way();
  give_up("it does not start within the next " + seconds_text(now_ - first_) +
          " s, and to look further ahead takes too long");
}

/// The policy looks again now and then, or often, and nothing ends.
bool ForwardRun::is_only_looked_at(Instant next) const {
  if (!ends_.empty() || target_ == JobId(0)) return false;
  if (next - first_ <= options_.horizon) return steps_ >= options_.most_steps;
  return std::ranges::any_of(plans_,
                             [](const auto& one) { return one.second.basis == Basis::None; });
}

bool ForwardRun::find_next() {
  const Instant next = std::min({ends_.empty() ? kNever : ends_.begin()->first,
                                 frees_.empty() ? kNever : frees_.begin()->first.first, wake_at_});
  if (next == kNever && target_ == JobId(0)) {
    done_ = true;
  } else if (next == kNever || is_only_looked_at(next)) {
    name_the_unplanned();
  } else if (next - first_ > options_.horizon) {
    name_what_is_in_the_way();
    give_up("it does not start within the next " + std::to_string(options_.horizon / hours(24)) +
            " days, by what is known now");
  } else if (steps_ >= options_.most_steps) {
    name_what_is_in_the_way();
    give_up("too much happens before it: " + std::to_string(steps_) + " steps were looked at");
  } else {
    now_ = next;
  }
  return !done_;
}

void ForwardRun::end_what_is_due() {
  while (!ends_.empty() && ends_.begin()->first <= now_) {
    const JobId id = ends_.begin()->second;
    const Plan plan = plans_[id];
    note_leaving(id);
    inputs_.emplace_back(Exited{.job = id, .attempt = plan.attempt});
    inputs_.emplace_back(Released{id, plan.attempt});
    note(id, Milestone::What::Ends, plan.basis);
    unschedule(id);
  }
}

void ForwardRun::free_what_is_due() {
  while (!frees_.empty() && frees_.begin()->first.first <= now_) {
    const auto& [at_and_job, attempt] = *frees_.begin();
    inputs_.emplace_back(Released{at_and_job.second, attempt});
    frees_.erase(frees_.begin());
  }
}

bool ForwardRun::free_later(const Job& job) {
  const Duration time = time_to_leave(job, engine_.view().cluster(), options_.give_way);
  if (time <= Duration(0)) return false;
  frees_.emplace(std::pair(later(now_, time), job.id), job.attempt);
  return true;
}

void ForwardRun::step() {
  const Effects& effects = engine_.step(now_, inputs_);
  ++steps_;
  inputs_.clear();
  again_ = false;
  wake_at_ = effects.wake_at.value_or(kNever);
  for (const Effect& effect : effects.list) {
    if (!done_) std::visit([this](const auto& what) { perform(what); }, effect);
  }
}

/// It may be gone when it is named.
void ForwardRun::note_handle(JobId id) {
  const Job* const job = engine_.view().find(id);
  if (target_ == JobId(0) || job == nullptr) return;
  const ArrayPlace& place = job->spec.conditions->array;
  if (array_of(id, place)) found_.handles.try_emplace(id, handle_of(id, place));
}

void ForwardRun::note(JobId job, Milestone::What what, Basis basis) {
  note_handle(job);
  if (found_.before.size() < options_.most_listed)
    found_.before.push_back({now_, job, what, basis});
  ++found_.before_count;
  if (basis == Basis::Limit || basis == Basis::None) return;
  has_outlived_ = has_outlived_ || basis == Basis::Outlived;
  evidence_ = std::max(evidence_, evidence_of(basis));
  const auto at = std::ranges::lower_bound(found_.guessed, job);
  if (at == found_.guessed.end() || *at != job) found_.guessed.insert(at, job);
}

void ForwardRun::begin(JobId id) {
  const Job& job = *engine_.view().find(id);
  if (id == target_) return predict(job);
  note(id, Milestone::What::Starts, Basis::None);
  if (awaited_.erase(id) > 0) {
    starts_.push_back({.job = id, .at = job.since, .confidence = confidence(), .like = like(job)});
    if (awaited_.empty()) done_ = true;
  }
  inputs_.emplace_back(Started{id, job.attempt});
  schedule(id);
}

void ForwardRun::perform(const Stop& stop) {
  const Job* const job = engine_.view().find(stop.job);
  if (job != nullptr && job->state == JobState::Stopping) {
    const bool is_over = stop.why == StopFor::TimeLimit;
    if (!is_over) gives_way_ = true;
    note_leaving(stop.job);
    note(stop.job, is_over ? Milestone::What::Ends : Milestone::What::GivesWay,
         is_over ? Basis::Limit : Basis::None);
  }
  unschedule(stop.job);
  if (job != nullptr && is_to_give_way(stop.why) && free_later(*job)) return;
  inputs_.emplace_back(Released{stop.job, stop.attempt});
  again_ = true;
}

void ForwardRun::perform(const Consult& asked) {
  if (!options_.solve) return;
  inputs_.emplace_back(Solved{options_.solve(asked.question)});
  again_ = true;
}

void ForwardRun::perform(const Finished& finished) {
  if (finished.job == target_) give_up(finished.ahead.empty() ? finished.note : finished.ahead);
  if (awaited_.erase(finished.job) > 0 && awaited_.empty()) done_ = true;
}

// ---- What came of it ---------------------------------------------------------------------------

void ForwardRun::predict(const Job& job) {
  done_ = true;
  found_.start = job.since;
  found_.placement = placement_of(job.grant);
  note_must_end(needed_of(leaving_, engine_.view(), job));
  found_.confidence = confidence();
  found_.like = like(job);
  found_.text = text_of(found_, has_outlived_, gives_way_);
}

Confidence ForwardRun::confidence() const {
  const bool is_bound = found_.guessed.empty() && !gives_way_;
  return is_bound ? Confidence::Bound : Confidence::Estimate;
}

LikeJobs ForwardRun::like(const Job& job) const {
  const auto& shares = job.grant.shares;
  const Cluster& cluster = engine_.view().cluster();
  const bool is_on_one =
      shares.empty() || cluster.node_of(shares.front().gpu) == cluster.node_of(shares.back().gpu);
  return {.evidence = evidence_, .extent = is_on_one ? Extent::OneNode : Extent::Nodes};
}

void ForwardRun::give_up(std::string why) {
  done_ = true;
  found_.text = std::move(why);
}

/// What a job held when it left; only one job is asked about, so only for its sake.
void ForwardRun::note_leaving(JobId id) {
  const Job* const job = engine_.view().find(id);
  if (target_ == JobId(0) || job == nullptr) return;
  leaving_.push_back(
      {.job = id, .user = job->spec.user, .grant = job->grant, .from = job->since, .at = now_});
}

void ForwardRun::note_must_end(std::vector<JobId> jobs) {
  found_.must_start.clear();
  std::ranges::copy_if(jobs, std::back_inserter(found_.must_start),
                       [&](JobId id) { return !there_.contains(id); });
  found_.must_end = std::move(jobs);
}

/// Where the run ends without a start.
void ForwardRun::name_what_is_in_the_way() {
  const Job* const job = engine_.view().find(target_);
  if (job != nullptr && is_waiting(job->state)) {
    note_must_end(in_the_way_of(leaving_, engine_.view(), target_));
    for (const JobId id : found_.must_end) note_handle(id);
  }
}

/// Nothing more will happen, and the job has not started: the other jobs have no known end.
void ForwardRun::name_the_unplanned() {
  const ClusterView view = engine_.view();
  const auto has_no_plan = [&](JobId id) {
    const auto plan = plans_.find(id);
    return plan != plans_.end() && plan->second.basis == Basis::None;
  };
  name_what_is_in_the_way();
  std::ranges::copy_if(found_.must_end, std::back_inserter(found_.unplanned), has_no_plan);
  if (found_.unplanned.empty()) {  // then they block a job that it waits for
    std::ranges::copy_if(view.running(), std::back_inserter(found_.unplanned), has_no_plan);
  }
  if (found_.unplanned.empty()) return give_up("nothing is in sight that would let it start");
  for (const JobId id : found_.unplanned) note_handle(id);
  const bool one = found_.unplanned.size() == 1;
  give_up("it is not known when " + list_of(found_.unplanned, view) + (one ? " ends" : " end") +
          ": no time limit, no estimate, and no class that says");
}

Forecast forecast(Engine copy, JobId target, const ForecastOptions& options) {
  ForwardRun run(std::move(copy), target, options);
  while (run.advance()) {
  }
  return run.forecast();
}

Forecast forecast(Engine copy, const Submitted& job, const ForecastOptions& options) {
  ForwardRun run(std::move(copy), job, options);
  while (run.advance()) {
  }
  return run.forecast();
}

}  // namespace berth
