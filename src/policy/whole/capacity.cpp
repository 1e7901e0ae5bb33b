// Capacity scheduler: queues with guaranteed shares, as Philly used YARN's. It has a placement of
// its own (place/closest.cpp): others may choose distant GPUs though close ones are free.
#include <array>
#include <map>

#include "policy/pipeline/pipeline.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kCapacityKeys = std::to_array<Key>({
    {.name = "node_delay",
     .type = KeyType::Time,
     .usual = "5m",
     .least = 0,
     .most = kYear,
     .what = "A job that fits one node waits this long before it may span nodes of one switch."},
    {.name = "switch_delay",
     .type = KeyType::Time,
     .usual = "5m",
     .least = 0,
     .most = kYear,
     .what = "A job waits `node_delay` and this long before it may span switches."},
});

constexpr About kCapacity{
    .title =
        "Capacity scheduler: queues with guaranteed shares; GPUs further apart after longer waits.",
    .rule =
        "A user is a queue (a virtual cluster). rank of a queue = GPUs in use / weight, smallest "
        "first; a queue may use GPUs that other queues leave idle. Inside a queue the earliest "
        "submitted job is first; any job that fits may pass. The closest GPUs are taken. A job "
        "that fits one node waits `node_delay` before it may span nodes of one switch, and any job "
        "waits `switch_delay` more before it may span switches.",
    .reads =
        "Accounts (GPUs held, weight), user, time of submission, time waited. A queue without "
        "running jobs uses 0 GPUs.",
    .source = "YARN's capacity scheduler as Philly used it (Jeon et al., ATC 2019).",
    .differs =
        "A gang is placed at once. Philly held the GPUs it had, gave them back and tried again, so "
        "its delays count missed offers; ours are times, with values of our own. No queue preempts "
        "jobs of another (Philly did, above 90 % use). Queues have no hierarchy and no limits. "
        "Quotas are weights (doc/configuration.md, `--weights`).",
    .cost = "O(log users) per start, O(1) per job.",
    .proof =
        "No published figure. The guarantees in YARN's documentation and in Jeon et al., section "
        "2.3, one by one (test/paper/capacity_test.cpp).",
    .keys = kCapacityKeys};

namespace {

class Capacity final : public Order {
 public:
  Capacity(Duration leave_node_after, Duration leave_switch_after)
      : delays_{leave_node_after, leave_switch_after} {}

  DependsOn depends_on() const override { return DependsOn::Group; }

  Decisions prepare(const ClusterView&, std::span<const Event>) override {
    started_.clear();
    return {};
  }

  Rank group_rank(UserId user, const ClusterView& view) const override {
    const Account account = view.account(user);
    const auto started = started_.find(user);
    GpuCount used = account.gpus;
    if (started != started_.end()) used += started->second;
    return {.major = used.raw() * 1'000'000'000 / account.weight_milli};
  }

  Ranked rank(const JobView& job, const ClusterView& view) const override {
    return {.rank = {.major = micros(job.submitted())}, .valid_until = next_level(job, view)};
  }

  bool note_start(const JobView& job, const Grant&) override {
    started_[job.user()] += job.gpus();
    return true;
  }

 private:
  /// When it may be placed further apart: the rank stays, but the pass must look at it again.
  std::optional<Instant> next_level(const JobView& job, const ClusterView& view) const {
    for (const Duration delay : delays_) {
      if (job.waited() < delay) return later(view.now(), delay - job.waited());
    }
    return std::nullopt;
  }

  std::array<Duration, 2> delays_;      ///< Before a node and before a switch is left.
  std::map<UserId, GpuCount> started_;  ///< In the pass under way, beyond what accounts show.
};

}  // namespace

std::unique_ptr<Policy> capacity(const Keys& keys, std::unique_ptr<Placer>, const Knobs& knobs) {
  const Duration node = keys.time("node_delay");
  const Duration far = node + keys.time("switch_delay");
  const PipelineOptions options{
      .leave_node_after = node, .leave_switch_after = far, .rebuild = knobs.rebuild};
  return std::make_unique<Pipeline>(std::make_unique<Capacity>(node, far), closest(), options);
}

}  // namespace berth
