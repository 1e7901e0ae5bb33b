// Fair share: users by decayed dominant service.
//
// Rule: the user with the least decayed service per weight goes first, where service is the
//   integral of the larger of their shares of GPU memory and of GPUs; within a user, first
//   submitted. Whoever fits passes a job that does not.
// Reads: accounts (service, weight), user, submitted.
// Differs from the paper: dominant shares as in DRF (Ghodsi et al., NSDI 2011), but over time with
//   decay as Slurm's fair-share does, so a user who waited is owed. Cost: O(1) per user and per
//   job.
#include "policy/registry.hpp"

namespace berth {

namespace {

class FairShare final : public Order {
 public:
  DependsOn depends_on() const override { return DependsOn::Group; }

  Rank group_rank(UserId user, const ClusterView& view) const override {
    const Account account = view.account(user);
    const ShareSeconds service = account.service_at(view.now(), view.settings().service_half_life);
    return {.major = service.raw() / account.weight_milli, .minor = account.share_ppb};
  }
  Ranked rank(const JobView& job, const ClusterView&) const override {
    return {.rank = {.major = micros(job.submitted())}, .valid_until = std::nullopt};
  }
};

}  // namespace

std::unique_ptr<Order> fair_share(const Knobs&) { return std::make_unique<FairShare>(); }

}  // namespace berth
