// EASY backfilling, in the form of Mu'alem and Feitelson.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "policy/kit/feasible.hpp"
#include "policy/kit/outlook.hpp"
#include "policy/kit/tally.hpp"
#include "policy/pipeline/index.hpp"
#include "policy/pipeline/pass.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kEasy{
    .title =
        "EASY backfilling: first in, first out, and later jobs may pass if the first is not "
        "delayed.",
    .rule =
        "rank = time of submission. The first job that does not fit is promised a start: the "
        "earliest time at which it would fit if every running job left as planned and nothing else "
        "started. A later job may start if it ends before that time or fits beside the first job "
        "then. The promise is a time and not a place: before a job is refused, the first job is "
        "placed again around it. A job without a limit or an estimate is taken to run for a year.",
    .reads = "Time of submission, time limit or else estimate, run time.",
    .source = "Lifka, JSSPP 1995, in the form of Mu'alem and Feitelson, TPDS 2001.",
    .differs =
        "GPUs are places and not a number: a job that passes takes the place its placement chooses "
        "first, or else the one it chooses beside the kept place; others are not tried. With "
        "placement `count` that is exact. The promised job counts against its user's limits.",
    .cost = "O(GPUs + running + shapes) per pass, O(running log running) per promise.",
    .proof =
        "An independent restatement of the published definition on 1,000 random traces: every job "
        "starts at the same second (test/paper/easy_test.cpp).",
    .needs = {.estimates = true}};

namespace {

/// The first job that does not fit, and what it is promised.
struct Promise {
  JobId job;
  Ask ask;
  Instant start = kNever;
  Placement place;  ///< Where it would fit then; any other place is as good.
};

/// What GPUs of `kept` can take both now and, beside `kept`, later; the rest as now.
Scratch both(const Cluster& cluster, const Occupancy& now, const Occupancy& then,
             const Placement& kept) {
  Scratch scratch{now, {}};
  for (const GpuId gpu : kept.gpus) {
    GpuUse use = now.gpu(gpu);
    const GpuUse& later = then.gpu(gpu);
    use.charged = std::max(use.charged, later.charged);
    use.milli = std::max(use.milli, later.milli);
    use.tenants = std::max(use.tenants, later.tenants);
    use.alone = std::max(use.alone, later.alone);
    scratch.use.set_gpu(cluster, gpu, use);
  }
  const auto add_node = [&](NodeId node) {
    NodeUse use = scratch.use.node(node);
    use.cpu = std::max(use.cpu, then.node(node).cpu);
    use.host = std::max(use.host, then.node(node).host);
    scratch.use.set_node(node, use);
  };
  add_node(kept.host);
  for (const GpuId gpu : kept.gpus) add_node(cluster.node_of(gpu));
  return scratch;
}

/// One pass: a walk over the waiting jobs in order, until nobody more can start.
class Backfill {
 public:
  Backfill(const ClusterView& view, const Placer& placer, std::optional<Promise> known)
      : view_(view),
        placer_(placer),
        known_(std::move(known)),
        trial_(view.trial()),
        tally_(view, Tally::From::Now) {}

  void run(PendingIndex& index) {
    std::size_t before = 0;
    do {  // whoever was refused for the promise may be placed otherwise beside those who passed
      before = fresh_.size();
      refused_any_ = false;
      walk(index);
    } while (refused_any_ && fresh_.size() > before);
  }
  const std::optional<Promise>& promise() const { return promise_; }
  std::span<const Fresh> fresh() const { return fresh_; }
  Decisions take() { return std::move(decisions_); }

 private:
  struct Cursor {  ///< The next job of a lane.
    std::set<Position>::const_iterator at;
    const Lane* lane;
    bool no_longer_ones = false;  ///< Jobs that outlast the promised start are refused.
  };
  enum class Verdict { Next, NextShorter, CloseLane };

  void walk(PendingIndex& index);
  bool advance(Cursor& cursor) const;
  Verdict visit(JobId id, const Ask& ask);
  Verdict pass_by(JobId id, const Ask& ask);
  std::optional<Placement> beside_promise(JobId id, const Ask& ask, Placement wanted);
  void note(const Ask& ask, const Refusal& refusal);
  bool promise_to(JobId id, const Ask& ask);
  void keep_place();
  bool outlasts(JobId id) const {
    return later(view_.now(), counted_on(view_.job(id))) > promise_->start;
  }
  Trial& then();
  void start(JobId id, const Ask& ask, Placement placement);

  const ClusterView& view_;
  const Placer& placer_;
  std::optional<Promise> known_;  ///< Of the last pass, if it still holds.
  Trial trial_;
  Tally tally_;
  std::optional<Promise> promise_;
  std::optional<Scratch> then_scratch_;  ///< The cluster at the promised start, without the job.
  std::optional<Trial> then_;
  bool refused_any_ = false;    ///< For the promise, in this walk.
  std::vector<Ask> ruled_out_;  ///< Minimal asks refused for capacity.
  std::vector<Fresh> fresh_;
  Decisions decisions_;
};

void Backfill::walk(PendingIndex& index) {
  const auto later_first = [](const Cursor& a, const Cursor& b) { return *b.at < *a.at; };
  std::vector<Cursor> cursors;
  for (auto& [key, lane] : index.lanes()) {
    if (!lane.jobs.empty()) cursors.push_back({lane.jobs.begin(), &lane});
  }
  std::ranges::make_heap(cursors, later_first);
  while (!cursors.empty()) {
    std::ranges::pop_heap(cursors, later_first);
    Cursor& cursor = cursors.back();
    const Verdict verdict = visit(cursor.at->job, cursor.lane->key.ask);
    if (verdict == Verdict::NextShorter) cursor.no_longer_ones = true;
    if (verdict != Verdict::CloseLane && advance(cursor)) {
      std::ranges::push_heap(cursors, later_first);
    } else {
      cursors.pop_back();
    }
  }
}

bool Backfill::advance(Cursor& cursor) const {
  do ++cursor.at;
  while (cursor.at != cursor.lane->jobs.end() && cursor.no_longer_ones && outlasts(cursor.at->job));
  return cursor.at != cursor.lane->jobs.end();
}

Backfill::Verdict Backfill::visit(JobId id, const Ask& ask) {
  const auto is_started = [&](const Fresh& fresh) { return fresh.job == id; };
  if (std::ranges::any_of(fresh_, is_started)) return Verdict::Next;  // in a walk before
  if (promise_ && promise_->job == id) return Verdict::CloseLane;
  if (!tally_.allows(view_.job(id))) return Verdict::CloseLane;
  const bool is_ruled_out = std::ranges::any_of(
      ruled_out_, [&](const Ask& refused) { return is_no_larger(refused, ask, view_.cluster()); });
  if (promise_ && is_ruled_out) return Verdict::CloseLane;
  if (promise_ && outlasts(id)) return pass_by(id, ask);
  if (!is_ruled_out) {
    Placed placed = placer_.place(ask, id, trial_);
    if (placed) {
      start(id, ask, std::move(*placed));
      return Verdict::Next;
    }
    note(ask, placed.error());
    if (placed.error().why == Why::Limit) return Verdict::CloseLane;
  }
  if (!promise_ && promise_to(id, ask)) tally_.take(view_.job(id));
  return Verdict::CloseLane;
}

void Backfill::note(const Ask& ask, const Refusal& refusal) {
  if (refusal.retry_at && *refusal.retry_at > view_.now()) {
    decisions_.wake_at = std::min(decisions_.wake_at.value_or(kNever), *refusal.retry_at);
  }
  if (refusal.why != Why::Limit) ruled_out_.push_back(ask);
}

/// A job that will still be there at the promised start: it may go if the promise can be kept.
Backfill::Verdict Backfill::pass_by(JobId id, const Ask& ask) {
  Placed placed = placer_.place(ask, id, trial_);
  if (!placed) {
    note(ask, placed.error());
    return Verdict::CloseLane;
  }
  auto place = beside_promise(id, ask, std::move(*placed));
  if (!place) {
    refused_any_ = true;
    return Verdict::NextShorter;
  }
  then().put(ask, *place);
  start(id, ask, std::move(*place));
  return Verdict::Next;
}

/// Where it may go: where it wants to, else beside the place kept, else where it wants to with the
/// promised job in another place.
std::optional<Placement> Backfill::beside_promise(JobId id, const Ask& ask, Placement wanted) {
  const Trial::Mark mark = then().mark();
  then().put(ask, wanted);
  const bool fits = then().look(promise_->place, promise_->ask, promise_->job) == Why::Fits;
  then().rollback(mark);
  if (fits) return wanted;

  then().put(promise_->ask, promise_->place);
  Scratch free_in_both = both(view_.cluster(), trial_.use(), then().use(), promise_->place);
  then().rollback(mark);
  const Trial beside(view_.cluster(), free_in_both);
  if (Placed other = placer_.place(ask, id, beside)) return std::move(*other);

  then().put(ask, wanted);
  Placed moved = placer_.place(promise_->ask, promise_->job, then());
  then().rollback(mark);
  if (!moved) return std::nullopt;
  promise_->place = std::move(*moved);
  return wanted;
}

/// The cluster at the promised start. Who passes and outlasts it is put there too.
Trial& Backfill::then() {
  if (then_) return *then_;
  then_scratch_.emplace(Scratch{trial_.use(), {}});
  const Cluster& cluster = view_.cluster();
  for (const JobId id : view_.running()) {
    const JobView job = view_.job(id);
    if (counted_end(job, view_.now()) <= promise_->start) {
      then_scratch_->use.take(cluster, job.grant());
    }
  }
  for (const Fresh& given : fresh_) {
    if (later(view_.now(), given.planned) <= promise_->start) {
      then_scratch_->use.take(cluster, given.grant);
    }
  }
  return then_.emplace(cluster, *then_scratch_);
}

/// Returns: false if it would not fit even when everyone has left, which is a matter of health.
bool Backfill::promise_to(JobId id, const Ask& ask) {
  const bool nobody_went_ahead = fresh_.empty();
  if (known_ && nobody_went_ahead && known_->job == id && known_->ask == ask) {
    promise_ = std::move(known_);
    return true;
  }
  std::vector<Leaving> leaving;
  for (const JobId running : view_.running()) {
    const JobView job = view_.job(running);
    leaving.push_back({.at = counted_end(job, view_.now()),
                       .grant_number = job.grant_number(),
                       .grant = &job.grant()});
  }
  std::uint64_t number = view_.grants();
  for (const Fresh& given : fresh_) {
    leaving.push_back(
        {.at = later(view_.now(), given.planned), .grant_number = ++number, .grant = &given.grant});
  }
  std::ranges::sort(leaving, {}, [](const Leaving& l) { return std::pair(l.at, l.grant_number); });
  auto earliest = earliest_start({id, ask}, placer_, leaving, {}, trial_);
  if (!earliest) return false;
  promise_ = Promise{.job = id,
                     .ask = ask,
                     .start = earliest->gone == 0 ? view_.now() : earliest->from,
                     .place = std::move(earliest->placement)};
  keep_place();
  return true;
}

/// Stays with the place kept since an earlier pass, if the job would still fit there.
void Backfill::keep_place() {
  const auto kept = std::ranges::find(view_.holds(), promise_->job, &Hold::job);
  if (kept == view_.holds().end()) return;
  const bool fits = then().look(kept->placement, promise_->ask, promise_->job) == Why::Fits;
  if (fits) promise_->place = kept->placement;
}

void Backfill::start(JobId id, const Ask& ask, Placement placement) {
  const JobView job = view_.job(id);
  fresh_.push_back({counted_on(job), trial_.put(ask, placement), id});
  tally_.take(job);
  const Because because = promise_ ? Because::Backfilled : Because::ItsTurn;
  if (job.state() == JobState::Suspended) {
    decisions_.list.push_back(Resume{id, std::move(placement), because});
  } else {
    decisions_.list.push_back(
        Start{.job = id, .placement = std::move(placement), .because = because});
  }
}

class Easy final : public Policy {
 public:
  Easy(std::unique_ptr<Placer> placer, const Knobs& knobs)
      : order_(fifo({}, knobs)), placer_(std::move(placer)), rebuild_(knobs.rebuild) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    refresh(view, events);
    Backfill pass(view, *placer_, still_true(view));
    pass.run(index_);
    promise_ = pass.promise();
    outlook_.note(view, pass.fresh());
    Decisions decisions = pass.take();
    if (auto reserve = changed_hold(view, pass.fresh()))
      decisions.list.push_back(std::move(*reserve));
    for (const JobId id : impossible_) decisions.list.push_back(Reject{id});
    return decisions;
  }
  Expected<void> restore(const Snapshot&) override {
    is_fresh_ = true;
    return {};
  }

 private:
  void refresh(const ClusterView& view, std::span<const Event> events);
  void update(const ClusterView& view, JobId id);
  std::optional<Promise> still_true(const ClusterView& view) const;
  bool rests_on_plans(const ClusterView& view, std::span<const Fresh> fresh) const;
  std::optional<Decision> changed_hold(const ClusterView& view, std::span<const Fresh> fresh) const;

  std::unique_ptr<Order> order_;
  std::unique_ptr<Placer> placer_;
  bool rebuild_;
  bool is_fresh_ = true;  ///< Nothing seen yet: look at everything.
  Admission admission_;   ///< Asks were possible under it.
  PendingIndex index_;
  Feasibility feasibility_;
  std::vector<JobId> impossible_;   ///< Of this pass.
  std::optional<Promise> promise_;  ///< Of the last pass.
  Outlook outlook_;                 ///< What the promise rests on.
};

void Easy::refresh(const ClusterView& view, std::span<const Event> events) {
  impossible_.clear();
  const PendingIndex::Shape shape{.by_user = view.settings().limits.any()};
  const bool other_rules = admission_ != view.settings().admission;
  admission_ = view.settings().admission;
  if (is_fresh_ || rebuild_ || other_rules || shape.by_user != index_.shape().by_user) {
    index_.clear(shape);
    view.for_each_pending([&](const JobView& job) { update(view, job.id()); });
    if (is_fresh_) promise_.reset();
    is_fresh_ = false;
  } else {
    for (const Event& event : events) update(view, event.job);
  }
}

void Easy::update(const ClusterView& view, JobId id) {
  Lane* const lane = index_.update(id, view, *order_);
  if (lane == nullptr) return;
  if (!lane->possible) lane->possible = feasibility_.allows(view.job(id), view, *placer_);
  if (*lane->possible) return;
  index_.erase(id);
  if (std::ranges::find(impossible_, id) == impossible_.end()) impossible_.push_back(id);
}

/// The promise of the last pass, if everybody keeps to the plans it rests on and its place is kept.
std::optional<Promise> Easy::still_true(const ClusterView& view) const {
  if (rebuild_ || !promise_ || promise_->start <= view.now()) return std::nullopt;
  const auto kept = std::ranges::find(view.holds(), promise_->job, &Hold::job);
  if (kept == view.holds().end() || kept->placement != promise_->place) return std::nullopt;
  return outlook_.look(view) == Outlook::Change::None ? promise_ : std::nullopt;
}

/// False if somebody without a plan is among the last to leave before the promised start.
bool Easy::rests_on_plans(const ClusterView& view, std::span<const Fresh> fresh) const {
  const auto is_guess = [&](const JobView& job, Instant end) {
    return end == promise_->start && !has_plan(job);
  };
  return std::ranges::none_of(view.running(),
                              [&](JobId id) {
                                const JobView job = view.job(id);
                                return is_guess(job, counted_end(job, view.now()));
                              }) &&
         std::ranges::none_of(fresh, [&](const Fresh& given) {
           return is_guess(view.job(given.job), later(view.now(), given.planned));
         });
}

/// What is kept, where it is not what was kept before.
std::optional<Decision> Easy::changed_hold(const ClusterView& view,
                                           std::span<const Fresh> fresh) const {
  if (!promise_) {
    return view.holds().empty() ? std::nullopt : std::optional<Decision>(Reserve{.holds = {}});
  }
  Hold hold{.job = promise_->job,
            .ask = promise_->ask,
            .placement = promise_->place,
            .from = rests_on_plans(view, fresh) ? promise_->start : kNever,
            .after_grant = 0,
            .awaited = {},
            .lent = {},
            .lent_tenants = {},
            .lent_milli = {}};
  if (view.holds().size() == 1 && view.holds().front() == hold) return std::nullopt;
  return Reserve{.holds = {std::move(hold)}};
}

}  // namespace

std::unique_ptr<Policy> easy(const Keys&, std::unique_ptr<Placer> placer, const Knobs& knobs) {
  return std::make_unique<Easy>(std::move(placer), knobs);
}

}  // namespace berth
