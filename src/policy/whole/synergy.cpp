// Jobs in rounds by what they ask of GPUs, cores and host memory together, as the baselines of
// Synergy (Mohan et al., OSDI 2022) do.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/members.hpp"
#include "policy/allocate/work_left.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/seats.hpp"
#include "policy/policies.hpp"
#include "policy/whole/host_order.hpp"

namespace berth {

namespace {

constexpr auto kSynergyKeys = std::to_array<Key>({{.name = "round",
                                                   .type = KeyType::Time,
                                                   .usual = "5m",
                                                   .least = micros(seconds(1)),
                                                   .most = kYear,
                                                   .what = "Length of a round."}});

constexpr About kRoundsByHost{
    .source =
        "Synergy (Mohan et al., OSDI 2022), `greedy` as its authors' simulator has it: a job has "
        "all that it asks for, or waits for the next round.",
    .differs =
        "The simulator places all jobs from nothing in each round, at no cost, a job does whole "
        "iterations in it, and its first round is at a multiple of its length. Here jobs stay "
        "where they run if they can, a round ends with the last of its jobs at the latest, and a "
        "job that leaves its GPUs is suspended. Jobs of whose work nothing is known are taken to "
        "be half done. Cores and memory are what a job asks for: no policy chooses them, so "
        "Synergy's proportional shares and TUNE are not here.",
    .cost = "O(jobs log jobs + jobs x a placement) per round, O(jobs) per event.",
    .proof =
        "The same order and packing, driven as that simulator drives its own, give each of its "
        "rows (doc/results/rounds.md, test/paper/synergy_test.cpp); the policy itself was not "
        "compared.",
    .needs = {.preemption = true},
    .keys = kSynergyKeys};

constexpr About with_estimates(About about) {
  about.needs.estimates = true;
  return about;
}

}  // namespace

constexpr About kSynergyDrf = like(
    kRoundsByHost,
    {.title = "Synergy's DRF: rounds; least share of the GPUs, cores or host memory first.",
     .rule =
         "In each round all jobs are tried in the order of max(GPUs, cores, host memory asked for, "
         "each as a part of the cluster's), equal ones by arrival. A job that fits runs the whole "
         "round; one that does not is passed over.",
     .reads = "Request, cores and host memory of the nodes, arrivals."});

constexpr About kSynergyTetris = with_estimates(like(
    kRoundsByHost,
    {.title = "Synergy's Tetris: rounds; least sum of shares x remaining time first.",
     .rule =
         "In each round all jobs are tried in the order of (GPUs + cores + host memory asked for, "
         "each as a part of the cluster's) x remaining time, equal ones by arrival. A job that "
         "fits "
         "runs the whole round; one that does not is passed over.",
     .reads = "Request, cores and host memory of the nodes, estimates, run time, arrivals."}));

namespace {

struct SynergyMemory {
  Snapshot jobs;
  Instant round_end = kStart;
  std::map<JobId, Placement> round;
};
inline auto members(SynergyMemory& v) { return std::tie(v.jobs, v.round_end, v.round); }

bool is_sane(const SynergyMemory& memory) {
  return memory.round_end >= kStart && std::ranges::all_of(memory.round, [](const auto& entry) {
           const auto& gpus = entry.second.gpus;
           return std::ranges::adjacent_find(gpus, std::greater_equal()) == gpus.end();
         });
}

class Synergy final : public Policy {
 public:
  Synergy(std::string_view name, HostOrder order, Duration round, std::unique_ptr<Placer> placer)
      : name_(name), order_(order), length_(round), placer_(std::move(placer)) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    jobs_.update(view, events, *placer_);
    if (std::exchange(unchecked_, false)) {
      std::erase_if(round_, [&](const auto& in) { return !exists(in.second, view.cluster()); });
    }
    if (is_over(view)) begin_round(view);
    Decisions decisions = carry_out(view);
    jobs_.reject_impossible(decisions);
    if (!round_.empty()) decisions.wake_at = round_end_;
    return decisions;
  }

  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    using What = GateWord::What;
    return waits_its_turn(job, view, round_.contains(job) ? What::Freed : What::Round);
  }

  Snapshot save() const override {
    return saved(SynergyMemory{.jobs = jobs_.save(), .round_end = round_end_, .round = round_});
  }

  Expected<void> restore(const Snapshot& bytes) override {
    SynergyMemory memory;
    const auto sane = [](const SynergyMemory& read) { return is_sane(read); };
    if (auto done = restore_into(memory, bytes, name_, sane); !done) return done;
    if (auto done = jobs_.restore(memory.jobs); !done) return done;
    round_end_ = memory.round_end;
    round_ = std::move(memory.round);
    unchecked_ = true;
    return {};
  }

 private:
  bool is_over(const ClusterView& view) const {
    return view.now() >= round_end_ || std::ranges::none_of(round_, [&](const auto& in) {
             const Job* const job = view.find(in.first);
             return job != nullptr && is_live(*job);
           });
  }

  /// It is at full speed with what it asks for.
  static HostJob for_order(const JobView& job) {
    const Ask ask = ask_of(job);
    const Duration left = work_left(job, job.progressed());
    return {.choice = {.job = job.id(), .wants = ask, .fair = ask},
            .arrival = job.submitted(),
            .left = left,
            .whole = std::max(seconds(1), job.estimate()),
            .attained = job.attained()};
  }

  void begin_round(const ClusterView& view) {
    Trial trial = view.trial();
    clear(trial, view);
    Seating kept(view, *placer_, trial);
    // Jobs that must not give way are in the round, though their GPUs may take no job any more.
    const std::set<JobId> alone = kept.keep_left_alone(jobs_.ids());
    const Trial::Mark mark = trial.mark();
    const std::vector<HostSeat> chosen = choose(view, alone, trial);
    trial.rollback(mark);
    auto seats = with_fewest_moves(view, chosen, kept);
    if (!seats) {
      trial.rollback(mark);
      seats = as_chosen(chosen, kept);
    }
    round_.clear();
    for (Seat& seat : *seats) round_[seat.jobs.front()] = std::move(seat.place);
    round_end_ = later(view.now(), length_);
  }

  std::vector<HostSeat> choose(const ClusterView& view, const std::set<JobId>& kept,
                               Trial& trial) const {
    HostPacker packer(HostPacking::Greedy, view, *placer_, trial);
    for (const JobId id : kept) packer.count(id, view.job(id).gpus());
    std::vector<HostJob> jobs;
    for (const JobId id : jobs_.ids()) {
      if (!kept.contains(id)) jobs.push_back(for_order(view.job(id)));
    }
    sort_by(order_, jobs, view.now(), totals_of(view.cluster()));
    pack(order_, jobs, packer, trial);
    return packer.seats();
  }

  /// The same jobs, each where it runs if it can, and others that run where they are in nobody's
  /// way. Returns: nothing if one of the chosen finds no place so.
  std::optional<std::vector<Seat>> with_fewest_moves(const ClusterView& view,
                                                     std::span<const HostSeat> chosen,
                                                     Seating seating) const {
    std::vector<const HostSeat*> moving;
    for (const HostSeat& seat : chosen) {
      if (!seating.keep(seat.choice.job, seat.ask)) moving.push_back(&seat);
    }
    std::ranges::stable_sort(moving, std::greater(),
                             [](const auto* one) { return one->ask.gpus(); });
    for (const HostSeat* const seat : moving) {
      if (!seating.seat(seat->choice.job, seat->ask)) return std::nullopt;
    }
    std::set<JobId> seated;
    for (const HostSeat& seat : chosen) seated.insert(seat.choice.job);
    for (const JobId id : jobs_.ids()) {
      const JobView job = view.job(id);
      if (!seated.contains(id) && !view.is_left_alone(job)) seating.keep(id, ask_of(job));
    }
    return seating.take();
  }
  static std::vector<Seat> as_chosen(std::span<const HostSeat> chosen, Seating seating) {
    for (const HostSeat& seat : chosen) seating.hold(seat.choice.job, seat.ask, seat.place);
    return seating.take();
  }

  Decisions carry_out(const ClusterView& view) const {
    std::vector<JobId> jobs;
    std::vector<std::optional<Placement>> places;
    for (const JobId id : jobs_.ids()) {
      const Job& job = *view.find(id);
      const auto found = round_.find(id);
      const Placement* const place = found == round_.end() ? nullptr : &found->second;
      const bool holds = holds_berth(job.state);
      if ((place == nullptr && !holds) || (holds && stays_as_it_is(job, place))) continue;
      jobs.push_back(id);
      places.push_back(place == nullptr ? std::nullopt : std::optional(*place));
    }
    return rearrange(view, jobs, places);
  }

  std::string name_;
  HostOrder order_;
  Duration length_;
  std::unique_ptr<Placer> placer_;
  JobList jobs_;  ///< In order of arrival.
  std::map<JobId, Placement> round_;
  Instant round_end_ = kStart;
  bool unchecked_ = false;  ///< As restored: its round may name GPUs that the cluster lacks.
};

}  // namespace

std::unique_ptr<Policy> synergy_drf(const Keys& keys, std::unique_ptr<Placer> placer,
                                    const Knobs&) {
  return std::make_unique<Synergy>("synergy/drf", HostOrder::Drf, keys.time("round"),
                                   std::move(placer));
}

std::unique_ptr<Policy> synergy_tetris(const Keys& keys, std::unique_ptr<Placer> placer,
                                       const Knobs&) {
  return std::make_unique<Synergy>("synergy/tetris", HostOrder::Tetris, keys.time("round"),
                                   std::move(placer));
}

}  // namespace berth
