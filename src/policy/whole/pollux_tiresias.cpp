// The Tiresias that Pollux' simulator compares with, exactly: two queues, decided once a round.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/members.hpp"
#include "policy/kit/candidates.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/seats.hpp"
#include "policy/policies.hpp"
#include "policy/whole/level_queues.hpp"

namespace berth {

constexpr auto kPolluxTiresiasKeys = std::to_array<Key>({
    {.name = "round",
     .type = KeyType::Time,
     .usual = "1m",
     .least = micros(seconds(1)),
     .most = kYear,
     .what = "Jobs start, and give way, at multiples of this time."},
    {.name = "thresholds",
     .type = KeyType::Service,
     .usual = "57600",
     .least = 1,
     .most = 100'000'000,
     .what = "Run time x GPUs, in seconds, at which the queues end."},
});

constexpr About kPolluxTiresias{
    .title = "Tiresias as Pollux' simulator has it: two queues, in rounds of a minute; preemptive.",
    .rule =
        "Jobs arrive in the first of the queues. At multiples of `round` a running job whose run "
        "time x GPUs has reached the threshold of its queue moves to the tail of the next. Then in "
        "the order of the queues each job runs if GPUs are left for all of it. Those that ran stay "
        "where they are; for the others, in the same order, GPUs come from the node with the most "
        "free ones, then from the next, until there are enough.",
    .reads = "Run time, GPUs asked for, arrivals, free GPUs per node.",
    .source = "The simulator of Pollux (Qiao et al., OSDI 2021), artifact c793c70, `tiresias`.",
    .differs =
        "Nothing known. Tiresias itself (`tiresias/dlas-gpu`) decides at every event, and waiting "
        "jobs go to the tail of their queue.",
    .cost = "O(jobs + starts x nodes log nodes) per round, O(running) per event.",
    .proof =
        "The completion time of each of the artifact's 1,920 jobs, in its own model of their "
        "progress (test/paper/pollux_test.cpp).",
    .needs = {.preemption = true},
    .keys = kPolluxTiresiasKeys};

namespace {

/// The node with the most fitting GPUs, the first among equals, gives
/// what it has; then the next one.
class MostFree final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    std::vector<std::pair<std::uint32_t, NodeId>> nodes;
    for (NodeId node(0); node.value() < candidates.node_count(); node = NodeId(node.value() + 1)) {
      nodes.emplace_back(candidates.fitting(node), node);
    }
    std::ranges::stable_sort(nodes, std::greater(), [](const auto& one) { return one.first; });
    std::vector<GpuId> gpus;
    std::uint32_t left = candidates.wanted();
    for (const auto& [fitting, node] : nodes) {
      const std::uint32_t taken = std::min(fitting, left);
      candidates.append_fitting(node, taken, gpus);
      left -= taken;
    }
    if (left > 0) return candidates.refusal();
    return placement_on(trial.cluster(), std::move(gpus));
  }
};

struct PolluxTiresiasMemory {
  Snapshot queues;
  Instant next = kNever;
  std::map<JobId, Placement> seats;
};
inline auto members(PolluxTiresiasMemory& v) { return std::tie(v.queues, v.next, v.seats); }

class PolluxTiresias final : public Policy {
 public:
  explicit PolluxTiresias(const Keys& keys)
      : round_(keys.time("round")), queues_(keys.list("thresholds").size() + 1) {
    for (const std::int64_t limit : keys.list("thresholds")) {
      thresholds_.push_back(GpuCount(1) * seconds(limit));
    }
  }

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    queues_.update(view, events, placer_);
    drop_seats(view);
    if (next_ == kNever) next_ = round_at_or_after(view.now());
    if (view.now() >= next_) begin_round(view);
    Decisions decisions = carry_out(view);
    queues_.reject_impossible(decisions);
    if (next_ != kNever) decisions.wake_at = next_;
    return decisions;
  }

  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    using What = GateWord::What;
    return waits_its_turn(job, view, seats_.contains(job) ? What::Freed : What::Round);
  }

  Snapshot save() const override {
    return saved(PolluxTiresiasMemory{.queues = queues_.save(), .next = next_, .seats = seats_});
  }

  Expected<void> restore(const Snapshot& bytes) override {
    PolluxTiresiasMemory memory;
    const auto ascends = [](const auto& seat) {
      const auto& gpus = seat.second.gpus;
      return std::ranges::adjacent_find(gpus, std::greater_equal()) == gpus.end();
    };
    const auto sane = [&](const auto& read) { return std::ranges::all_of(read.seats, ascends); };
    if (auto done = restore_into(memory, bytes, "pollux/tiresias", sane); !done) return done;
    if (auto done = queues_.restore(memory.queues, "pollux/tiresias"); !done) return done;
    next_ = memory.next;
    seats_ = std::move(memory.seats);
    return {};
  }

 private:
  Instant round_at_or_after(Instant time) const {
    const Duration past = (time - kStart) % round_;
    return past == Duration::zero() ? time : later(time, round_ - past);
  }

  /// Of jobs that are gone, and, as restored, of GPUs that the cluster lacks.
  void drop_seats(const ClusterView& view) {
    std::erase_if(seats_, [&](const auto& seat) {
      const Job* const job = view.find(seat.first);
      return job == nullptr || !is_live(*job) || !exists(seat.second, view.cluster());
    });
  }

  void begin_round(const ClusterView& view) {
    queues_.demote(view, [&](const JobView& job, std::size_t level) {
      return job.gpus() * queues_.executed(job) >= thresholds_[level];
    });
    const std::span<const JobId> jobs = queues_.in_order();
    Trial trial = view.trial();
    clear(trial, view);
    const Trial::Mark empty = trial.mark();
    Seating all(view, placer_, trial);
    std::set<JobId> run = all.keep_left_alone(jobs);
    for (const JobId id : jobs) {
      if (!run.contains(id) && all.seat(id, ask_of(view.job(id)))) run.insert(id);
    }
    trial.rollback(empty);
    Seating seating(view, placer_, trial);
    std::set<JobId> seated = seating.keep_left_alone(jobs);
    for (const bool where_it_is : {true, false}) {
      for (const JobId id : jobs) {
        if (!run.contains(id) || seated.contains(id)) continue;
        const Ask ask = ask_of(view.job(id));
        if (where_it_is ? seating.keep(id, ask) : seating.seat(id, ask)) seated.insert(id);
      }
    }
    for (const JobId id : jobs) {  // where jobs share GPUs, some may stay that were not counted
      if (!seated.contains(id)) seating.keep(id, ask_of(view.job(id)));
    }
    seats_.clear();
    for (Seat& seat : seating.take()) seats_[seat.jobs.front()] = std::move(seat.place);
    next_ = jobs.empty() ? kNever : round_at_or_after(view.now() + Duration(1));
  }

  Decisions carry_out(const ClusterView& view) const {
    std::map<JobId, std::optional<Placement>> wanted(seats_.begin(), seats_.end());
    for (const JobId id : view.running()) wanted.try_emplace(id);
    const auto jobs = std::views::keys(wanted);
    const auto places = std::views::values(wanted);
    return rearrange(view, std::vector(jobs.begin(), jobs.end()),
                     std::vector(places.begin(), places.end()));
  }

  Duration round_;
  std::vector<GpuTime> thresholds_;  ///< Where queues end.
  MostFree placer_;
  LevelQueues queues_;
  Instant next_ = kNever;             ///< When a round begins; kNever: no job was there.
  std::map<JobId, Placement> seats_;  ///< Of this round.
};

}  // namespace

std::unique_ptr<Policy> pollux_tiresias(const Keys& keys, std::unique_ptr<Placer>, const Knobs&) {
  return std::make_unique<PolluxTiresias>(keys);
}

}  // namespace berth
