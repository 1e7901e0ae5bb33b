// Preemption by rank.
#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "policy/backfills.hpp"
#include "policy/kit/diff.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/victims.hpp"

namespace berth {

constexpr About kDisplace{
    .title = "Preemption: a job that does not fit may displace running jobs of worse rank.",
    .rule =
        "A job goes to what is free; else to what is being freed; else to what the fewest jobs of "
        "the worst ranks hold, of which only those in its way stop. A displaced job waits at its "
        "rank at once: it may displace others, is moved where it finds a place, and stays if the "
        "jobs that displaced it can go elsewhere. A job that finds nothing is passed.",
    .reads = "Ranks of running jobs, run times.",
    .source = "Folklore; the rule of every preemptive order here.",
    .differs =
        "GPU memory is not free the moment a job is told to stop, so the job that displaced it is "
        "promised the place until it starts there. An order by what users hold (`drf`) is refused, "
        "because each start would change it, and jobs would displace each other without end.",
    .cost = "O(lanes + victims) per pass, O(log victims) placements per job that displaces.",
    .proof = "None yet.",
    .needs = {.preemption = true}};

namespace {

/// A job that is stopped to wait again. It is walked as if it waited already, so that no job behind
/// it is given what it would take back at once.
struct Returning {
  enum class Stops : std::uint8_t { Already, Now, Never };
  Lane lane;    ///< Of this job alone.
  Stops stops;  ///< Since an earlier pass; displaced in this one; or spared in the end.

  JobId job() const { return lane.jobs.begin()->job; }
};

/// One pass.
class Displacement {
 public:
  Displacement(Walk& walk, const RunningIndex& running)
      : walk_(walk),
        view_(walk.view()),
        trial_(walk.trial()),
        running_(running),
        victims_(walk, running),
        leaving_(running.leaving().begin(), running.leaving().end()) {}

  void run();

 private:
  bool serve(const Head& head, const Ask& ask);
  void serve(Returning& returning, const Head& head);
  void add_returning(JobId id, Returning::Stops stops);
  bool displace_for(const Head& head, const Ask& ask);
  bool keep_promise(const Head& head, const Ask& ask);
  void promise(const Head& head, const Ask& ask, Placement placement);
  std::optional<Placement> place_without_leaving(JobId id, const Ask& ask);
  bool stays_after_all(Returning& returning, const Ask& ask);
  void take_off_leaving();
  void take_off_promised();
  void start(JobId id, const Ask& ask, Placement placement);
  void emit_stops();
  void wake_for_running();

  Walk& walk_;
  const ClusterView& view_;
  Trial& trial_;
  const RunningIndex& running_;
  Victims victims_;
  std::vector<JobId> leaving_;       ///< Stopping already, or displaced in this pass.
  std::deque<Returning> returning_;  ///< In the order in which they were told to stop.
  std::map<JobId, Returning*> returning_by_job_;
  std::size_t joined_ = 0;   ///< Of `returning_`, those that are in the walk.
  std::vector<Hold> holds_;  ///< Promised in this pass.
  std::size_t placed_ = 0;   ///< Waiting jobs that were started or promised a place.
};

void Displacement::run() {
  for (const JobId id : running_.leaving()) {
    if (!view_.job(id).ending()) add_returning(id, Returning::Stops::Already);
  }
  walk_.begin_open();
  for (;;) {
    for (; joined_ < returning_.size(); ++joined_) walk_.add(returning_[joined_].lane);
    const auto head = walk_.next();
    if (!head) break;
    const Ask ask = walk_.ask_of(*head->lane);
    if (head->is_guest) {
      serve(*returning_by_job_.at(head->job()), *head);
    } else if (serve(*head, ask)) {
      walk_.pass_on(*head);
    } else {
      Walk::close(*head);
    }
  }
  walk_.end();
  emit_stops();
  walk_.keep(holds_);
  if (victims_.are_ranked() || placed_ < walk_.context().index.size()) wake_for_running();
}

/// Time alone may make a running job displaceable that is not now.
void Displacement::wake_for_running() {
  victims_.rank_others();
  if (const auto change = running_.next_change()) walk_.wake(*change);
  if (!running_.empty()) walk_.wake(later(view_.now(), running_.quantum()));
}

/// Returns: whether the job got a place, now or promised.
bool Displacement::serve(const Head& head, const Ask& ask) {
  if (walk_.refused_before(head.job(), ask) != Why::Fits) return false;
  if (keep_promise(head, ask)) return true;
  Placed placed = walk_.find(head.job(), ask);
  if (placed) {
    start(head.job(), ask, std::move(*placed));
    return true;
  }
  if (auto place = place_without_leaving(head.job(), ask)) {
    promise(head, ask, std::move(*place));
    return true;
  }
  if (displace_for(head, ask)) return true;
  walk_.rule_out(ask, placed.error().why);
  return false;
}

/// As a job that waits, but for this: it cannot start yet, so whatever it gets is promised.
void Displacement::serve(Returning& returning, const Head& head) {
  const Ask ask = walk_.ask_of(*head.lane);
  if (walk_.why_ruled_out(ask) != Why::Fits || keep_promise(head, ask)) return;
  if (auto place = place_without_leaving(head.job(), ask)) {
    if (!stays_after_all(returning, ask)) promise(head, ask, std::move(*place));
  } else if (!displace_for(head, ask)) {
    walk_.rule_out(ask, Why::Capacity);
  }
}

void Displacement::add_returning(JobId id, Returning::Stops stops) {
  Job stopped = *view_.find(id);
  stopped.ran = view_.job(id).ran();
  stopped.attained = view_.job(id).attained();
  stopped.since = view_.now();
  stopped.state = JobState::Queued;
  const JobView job(stopped, view_.now());
  Lane lane{.key = {.user = job.user(), .ask = ask_of(job)},
            .jobs = {{.rank = walk_.order().rank(job, view_).rank, .job = id}}};
  returning_.push_back({.lane = std::move(lane), .stops = stops});
  returning_by_job_[id] = &returning_.back();
}

void Displacement::start(JobId id, const Ask& ask, Placement placement) {
  walk_.start(id, ask, std::move(placement),
              holds_.empty() ? Because::ItsTurn : Because::Backfilled);
  ++placed_;
}

/// Nobody is displaced in vain by one job, but by several together: what the last one left over may
/// be enough for an earlier one too. Then that one gets it. Only where any GPU is as good as
/// another: elsewhere the room that is free would be another, and maybe enough for a job that was
/// refused before.
bool Displacement::stays_after_all(Returning& returning, const Ask& ask) {
  const auto counts = [&](JobId job) { return only_number_matters(*view_.find(job)); };
  const JobId id = returning.lane.jobs.begin()->job;
  const bool may = returning.stops == Returning::Stops::Now && walk_.placer().is_fungible() &&
                   counts(id) && std::ranges::all_of(holds_, counts, &Hold::job);
  if (!may) return false;
  const Grant& own = view_.job(id).grant();
  std::vector<Hold> holds = holds_;
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  take_off_promised();
  bool stays = trial_.look(placement_of(own), ask, id) == Why::Fits;
  if (stays) trial_.put(own);
  std::vector<Hold*> in_its_way;
  for (Hold& hold : holds) {
    if (trial_.look(hold.placement, hold.ask, hold.job) == Why::Fits) {
      trial_.put(hold.ask, hold.placement);
    } else {
      in_its_way.push_back(&hold);
    }
  }
  for (Hold* const hold : in_its_way) {
    Placed placed = walk_.placer().place(hold->ask, hold->job, trial_);
    stays = stays && placed.has_value();
    if (!stays) break;
    trial_.put(hold->ask, *placed);
    hold->placement = std::move(*placed);
  }
  trial_.rollback(mark);
  if (!stays) return false;
  take_off_promised();
  holds_ = std::move(holds);
  for (const Hold& hold : holds_) trial_.put(hold.ask, hold.placement);
  std::erase(leaving_, id);
  returning.stops = Returning::Stops::Never;
  return true;
}

void Displacement::take_off_promised() {
  for (const Hold& hold : holds_) {
    trial_.take(trial_.use().grant_for(view_.cluster(), hold.ask, hold.placement));
  }
}

void Displacement::emit_stops() {
  for (const Returning& one : returning_) {
    if (one.stops != Returning::Stops::Now) continue;
    const JobId id = one.lane.jobs.begin()->job;
    const auto to = std::ranges::find(holds_, id, &Hold::job);
    if (to == holds_.end()) {
      walk_.decisions().list.push_back(Preempt{.job = id});
    } else {
      walk_.decisions().list.push_back(Migrate{.job = id, .placement = to->placement});
    }
  }
}

/// The place promised to this job in an earlier pass, if it is free by now or still being freed.
bool Displacement::keep_promise(const Head& head, const Ask& ask) {
  const JobId id = head.job();
  const auto hold = std::ranges::find(view_.holds(), id, &Hold::job);
  if (hold == view_.holds().end() || hold->ask.request != ask.request) return false;
  if (!head.is_guest && trial_.look(hold->placement, ask, id) == Why::Fits) {
    start(id, ask, hold->placement);
    return true;
  }
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  const Why why = trial_.look(hold->placement, ask, id);
  trial_.rollback(mark);
  if (why == Why::Fits) promise(head, ask, hold->placement);
  return why == Why::Fits;
}

/// Beside those that leave: nobody else may take it. One that is stopped in this pass is only moved
/// by it.
void Displacement::promise(const Head& head, const Ask& ask, Placement placement) {
  const JobId id = head.job();
  trial_.put(ask, placement);
  if (!head.is_guest) {  // of one that stops, its user's berth is counted already
    walk_.tally().take(view_.job(id));
    ++placed_;
  }
  holds_.push_back({.job = id,
                    .ask = ask,
                    .placement = std::move(placement),
                    .from = kNever,
                    .after_grant = 0,
                    .awaited = {},
                    .lent = {},
                    .lent_tenants = {},
                    .lent_milli = {}});
}

std::optional<Placement> Displacement::place_without_leaving(JobId id, const Ask& ask) {
  if (leaving_.empty()) return std::nullopt;
  const Trial::Mark mark = trial_.mark();
  take_off_leaving();
  Placed placed = walk_.placer().place(ask, id, trial_);
  trial_.rollback(mark);
  return placed ? std::optional(std::move(*placed)) : std::nullopt;
}

void Displacement::take_off_leaving() {
  for (const JobId id : leaving_) trial_.take(view_.find(id)->grant);
}

bool Displacement::displace_for(const Head& head, const Ask& ask) {
  auto chosen = victims_.choose(head, ask, leaving_);
  if (!chosen) return false;
  for (const JobId victim : chosen->jobs) {
    leaving_.push_back(victim);
    add_returning(victim, Returning::Stops::Now);
  }
  promise(head, ask, std::move(chosen->placement));
  return true;
}

class Displace final : public Backfill {
 public:
  /// Ranks move, and with them what a job may displace.
  bool looks_again(const ClusterView&, std::span<const Event>) const override { return true; }

  void run(Walk& walk) override {
    refresh(walk);
    Displacement(walk, running_).run();
  }

 private:
  void refresh(const Walk& walk) {
    const ClusterView& view = walk.view();
    if (walk.context().is_fresh || running_.quantum() != walk.options().quantum) {
      running_.clear(walk.options().quantum);
      for (const JobId id : view.running()) running_.update(id, view, walk.order());
    } else {
      for (const Event& event : walk.context().events)
        running_.update(event.job, view, walk.order());
    }
    running_.expire(view, walk.order());
  }

  RunningIndex running_;
};

}  // namespace

std::unique_ptr<Backfill> displace() { return std::make_unique<Displace>(); }

}  // namespace berth
