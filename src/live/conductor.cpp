#include "live/conductor.hpp"

#include <algorithm>
#include <iterator>

#include "core/text/text.hpp"

namespace berth::live {

namespace {

constexpr Duration kLookAgain = Duration(10'000);  ///< At a GPU whose memory is not free yet.
constexpr Duration kRetry = seconds(1);            ///< After the journal could not be written.

bool is_submission(const Asked& asked) { return asked.submission.has_value(); }
/// Of an array of which some jobs are there, and the rest comes.
bool has_begun(const Asked& asked) { return is_submission(asked) && asked.submission->arrived > 0; }
bool is_new(const Asked& asked) { return is_submission(asked) && !has_begun(asked); }

/// What it costs a step, in jobs.
std::size_t cost_of(const Asked& asked) {
  if (!asked.submission) return std::max<std::size_t>(1, asked.inputs.size());
  const Submission& job = *asked.submission;
  const std::size_t left = std::max<std::size_t>(1, job.tasks.size() - job.arrived);
  return std::min(left, tasks_in_step(job)) * cost_of_job(job);
}

/// How a job that is being stopped is told again.
Manner manner_of(const Job& job) {
  if (job.leaving) return Manner::AtOnce;
  const bool is_suspended = !job.ending && job.after_stop != JobState::Queued;
  if (is_suspended) return Manner::Suspend;
  return !job.ending && saves_itself(job) ? Manner::Save : Manner::Gently;
}

/// How a job is stopped that was not told before.
Manner manner_of(const Stop& wanted, const Job* job) {
  if (wanted.how == PreemptHow::Suspend) return Manner::Suspend;
  const bool gives_way = wanted.why == StopFor::Preemption || wanted.why == StopFor::Migration ||
                         wanted.why == StopFor::LeaseEnd;
  const bool saves = gives_way && job != nullptr && saves_itself(*job);
  return saves ? Manner::Save : Manner::Gently;
}

}  // namespace

Conductor::Conductor(Keeper& keeper, Setup setup, const Hands& hands)
    : keeper_(keeper),
      setup_(std::move(setup)),
      hands_(hands),
      watcher_(keeper.engine().view().cluster().gpus().size(), setup_.probe * 5 / 2,
               setup_.trespass),
      lookout_(hands_, watcher_, keeper.engine().view().cluster().gpus().size(),
               {.usual = setup_.probe, .fast = setup_.fast}),
      shrinker_(setup_.shrink, [this](const Job& job) { return allows_shrink(job); }),
      ended_early_(keeper.take_ended_early()),
      reasons_(keeper, watcher_),
      launches_(keeper, hands_, [this](JobId job, Attempt attempt, const std::string& why) {
        on_failed_start(job, attempt, why);
      }) {}

// ---- Recovery --------------------------------------------------------------------------------

/// Level-triggered: what the journal says holds a berth is compared with what is there.
std::vector<std::string> Conductor::recover() {
  const ClusterView view = keeper_.engine().view();
  view.for_each_job([&](const Job& job) {
    const bool has_process = holds_berth(job.state) || has_idle_process(job);
    if (has_process) current_[job.id] = job.attempt;
  });
  std::vector<std::string> found = keeper_.store().notes();
  for (const JobAside& bad : keeper_.put_aside()) {
    found.push_back("job " + std::to_string(bad.job.value()) + " is put aside: " + bad.why +
                    "; what is known of it: " + bad.where);
  }
  std::ranges::move(hands_.executor.sweep(
                        [this](JobId job, Attempt attempt) { return standing_of(job, attempt); },
                        keeper_.last_known()),
                    std::back_inserter(found));
  for (std::uint32_t g = 0; g < setup_.problems.size(); ++g) {
    const std::string& problem = setup_.problems[g];
    inputs_.emplace_back(GpuHealth{GpuId(g), problem.empty()});
    if (problem.empty()) continue;
    watcher_.on_fault(GpuId(g), problem);
    inputs_.emplace_back(GpuLost{GpuId(g)});
    reasons_.note_failure(GpuId(g), {});
  }
  for (const auto& [id, attempt] : current_) recover(*view.find(id));
  cancel_cut_off(found);
  go_on_with_cancels(found);
  take_late_estimates();
  on_alarm(Alarm::Probe);
  return found;
}

/// Nobody was told that they were taken in, and who asked may have asked again.
void Conductor::cancel_cut_off(std::vector<std::string>& found) {
  const auto arrays = keeper_.cut_off();
  if (!arrays) return found.push_back(arrays.error().message);
  for (const auto& [first, jobs] : *arrays) {
    found.push_back("array " + std::to_string(first.value()) +
                    ": berthd ended before all of its jobs were taken in; the " +
                    std::to_string(jobs.size()) + " that are left are cancelled");
    for (const JobId job : jobs) {
      keeper_.note(job, std::string(kEnded) + "berthd ended before all of its array was taken in");
      inputs_.emplace_back(CancelAsked{job});
    }
  }
}

/// Who cancelled them was not told that it was done. Those that wait are held since then, so none
/// starts meanwhile; the one that has the note is the last.
void Conductor::go_on_with_cancels(std::vector<std::string>& found) {
  const ClusterView view = keeper_.engine().view();
  for (const auto& [noted_on, wish] : keeper_.cut_off_cancels()) {
    std::vector<JobId> waiting;
    std::vector<JobId> others;
    for (const auto& [first, last] : wish.jobs) {
      for (auto id = view.job_from(first); id && *id <= last;
           id = view.job_from(JobId(id->value() + 1))) {
        const Job& job = *view.find(*id);
        if (*id == noted_on || job.ending) continue;
        (holds_berth(job.state) ? others : waiting).push_back(*id);
      }
    }
    others.push_back(noted_on);
    waiting.insert(waiting.end(), others.begin(), others.end());
    found.push_back("berthd ended while " + wish.who + " cancelled jobs; the " +
                    std::to_string(waiting.size()) + " that are left are cancelled");
    for (const JobId id : waiting) to_cancel_.push_back({id, wish.user, wish.who});
  }
  cancel_some();
}

/// As many as one step takes.
void Conductor::cancel_some() {
  const ClusterView view = keeper_.engine().view();
  for (std::size_t some = 0; some < kMostInStep && !to_cancel_.empty(); ++some) {
    const auto [id, user, who] = std::move(to_cancel_.front());
    to_cancel_.pop_front();
    const Job* const job = view.find(id);
    if (job == nullptr || job->ending) continue;
    if (job->spec.user != user) keeper_.note_for_good(id, cancel_note(who));
    inputs_.emplace_back(CancelAsked{id});
  }
  if (!to_cancel_.empty()) hands_.alarms.post([this] { cancel_some(); });
}

Standing Conductor::standing_of(JobId job, Attempt attempt) const {
  if (job > keeper_.last_known()) return Standing::Unknown;
  const Job* const known = keeper_.engine().view().find(job);
  const auto& aside = keeper_.put_aside();
  const bool is_aside = std::ranges::find(aside, job, &JobAside::job) != aside.end();
  if (known == nullptr && is_aside) return Standing::Unknown;
  if (known == nullptr || attempt < known->attempt) return Standing::Over;
  if (attempt > known->attempt) return Standing::Unknown;
  return current_.contains(job) ? Standing::Current : Standing::Over;
}

void Conductor::recover(const Job& job) {
  const Trace trace = hands_.executor.adopt(job.id, job.attempt);
  if (trace == Trace::Over) return;  // its end is about to be reported
  if (trace == Trace::Lives) {
    lookout_.changed(job.grant);
    if (job.state == JobState::Stopping) {
      stop(job.id, job.attempt, manner_of(job));
    }
    if (is_running(job.state)) hands_.executor.go_on(job.id, job.attempt, job.grant);
    return;
  }
  if (job.state == JobState::Starting) {
    return start({.job = job.id, .attempt = job.attempt, .grant = job.grant});
  }
  if (job.state == JobState::Stopping) return leave(job.id, job.attempt);  // its end was journaled
  on_lost(job.id, job.attempt, "its attempt file is gone");
}

// ---- What comes in ---------------------------------------------------------------------------

void Conductor::ask(Asked asked) {
  const UserId user = asked.user;
  asked_.push(user.value(), std::move(asked));
}

void Conductor::tell(std::vector<Input> inputs) {
  std::ranges::move(inputs, std::back_inserter(inputs_));
}

/// Null for a job that is over, and for an attempt that is not its latest.
const Job* Conductor::current(JobId job, Attempt attempt) const {
  const Job* const known = keeper_.engine().view().find(job);
  return known != nullptr && known->attempt == attempt ? known : nullptr;
}

void Conductor::on_started(JobId job, Attempt attempt) {
  const Job* const known = current(job, attempt);
  if (known == nullptr) return;
  if (is_adopted(known->spec)) lookout_.changed(known->grant);  // whose it is was not known before
  inputs_.emplace_back(Started{job, attempt});
}

/// It is tried again, unless it was reported to be running: then its start is in the journal.
void Conductor::on_failed(JobId job, Attempt attempt, const std::string& why) {
  const Job* const known = keeper_.engine().view().find(job);
  const bool ran = known != nullptr && known->state == JobState::Running;
  return ran ? on_lost(job, attempt, why) : on_failed_start(job, attempt, why);
}

void Conductor::on_failed_start(JobId job, Attempt attempt, const std::string& why) {
  const Job* const known = current(job, attempt);
  if (known == nullptr) return;
  const Duration wait = try_later(*known);
  keeper_.note(job, failed_start_text(why, known->failed_starts + 1, wait));
  start_again();
}

/// Returns: how long it waits for the next try.
Duration Conductor::try_later(const Job& job) {
  // Its time limit goes on meanwhile; a start that failed counts as no time at all.
  const Duration wait = std::min(wait_after(job.failed_starts + 1), limit_left(job) / 2);
  const bool is_stopping = job.state == JobState::Stopping;
  failed_starts_.add(job.id, job.attempt, hands_.clock.now() + (is_stopping ? Duration(0) : wait));
  return wait;
}

void Conductor::on_rooted(JobId job, Attempt attempt) {
  if (current(job, attempt) != nullptr) inputs_.emplace_back(Rooted{job, attempt});
}

void Conductor::on_suspended(JobId job, Attempt attempt, const std::string& note) {
  if (current(job, attempt) == nullptr) return;
  const std::string before = keeper_.note_of(job);
  const bool goes_on = before.starts_with(kBecause) && !note.starts_with(kBecause);
  if (goes_on || note.starts_with(kBecause)) {
    keeper_.note_for_good(job, goes_on ? before + (note.empty() ? "" : "; " + note) : note);
  } else if (!note.empty()) {
    keeper_.note(job, note);
  }
  leave(job, attempt);
}

void Conductor::on_suspend_failed(JobId job, Attempt attempt, const std::string& why,
                                  Duration again) {
  if (current(job, attempt) == nullptr) return;
  keeper_.note(job, why);
  const Instant until = again == kForever ? kNever : hands_.clock.now() + again;
  inputs_.emplace_back(SuspendFailed{.job = job, .attempt = attempt, .stays_until = until});
}

void Conductor::on_resume_failed(JobId job, Attempt attempt, const std::string& why) {
  const Job* const known = current(job, attempt);
  if (known == nullptr || known->state != JobState::Starting) return;
  const Duration wait = try_later(*known);
  failed_resumes_.insert({job, attempt});
  keeper_.note(job, failed_start_text(why, known->failed_starts + 1, wait));
  start_again();
}

/// On a full disk a start would fail again, and to write that down takes room from others' ends.
void Conductor::start_again() {
  const Instant now = hands_.clock.now();
  const auto next = failed_starts_.next();
  if (!next) return;
  if (*next > now) return hands_.alarms.set(Alarm::StartAgain, *next - now);
  if (!keeper_.check_room()) return hands_.alarms.set(Alarm::StartAgain, kRetry);
  for (const auto& [job, attempt] : failed_starts_.take_due(now)) {
    const bool is_kept = failed_resumes_.erase({job, attempt}) > 0;
    inputs_.push_back(is_kept ? Input(ResumeFailed{job, attempt})
                              : Input(StartFailed{job, attempt}));
  }
  start_again();
}

void Conductor::on_ended(JobId job, Attempt attempt, const Ending& ending) {
  AttemptEnded ended{.job = job,
                     .attempt = attempt,
                     .outcome = ending.outcome,
                     .code = ending.code,
                     .at = ending.at,
                     .again_if_hurt = setup_.again_after_overrun};
  if (const auto counts = overran_.extract({job, attempt})) {
    ended.outcome = counts.mapped();  // as its note says already
    return on_over(ended);
  }
  reasons_.note_end(job, current(job, attempt), ending);
  on_over(ended);
}

void Conductor::on_lost(JobId job, Attempt attempt, const std::string& why) {
  keeper_.note(job, why);
  on_over({.job = job, .attempt = attempt, .outcome = Outcome::Lost, .at = hands_.clock.now()});
}

void Conductor::on_over(const AttemptEnded& ended) {
  if (current(ended.job, ended.attempt) == nullptr) return;
  keeper_.set_peak(ended.job, watcher_.peak_of(ended.job));
  watcher_.forget_peak(ended.job);
  inputs_.emplace_back(ended);
  leave(ended.job, ended.attempt);
}

/// Its berth is released once its GPU memory is measured free, also where it was not given any; at
/// once if GPUs cannot be sampled.
void Conductor::leave(JobId job, Attempt attempt) {
  const Job* const known = current(job, attempt);
  if (known == nullptr) return;
  std::vector<GpuId> gpus;
  if (hands_.eyes != nullptr) gpus = gpus_of(known->grant);
  const bool is_kept = known->state == JobState::Stopping && manner_of(*known) == Manner::Suspend;
  if (hands_.eyes != nullptr && !is_kept) {
    for (const auto& there : watcher_.trespasses_of(*known)) gpus.push_back(there.gpu);
  }
  watcher_.leaves(job, attempt, gpus, hands_.clock.now());
  lookout_.look_at({gpus.begin(), gpus.end()});
}

void Conductor::on_look(Look look) {
  const ClusterView view = keeper_.engine().view();
  std::set<JobId> limited;
  for (const JobId job : view.tenants_of(look.gpu)) {
    if (hands_.executor.is_limited(job)) limited.insert(job);
  }
  tell(shrinker_.on_look(look, view));
  lookout_.on_look(look, view, limited);
  const GpuId gpu = look.gpu;
  note_failure(gpu, [&] { tell(watcher_.on_look(std::move(look), view)); });
  if (!watcher_.left().empty() && !lookout_.is_looking()) {
    hands_.alarms.set(Alarm::Leaving, kLookAgain);
  }
}

/// The driver hangs: its GPUs get no jobs until it answers, and nothing waits for it.
void Conductor::on_silence() {
  tell(watcher_.on_silence(lookout_.take_silent(), hands_.clock.now()));
}

void Conductor::on_fault(GpuId gpu, std::string problem) {
  note_failure(gpu, [&] { tell(watcher_.on_fault(gpu, std::move(problem))); });
}

/// What `learns` finds of a GPU that has failed is told to its jobs, and to the engine once.
void Conductor::note_failure(GpuId gpu, const std::function<void()>& learns) {
  const auto told = reasons_.told_of(gpu);
  const bool was_known = !watcher_.failure(gpu).empty();
  learns();
  if (watcher_.failure(gpu).empty()) return;
  if (!was_known) inputs_.emplace_back(GpuLost{gpu});
  reasons_.note_failure(gpu, told);
}

/// By what was submitted; a job that cannot be read keeps its charge.
bool Conductor::allows_shrink(const Job& job) const {
  const auto blob = keeper_.store().blob(job.spec.command);
  const auto command = blob ? decode_command(*blob) : std::unexpected(blob.error());
  if (!command) return false;
  const auto variables = keeper_.store().blob(command->environment);
  const auto environment =
      variables ? decode_environment(*variables) : std::unexpected(variables.error());
  return environment && std::ranges::find(*environment, kShrinkAllowed) != environment->end();
}

void Conductor::on_alarm(Alarm alarm) {
  switch (alarm) {
    case Alarm::WakeUp:
      inputs_.emplace_back(Ticked{});
      return;
    case Alarm::Probe:
      lookout_.look_at_all();
      return hands_.alarms.set(Alarm::Probe, setup_.probe);
    case Alarm::Watch:
      return lookout_.look_at_due();
    case Alarm::Silence:
      return on_silence();
    case Alarm::Leaving:
      return lookout_.look_at(watcher_.left());
    case Alarm::Retry:
      is_retrying_ = false;
      return;
    case Alarm::StartAgain:
      return start_again();
  }
}

// ---- A step ----------------------------------------------------------------------------------

void Conductor::turn() {
  if (failure_) return;
  refuse_without_room();
  for (Input& input : watcher_.take_released()) {
    if (const auto* const released = std::get_if<Released>(&input)) note_left(*released);
    inputs_.push_back(std::move(input));
  }
  const bool has_work = !inputs_.empty() || !asked_.empty();
  if (has_work && !is_retrying_ && !wait_for_look()) {
    const Instant now = std::max(hands_.clock.now(), keeper_.last());
    step(now);
    if (!failure_ && take_late_estimates()) step(now);  // the simulator does so too
  } else {
    work_on_launches();
  }
  work_on_snapshot();
}

/// What is known of an attempt only after its end.
void Conductor::note_left(const Released& released) {
  const Bytes peak = watcher_.take_late_peak(released.job);
  if (current(released.job, released.attempt) == nullptr) return;
  const auto millijoules = watcher_.energy().take(released.job);
  keeper_.set_left(released.job, {.peak = peak, .millijoules = millijoules});
}

/// A job that begins on a full disk could not be written to its end.
void Conductor::refuse_without_room() {
  if (!asked_.any_of(is_new)) return;
  const auto room = keeper_.check_room();
  if (room) return;
  for (const Asked& asked : asked_.take_if(is_new)) {
    asked.fail(Setback::NothingChanged, room.error());
  }
}

/// True if something waits, or is about to, that this step might start.
bool Conductor::could_start() const {
  const bool arrives = asked_.any_of(
      [](const Asked& asked) { return is_submission(asked) || !asked.inputs.empty(); });
  return arrives || somebody_waits(keeper_.engine().view(), inputs_);
}

bool Conductor::wait_for_look() {
  return hands_.eyes != nullptr && could_start() && lookout_.must_wait();
}

/// As many requests as make a step of bounded length, user by user; at least one.
std::vector<Asked> Conductor::take_asked() {
  std::vector<Asked> taken;
  std::size_t cost = 0;
  while (const Asked* const next = asked_.next()) {
    cost += cost_of(*next);
    if (!taken.empty() && cost > kMostInStep) break;
    taken.push_back(std::move(asked_.pop()->second));
  }
  if (!asked_.empty()) hands_.alarms.post([] {});  // the turn after this one takes them
  return taken;
}

void Conductor::step(Instant now) {
  lookout_.stop_waiting();
  // A look takes what an adopted process holds for its job's. Where the job does not start after
  // all it becomes foreign use, so that comes after the look.
  std::ranges::stable_partition(
      inputs_, [](const Input& input) { return !std::holds_alternative<StartFailed>(input); });
  Batch batch{.inputs = std::exchange(inputs_, {}), .submissions = {}, .left = {}};
  std::vector<Asked> asked = take_asked();
  const auto own = std::ssize(batch.inputs);
  for (Asked& one : asked) {
    if (batch.inputs.empty()) {
      batch.inputs = std::move(one.inputs);
    } else {
      std::ranges::move(one.inputs, std::back_inserter(batch.inputs));
    }
    if (one.submission) batch.submissions.push_back(std::move(*one.submission));
    if (one.left) batch.left.push_back(*one.left);
  }
  const auto stepped = keeper_.step(now, batch);
  auto submission = batch.submissions.begin();
  for (Asked& one : asked) {
    if (one.submission) *one.submission = std::move(*submission++);
  }
  if (!stepped) {
    batch.inputs.erase(batch.inputs.begin() + own, batch.inputs.end());
    return on_unwritten(stepped.error(), std::move(batch.inputs), std::move(asked));
  }
  unwritten_.reset();
  const Effects& effects = *stepped->effects;
  hands_.audience.on_step({.now = now, .inputs = batch.inputs, .effects = effects});
  if (!effects.list.empty()) watcher_.follow(keeper_.engine().view());
  // First, for an answer waits for the disk meanwhile: what is decided is written down.
  answer_all(std::move(asked), stepped->submitted);
  for (const Effect& effect : effects.list) {
    std::visit([this](const auto& wanted) { perform(wanted); }, effect);
  }
  work_on_launches();
  if (effects.wake_at) {
    const Duration wait = std::max(Duration::zero(), *effects.wake_at - hands_.clock.now());
    hands_.alarms.set(Alarm::WakeUp, wait);
  }
  if (hands_.eyes != nullptr) watcher_.energy().settle(keeper_.engine().view(), now);
  hands_.audience.on_changed(stepped->touched);
  static_cast<void>(keeper_.snapshot_if_due());  // one that fails is tried again later
  if (keeper_.has_late_memory()) hands_.alarms.post([this] { inputs_.emplace_back(Ticked{}); });
}

/// Returns: whether there are any.
bool Conductor::take_late_estimates() {
  const std::vector<Estimated> late = keeper_.take_late_estimates();
  inputs_.insert(inputs_.end(), late.begin(), late.end());
  return !late.empty();
}

/// What happened stays to be told; what was asked is refused.
void Conductor::on_unwritten(const Error& error, std::vector<Input> own, std::vector<Asked> asked) {
  const bool is_broken = keeper_.is_broken();
  const Setback setback = is_broken ? Setback::LeftToNext : Setback::NothingChanged;
  for (Asked& one : asked) {
    if (is_broken || !has_begun(one)) {
      one.fail(setback, error);
    } else {
      ask(std::move(one));  // what is there already is not taken back
    }
  }
  if (is_broken) {
    failure_ = error;
    return;
  }
  inputs_.insert(inputs_.begin(), std::move_iterator(own.begin()), std::move_iterator(own.end()));
  is_retrying_ = true;
  unwritten_ = error;
  hands_.alarms.set(Alarm::Retry, kRetry);
}

void Conductor::answer_all(std::vector<Asked> asked, const std::vector<JobId>& submitted) {
  auto id = submitted.begin();
  for (Asked& one : asked) {
    const JobId job = one.submission ? *id++ : JobId(0);
    const std::size_t arrived =
        one.submission ? one.submission->arrived + tasks_in_step(*one.submission) : 0;
    if (one.submission && arrived < one.submission->tasks.size()) {
      one.submission->id = job;
      one.submission->arrived = arrived;
      ask(std::move(one));  // behind what others ask for
      hands_.alarms.post([] {});
      continue;
    }
    Send send = one.answer(job);
    if (!send) continue;
    hands_.syncs.after_sync(
        [send = std::move(send), fail = std::move(one.fail)](const Expected<void>& synced) {
          if (synced) return send();
          fail(Setback::MayBeLost, synced.error());
        });
  }
}

/// A part of it, and the next once that is on the disk: an answer that waits for the disk meanwhile
/// waits for no more than a part of it.
void Conductor::work_on_snapshot() {
  if (!is_snapshot_synced_ || is_retrying_) return;
  const auto work = keeper_.work_on_snapshot();
  if (!work || *work != Keeper::SnapshotWork::More) return;
  is_snapshot_synced_ = false;
  hands_.syncs.after_sync([this](const Expected<void>&) {
    hands_.alarms.post([this] { is_snapshot_synced_ = true; });
  });
}

// ---- Effects ---------------------------------------------------------------------------------

void Conductor::perform(const Launch& wanted) {
  const auto before = current_.find(wanted.job);
  if (before != current_.end() && before->second != wanted.attempt) {
    hands_.executor.forget(wanted.job, before->second);
  }
  start({.job = wanted.job, .attempt = wanted.attempt, .grant = wanted.grant});
}

/// With what its suspended attempt left, which the executor takes over.
void Conductor::perform(const Continue& wanted) {
  start({.job = wanted.job, .attempt = wanted.attempt, .grant = wanted.grant, .goes_on = true});
}

void Conductor::start(Launching launching) {
  current_[launching.job] = launching.attempt;
  keeper_.note(launching.job, "");  // what is said of this attempt comes now
  lookout_.changed(launching.grant);
  launches_.add(std::move(launching));
}

void Conductor::work_on_launches() {
  if (launches_.work()) hands_.alarms.post([] {});
}

void Conductor::perform(const Stop& wanted) {
  auto attempt = launches_.take(wanted.job);
  if (!attempt) attempt = failed_starts_.take(wanted.job);
  const bool is_kept = attempt && failed_resumes_.erase({wanted.job, *attempt}) > 0;
  if (attempt && !is_kept) {  // nothing of it runs
    hands_.alarms.post(
        [this, failed = StartFailed{wanted.job, *attempt}] { inputs_.emplace_back(failed); });
  }
  const bool trespasses = wanted.why == StopFor::Trespass;
  if (trespasses || wanted.why == StopFor::Overrun || wanted.why == StopFor::Surplus) {
    if (trespasses) reasons_.note_trespass(wanted.job);
    if (!trespasses) reasons_.note_overrun(wanted);
    overran_[{wanted.job, wanted.attempt}] = trespasses ? Outcome::Failed : Outcome::Oom;
    return hands_.executor.stop(wanted.job, wanted.attempt, Manner::AtOnce);
  }
  const Manner manner = manner_of(wanted, keeper_.engine().view().find(wanted.job));
  const bool is_preempted = wanted.why == StopFor::Preemption || manner == Manner::Save;
  if (is_preempted && manner != Manner::Suspend) reasons_.note_preemption(wanted.job);
  stop(wanted.job, wanted.attempt, manner);
}

/// One that has time to comply may end well, and is not done: it is told when the disk has that it
/// was to be told. A berthd that starts after a loss of power would take its end for its own.
void Conductor::stop(JobId job, Attempt attempt, Manner manner) {
  if (manner == Manner::AtOnce || manner == Manner::Suspend) {
    return hands_.executor.stop(job, attempt, manner);
  }
  hands_.syncs.after_sync([this, job, attempt, manner](const Expected<void>& synced) {
    if (!synced) return;
    hands_.alarms.post(
        [this, job, attempt, manner] { hands_.executor.stop(job, attempt, manner); });
  });
}

void Conductor::perform(const Consult& asked) {
  if (hands_.solver != nullptr) hands_.solver->solve(asked.question);
}

void Conductor::perform(const Finished& finished) {
  reasons_.forget(finished.job);
  const auto attempt = current_.extract(finished.job);
  if (!attempt) return;
  // Later: the next launch does not wait for it.
  hands_.alarms.post([this, job = finished.job, attempt = attempt.mapped()] {
    hands_.executor.forget(job, attempt);
  });
}

}  // namespace berth::live
