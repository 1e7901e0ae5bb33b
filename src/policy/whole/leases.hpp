// Policies by leases (lease_rule.hpp) on a cluster: when passes are, and where jobs run.
#pragma once

#include <memory>
#include <string_view>

#include "policy/policy.hpp"
#include "policy/whole/lease_rule.hpp"

namespace berth {

/// The orders within a user's jobs: ASTRAEA's own three, Themis', and five that know no fairness.
LeaseRank by_fairness(const LeasedJob& job, Instant now);
LeaseRank by_fairness_class(const LeasedJob& job, Instant now);
LeaseRank by_reward(const LeasedJob& job, Instant now);
LeaseRank by_rho(const LeasedJob& job, Instant now);
LeaseRank by_executed(const LeasedJob& job, Instant now);
LeaseRank by_submission(const LeasedJob& job, Instant now);
LeaseRank by_left(const LeasedJob& job, Instant now);
LeaseRank by_size(const LeasedJob& job, Instant now);

/// A policy by leases; jobs that ask for no GPU run beside. There is a pass each period, and in our
/// own form one when jobs come or go. `name` is the name in errors. Cost: that of a pass, and a
/// placement for each job that runs; O(jobs) for other events.
std::unique_ptr<Policy> by_leases(std::string_view name, const LeaseRules& rules,
                                  std::unique_ptr<Placer> placer);

}  // namespace berth
