// Capacity scheduler: queues with guaranteed shares, and places further apart the longer it takes.
//
// Rule: a user is a queue (a virtual cluster), guaranteed its weight's part of the GPUs of all that
//   have work; quotas are weights (doc/configuration.md, `berth sim --weights`). The queue
//   that uses least of that is next; it may use what others leave idle. Inside a queue the first
//   submitted goes first; whoever fits passes. Places are the closest there are, but a job that
//   fits one node waits five minutes for one before it is spread over nodes of a switch, and any
//   job five more before it is spread over switches.
// Reads: accounts (GPUs held, weight), user, submitted, waited. Who only waits uses nothing.
// Differs from the paper: YARN's capacity scheduler as Philly used it (Jeon et al., ATC 2019).
//   Gangs are placed at once, where Philly held what it had, gave it back and tried again; so
//   delays are times, not missed offers, and ours. No queue takes running jobs from another
//   (Philly did, beyond 90 % use); no hierarchy of queues, no limit within one. It has a
//   placement of its own (place/closest.cpp): others may choose distant GPUs though close ones are
//   free. Cost: O(log users) per start, O(1) per job.
#include <map>

#include "policy/pipeline/pipeline.hpp"
#include "policy/registry.hpp"

namespace berth {

std::unique_ptr<Placer> closest();

namespace {

constexpr Duration kNodeDelay = minutes(5);
constexpr Duration kSwitchDelay = kNodeDelay + minutes(5);

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

  Ranked rank(const JobView& job, const ClusterView& view) const override {
    return {.rank = {.major = micros(job.submitted())}, .valid_until = next_level(job, view)};
  }

  bool note_start(const JobView& job, const Grant&) override {
    started_[job.user()] += job.gpus();
    return true;
  }

 private:
  /// When it may be placed further apart: the rank stays, but the pass must look at it again.
  static std::optional<Instant> next_level(const JobView& job, const ClusterView& view) {
    for (const Duration delay : {kNodeDelay, kSwitchDelay}) {
      if (job.waited() < delay) return later(view.now(), delay - job.waited());
    }
    return std::nullopt;
  }

  std::map<UserId, GpuCount> started_;  ///< In the pass under way, beyond what accounts show.
};

}  // namespace

std::unique_ptr<Policy> capacity(const Knobs& knobs) {
  const PipelineOptions options{
      .leave_node_after = kNodeDelay, .leave_switch_after = kSwitchDelay, .rebuild = knobs.rebuild};
  return std::make_unique<Pipeline>(std::make_unique<Capacity>(), closest(), options);
}

}  // namespace berth
