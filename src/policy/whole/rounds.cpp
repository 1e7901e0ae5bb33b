#include "policy/whole/rounds.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/members.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/seats.hpp"

namespace berth {

inline auto members(TimeShare& v) { return std::tie(v.part, v.of); }
inline auto members(TimePlan::OnType& v) { return std::tie(v.owed, v.ran, v.lacking); }
inline auto members(TimePlan::Standing& v) { return std::tie(v.planned, v.types); }
inline auto members(TimePlan::Memory& v) { return std::tie(v.made_at, v.jobs, v.standings); }

namespace {

/// A job of the round.
struct Seated {
  Placement place;
  Duration ran_before{0};  ///< Its run time when the round began.
};
inline auto members(Seated& v) { return std::tie(v.place, v.ran_before); }

struct RoundsMemory {
  Snapshot jobs;
  TimePlan::Memory plan;
  Instant round_end = kStart;
  std::map<JobId, Seated> round;
};
inline auto members(RoundsMemory& v) { return std::tie(v.jobs, v.plan, v.round_end, v.round); }

bool is_sane(const RoundsMemory& memory) {
  const auto is_seated = [](const auto& entry) {
    const auto& gpus = entry.second.place.gpus;
    const bool ascend = std::ranges::adjacent_find(gpus, std::greater_equal()) == gpus.end();
    return ascend && entry.second.ran_before >= Duration::zero();
  };
  return memory.round_end >= kStart && is_sane(memory.plan) &&
         std::ranges::all_of(memory.round, is_seated);
}

/// The types of GPU in a drawn order.
std::vector<std::size_t> draw_types(const ClusterView& view) {
  std::vector<std::size_t> types(view.cluster().type_names().size());
  std::iota(types.begin(), types.end(), std::size_t{0});
  Rng rng = view.rng();
  for (std::size_t i = types.size(); i > 1; --i) {
    const auto other = rng.between(0, static_cast<std::int64_t>(i) - 1);
    std::swap(types[i - 1], types[static_cast<std::size_t>(other)]);
  }
  return types;
}

class Rounds final : public Policy {
 public:
  Rounds(std::string_view name, const RoundTimes& times, std::unique_ptr<Placer> placer,
         Allocate allocate)
      : name_(name),
        times_(times),
        placer_(std::move(placer)),
        one_type_(*placer_),
        allocate_(std::move(allocate)) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    jobs_.update(view, events, one_type_);
    plan_.follow(view, jobs_);
    drop_unknown_places(view.cluster());
    if (is_over(view)) {
      book(view);
      if (plan_.is_due(jobs_.ids(), view.now(), times_.plan_lasts)) {
        plan_.make(view.now(), jobs_.ids(), allocate_(view, jobs_.ids()));
      }
      begin_round(view);
    }
    Decisions decisions = carry_out(view);
    jobs_.reject_impossible(decisions);
    decisions.wake_at = wake_at();
    return decisions;
  }

  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    using What = GateWord::What;
    return waits_its_turn(job, view, round_.contains(job) ? What::Freed : What::Round);
  }

  Snapshot save() const override {
    return saved(RoundsMemory{
        .jobs = jobs_.save(), .plan = plan_.memory(), .round_end = round_end_, .round = round_});
  }

  Expected<void> restore(const Snapshot& bytes) override {
    RoundsMemory memory;
    const auto sane = [](const RoundsMemory& read) { return is_sane(read); };
    if (auto done = restore_into(memory, bytes, name_, sane); !done) return done;
    if (auto done = jobs_.restore(memory.jobs); !done) return done;
    plan_.remember(std::move(memory.plan));
    round_end_ = memory.round_end;
    round_ = std::move(memory.round);
    unchecked_ = true;
    return {};
  }

 private:
  void drop_unknown_places(const Cluster& cluster) {
    if (!std::exchange(unchecked_, false)) return;
    std::erase_if(round_, [&](const auto& in) { return !exists(in.second.place, cluster); });
  }

  bool is_over(const ClusterView& view) const {
    return view.now() >= round_end_ || std::ranges::none_of(round_, [&](const auto& in) {
             const Job* const job = view.find(in.first);
             return job != nullptr && is_live(*job);
           });
  }

  /// Counts what the jobs of the round received of it.
  void book(const ClusterView& view) {
    for (const auto& [id, seated] : round_) {
      const Job* const job = view.find(id);
      if (job == nullptr || seated.place.gpus.empty()) continue;
      const std::size_t type = view.cluster().gpu(seated.place.gpus.front()).type;
      // A job may turn out to have ended before the round did.
      const Duration ran = view.job(id).ran() - seated.ran_before;
      plan_.add(id, type, std::max(Duration::zero(), ran));
    }
  }

  void begin_round(const ClusterView& view) {
    Trial trial = view.trial();
    clear(trial, view);
    const Trial::Mark empty = trial.mark();
    std::vector<Seat> seats = choose(view, Seating(view, *placer_, trial));
    trial.rollback(empty);
    seats = with_fewest_moves(std::move(seats), Seating(view, *placer_, trial));
    round_.clear();
    for (Seat& seat : seats) {
      round_[seat.job] = {.place = std::move(seat.place), .ran_before = view.job(seat.job).ran()};
    }
    round_end_ = later(view.now(), times_.round);
  }

  std::vector<Seat> choose(const ClusterView& view, Seating seating) const {
    std::vector<JobId> left;
    // Jobs that must not give way are in the round, whatever they are owed.
    const std::set<JobId> kept = seating.keep_left_alone(jobs_.ids());
    for (const JobId id : jobs_.ids()) {
      const Ask ask = ask_of(view.job(id));
      if (kept.contains(id)) continue;
      if (ask.gpus() == GpuCount(0)) {
        seating.seat(id, ask);
      } else if (plan_.has(id)) {
        left.push_back(id);
      }
    }
    for (const std::size_t type : draw_types(view)) {
      for (const std::size_t i : plan_.by_claim(left, type, times_.round / 2)) {
        const auto ask = on_type(ask_of(view.job(left[i])), type);
        if (ask && seating.seat(left[i], *ask)) left[i] = JobId();
      }
      std::erase(left, JobId());
    }
    return seating.take();
  }

  /// Most passes are within a round, whose jobs have their places.
  Decisions carry_out(const ClusterView& view) const {
    if (is_carried_out(view)) return {};
    std::vector<JobId> jobs;  // others wait, and go on waiting
    std::vector<std::optional<Placement>> places;
    for (const JobId id : jobs_.ids()) {
      const auto found = round_.find(id);
      if (found == round_.end() && !holds_berth(view.find(id)->state)) continue;
      jobs.push_back(id);
      places.push_back(found == round_.end() ? std::nullopt : std::optional(found->second.place));
    }
    return rearrange(view, jobs, places);
  }

  /// True if all jobs of the round that are there run in their places, and no other does.
  bool is_carried_out(const ClusterView& view) const {
    const JobId later_than_all(kLastJob.value() + 1);
    auto in = round_.begin();
    const auto none_waits_before = [&](JobId end) {
      for (; in != round_.end() && in->first < end; ++in) {
        const Job* const job = view.find(in->first);
        if (job != nullptr && is_waiting(job->state)) return false;
      }
      return true;
    };
    const auto is_in_place = [&](JobId id) {
      if (!none_waits_before(id)) return false;
      const bool is_in = in != round_.end() && in->first == id;
      return stays_as_it_is(*view.find(id), is_in ? &in->second.place : nullptr);
    };
    return std::ranges::all_of(view.running(), is_in_place) && none_waits_before(later_than_all);
  }

  /// The end of the round; if it is empty, the plan that will have jobs for one.
  std::optional<Instant> wake_at() const {
    if (!round_.empty()) return round_end_;
    if (plan_.has_all(jobs_.ids())) return std::nullopt;
    return later(plan_.made_at(), times_.plan_lasts);
  }

  std::string name_;
  RoundTimes times_;
  std::unique_ptr<Placer> placer_;
  OneTypePlacer one_type_;
  Allocate allocate_;
  JobList jobs_;  ///< In order of arrival.
  TimePlan plan_;
  std::map<JobId, Seated> round_;
  Instant round_end_ = kStart;
  bool unchecked_ = false;  ///< As restored: its round may name GPUs that the cluster lacks.
};

}  // namespace

std::unique_ptr<Policy> in_rounds(std::string_view name, const RoundTimes& times,
                                  std::unique_ptr<Placer> placer, Allocate allocate) {
  return std::make_unique<Rounds>(name, times, std::move(placer), std::move(allocate));
}

}  // namespace berth
