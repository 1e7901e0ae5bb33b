#include "policy/whole/sized.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/wide.hpp"
#include "core/members.hpp"
#include "policy/allocate/work_left.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/seats.hpp"

namespace berth {

Duration SizedJob::time(std::int64_t on) const {
  if (on == 0) return kForever;
  const Wide time = Wide{micros(left)} * Rate::kWhole / speed(on);
  return Duration(static_cast<std::int64_t>(std::min(time, Wide{micros(kForever)} - 1)));
}

namespace {

/// What is remembered of a job.
struct Sizing {
  std::optional<Placement> seat;
  Instant since = kNever;  ///< Of its seat, and those before it without a pause.
  Duration worked{0};      ///< At full speed, in the first `ran` of its run time.
  Duration ran{0};
  GpuCount gpus{0};  ///< That it runs with since then.
};
inline auto members(Sizing& v) { return std::tie(v.seat, v.since, v.worked, v.ran, v.gpus); }

struct SizedMemory {
  Snapshot jobs;
  std::vector<JobId> sized;  ///< The jobs for which the rule was asked last.
  GpuCount gpus{0};          ///< And the GPUs there were.
  std::map<JobId, Sizing> sizings;
};
inline auto members(SizedMemory& v) { return std::tie(v.jobs, v.sized, v.gpus, v.sizings); }

/// What a plan set of a job.
struct SetByPlan {
  Promise promise = Promise::Open;
  JobTurns turns = {};
  bool operator==(const SetByPlan&) const = default;
};
inline auto members(SetByPlan& v) { return std::tie(v.promise, v.turns); }

/// What a policy by a plan remembers besides.
struct SizePlanMemory {
  Snapshot sized;
  Instant asked = kNever;
  Instant again = kNever;
  std::map<JobId, SetByPlan> set;
};
inline auto members(SizePlanMemory& v) { return std::tie(v.sized, v.asked, v.again, v.set); }

constexpr Duration kMostWork(std::int64_t{1} << 60);
constexpr std::int64_t kMostTurns = std::int64_t{1} << 60;
constexpr GpuCount kMostGpusHeld(std::int64_t{1} << 32);  ///< So that products fit.

bool is_sane(const Sizing& sizing) {
  const auto is_time = [&](Duration t) { return t >= Duration::zero() && t <= kMostWork; };
  const bool ascends =
      !sizing.seat || std::ranges::adjacent_find(sizing.seat->gpus, std::greater_equal()) ==
                          sizing.seat->gpus.end();
  return ascends && is_time(sizing.worked) && is_time(sizing.ran) && sizing.gpus >= GpuCount(0) &&
         sizing.gpus <= kMostGpusHeld;
}

bool is_sane(const SizedMemory& memory) {
  return memory.gpus >= GpuCount(0) && std::ranges::all_of(memory.sizings, [](const auto& entry) {
           return is_sane(entry.second);
         });
}

bool is_sane(const SizePlanMemory& memory) {
  return std::ranges::all_of(memory.set, [](const auto& entry) {
    const std::int64_t over = entry.second.turns.over;
    return over >= 0 && over <= kMostTurns;
  });
}

/// Speeds by the number of GPUs, which many jobs have in common.
class SpeedCurves {
 public:
  explicit SpeedCurves(const ClusterView& view) : view_(view) {}

  /// On one GPU, two and so on, as long as one more makes the job faster.
  std::span<const Rate> of(const JobView& job) {
    const GpuRequest& asked = job.request().gpu;
    const JobSpec& spec = job.spec();
    const Key key{spec.model.text(), spec.batch, asked.count, asked.least(), asked.most()};
    const auto [known, is_new] = curves_.try_emplace(key);
    if (is_new) known->second = measure(job);
    return known->second;
  }

 private:
  using Key = std::tuple<std::string, std::int64_t, GpuCount, GpuCount, GpuCount>;

  std::vector<Rate> measure(const JobView& job) const {
    const std::int64_t least = job.request().gpu.least().raw();
    const std::int64_t there = view_.cluster().gpu_count().raw();
    const std::int64_t most = std::max(least, std::min(job.request().gpu.most().raw(), there));
    std::vector<Rate> speeds;
    for (std::int64_t gpus = 1; gpus <= most; ++gpus) {
      const Rate speed = view_.speed(job, {.gpus = gpus});
      if (gpus > least && speed <= speeds.back()) break;
      speeds.push_back(speed);
    }
    return speeds;
  }

  const ClusterView& view_;
  std::map<Key, std::vector<Rate>> curves_;
};

class SizedPolicy final : public Policy {
 public:
  SizedPolicy(std::string_view name, SizePlan plan, std::optional<Duration> apart,
              std::unique_ptr<Placer> placer)
      : name_(name), plan_(std::move(plan)), apart_(apart), placer_(std::move(placer)) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    jobs_.update(view, events, *placer_);
    follow(view);
    seat_all(view);
    Decisions decisions = carry_out(view);
    jobs_.reject_impossible(decisions);
    if (wake_at_ != kNever) decisions.wake_at = wake_at_;
    return decisions;
  }

  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    using What = GateWord::What;
    const auto known = sizings_.find(job);
    if (known != sizings_.end() && known->second.seat) {
      return waits_its_turn(job, view, What::Freed);
    }
    const auto set = set_.find(job);
    const bool is_left = set != set_.end() && set->second.promise == Promise::Refused;
    return waits_its_turn(job, view, is_left ? What::Left : What::Ahead);
  }

  Snapshot save() const override {
    Snapshot sized = saved(
        SizedMemory{.jobs = jobs_.save(), .sized = sized_, .gpus = gpus_, .sizings = sizings_});
    if (!apart_) return sized;
    return saved(
        SizePlanMemory{.sized = std::move(sized), .asked = asked_, .again = again_, .set = set_});
  }

  Expected<void> restore(const Snapshot& bytes) override {
    if (!apart_) return restore_sized(bytes);
    SizePlanMemory memory;
    const auto sane = [](const SizePlanMemory& read) { return is_sane(read); };
    if (auto done = restore_into(memory, bytes, name_, sane); !done) return done;
    if (auto done = restore_sized(memory.sized); !done) return done;
    asked_ = memory.asked;
    again_ = memory.again;
    set_ = std::move(memory.set);
    return {};
  }

 private:
  Expected<void> restore_sized(const Snapshot& bytes) {
    SizedMemory memory;
    const auto sane = [](const SizedMemory& read) { return is_sane(read); };
    if (auto done = restore_into(memory, bytes, name_, sane); !done) return done;
    if (auto done = jobs_.restore(memory.jobs); !done) return done;
    sized_ = std::move(memory.sized);
    gpus_ = memory.gpus;
    sizings_ = std::move(memory.sizings);
    unchecked_ = true;
    return {};
  }

  // ---- Work ----

  void follow(const ClusterView& view) {
    const std::set<JobId> known(jobs_.ids().begin(), jobs_.ids().end());
    const auto is_gone = [&](const auto& entry) { return !known.contains(entry.first); };
    std::erase_if(sizings_, is_gone);
    std::erase_if(set_, is_gone);
    if (std::exchange(unchecked_, false)) {
      for (auto& [id, sizing] : sizings_) {
        if (sizing.seat && !exists(*sizing.seat, view.cluster())) sizing.seat.reset();
      }
    }
    for (const JobId id : jobs_.ids()) count_work(view, view.job(id), sizings_[id]);
  }

  struct Stretch {
    GpuCount on{0};
    Duration time{0};
  };

  /// Once for each stretch on one number of GPUs, so that what is counted does not depend on how
  /// often it is.
  void count_work(const ClusterView& view, const JobView& job, Sizing& sizing) const {
    const Duration ran = job.progressed();
    if (ran < sizing.ran) sizing = {.seat = sizing.seat, .since = sizing.since};  // work was lost
    if (!holds_berth(job.state()) || job.gpus() == sizing.gpus) return;
    const Duration here = std::min(ran - sizing.ran, job.ran() - view.find(job.id())->ran);
    const Stretch before{.on = sizing.gpus, .time = ran - here - sizing.ran};
    sizing.worked = std::min(kMostWork, sizing.worked + work(view, job, before));
    sizing.ran = ran - here;
    sizing.gpus = job.gpus();
  }

  static Duration work(const ClusterView& view, const JobView& job, const Stretch& stretch) {
    if (stretch.on == GpuCount(0)) return Duration::zero();
    const Rate speed = view.speed(job, {.gpus = stretch.on.raw()});
    const Wide done = Wide{micros(stretch.time)} * speed.ppm() / Rate::kWhole;
    return Duration(static_cast<std::int64_t>(done));
  }

  // ---- Numbers ----

  /// The number that a job has if it has any, because it does not save itself.
  static std::optional<GpuCount> fixed(const JobView& job, const Sizing& sizing) {
    const GpuRequest& asked = job.request().gpu;
    if (!asked.is_elastic()) return asked.count;
    if (job.saves_itself()) return std::nullopt;
    if (holds_berth(job.state())) return job.gpus();
    if (job.state() != JobState::Suspended) return std::nullopt;
    const bool is_known = sizing.gpus >= asked.least() && sizing.gpus <= asked.most();
    return is_known ? sizing.gpus : asked.count;
  }

  static GpuCount least(const JobView& job, const Sizing& sizing) {
    return fixed(job, sizing).value_or(job.request().gpu.least());
  }

  SizedJob for_rule(const ClusterView& view, JobId id, SpeedCurves& curves) const {
    const JobView job = view.job(id);
    const Sizing& sizing = sizings_.at(id);
    const Stretch now{.on = sizing.gpus, .time = job.progressed() - sizing.ran};
    SizedJob sized{.left = work_left(job, sizing.worked + work(view, job, now)),
                   .since = sizing.seat ? sizing.since : kNever,
                   .speeds = curves.of(job),
                   .deadline = job.spec().deadline};
    if (sizing.seat) sized.held = std::ssize(sizing.seat->gpus);
    if (const auto known = set_.find(id); known != set_.end()) {
      sized.promise = known->second.promise;
      sized.turns = known->second.turns;
    }
    const auto number = fixed(job, sizing);
    sized.least = number.value_or(job.request().gpu.least()).raw();
    sized.most = number ? sized.least : std::max(sized.least, std::ssize(sized.speeds));
    return sized;
  }

  /// Asks the rule, of the GPUs that nobody keeps. Returns: the number of each job with GPUs, but
  /// for those that keep their places.
  std::map<JobId, GpuCount> ask_rule(const ClusterView& view, const std::set<JobId>& kept,
                                     GpuCount gpus) {
    SpeedCurves curves(view);
    std::vector<JobId> ids;
    std::vector<SizedJob> jobs;
    for (const JobId id : jobs_.ids()) {
      if (kept.contains(id) || view.job(id).request().gpu.count == GpuCount(0)) continue;
      ids.push_back(id);
      jobs.push_back(for_rule(view, id, curves));
    }
    asked_ = view.now();
    const auto instant = static_cast<std::uint64_t>(micros(view.now() - kStart));
    again_ = plan_(jobs, gpus.raw(), view.now(), Rng(view.run_rng().next(), instant));
    std::map<JobId, GpuCount> numbers;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      numbers[ids[i]] = GpuCount(jobs[i].gpus);
      const SetByPlan set{.promise = jobs[i].promise, .turns = jobs[i].turns};
      if (set != SetByPlan()) set_[ids[i]] = set;  // what is set once is never unset
    }
    return numbers;
  }

  // ---- Places ----

  void seat_all(const ClusterView& view) {
    Trial trial = view.trial();
    clear(trial, view);
    const GpuCount all = trial.use().vacant();
    Seating seating(view, *placer_, trial);
    std::set<JobId> seated = seating.keep_left_alone(jobs_.ids());
    const bool is_due = sized_ != jobs_.ids() || gpus_ != all || view.now() >= again_;
    const Instant earliest =
        asked_ > view.now() ? view.now() : later(asked_, apart_.value_or(Duration::zero()));
    if (is_due && view.now() >= earliest) {
      sized_ = jobs_.ids();
      gpus_ = all;
      const auto numbers = ask_rule(view, seated, trial.use().vacant());
      hold_seats(view, seating, seated, &numbers);
      seat_by_size(view, seating, seated, numbers);
      wake_at_ = again_;
    } else {
      hold_seats(view, seating, seated, nullptr);
      wake_at_ = is_due ? earliest : again_;
    }
    seat_left(view, seating, seated);
    note_seats(view.now(), seating.take());
  }

  using Numbers = std::map<JobId, GpuCount>;
  /// Jobs with seats of the right number, of any if there are no numbers, stay in them.
  void hold_seats(const ClusterView& view, Seating& seating, std::set<JobId>& seated,
                  const Numbers* numbers) const {
    for (const JobId id : jobs_.ids()) {
      const auto& seat = sizings_.at(id).seat;
      if (!seat || seated.contains(id)) continue;
      if (numbers != nullptr) {
        const auto number = numbers->find(id);
        const bool is_right =
            number == numbers->end() || number->second.raw() == std::ssize(seat->gpus);
        if (!is_right) continue;
      }
      const Job& job = *view.find(id);
      const bool is_there = is_running(job.state) && placement_of(job.grant) == *seat;
      if (seating.hold(id, ask_of(view.job(id)), *seat) || (is_there && seating.stay(id))) {
        seated.insert(id);
      }
    }
  }

  /// Jobs with a number that have no place yet: the largest first, which find places least easily.
  /// One without a place for its number gets the next smaller one.
  void seat_by_size(const ClusterView& view, Seating& seating, std::set<JobId>& seated,
                    const Numbers& numbers) const {
    std::vector<JobId> waiting;
    for (const JobId id : jobs_.ids()) {
      const auto number = numbers.find(id);
      const bool is_wanted = number != numbers.end() && number->second > GpuCount(0);
      if (is_wanted && !seated.contains(id)) waiting.push_back(id);
    }
    std::ranges::stable_sort(waiting, std::greater(), [&](JobId id) { return numbers.at(id); });
    for (const JobId id : waiting) {
      const JobView job = view.job(id);
      const GpuCount fewest = least(job, sizings_.at(id));
      for (GpuCount gpus = numbers.at(id); gpus >= fewest; gpus -= GpuCount(1)) {
        if (!seating.seat(id, ask_of(job, gpus))) continue;
        seated.insert(id);
        break;
      }
    }
  }

  /// Jobs that have none get what is left, where jobs share GPUs or do not fit as counted, but for
  /// those that came while no numbers were set.
  void seat_left(const ClusterView& view, Seating& seating, std::set<JobId>& seated) const {
    for (const JobId id : sized_) {
      if (seated.contains(id) || !sizings_.contains(id)) continue;
      const JobView job = view.job(id);
      const Ask ask = ask_of(job, least(job, sizings_.at(id)));
      if (seating.keep(id, ask) || seating.seat(id, ask)) seated.insert(id);
    }
  }

  void note_seats(Instant now, std::vector<Seat> seats) {
    std::map<JobId, Placement> by_job;
    for (Seat& seat : seats) by_job[seat.jobs.front()] = std::move(seat.place);
    for (auto& [id, sizing] : sizings_) {
      const auto found = by_job.find(id);
      const bool has_seat = found != by_job.end();
      if (!has_seat) sizing.since = kNever;
      if (has_seat && !sizing.seat) sizing.since = now;
      sizing.seat = has_seat ? std::optional(std::move(found->second)) : std::nullopt;
    }
  }

  Decisions carry_out(const ClusterView& view) const {
    std::vector<JobId> jobs;
    std::vector<std::optional<Placement>> places;
    for (const JobId id : jobs_.ids()) {
      const auto& seat = sizings_.at(id).seat;
      const Job& job = *view.find(id);
      const bool is_there = holds_berth(job.state) && stays_as_it_is(job, seat ? &*seat : nullptr);
      if (is_there || (!seat && !holds_berth(job.state))) continue;
      jobs.push_back(id);
      places.push_back(seat);
    }
    return rearrange(view, jobs, places);
  }

  std::string name_;
  SizePlan plan_;
  std::optional<Duration> apart_;  ///< Between two plans at least; nothing: it plans nothing.
  std::unique_ptr<Placer> placer_;
  JobList jobs_;  ///< In order of arrival.
  std::vector<JobId> sized_;
  GpuCount gpus_{0};
  std::map<JobId, Sizing> sizings_;  ///< Of the jobs of the list.
  bool unchecked_ = false;           ///< As restored: seats may be of GPUs that are gone.
  Instant asked_ = kNever;           ///< For a plan.
  Instant again_ = kNever;           ///< As the plan says.
  Instant wake_at_ = kNever;
  std::map<JobId, SetByPlan> set_;
};

}  // namespace

std::unique_ptr<Policy> sized(std::string_view name, SizeRule& rule,
                              std::unique_ptr<Placer> placer) {
  const auto plan = [&rule](std::span<SizedJob> jobs, std::int64_t gpus, Instant, Rng) {
    rule(jobs, gpus);
    return kNever;
  };
  return std::make_unique<SizedPolicy>(name, plan, std::nullopt, std::move(placer));
}

std::unique_ptr<Policy> sized_by_plan(std::string_view name, SizePlan plan, Duration apart,
                                      std::unique_ptr<Placer> placer) {
  return std::make_unique<SizedPolicy>(name, std::move(plan), apart, std::move(placer));
}

}  // namespace berth
