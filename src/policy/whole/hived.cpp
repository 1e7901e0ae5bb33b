// HiveD: virtual clusters of buddy cells, and jobs beyond them that give way.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <tuple>
#include <utility>
#include <vector>

#include "core/members.hpp"
#include "policy/kit/diff.hpp"
#include "policy/kit/job_list.hpp"
#include "policy/kit/memory.hpp"
#include "policy/policies.hpp"
#include "policy/whole/cell_seats.hpp"

namespace berth {

constexpr auto kHivedKeys = std::to_array<Key>(
    {{.name = "cells",
      .type = KeyType::Cells,
      .usual = "none",
      .least = 1,
      .most = 65'536,
      .what =
          "The cells of each user, by their GPUs: 1000/16/8:1001/4 is a cell of 16 GPUs and one of "
          "8 for user 1000, and one of 4 for user 1001. Users are uids, in a replay 1, 2 and so on "
          "as the trace first has them. All other users own what is left together. A cell that the "
          "machine does not have left is passed over. none: by weight."}});

constexpr About kHived{
    .title = "HiveD: virtual clusters of cells, which no job of others can break; preemptive.",
    .rule =
        "A cell is a GPU, a pair, four and so on up to a node, then two nodes of a switch, four "
        "and so on. Users own cells: those of `cells`, else the largest that make up GPUs x weight "
        "/ all weights. By priority, then arrival, each job gets GPUs in the cells of its user, "
        "there the fullest node first and the closest GPUs, if need be from jobs of lower "
        "priority. Which cells of the machine these are is decided when they are needed, as a "
        "buddy allocator does, so that nobody else can break them up. A job without room there is "
        "opportunistic: it gets any free GPUs, and gives way to all that have room in their own "
        "cells. A job has one pod, or a pod on each of several full nodes and one for the rest.",
    .reads = "Priority, GPUs asked for, arrival, user, weights, nodes and switches.",
    .source = "HiveD (Zhao et al., OSDI 2020), and its scheduler, commit 66f26ac47b.",
    .differs =
        "There users say which jobs are opportunistic. There free cells are taken in the order in "
        "which they came back; here in the order of the machine, so that of equal cells another "
        "may be taken. GPUs that a job cannot use are passed over. Cells by weight change when "
        "users come; a job whose cell is gone is opportunistic from then on. Jobs share no GPUs.",
    .cost = "O(GPUs log GPUs) for each start and each kind of waiting job.",
    .proof =
        "The scheduler's own code, driven operation by operation: the rule alone gives each of "
        "its 1,268 lines (doc/results/rounds.md, test/paper/hived_test.cpp).",
    .needs = {.preemption = true},
    .keys = kHivedKeys};

struct HivedMemory {
  Snapshot jobs;
  std::vector<CellSeat> seats;  ///< In the order in which they were given.
};
inline auto members(HivedMemory& v) { return std::tie(v.jobs, v.seats); }

namespace {

class Hived final : public Policy {
 public:
  explicit Hived(const Keys& keys)
      : owned_(keys.list("cells").begin(), keys.list("cells").end()), placer_(count({})) {}

  Decisions decide(const ClusterView& view, std::span<const Event> events) override {
    jobs_.update(view, events, *placer_);
    const Plan plan = make_plan(view);
    Decisions decisions = rearrange(view, plan.jobs, plan.places);
    jobs_.reject_impossible(decisions);
    if (plan.until != kNever) decisions.wake_at = plan.until;
    return decisions;
  }

  std::optional<Refused> refused(JobId job, const ClusterView& view) const override {
    using What = GateWord::What;
    const bool has_seat = std::ranges::find(seats_, job, &CellSeat::job) != seats_.end();
    return waits_its_turn(job, view, has_seat ? What::Freed : What::Ahead);
  }

  Snapshot save() const override {
    return saved(HivedMemory{.jobs = jobs_.save(), .seats = seats_});
  }

  Expected<void> restore(const Snapshot& bytes) override {
    HivedMemory memory;
    const auto have_gpus = [](const HivedMemory& read) {
      return std::ranges::none_of(read.seats, [](const auto& seat) { return seat.gpus.empty(); });
    };
    if (auto done = restore_into(memory, bytes, "hived", have_gpus); !done) return done;
    if (auto done = jobs_.restore(memory.jobs); !done) return done;
    seats_ = std::move(memory.seats);
    return {};
  }

 private:
  struct Plan {
    std::vector<JobId> jobs = {};
    std::vector<std::optional<Placement>> places = {};  ///< Of each; nothing: it is not to run.
    Instant until = kNever;                             ///< Time alone may change it then.
  };

  CellOwners owners(const ClusterView& view, const ClusterCells& machine) const {
    if (!owned_.empty()) return owners_by_list(owned_, machine);
    std::map<UserId, std::int64_t> weights;
    for (const auto& [user, account] : view.accounts()) weights[user] = account.weight_milli;
    for (const JobId id : jobs_.ids()) {
      const UserId user = view.job(id).user();
      weights[user] = view.account(user).weight_milli;
    }
    return owners_by_weight(weights, machine);
  }

  Plan make_plan(const ClusterView& view) {
    ClusterCells machine(view.cluster());
    CellOwners owned = owners(view, machine);
    CellSeats seats(view, std::move(owned), std::move(machine));
    seats.restore(seats_);
    std::vector<JobId> jobs;
    std::vector<JobId> without_gpus;
    for (const JobId id : jobs_.ids()) {
      if (!is_waiting(view.job(id).state()) && !seats.has(id)) continue;
      const bool asks_gpus = view.job(id).request().gpu.count > GpuCount(0);
      (asks_gpus ? jobs : without_gpus).push_back(id);
    }
    std::ranges::sort(jobs, {}, [&](JobId id) {
      const JobView job = view.job(id);
      return std::tuple(-std::int64_t{job.spec().priority}, job.in_line_since(), id);
    });
    seats.seat(jobs);
    seats_ = seats.all();
    const std::map<JobId, Placement> places = seats.places(without_gpus);
    Plan plan{.until = seats.changes_at()};
    const auto add = [&](JobId id) {
      const auto place = places.find(id);
      plan.jobs.push_back(id);
      plan.places.push_back(place == places.end() ? std::nullopt : std::optional(place->second));
    };
    for (const JobId id : view.running()) add(id);
    for (const CellSeat& seat : seats_) {
      if (is_waiting(view.job(seat.job).state())) add(seat.job);
    }
    for (const JobId id : without_gpus) add(id);
    return plan;
  }

  std::vector<std::int64_t> owned_;  ///< The key's; by weight if empty.
  std::unique_ptr<Placer> placer_;   ///< Says which jobs can ever run.
  JobList jobs_;                     ///< In order of arrival.
  std::vector<CellSeat> seats_;
};

}  // namespace

std::unique_ptr<Policy> hived(const Keys& keys, std::unique_ptr<Placer>, const Knobs&) {
  return std::make_unique<Hived>(keys);
}

}  // namespace berth
