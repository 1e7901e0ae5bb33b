// Muri: jobs whose stages use different resources share GPUs, in groups by matchings or in order.
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/members.hpp"
#include "policy/allocate/work_left.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/seats.hpp"
#include "policy/policies.hpp"
#include "policy/whole/muri_company.hpp"
#include "policy/whole/muri_plan.hpp"
#include "policy/whole/muri_seats.hpp"

namespace berth {

constexpr auto kMuriKeys = std::to_array<Key>({
    {.name = "fill",
     .type = KeyType::Count,
     .usual = "1",
     .least = 0,
     .most = 1,
     .what = "1: GPUs that the groups leave go to jobs alone. 0: they stay idle, as in Muri's "
             "simulator."},
});

constexpr About kMuriL{
    .title = "Muri-L: the least GPU time first, in groups whose stages use different resources.",
    .rule =
        "At each arrival and end jobs are ordered by GPUs x time that they had them. Each that has "
        "a place on an empty cluster makes room for a group: the next four jobs with as many GPUs. "
        "While the groups need more GPUs than there are, at most four times, a matching of maximum "
        "weight pairs them, within their number of GPUs, up to four jobs a group; the weight is "
        "the part of an iteration of the group in which its stages keep storage, processors and "
        "GPU at work, in the mean over four resources. Pairs join until there are GPUs for all "
        "groups. A group is taken apart where an iteration of it takes longer than those of its "
        "jobs one after the other. Groups in order of their first job get GPUs of their own; what "
        "finds no place waits.",
    .reads = "GPU time attained, GPUs asked for, GPU memory, stages of iterations (`--speeds`).",
    .source =
        "Muri (Zhao et al., SIGCOMM 2022): Muri-L of its simulator, Rivendile/Muri 4e69a78ce7.",
    .differs =
        "There memory is without bound; here only jobs share that fit a GPU together, and a job of "
        "a model with unknown stages shares with none. Jobs move at each event there; here those "
        "that can stay do. Which of several best matchings is taken is not stated there, and here "
        "it is the solver's. GPUs that are left go to jobs alone (`fill`). A matching that has no "
        "answer in a minute is done without, and of "
        "more than 256 groups with as many GPUs only those near each other in order are compared.",
    .cost =
        "O(jobs log jobs), 256 x groups and the places at an arrival or end, and up to four "
        "matchings beside the engine; O(jobs) else.",
    .proof =
        "The rule with that simulator's clock: means and makespans within 1.7 % on its four "
        "traces, and each job's end where its models leave no choice. The policy in our simulator "
        "with `fill=0`, beside that rule where events cost nothing: means within 0.4 % "
        "(test/paper/muri_slow_test.cpp, doc/results/company.md).",
    .needs = {.preemption = true},
    .keys = kMuriKeys};

constexpr About kMuriS = like(
    kMuriL,
    {.title = "Muri-S: the least work left first, in groups whose stages use different resources.",
     .rule = "As `muri/l`, in order of GPUs x time that is left alone.",
     .reads =
         "Estimate or time limit, GPUs asked for, GPU memory, stages of iterations (`--speeds`).",
     .source =
         "Muri (Zhao et al., SIGCOMM 2022): Muri-S of its simulator, Rivendile/Muri 4e69a78ce7.",
     .differs = "As `muri/l`. A job without estimate and limit goes last."});

constexpr About kMuriUnmatched = like(
    kMuriL,
    {.title = "Muri-L without matching: the least GPU time first, in groups in that order.",
     .rule =
         "As `muri/l`, but that the next four jobs with as many GPUs join their group one after "
         "the other, as long as all groups need more GPUs than there are.",
     .source = "Muri (Zhao et al., SIGCOMM 2022), schedule `multi-resource-gpu-unaware` of its "
               "simulator, Rivendile/Muri 4e69a78ce7.",
     .differs = "There memory is without bound, and jobs move at each event; here as `muri/l`.",
     .cost = "O(jobs log jobs) and the places at an arrival or end, O(jobs) else.",
     .proof =
         "The rule with that simulator's clock: the first start and the end of each of its 6,454 "
         "jobs on six traces (test/paper/muri_test.cpp)."});

namespace {

enum class MuriKind : std::uint8_t { Shortest, LeastService, Unmatched };

struct MuriMemory {
  Snapshot jobs;
  std::vector<JobId> decided;  ///< The jobs for which seats were given last.
  GpuCount gpus{0};            ///< And the GPUs there were.
  MuriSeats seats;
  std::optional<MuriPlan> plan;
};
inline auto members(MuriMemory& v) { return std::tie(v.jobs, v.decided, v.gpus, v.seats, v.plan); }

bool is_sane(const MuriMemory& memory) {
  return memory.gpus >= GpuCount(0) && memory.seats.is_sane() &&
         (!memory.plan || is_sane(*memory.plan));
}

class Muri final : public Policy {
 public:
  Muri(MuriKind kind, std::unique_ptr<Placer> placer, const Keys& keys)
      : kind_(kind), fills_(keys.number("fill") == 1), placer_(std::move(placer)) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    jobs_.update(view, events, *placer_);
    if (memory_.seats.drop_gone(view)) memory_.decided.clear();
    Decisions decisions;
    if (plan().has_value() && take_answer(*plan(), view)) decisions.question = go_on(view);
    if (!plan() && is_due(view)) {
      begin_plan(view);
      decisions.question = go_on(view);
    }
    if (plan()) decisions.wake_at = plan()->until;
    if (fills_ && !plan()) fill(view);
    carry_out(view, decisions);
    jobs_.reject_impossible(decisions);
    return decisions;
  }

  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    using What = GateWord::What;
    const bool has_seat = memory_.seats.of(job) != nullptr;
    return waits_its_turn(job, view, has_seat ? What::Freed : What::Ahead);
  }

  Snapshot save() const override {
    MuriMemory memory = memory_;
    memory.jobs = jobs_.save();
    return saved(memory);
  }
  Expected<void> restore(const Snapshot& bytes) override {
    MuriMemory memory;
    const auto sane = [](const MuriMemory& read) { return is_sane(read); };
    if (auto done = restore_into(memory, bytes, "muri", sane); !done) return done;
    if (auto done = jobs_.restore(std::exchange(memory.jobs, {})); !done) return done;
    memory_ = std::move(memory);
    return {};
  }

 private:
  std::optional<MuriPlan>& plan() { return memory_.plan; }
  const StageFactors& factors() const {
    return kind_ == MuriKind::Unmatched ? kUnmatchedStages : kMatchedStages;
  }

  static GpuCount gpus_of(const ClusterView& view) {
    Trial trial = view.trial();
    clear(trial, view);
    return trial.use().vacant();
  }
  bool is_due(const ClusterView& view) const {
    if (memory_.seats.empty() && !jobs_.ids().empty()) return true;
    return memory_.decided != jobs_.ids() || memory_.gpus != gpus_of(view);
  }

  std::int64_t key_of(const JobView& job) const {
    if (kind_ != MuriKind::Shortest) return job.attained().raw();
    const Duration worked = memory_.seats.worked(job.id());
    const Duration left = job.estimate() == kForever ? kForever : work_left(job, worked);
    return (job.request().gpu.count * left).raw();
  }

  // ---- Groups ----

  void begin_plan(const ClusterView& view) {
    memory_.seats.count(view);
    memory_.gpus = gpus_of(view);
    MuriPlan& made = plan().emplace();
    Trial trial = view.trial();
    clear(trial, view);
    Seating seating(view, *placer_, trial);
    std::vector<JobId> others;
    const std::set<JobId> kept = seating.keep_left_alone(jobs_.ids());
    for (const JobId id : jobs_.ids()) {
      const JobView job = view.job(id);
      const GpuCount gpus = job.request().gpu.count;
      if (kept.contains(id) || gpus == GpuCount(0)) {
        others.push_back(id);
      } else {
        made.ids.push_back(id);
        made.jobs.push_back({.gpus = gpus.raw(), .key = key_of(job)});
      }
    }
    const std::int64_t capacity = trial.use().vacant().raw();
    made.groups = muri_candidates(made.jobs, capacity, alone_on(view, seating));
    if (kind_ == MuriKind::Unmatched) muri_fill(made.jobs, made.groups);
    jobs_.ids().clear();
    for (const std::size_t job : muri_order(made.jobs)) jobs_.ids().push_back(made.ids[job]);
    jobs_.ids().insert(jobs_.ids().end(), others.begin(), others.end());
    memory_.decided = jobs_.ids();
  }

  /// Gives the job at a position of the plan GPUs that no other has.
  MuriPlace alone_on(const ClusterView& view, Seating& seating) const {
    return [&](std::size_t job) {
      const JobId id = memory_.plan->ids[job];
      return seating.seat(id, unshared(ask_of(view.job(id))));
    };
  }

  /// Returns: the plan's next question; without any its groups get seats, and the plan is done.
  std::optional<Question> go_on(const ClusterView& view) {
    Trial trial = view.trial();
    clear(trial, view);
    MuriCompany company(view, plan()->ids, *placer_, trial);
    const MuriGain gain = [&](const MuriGroup& group) { return company.gain(group, factors()); };
    if (kind_ != MuriKind::Unmatched) {
      auto matching = muri_question(plan()->jobs, plan()->groups, gain);
      if (matching) return ask(*plan(), std::move(*matching), view.now());
    }
    give_seats(view, trial, company);
    plan().reset();
    return std::nullopt;
  }

  // ---- Places ----

  void give_seats(const ClusterView& view, Trial& trial, MuriCompany& company) {
    memory_.seats.count(view);
    const Trial::Mark empty = trial.mark();
    const MuriPays pays = [&](const MuriGroup& group) { return company.pays(group, factors()); };
    // Whether groups pay is asked before any of them has a place.
    Seating sketch(view, *placer_, trial);
    const auto place = [&, is_begun = false](std::size_t job) mutable {
      if (!std::exchange(is_begun, true)) sketch.keep_left_alone(jobs_.ids());
      return alone_on(view, sketch)(job);
    };
    const auto groups = muri_chosen(plan()->jobs, std::move(plan()->groups.list), pays, place);
    trial.rollback(empty);
    Seating seating(view, *placer_, trial);
    std::set<JobId> seated = seating.keep_left_alone(jobs_.ids());
    for (const JobId id : jobs_.ids()) {
      const Ask ask = ask_of(view.job(id));
      if (ask.gpus() == GpuCount(0) && !seated.contains(id)) seating.seat(id, ask);
    }
    for (const MuriGroup& group : groups) {
      std::vector<JobId> jobs;
      for (const std::size_t job : group) jobs.push_back(plan()->ids[job]);
      seat(view, std::move(jobs), seating, seated);
    }
    for (const JobId id : jobs_.ids()) {
      if (fills_ && view.job(id).request().gpu.count > GpuCount(0))
        seat(view, {id}, seating, seated);
    }
    trial.rollback(empty);
    const auto seats = with_fewest_moves(seating.take(), Seating(view, *placer_, trial));
    memory_.seats.forget();
    memory_.seats.add(view, seats, factors());
  }

  /// GPUs that no seat has go to jobs without one, first to those that are there now.
  void fill(const ClusterView& view) {
    std::vector<JobId> rest;
    for (const JobId id : jobs_.ids()) {
      if (memory_.seats.of(id) == nullptr) rest.push_back(id);
    }
    if (rest.empty()) return;
    Trial trial = view.trial();
    clear(trial, view);
    Seating seating(view, *placer_, trial);
    memory_.seats.occupy(view, seating, trial);
    std::erase_if(rest, [&](JobId id) { return seating.keep(id, unshared(ask_of(view.job(id)))); });
    for (const JobId id : rest) seating.seat(id, unshared(ask_of(view.job(id))));
    memory_.seats.add(view, seating.take(), factors());
  }

  /// As many of those without a seat as fit together.
  static void seat(const ClusterView& view, std::vector<JobId> group, Seating& seating,
                   std::set<JobId>& seated) {
    std::erase_if(group, [&](JobId id) { return seated.contains(id); });
    std::vector<Ask> asks;
    for (const JobId id : group) asks.push_back(ask_of(view.job(id)));
    for (; !group.empty(); group.pop_back(), asks.pop_back()) {
      const auto all = group.size() == 1 ? std::optional(asks.front()) : together(asks);
      if (!all || !seating.seat(group, unshared(*all))) continue;
      seated.insert(group.begin(), group.end());
      return;
    }
  }

  void carry_out(const ClusterView& view, Decisions& decisions) const {
    std::vector<JobId> jobs;
    std::vector<std::optional<Placement>> places;
    for (const JobId id : jobs_.ids()) {
      const Placement* const place = memory_.seats.of(id);
      const Job& job = *view.find(id);
      const bool has_berth = holds_berth(job.state);
      if (has_berth ? stays_as_it_is(job, place) : place == nullptr) continue;
      jobs.push_back(id);
      places.push_back(place == nullptr ? std::nullopt : std::optional(*place));
    }
    decisions.list = rearrange(view, jobs, places).list;
  }

  MuriKind kind_;
  bool fills_;
  std::unique_ptr<Placer> placer_;
  JobList jobs_;       ///< As the last plan ordered them; then by arrival.
  MuriMemory memory_;  ///< But for the list.
};

}  // namespace

std::unique_ptr<Policy> muri_s(const Keys& keys, std::unique_ptr<Placer> placer, const Knobs&) {
  return std::make_unique<Muri>(MuriKind::Shortest, std::move(placer), keys);
}

std::unique_ptr<Policy> muri_l(const Keys& keys, std::unique_ptr<Placer> placer, const Knobs&) {
  return std::make_unique<Muri>(MuriKind::LeastService, std::move(placer), keys);
}

std::unique_ptr<Policy> muri_unmatched(const Keys& keys, std::unique_ptr<Placer> placer,
                                       const Knobs&) {
  return std::make_unique<Muri>(MuriKind::Unmatched, std::move(placer), keys);
}

}  // namespace berth
