// Delay scheduling: GPUs close together, or later.
#include <algorithm>
#include <array>

#include "policy/gates.hpp"
#include "policy/pipeline/gate.hpp"

namespace berth {

constexpr auto kLocalKeys = std::to_array<Key>({kNodeDelayKey, kSwitchDelayKey});

constexpr About kLocal{
    .title = "Delay scheduling: a job waits before its GPUs are spread.",
    .rule =
        "A job that fits one node waits `node_delay` before it is spread over nodes of a switch, "
        "and any job waits `switch_delay` more before it is spread over switches.",
    .reads = "Time waited, nodes and switches of the place.",
    .source =
        "Delay scheduling (Zaharia et al., EuroSys 2010), as in Philly (Jeon et al., ATC 2019).",
    .differs =
        "Delays are times and not missed offers. Most placements never spread a job that fits one "
        "node, however long it has waited; `count` does, and the placement of `capacity`. Beside a "
        "placement that chooses distant GPUs though close ones are free, a job waits in vain.",
    .cost = "O(1) per place that is found.",
    .proof =
        "With policy `capacity`: the guarantees that Jeon et al., section 2.3, describe "
        "(test/paper/capacity_test.cpp).",
    .keys = kLocalKeys};

namespace {

class Local final : public Gate {
 public:
  explicit Local(const Keys& keys)
      : leave_node_after_(keys.time(kNodeDelayKey.name)),
        leave_switch_after_(leave_node_after_ + keys.time(kSwitchDelayKey.name)) {}

  Duration wait(const JobView& job, const Placement& place, const Trial& trial,
                const ClusterView&) const override {
    if (place.gpus.empty()) return Duration::zero();
    const Cluster& cluster = trial.cluster();
    const NodeId last = cluster.node_of(place.gpus.back());
    const bool fits_one = job.gpus().raw() <= static_cast<std::int64_t>(cluster.largest_node());
    const bool leaves_switch = cluster.node(last).switch_id != cluster.node(place.host).switch_id;
    Duration wait = Duration::zero();
    if (last != place.host && fits_one) wait = leave_node_after_;
    if (leaves_switch) wait = leave_switch_after_;
    return std::max(Duration::zero(), wait - job.waited());
  }

  GateWord word(const JobView&, const Placement& place, const Trial&,
                const ClusterView&) const override {
    return {.what = GateWord::What::Spread, .gpu = place.gpus.front()};
  }

 private:
  Duration leave_node_after_;
  Duration leave_switch_after_;
};

}  // namespace

std::unique_ptr<const Gate> local(const Keys& keys) { return std::make_unique<Local>(keys); }

}  // namespace berth
