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
     .what =
         "A job that fits one node waits this long before it is spread over nodes of a switch."},
    {.name = "switch_delay",
     .type = KeyType::Time,
     .usual = "5m",
     .least = 0,
     .most = kYear,
     .what = "A job waits `node_delay` and this long before it is spread over switches."},
});

constexpr About kCapacity{
    .title =
        "Capacity scheduler: queues with guaranteed shares, and places further apart the longer it "
        "takes.",
    .rule =
        "A user is a queue (a virtual cluster). rank of a queue = GPUs in use / weight, smallest "
        "first; a queue may use GPUs that others leave idle. Inside a queue the time of submission "
        "decides; any job that fits may pass. Places are the closest there are: a job that fits "
        "one node waits `node_delay` before it is spread over nodes of a switch, and any job waits "
        "`switch_delay` more before it is spread over switches.",
    .reads =
        "Accounts (GPUs held, weight), user, time of submission, time waited. A queue with waiting "
        "jobs only uses nothing.",
    .source = "YARN's capacity scheduler as Philly used it (Jeon et al., ATC 2019).",
    .differs =
        "Gangs are placed at once, where Philly held the GPUs it had, gave them back and tried "
        "again; so delays are times and not missed offers, and their values are ours. No queue "
        "takes running jobs from another (Philly did, beyond 90 % use). There is no hierarchy of "
        "queues and no limit within one. Quotas are weights (doc/configuration.md, `--weights`).",
    .cost = "O(log users) per start, O(1) per job.",
    .proof =
        "The guarantees that YARN's documentation and Jeon et al., section 2.3, describe, one by "
        "one; no published figure (test/paper/capacity_test.cpp).",
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
