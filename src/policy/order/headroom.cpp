// Headroom, the default policy. doc/adr/0010 argues its rule and doc/headroom.md its defaults.
#include <array>
#include <map>
#include <vector>

#include "core/text.hpp"
#include "policy/gates.hpp"
#include "policy/kit/classes.hpp"
#include "policy/kit/stated_classes.hpp"
#include "policy/pipeline/gate.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kHeadroomKeys = std::to_array<Key>({
    {.name = "short_bound",
     .type = KeyType::Time,
     .usual = "15m",
     .least = micros(seconds(1)),
     .most = kYear,
     .what = "A job of class short runs no longer than this; it is at most `medium_bound`."},
    {.name = "medium_bound",
     .type = KeyType::Time,
     .usual = "4h",
     .least = micros(seconds(1)),
     .most = kYear,
     .what = "A job of class medium runs no longer than this; a long one has no bound."},
    {.name = "ageing",
     .type = KeyType::Time,
     .usual = "1h",
     .least = 0,
     .most = kYear,
     .what = "A job of the next class goes first if it was submitted this much earlier."},
    kReserveAfterKey,
    kReservationsKey,
    kLendKey,
    {.name = "liar_after",
     .type = KeyType::Count,
     .usual = "3",
     .least = 1,
     .most = 8,
     .what = "The class that a user states is raised by one when the user's jobs that outlived "
             "their class outnumber the others by this many."},
    kShareBelowKey,
    kShareAfterKey,
});

namespace {

Expected<void> check_bounds(const Keys& keys) {
  const Duration medium = keys.time("medium_bound");
  const Duration given = keys.time("short_bound");
  if (given <= medium) return {};
  return fail(ErrorCode::InvalidArgument, "short_bound=" + seconds_text(given) +
                                              "s: must be at most medium_bound, which is " +
                                              seconds_text(medium) + "s");
}

}  // namespace

constexpr About kHeadroom{
    .title = "Headroom: equal service for users, short jobs first within a user, reserved places.",
    .rule =
        "The user with the least decayed dominant service / weight goes first. Within a user rank "
        "= time of submission + ageing x class, where class is 0 (short), 1 (medium) or 2 (long). "
        "A job that outlives its class joins the next one. A class that a user states is raised by "
        "one once (jobs of the user that outlived their class) - (jobs that kept to it) = "
        "`liar_after`. Any job that fits may pass a job that does not. A job that has waited "
        "`reserve_after` gets a place reserved, from the time limits of the jobs in its way.",
    .reads =
        "Accounts (service, weight), class, time of submission, run time, jobs that ended "
        "(run time, class).",
    .source =
        "berth's own. Its parts: dominant shares (Ghodsi et al., NSDI 2011) over time with decay, "
        "backfill behind a reservation (EASY, Lifka, JSSPP 1995), and ageing as an offset, so that "
        "ranks never move.",
    .differs = "Nothing to compare with: it is not published elsewhere.",
    .cost = "O(running) per pass, O(1) per job.",
    .proof =
        "None yet. Our own tests check its promises to users on simulated days "
        "(test/property/fairness_test.cpp).",
    .keys = kHeadroomKeys,
    .check = check_bounds};

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

/// A running job whose class is raised.
struct Outlived {
  UserId user;
  DurationClass was;
  DurationClass is;
};

class Headroom final : public Order {
 public:
  explicit Headroom(const Keys& keys)
      : bounds_{.short_bound = keys.time("short_bound"), .medium_bound = keys.time("medium_bound")},
        ageing_(keys.time("ageing")),
        keys_(keys),
        stated_(bounds_, keys.number("liar_after")) {}

  DependsOn depends_on() const override { return DependsOn::Group; }

  void configure(PipelineOptions& options, Gates& gates) const override {
    options.classes = bounds_;
    options.reservation_depth = static_cast<int>(keys_.number(kReservationsKey.name));
    options.reserve_after = keys_.time(kReserveAfterKey.name);
    options.lend = keys_.time(kLendKey.name);
    gates.list.push_back(idle(keys_));
  }

  Decisions prepare(const ClusterView& view, std::span<const Event> events) override {
    judged_.clear();
    stated_.look_back(view, events);
    std::vector<Outlived> outlived;  // counts from the next pass on
    Decisions decisions;
    for (const JobId id : view.running()) watch(view.job(id), view, decisions, outlived);
    for (const Event& event : events) {
      const Job* const job = view.find(event.job);
      if (job != nullptr && is_waiting(job->state)) doubt(view.job(event.job), decisions);
    }
    for (const Outlived& what : outlived) stated_.note_outlived(what.user, what.was, what.is);
    return decisions;
  }

  Rank group_rank(UserId user, const ClusterView& view) const override {
    const Account account = view.account(user);
    const ShareSeconds service = account.service_at(view.now(), view.settings().service_half_life);
    return {.major = service.raw() / account.weight_milli, .minor = account.share_ppb};
  }

  Snapshot save() const override { return stated_.save(); }
  Expected<void> restore(const Snapshot& bytes) override {
    return stated_.restore(bytes, "headroom");
  }

  Ranked rank(const JobView& job, const ClusterView&) const override {
    const auto judged = judged_.find(job.id());
    const DurationClass is = judged == judged_.end() ? job.duration_class() : judged->second;
    const Duration penalty = ageing_ * classes_below(is);
    return {.rank = {.major = micros(job.submitted() + penalty)}};
  }

 private:
  /// Demotes a running job that has outlived its class; else asks to look again when it will have.
  void watch(const JobView& job, const ClusterView& view, Decisions& decisions,
             std::vector<Outlived>& outlived) {
    if (job.state() == JobState::Stopping) return;
    const DurationClass is = class_after(job.duration_class(), job.ran(), bounds_);
    if (judge(job, is, decisions)) outlived.push_back({job.user(), job.duration_class(), is});
    const Duration bound = bound_of(is, bounds_);
    if (bound == kForever) return;
    const Instant over = later(view.now(), bound - job.ran() + Duration(1));
    decisions.wake_at = std::min(decisions.wake_at.value_or(kNever), over);
  }

  void doubt(const JobView& job, Decisions& decisions) {
    const DurationClass kept = class_after(job.duration_class(), job.ran(), bounds_);
    judge(job, stated_.believed(kept, job.user()), decisions);
  }

  /// Returns: whether its class is another from now on.
  bool judge(const JobView& job, DurationClass is, Decisions& decisions) {
    if (is == job.duration_class() || !judged_.emplace(job.id(), is).second) return false;
    stated_.note_raised(job.id(), job.duration_class());
    decisions.list.push_back(Classify{job.id(), is});
    return true;
  }

  ClassBounds bounds_;
  Duration ageing_;
  Keys keys_;
  StatedClasses stated_;
  std::map<JobId, DurationClass> judged_;  ///< In this pass: the view shows it from the next on.
};

}  // namespace

std::unique_ptr<Order> headroom(const Keys& keys, const Knobs&) {
  return std::make_unique<Headroom>(keys);
}

}  // namespace berth
