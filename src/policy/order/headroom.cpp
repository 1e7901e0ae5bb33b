// Headroom: equal service for users, short jobs first within a user, and promises that hold.
//
// Rule: the user with the least decayed dominant service per weight goes first, across classes.
//   Within a user, the earliest submitted first, where a medium job counts as submitted `ageing`
//   later and a long one twice that. A job that outlives its class joins the next; a user whose
//   jobs did so `liar_after` times more often than not is not believed at the next submission.
//   Whoever fits passes a job that does not; one that has waited `reserve_after` gets a place kept
//   (promises.cpp), by limits that are enforced.
// Reads: accounts (service, weight, outlived classes), class, submitted, run time.
// Differs from the paper: nothing known; this is berth's own. Its parts: dominant shares (Ghodsi et
//   al., NSDI 2011) over time with decay, backfill behind a reservation (EASY, Lifka 1995), ageing
//   as an offset so that ranks never move. doc/adr/0010 argues it. Cost: O(running) per pass, O(1)
//   per job.
#include <map>

#include "policy/kit/classes.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

std::int64_t classes_below(DurationClass of) {
  switch (of) {
    case DurationClass::Short:
      return 0;
    case DurationClass::Medium:
      return 1;
    case DurationClass::Long:
    case DurationClass::Service:
      return 2;
  }
  return 2;
}

/// The class a user's word is worth.
DurationClass believed(DurationClass said, const Account& account, const HeadroomKeys& keys) {
  if (said == DurationClass::Short && account.outlived_short >= keys.liar_after) {
    said = DurationClass::Medium;
  }
  if (said == DurationClass::Medium && account.outlived_medium >= keys.liar_after) {
    said = DurationClass::Long;
  }
  return said;
}

class Headroom final : public Order {
 public:
  DependsOn depends_on() const override { return DependsOn::Group; }

  void configure(PipelineOptions& options, const Settings& settings) const override {
    const HeadroomKeys& keys = settings.headroom;
    options.reservation_depth = keys.reservations;
    options.reserve_after = keys.reserve_after;
    options.lend = keys.lend;
    options.share_after = keys.share_after;
    options.share_below_percent = keys.share_below_percent;
  }

  Decisions prepare(const ClusterView& view, std::span<const Event> events) override {
    judged_.clear();
    Decisions decisions;
    for (const JobId id : view.running()) watch(view.job(id), view, decisions);
    for (const Event& event : events) {
      const Job* const job = view.find(event.job);
      if (job != nullptr && is_waiting(job->state)) doubt(view.job(event.job), view, decisions);
    }
    return decisions;
  }

  Rank group_rank(UserId user, const ClusterView& view) const override {
    const Account account = view.account(user);
    const ShareSeconds service = account.service_at(view.now(), view.settings().service_half_life);
    return {.major = service.raw() / account.weight_milli, .minor = account.share_ppb};
  }

  Ranked rank(const JobView& job, const ClusterView& view) const override {
    const auto judged = judged_.find(job.id());
    const DurationClass is = judged == judged_.end() ? job.duration_class() : judged->second;
    const Duration penalty = view.settings().headroom.ageing * classes_below(is);
    return {.rank = {.major = micros(job.submitted() + penalty)},
            .valid_until = next_right(job, view)};
  }

 private:
  /// Demotes a running job that has outlived its class; else asks to look again when it will have.
  void watch(const JobView& job, const ClusterView& view, Decisions& decisions) {
    if (job.state() == JobState::Stopping) return;
    const HeadroomKeys& keys = view.settings().headroom;
    const DurationClass is = class_after(job.duration_class(), job.ran(), keys);
    judge(job, is, decisions);
    const Duration bound = bound_of(is, keys);
    if (bound == kForever) return;
    const Instant over = later(view.now(), bound - job.ran() + Duration(1));
    decisions.wake_at = std::min(decisions.wake_at.value_or(kNever), over);
  }

  void doubt(const JobView& job, const ClusterView& view, Decisions& decisions) {
    const HeadroomKeys& keys = view.settings().headroom;
    const DurationClass kept = class_after(job.duration_class(), job.ran(), keys);
    judge(job, believed(kept, view.account(job.user()), keys), decisions);
  }

  /// When it has waited long enough to share a busy GPU, or to have a place kept: the rank stays,
  /// but the pass must look at it again.
  static std::optional<Instant> next_right(const JobView& job, const ClusterView& view) {
    const HeadroomKeys& keys = view.settings().headroom;
    std::optional<Instant> next;
    for (const Duration wait : {keys.share_after, keys.reserve_after}) {
      if (wait <= job.waited()) continue;
      next = std::min(next.value_or(kNever), later(view.now(), wait - job.waited()));
    }
    return next;
  }

  void judge(const JobView& job, DurationClass is, Decisions& decisions) {
    if (is == job.duration_class() || !judged_.emplace(job.id(), is).second) return;
    decisions.list.push_back(Classify{job.id(), is});
  }

  std::map<JobId, DurationClass> judged_;  ///< In this pass: the view shows it from the next on.
};

}  // namespace

std::unique_ptr<Order> headroom(const Knobs&) { return std::make_unique<Headroom>(); }

}  // namespace berth
