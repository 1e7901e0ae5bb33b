// Who used how much of the GPUs: sums over the attempts of all jobs, by user and month.
//
// Reads the engine and the journal; belongs to the engine's thread.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/job.hpp"
#include "daemon/loop/json_text.hpp"
#include "journal/store.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

/// Of one user in one month.
struct Usage {
  std::array<std::int64_t, 7> jobs{};  ///< That ended in it, by outcome.
  std::int64_t running = 0;            ///< Jobs that have not ended and held GPUs.
  Duration gpu_time{0};                ///< GPUs times time.
  double byte_seconds = 0.0;           ///< GPU memory asked for, times time.
  Bytes peak{0};                       ///< The largest of a job on one GPU.
  std::optional<std::int64_t> millijoules = std::nullopt;  ///< Of attempts of which it is known.
};

class UsageSums {
 public:
  /// Of what happened from `since` on; `whole`: the memory of a GPU, which a job is charged that
  /// states none.
  UsageSums(const live::Keeper& keeper, Instant since, Instant now, Bytes whole)
      : keeper_(keeper), since_(since), now_(now), whole_(whole) {}

  /// Adds jobs for as long as `has_time()`, one at least. Returns: whether there is more to add.
  Expected<bool> advance(const std::function<bool()>& has_time);
  /// `[{user, month, ...}]` by user, then month. Requires: advance() has returned false.
  Json take(const std::function<std::string(UserId)>& name_of) const;

 private:
  using Key = std::pair<UserId, int>;  ///< The month: its year times 12, and its number from 0.

  Expected<void> add(const journal::JobRow& row);
  Expected<bool> add_ended(const std::function<bool()>& has_time);

  const live::Keeper& keeper_;
  Instant since_;
  Instant now_;
  Bytes whole_;
  bool has_live_ = false;        ///< Those that have not ended are in.
  std::optional<JobId> before_;  ///< The last one of the history that is in.
  std::map<Key, Usage> sums_;
};

}  // namespace berth::daemon
