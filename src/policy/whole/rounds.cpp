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
inline auto members(TimePlan::Standing& v) { return std::tie(v.planned, v.beside, v.worked); }
inline auto members(TimePlan::Memory& v) { return std::tie(v.made_at, v.jobs, v.standings); }

namespace {

/// A job of the round.
struct Seated {
  Placement place;
  Combination jobs;        ///< Those that share it, this one among them.
  Duration ran_before{0};  ///< Its run time when the round began.
};
inline auto members(Seated& v) { return std::tie(v.place, v.jobs, v.ran_before); }

/// What was asked of the solver.
struct Asked {
  std::uint64_t number = 0;
  std::vector<JobId> jobs;  ///< That the plan is for.
  std::vector<Option> options;
  Instant until;  ///< A round waits for the answer till then.
  std::optional<Answer> answer;
};
inline auto members(Asked& v) { return std::tie(v.number, v.jobs, v.options, v.until, v.answer); }

struct RoundsMemory {
  Snapshot jobs;
  TimePlan::Memory plan;
  Instant round_end = kStart;
  std::map<JobId, Seated> round;
  std::optional<Asked> asked;
  Snapshot allocator;
};
inline auto members(RoundsMemory& v) {
  return std::tie(v.jobs, v.plan, v.round_end, v.round, v.asked, v.allocator);
}

bool is_sane(const RoundsMemory& memory) {
  const auto is_seated = [](const auto& entry) {
    const auto& [id, seated] = entry;
    const auto ascend = [](const auto& ids) {
      return std::ranges::adjacent_find(ids, std::greater_equal()) == ids.end();
    };
    return ascend(seated.place.gpus) && ascend(seated.jobs) &&
           std::ranges::binary_search(seated.jobs, id) && seated.ran_before >= Duration::zero();
  };
  return memory.round_end >= kStart && is_sane(memory.plan) &&
         std::ranges::all_of(memory.round, is_seated);
}

std::vector<std::size_t> types_in(RoundRules::Types order, const ClusterView& view) {
  std::vector<std::size_t> types(view.cluster().type_names().size());
  std::iota(types.begin(), types.end(), std::size_t{0});
  if (order == RoundRules::Types::Listed) return types;
  Rng rng = view.rng();
  for (std::size_t i = types.size(); i > 1; --i) {
    const auto other = rng.between(0, static_cast<std::int64_t>(i) - 1);
    std::swap(types[i - 1], types[static_cast<std::size_t>(other)]);
  }
  return types;
}

class Rounds final : public Policy {
 public:
  Rounds(std::string_view name, const RoundRules& rules, std::unique_ptr<Placer> placer,
         std::unique_ptr<Allocator> allocator)
      : name_(name),
        rules_(rules),
        placer_(std::move(placer)),
        one_type_(*placer_),
        allocator_(std::move(allocator)) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    jobs_.update(view, events, one_type_);
    plan_.follow(view, jobs_);
    drop_unknown_places(view.cluster());
    take_answer(view);
    Decisions decisions;
    if (is_over(view)) {
      decisions.question = begin_plan(view);
      if (!is_late(view)) begin_round(view);
      const bool is_empty = is_over(view) && !decisions.question;
      if (is_empty) decisions.question = begin_plan(view);  // of the jobs that came meanwhile
    }
    carry_out(view, decisions);
    jobs_.reject_impossible(decisions);
    decisions.wake_at = is_over(view) && asked_ ? asked_->until : wake_at();
    return decisions;
  }

  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    using What = GateWord::What;
    if (round_.contains(job)) return waits_its_turn(job, view, What::Freed);
    const bool is_planned =
        rules_.newcomers == RoundRules::Newcomers::AreUnowed || !plan_.knows(job) || plan_.has(job);
    Refused refused = waits_its_turn(job, view, is_planned ? What::Round : What::Plan);
    if (is_planned) add_prospect(job, view, refused.refusal.gate);
    return refused;
  }

  Snapshot save() const override {
    return saved(RoundsMemory{.jobs = jobs_.save(),
                              .plan = plan_.memory(),
                              .round_end = round_end_,
                              .round = round_,
                              .asked = asked_,
                              .allocator = allocator_->save()});
  }

  Expected<void> restore(const Snapshot& bytes) override {
    RoundsMemory memory;
    const auto sane = [](const RoundsMemory& read) { return is_sane(read); };
    if (auto done = restore_into(memory, bytes, name_, sane); !done) return done;
    if (auto done = jobs_.restore(memory.jobs); !done) return done;
    if (auto done = allocator_->restore(memory.allocator); !done) return done;
    asked_ = std::move(memory.asked);
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

  void add_prospect(JobId job, const ClusterView& view, GateWord& gate) const {
    const TimePlan::Prospect prospect = plan_.prospect_of(job);
    const auto gpus = view.cluster().gpus();
    const auto first = std::ranges::find(gpus, prospect.type, &GpuSpec::type);
    gate.percent = prospect.percent;
    gate.gpu = GpuId(static_cast<std::uint32_t>(first - gpus.begin()));
    if (!prospect.beside.empty()) gate.beside = prospect.beside.front();
  }

  // ---- Plans ----

  void take_answer(const ClusterView& view) {
    if (!asked_ || asked_->answer) return;
    if (const Answer* const answer = view.answer_to(asked_->number)) asked_->answer = *answer;
  }

  /// True while the end of a round waits for an answer.
  bool is_late(const ClusterView& view) const {
    return asked_ && !asked_->answer && view.now() < asked_->until;
  }

  /// A question that has no answer a round later may be lost. Requires: something was asked.
  Instant ask_again_at() const { return later(asked_->until, rules_.round); }

  /// Makes the plan that is due, or asks for it. Returns: the question, if there is a new one.
  std::optional<Question> begin_plan(const ClusterView& view) {
    const bool is_lost = asked_ && !asked_->answer && view.now() >= ask_again_at();
    if (is_lost) asked_.reset();
    if (asked_) return std::nullopt;
    const bool is_due = plan_.is_due(jobs_.ids(), view.now(), rules_.plan_lasts) ||
                        plan_.is_outrun(view, jobs_.ids(), rules_.plan_lasts);
    if (!is_due) return std::nullopt;
    book(view);
    Proposal proposal = allocator_->propose(view, jobs_.ids(), plan_);
    round_end_ = view.now();
    if (!proposal.question) {
      make_plan(view, jobs_.ids(), proposal.options, proposal.shares);
      return std::nullopt;
    }
    asked_ = {.number = proposal.question->number(),
              .jobs = jobs_.ids(),
              .options = std::move(proposal.options),
              .until = later(view.now(), rules_.patience()),
              .answer = std::nullopt};
    return std::move(proposal.question);
  }

  /// An answer of no use leaves the last plan as it is.
  void use_answer(const ClusterView& view) {
    if (!asked_ || !asked_->answer) return;
    const auto shares = allocator_->shares(asked_->options, *asked_->answer);
    if (shares.size() == asked_->options.size()) {
      make_plan(view, asked_->jobs, asked_->options, shares);
      asked_.reset();
    } else {
      asked_->answer.reset();
      asked_->until = view.now();
    }
  }

  /// For those of the jobs that are still there.
  void make_plan(const ClusterView& view, std::span<const JobId> jobs,
                 std::span<const Option> options, std::span<const TimeShare> shares) {
    const std::size_t types = view.cluster().type_names().size();
    TimePlan::Owed owed;
    for (const JobId id : jobs) {
      if (plan_.knows(id)) owed[id][{}].resize(types);
    }
    for (std::size_t i = 0; i < options.size(); ++i) {
      const auto& [together, type] = options[i];
      const auto is_there = [&](JobId id) { return owed.contains(id); };
      if (!std::ranges::all_of(together, is_there)) continue;
      const auto last = std::prev(together.end());
      auto& by_type = owed[*last][{together.begin(), last}];
      by_type.resize(types);
      by_type[type] = shares[i];
    }
    plan_.make(view.now(), owed);
  }

  /// Counts what the jobs of the round received of it since it was counted last; a combination
  /// received what the job did that ran longest.
  void book(const ClusterView& view) {
    std::map<JobId, Duration> ran_of;
    for (auto& [id, seated] : round_) {
      const Job* const job = view.find(id);
      if (job == nullptr || seated.place.gpus.empty()) continue;
      const JobView known = view.job(id);
      const std::uint8_t type = view.cluster().gpu(seated.place.gpus.front()).type;
      // A job may turn out to have ended before the round did.
      const Duration ran = known.ran() - std::exchange(seated.ran_before, known.ran());
      ran_of[id] = std::max(Duration::zero(), ran);
      plan_.add_work(id, ran_of[id], speed_on(view, known, type, seated.jobs));
      if (id != seated.jobs.back()) continue;
      Duration longest{0};
      for (const JobId other : seated.jobs) longest = std::max(longest, ran_of[other]);
      plan_.add(seated.jobs, type, longest);
    }
  }

  void begin_round(const ClusterView& view) {
    book(view);
    use_answer(view);
    Trial trial = view.trial();
    clear(trial, view);
    const Trial::Mark empty = trial.mark();
    std::vector<Seat> seats = choose(view, Seating(view, *placer_, trial));
    trial.rollback(empty);
    seats = with_fewest_moves(std::move(seats), Seating(view, *placer_, trial));
    round_.clear();
    for (const Seat& seat : seats) {
      for (const JobId id : seat.jobs) {
        round_[id] = {.place = seat.place, .jobs = seat.jobs, .ran_before = view.job(id).ran()};
      }
    }
    round_end_ = later(view.now(), rules_.round);
  }

  std::vector<Seat> choose(const ClusterView& view, Seating seating) const {
    std::vector<JobId> left;
    std::vector<JobId> unplanned;
    // Jobs that must not give way are in the round, whatever they are owed.
    const std::set<JobId> kept = seating.keep_left_alone(jobs_.ids());
    for (const JobId id : jobs_.ids()) {
      const Ask ask = ask_of(view.job(id));
      if (kept.contains(id)) continue;
      if (ask.gpus() == GpuCount(0)) {
        seating.seat(id, ask);
      } else {
        const bool waits = rules_.newcomers == RoundRules::Newcomers::Wait && !plan_.has(id);
        (waits ? unplanned : left).push_back(id);
      }
    }
    std::vector<JobId> present = left;
    std::ranges::sort(present);
    std::set<JobId> seated;
    const auto is_seated = [&](JobId id) { return seated.contains(id); };
    for (const std::size_t type : types_in(rules_.types, view)) {
      const TimePlan::Ranking by{.half = rules_.round / 2, .unowed = rules_.unowed};
      for (const auto& [last, others] : plan_.by_claim(left, type, by)) {
        const auto may_sit = [&](JobId id) {
          return std::ranges::binary_search(present, id) && !is_seated(id);
        };
        if (is_seated(left[last]) || !std::ranges::all_of(*others, may_sit)) continue;
        Combination jobs = *others;
        jobs.push_back(left[last]);
        for (const JobId id : seat_on(view, type, jobs, seating)) seated.insert(id);
      }
      std::erase_if(left, is_seated);
    }
    if (asked_) seat_anywhere(view, unplanned, seating);  // they have waited long enough
    // A plan may owe all to jobs that have no place now, as where GPUs fail.
    if (!seating.has_gpus()) seat_anywhere(view, left, seating);
    return seating.take();
  }
  /// What these jobs ask for together on a type; nothing if they cannot share GPUs of it.
  std::optional<Ask> ask_on(const ClusterView& view, std::span<const JobId> jobs,
                            std::size_t type) const {
    std::vector<Ask> asks;
    for (const JobId id : jobs) {
      auto ask = on_type(ask_of(view.job(id)), type);
      if (!ask) return std::nullopt;
      asks.push_back(std::move(*ask));
    }
    auto all = together(asks);
    const bool is_planned = rules_.sharing == RoundRules::Sharing::AsPlanned;
    if (all && is_planned) all->request.gpu.sharing = Sharing::Alone;  // of all others
    return all;
  }

  /// All of them, or each by itself where they cannot share GPUs now. Returns: those with a seat.
  Combination seat_on(const ClusterView& view, std::size_t type, const Combination& jobs,
                      Seating& seating) const {
    const auto all = ask_on(view, jobs, type);
    if (all && seating.seat(jobs, *all)) return jobs;
    Combination seated;
    for (std::size_t i = 0; i < jobs.size() && jobs.size() > 1; ++i) {
      const auto ask = ask_on(view, std::span(&jobs[i], 1), type);
      if (ask && seating.seat(jobs[i], *ask)) seated.push_back(jobs[i]);
    }
    return seated;
  }
  void seat_anywhere(const ClusterView& view, std::span<const JobId> jobs, Seating& seating) const {
    for (const JobId id : jobs) {
      for (std::size_t type = 0; type < view.cluster().type_names().size(); ++type) {
        const auto ask = ask_on(view, std::span(&id, 1), type);
        if (ask && seating.seat(id, *ask)) break;
      }
    }
  }

  /// Most passes are within a round, whose jobs have their places.
  void carry_out(const ClusterView& view, Decisions& decisions) const {
    if (is_carried_out(view)) return;
    std::vector<JobId> jobs;  // others wait, and go on waiting
    std::vector<std::optional<Placement>> places;
    for (const JobId id : jobs_.ids()) {
      const auto found = round_.find(id);
      if (found == round_.end() && !holds_berth(view.find(id)->state)) continue;
      jobs.push_back(id);
      places.push_back(found == round_.end() ? std::nullopt : std::optional(found->second.place));
    }
    decisions.list = rearrange(view, jobs, places).list;
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
    if (asked_) return ask_again_at();
    const Instant then = later(plan_.made_at(), rules_.plan_lasts);
    return plan_.is_due(jobs_.ids(), then, rules_.plan_lasts) ? std::optional(then) : std::nullopt;
  }

  std::string name_;
  RoundRules rules_;
  std::unique_ptr<Placer> placer_;
  OneTypePlacer one_type_;
  std::unique_ptr<Allocator> allocator_;
  JobList jobs_;  ///< In order of arrival.
  TimePlan plan_;
  std::map<JobId, Seated> round_;
  Instant round_end_ = kStart;
  std::optional<Asked> asked_;
  bool unchecked_ = false;  ///< As restored: its round may name GPUs that the cluster lacks.
};

}  // namespace

std::unique_ptr<Policy> in_rounds(std::string_view name, const RoundRules& rules,
                                  std::unique_ptr<Placer> placer,
                                  std::unique_ptr<Allocator> allocator) {
  return std::make_unique<Rounds>(name, rules, std::move(placer), std::move(allocator));
}

}  // namespace berth
