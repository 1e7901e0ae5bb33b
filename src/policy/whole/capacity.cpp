// Capacity scheduler: queues with guaranteed shares, as Philly used YARN's. It has a placement of
// its own (place/closest.cpp): others may choose distant GPUs though close ones are free.
#include <array>
#include <map>
#include <utility>

#include "policy/backfills.hpp"
#include "policy/gates.hpp"
#include "policy/pipeline/backfill.hpp"
#include "policy/pipeline/pipeline.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kCapacityKeys = std::to_array<Key>({kNodeDelayKey, kSwitchDelayKey});

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

  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = micros(job.in_line_since())}};
  }

  bool note_start(const JobView& job, const Grant&) override {
    started_[job.user()] += job.gpus();
    return true;
  }

 private:
  std::map<UserId, GpuCount> started_;  ///< In the pass under way, beyond what accounts show.
};

}  // namespace

std::unique_ptr<Policy> capacity(const Keys& keys, std::unique_ptr<Placer>, const Knobs& knobs) {
  Gates gates;
  gates.list.push_back(local(keys));
  return std::make_unique<Pipeline>(std::make_unique<Capacity>(), closest(), skip({}),
                                    PipelineOptions{.rebuild = knobs.rebuild}, std::move(gates));
}

}  // namespace berth
