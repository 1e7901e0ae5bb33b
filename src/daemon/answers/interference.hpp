// What is known of how jobs slow each other on one GPU, for people: core/knowledge/company.hpp with
// names.
//
// Reads the engine and the journal; belongs to the engine's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/loop/json_text.hpp"
#include "daemon/settings/roles.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

class InterferenceRows {
 public:
  static constexpr std::size_t kMostPairs = 1000;

  /// Of the programs that ran latest first. A program is called as its latest run was, as far as
  /// `viewer` may know that name.
  InterferenceRows(const live::Keeper& keeper, const Viewer& viewer,
                   std::function<std::string(UserId)> user_name);

  /// Adds programs for as long as `has_time()`, one at least. Returns: whether there is more to
  /// add.
  Expected<bool> advance(const std::function<bool()>& has_time);
  /// `{programs, pairs: [..], by_busy: [..]}`. Requires: advance() has returned false.
  Json take();

 private:
  struct Named {
    std::string name;
    std::string user;
  };

  Expected<const Named*> named(JobId run);
  Expected<void> add(Fingerprint what);

  const live::Keeper& keeper_;
  Viewer viewer_;
  std::function<std::string(UserId)> user_name_;
  std::vector<Fingerprint> programs_;  ///< Those that ran latest last: the next is the back.
  std::size_t alone_ = 0;              ///< Programs of which a run alone is known.
  std::map<JobId, Named> names_;
  std::vector<Json> pairs_;
};

}  // namespace berth::daemon
