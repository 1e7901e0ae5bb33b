// Fair share: users by decayed dominant service.
#include "policy/policies.hpp"

namespace berth {

constexpr About kFairShare{
    .title = "Fair share: users by decayed dominant service.",
    .rule =
        "The user with the least decayed service / weight goes first; of one user's jobs the "
        "earliest submitted. service = integral over time of max(share of GPU memory, share of "
        "GPUs), halved every half-life (`half_life` of berthd, `--half-life` of sim). Any job that "
        "fits may pass a job that does not.",
    .reads = "Accounts (service, weight), user, time of submission.",
    .source = "Dominant shares as in DRF (Ghodsi et al., NSDI 2011).",
    .differs =
        "Shares are integrated over time and decay as in Slurm's fair-share, so a user who waited "
        "goes first later.",
    .cost = "O(1) per user and per job.",
    .proof = "None yet."};

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
    return {.rank = {.major = micros(job.in_line_since())}, .valid_until = std::nullopt};
  }
};

}  // namespace

std::unique_ptr<Order> fair_share(const Keys&, const Knobs&) {
  return std::make_unique<FairShare>();
}

}  // namespace berth
