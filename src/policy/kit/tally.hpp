// Users' berths and their limits, while a pass grants more. What counts is the GPUs of a berth, not
// those that its job asks for.
#pragma once

#include <cstdint>
#include <map>

#include "core/view.hpp"

namespace berth {

class Tally {
 public:
  /// Counts from the users' present berths, or from zero for a policy that repacks.
  enum class From : std::uint8_t { Now, Nothing };
  Tally(const ClusterView& view, From from) : view_(view), from_(from) {}

  /// May this job have a berth of so many GPUs? Without limits it does not look the job up.
  bool allows(JobId id, GpuCount gpus) const {
    if (!view_.settings().has_limits()) return true;
    const UserId user = view_.job(id).user();
    const UserLimits& limits = view_.settings().limits_of(user);
    if (!limits.any()) return true;
    const Taken taken = taken_by(user);
    return within(limits, taken.gpus, taken.jobs, gpus);
  }
  void take(JobId id, GpuCount gpus) {
    if (!view_.settings().has_limits()) return;
    const UserId user = view_.job(id).user();
    const Taken before = taken_by(user);
    taken_[user] = {before.gpus + gpus, before.jobs + 1};
  }

 private:
  struct Taken {
    GpuCount gpus{0};
    std::int32_t jobs = 0;
  };
  Taken taken_by(UserId user) const {
    const auto found = taken_.find(user);
    if (found != taken_.end()) return found->second;
    if (from_ == From::Nothing) return {};
    const Account account = view_.account(user);
    return {account.gpus, account.jobs};
  }

  const ClusterView& view_;
  From from_;
  std::map<UserId, Taken> taken_;
};

}  // namespace berth
