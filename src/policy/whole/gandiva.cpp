// Gandiva's time slicing: jobs take turns by suspend and resume, and move where GPUs lie scattered.
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/id_map.hpp"
#include "core/members.hpp"
#include "policy/kit/ask_kinds.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/seats.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kGandivaKeys = std::to_array<Key>({
    {.name = "quantum",
     .type = KeyType::Time,
     .usual = "1m",
     .least = micros(seconds(1)),
     .most = kYear,
     .what = "Length of a turn where jobs wait."},
});

constexpr About kGandiva{
    .title = "Gandiva's time slicing: jobs take turns of a minute, by suspend and resume.",
    .rule =
        "Jobs stand in a queue, new ones at its tail. A job that fits beside those that have seats "
        "takes one at once. Where a job has no seat, turns last `quantum`: at the end of a turn "
        "each job that has had its GPUs for half a `quantum` or longer goes to the tail, and seats "
        "are given again in the order of the queue, to any job that fits; a job that keeps its "
        "seat keeps its GPUs if it can. If the first job without a seat would have one if others "
        "moved, they are placed again, largest first, and those that must move migrate. An elastic "
        "job that saves its own state, and has had its GPUs for a `quantum`, grows into GPUs that "
        "nobody waits for, and goes back to the number that it asks for when a job has no seat.",
    .reads = "When GPUs were granted, request, arrivals, whether a job saves its own state.",
    .source = "Gandiva (Xiao et al., OSDI 2018): time slicing, migration, grow-shrink.",
    .differs =
        "One queue for all nodes, where the paper takes turns on each node and moves jobs between "
        "nodes now and then. A job that gives way is suspended at any moment, not between two "
        "mini-batches. Jobs are not packed on a GPU by their measured speed. A job that grows or "
        "shrinks is told to save and starts again. The paper places a job by affinity to nodes "
        "with jobs of as many GPUs; here "
        "the placement does.",
    .cost =
        "O(running) and a few bytes for each job per event; a placement for each seat at the end "
        "of "
        "a turn, and where GPUs would suffice for one seat more if others moved.",
    .proof =
        "An independent restatement of turns for jobs of one GPU, and that six jobs on four GPUs "
        "each have two thirds of the time (test/paper/gandiva_test.cpp); no figure of the paper.",
    .needs = {.preemption = true},
    .keys = kGandivaKeys};

namespace {

using SeatOf = std::map<JobId, Placement>;

struct GandivaMemory {
  Snapshot jobs;
  Instant turn_end = kStart;
  SeatOf seats;
};
inline auto members(GandivaMemory& v) { return std::tie(v.jobs, v.turn_end, v.seats); }

bool is_sane(const GandivaMemory& memory) {
  return memory.turn_end >= kStart && std::ranges::all_of(memory.seats, [](const auto& seat) {
           const auto& gpus = seat.second.gpus;
           return std::ranges::adjacent_find(gpus, std::greater_equal()) == gpus.end();
         });
}

/// Its turn ended at this instant, and so that it is not wasted it waits for the next.
bool has_just_stopped(const Job& job, Instant now) {
  return is_waiting(job.state) && job.attempt != Attempt(0) && job.since == now;
}

class Gandiva final : public Policy {
 public:
  Gandiva(Duration quantum, std::unique_ptr<Placer> placer)
      : quantum_(quantum), placer_(std::move(placer)) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    placer_->prepare(view, events);
    jobs_.update(view, events, *placer_);
    kinds_.follow(view, events);
    drop_seats(view);
    left_alone_ =
        in_order_of_queue(view, [&](JobId id) { return view.is_left_alone(view.job(id)); });
    seat_more(view);
    if (first_without_seat()) shrink(view);
    if (first_without_seat() && view.now() >= turn_end_) {
      go_to_the_tail(view);
      set_seats(seats_anew(view));
      seat_more(view);
      turn_end_ = later(view.now(), quantum_);
    }
    const Instant grows = first_without_seat() ? kNever : grow(view);
    Decisions decisions = carry_out(view);
    jobs_.reject_impossible(decisions);
    const Instant wake_at = first_without_seat() ? turn_end_ : grows;
    if (wake_at != kNever) decisions.wake_at = wake_at;
    return decisions;
  }

  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    using What = GateWord::What;
    return waits_its_turn(job, view, has_seat(job) ? What::Freed : What::Turn);
  }

  Snapshot save() const override {
    return saved(GandivaMemory{.jobs = jobs_.save(), .turn_end = turn_end_, .seats = all_seats()});
  }

  Expected<void> restore(const Snapshot& bytes) override {
    GandivaMemory memory;
    const auto sane = [](const GandivaMemory& read) { return is_sane(read); };
    if (auto done = restore_into(memory, bytes, "gandiva", sane); !done) return done;
    if (auto done = jobs_.restore(memory.jobs); !done) return done;
    turn_end_ = memory.turn_end;
    set_seats(std::move(memory.seats));
    kinds_ = {};
    unchecked_ = true;
    return {};
  }

 private:
  // ---- Who has a seat ----

  bool has_seat(JobId id) const { return seats_.find(id) != nullptr; }
  SeatOf all_seats() const {
    SeatOf seats;
    seats_.for_each([&](JobId id, const Placement& place) { seats.emplace(id, place); });
    return seats;
  }
  void set_seats(SeatOf seats) {
    seats_ = {};
    for (auto& [id, place] : seats) seats_.insert(id, std::move(place));
  }
  void set_seat(JobId id, Placement place) {
    if (Placement* const known = seats_.find(id)) {
      *known = std::move(place);
    } else {
      seats_.insert(id, std::move(place));
    }
  }
  void take_seat(JobId id) {
    if (has_seat(id)) seats_.erase(id);
  }

  /// Those of jobs that are gone, and of a memory that names GPUs which the cluster lacks.
  void drop_seats(const ClusterView& view) {
    for (const JobId id : jobs_.gone()) take_seat(id);
    if (!std::exchange(unchecked_, false)) return;
    SeatOf seats = all_seats();
    const std::set<JobId> known(jobs_.ids().begin(), jobs_.ids().end());
    std::erase_if(seats, [&](const auto& seat) {
      return !known.contains(seat.first) || !exists(seat.second, view.cluster());
    });
    set_seats(std::move(seats));
  }

  static SeatOf by_job(std::vector<Seat> seats) {
    SeatOf by_job;
    for (Seat& seat : seats) by_job[seat.jobs.front()] = std::move(seat.place);
    return by_job;
  }

  std::optional<JobId> first_without_seat() const {
    if (seats_.size() == jobs_.ids().size()) return std::nullopt;
    const auto found = std::ranges::find_if(jobs_.ids(), [&](JobId id) { return !has_seat(id); });
    return found == jobs_.ids().end() ? std::nullopt : std::optional(*found);
  }

  /// In the order of the queue.
  std::vector<JobId> with_seats() const {
    std::vector<JobId> with;
    with.reserve(seats_.size());
    for (const JobId id : jobs_.ids()) {
      if (with.size() == seats_.size()) break;
      if (has_seat(id)) with.push_back(id);
    }
    return with;
  }

  /// Those of the jobs with a berth for which this holds.
  template <class Holds>
  std::vector<JobId> in_order_of_queue(const ClusterView& view, Holds holds) const {
    std::set<JobId> which;
    for (const JobId id : view.running()) {
      if (holds(id)) which.insert(which.end(), id);
    }
    std::vector<JobId> in_order;
    if (which.empty()) return in_order;
    std::ranges::copy_if(jobs_.ids(), std::back_inserter(in_order),
                         [&](JobId id) { return which.contains(id); });
    return in_order;
  }

  // ---- Turns ----

  /// Jobs that began late in the turn stay before those that had all of it.
  void go_to_the_tail(const ClusterView& view) {
    IdMap<JobId, bool> go;
    for (const JobId id : view.running()) {
      const JobView job = view.job(id);
      const bool had_it = is_running(job.state()) && view.now() - job.granted_at() >= quantum_ / 2;
      if (had_it) go.insert(id, true);
    }
    std::ranges::stable_partition(jobs_.ids(), [&](JobId id) { return go.find(id) == nullptr; });
  }

  SeatOf seats_anew(const ClusterView& view) {
    Trial trial = view.trial();
    clear(trial, view);
    const Trial::Mark empty = trial.mark();
    Seating seating(view, *placer_, trial);
    const std::set<JobId> seated = seating.keep_left_alone(left_alone_);
    seat_others(
        view, seating, [&](JobId id) { return seated.contains(id); }, [](JobId) { return false; });
    std::vector<Seat> seats = seating.take();
    trial.rollback(empty);
    return by_job(with_fewest_moves(std::move(seats), Seating(view, *placer_, trial)));
  }

  /// In the order of the queue, beside those that are seated or served otherwise; a kind of ask
  /// that has no place has none for the jobs behind either.
  template <class IsSeated, class IsServed>
  void seat_others(const ClusterView& view, Seating& seating, IsSeated is_seated,
                   IsServed is_served) {
    const bool are_alike = !view.settings().has_limits();
    std::vector<bool> refused;
    for (const JobId id : jobs_.ids()) {
      if (is_seated(id)) continue;
      const AskKinds::Kind kind = kinds_.of(id, view);
      refused.resize(kinds_.size());
      if (kind != AskKinds::kNone && refused[kind]) continue;
      if (is_served(id) || seating.seat(id, ask_of(view.job(id)))) continue;
      if (kind != AskKinds::kNone) refused[kind] = are_alike;
    }
  }

  /// Jobs with seats keep them; others take what is left, in the order of the queue.
  void seat_beside(const ClusterView& view) {
    Trial trial = view.trial();
    clear(trial, view);
    Seating seating(view, *placer_, trial);
    const std::set<JobId> left_alone = seating.keep_left_alone(left_alone_);
    std::set<JobId> without;
    for (const JobId id : with_seats()) {
      if (left_alone.contains(id)) continue;
      Placement& place = seats_.at(id);
      const Job& job = *view.find(id);
      if (seating.occupy(id, ask_of(view.job(id)), place)) continue;
      // A job on a GPU that takes no job any more stays there until its turn is over.
      if (is_running(job.state)) {
        place = placement_of(job.grant);
      } else {
        without.insert(id);
      }
    }
    const auto is_seated = [&](JobId id) {
      return (has_seat(id) && !without.contains(id)) || left_alone.contains(id);
    };
    seat_others(view, seating, is_seated, [&](JobId id) {
      // Where it runs at the end of its turn is a place that the placer may not see.
      return has_just_stopped(*view.find(id), view.now()) || seating.keep(id, ask_of(view.job(id)));
    });
    for (const JobId id : without) take_seat(id);
    for (Seat& seat : seating.take()) set_seat(seat.jobs.front(), std::move(seat.place));
  }

  void seat_more(const ClusterView& view) {
    seat_beside(view);
    // What leaves may leave room enough; what came at this instant is not moved in it.
    const bool any_leaves_or_came = std::ranges::any_of(view.running(), [&](JobId id) {
      const Job& job = *view.find(id);
      if (!is_live(job)) return false;
      return job.state == JobState::Stopping ||
             (is_running(job.state) && view.job(id).granted_at() == view.now());
    });
    if (any_leaves_or_came) return;
    const auto next = first_without_seat();
    if (!next || has_just_stopped(*view.find(*next), view.now())) return;
    if (make_room(view, *next)) seat_beside(view);  // what moved may have left room
  }

  /// Places all with seats again so that this job has one too, if that is possible; those that can
  /// stay beside it stay. Returns: whether it is possible.
  bool make_room(const ClusterView& view, JobId job) {
    std::vector<JobId> wanted = with_seats();
    wanted.insert(wanted.begin(), job);
    Trial trial = view.trial();
    clear(trial, view);
    if (are_too_many(view, wanted, trial)) return false;
    std::ranges::stable_sort(wanted, std::greater(), [&](JobId id) { return view.job(id).gpus(); });
    const Trial::Mark empty = trial.mark();
    Seating seating(view, *placer_, trial);
    std::set<JobId> seated = seating.keep_left_alone(left_alone_);
    if (!seat_all(view, wanted, seating, seated)) return false;
    set_seats(by_job(seating.take()));
    trial.rollback(empty);
    Seating again(view, *placer_, trial);
    seated = again.keep_left_alone(left_alone_);
    if (again.hold(job, ask_of(view.job(job)), seats_.at(job))) seated.insert(job);
    for (const JobId id : wanted) {
      if (!seated.contains(id) && again.keep(id, ask_of(view.job(id)))) seated.insert(id);
    }
    if (seat_all(view, wanted, again, seated)) set_seats(by_job(again.take()));
    return true;
  }

  /// True if there are too few GPUs for all, however they are placed on this empty trial: one for
  /// each that is taken alone, and memory for the others.
  static bool are_too_many(const ClusterView& view, std::span<const JobId> jobs,
                           const Trial& trial) {
    if (trial.use().admission().mode != AdmissionMode::Guarantee) return false;
    GpuCount whole(0);
    GpuCount alone(0);
    std::int64_t bytes = 0;
    for (const JobId id : jobs) {
      const JobView job = view.job(id);
      if (view.is_left_alone(job)) continue;  // it may have fewer than it asks for
      const Ask ask = ask_of(job);
      if (takes_whole(ask)) whole += ask.gpus();
      if (ask.alone()) alone += ask.gpus();
      if (!ask.alone()) bytes += ask.gpus().raw() * ask.request.gpu.vram.raw();
    }
    std::int64_t largest = 1;
    for (const GpuSpec& gpu : view.cluster().gpus())
      largest = std::max(largest, gpu.capacity.raw());
    return whole > trial.use().vacant() ||
           alone + GpuCount((bytes + largest - 1) / largest) > view.cluster().gpu_count();
  }

  bool seat_all(const ClusterView& view, std::span<const JobId> wanted, Seating& seating,
                const std::set<JobId>& seated) const {
    return std::ranges::all_of(wanted, [&](JobId id) {
      return seated.contains(id) || seating.seat(id, ask_of(view.job(id)));
    });
  }

  /// Jobs that grew go back to what they ask for, if that gives another a seat.
  void shrink(const ClusterView& view) {
    std::vector<std::pair<JobId, std::size_t>> grown;
    seats_.for_each([&](JobId id, const Placement& place) {
      const auto asked = static_cast<std::size_t>(view.job(id).request().gpu.count.raw());
      if (place.gpus.size() > asked) grown.emplace_back(id, asked);
    });
    if (grown.empty()) return;
    SeatOf before = all_seats();
    for (const auto& [id, asked] : grown) seats_.at(id).gpus.resize(asked);
    seat_more(view);
    if (seats_.size() <= before.size()) set_seats(std::move(before));
  }

  static bool can_grow(const JobView& job, const ClusterView& view) {
    return job.state() == JobState::Running && job.request().gpu.is_elastic() &&
           job.saves_itself() && job.gpus() < job.request().gpu.most() && !view.is_left_alone(job);
  }

  /// Returns: when the next job may grow that cannot yet.
  Instant grow(const ClusterView& view) {
    Instant next = kNever;
    if (view.use().vacant() == GpuCount(0)) return next;
    for (const JobId id : jobs_.ids()) {
      const JobView job = view.job(id);
      if (!can_grow(job, view)) continue;
      const Instant from = later(job.granted_at(), quantum_);
      if (from > view.now()) {
        next = std::min(next, from);
      } else if (auto place = larger_place(job, view)) {
        set_seat(id, std::move(*place));
      }
    }
    return next;
  }

  std::optional<Placement> larger_place(const JobView& job, const ClusterView& view) const {
    Trial trial = view.trial();
    clear(trial, view);
    Seating others(view, *placer_, trial);
    for (const JobId id : with_seats()) {
      if (id == job.id()) continue;
      if (!others.hold(id, ask_of(view.job(id)), seats_.at(id))) others.stay(id);
    }
    for (GpuCount gpus = job.request().gpu.most(); gpus > job.gpus(); gpus -= GpuCount(1)) {
      if (others.seat(job.id(), ask_of(job, gpus))) return others.take().back().place;
    }
    return std::nullopt;
  }

  Decisions carry_out(const ClusterView& view) const {
    const std::vector<JobId> jobs = out_of_place(view);
    std::vector<std::optional<Placement>> places;
    for (const JobId id : jobs) {
      const Placement* const seat = seats_.find(id);
      places.push_back(seat == nullptr ? std::nullopt : std::optional(*seat));
    }
    return rearrange(view, jobs, places);
  }

  /// Jobs with seats that are elsewhere or wait, and jobs without that run; in the order of the
  /// queue.
  std::vector<JobId> out_of_place(const ClusterView& view) const {
    std::vector<JobId> jobs;
    std::size_t there = 0;
    for (const JobId id : view.running()) {
      const Placement* const seat = seats_.find(id);
      if (seat != nullptr) ++there;
      const Job& job = *view.find(id);
      const bool stays = is_running(job.state) && view.is_left_alone(view.job(id));
      if (!stays && !stays_as_it_is(job, seat)) jobs.push_back(id);
    }
    if (there < seats_.size()) {
      seats_.for_each([&](JobId id, const Placement&) {
        if (!holds_berth(view.find(id)->state)) jobs.push_back(id);
      });
    }
    if (jobs.size() < 2) return jobs;
    std::ranges::sort(jobs);
    std::vector<JobId> in_order;
    std::ranges::copy_if(jobs_.ids(), std::back_inserter(in_order),
                         [&](JobId id) { return std::ranges::binary_search(jobs, id); });
    return in_order;
  }

  Duration quantum_;
  std::unique_ptr<Placer> placer_;
  JobList jobs_;                   ///< The queue.
  IdMap<JobId, Placement> seats_;  ///< Of jobs of the queue.
  Instant turn_end_ = kStart;
  AskKinds kinds_;
  std::vector<JobId> left_alone_;  ///< In this pass, in the order of the queue.
  bool unchecked_ = false;         ///< As restored: seats may be of jobs or GPUs that are gone.
};

}  // namespace

std::unique_ptr<Policy> gandiva(const Keys& keys, std::unique_ptr<Placer> placer, const Knobs&) {
  return std::make_unique<Gandiva>(keys.time("quantum"), std::move(placer));
}

}  // namespace berth
