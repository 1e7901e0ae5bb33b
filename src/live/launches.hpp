// Attempts that are to be launched, in several turns where they are many or have many words.
//
// What an attempt runs is read from the journal part by part, so that no turn reads it all. Belongs
// to the conductor's thread.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "live/keeper.hpp"
#include "live/ports.hpp"

namespace berth::live {

/// An attempt that is to be launched.
struct Launching {
  JobId job;
  Attempt attempt;
  Grant grant;
  bool goes_on = false;  ///< With what its suspended attempt left.
  std::optional<Command> command = {};
  std::vector<std::string> environment = {};
  std::size_t parts = 0;  ///< Of its words, read so far.
};

class Launches {
 public:
  /// Nothing of the attempt runs.
  using Failed = std::function<void(JobId, Attempt, const std::string& why)>;
  /// Requires: the keeper outlives it.
  Launches(const Keeper& keeper, const Hands& hands, Failed failed)
      : keeper_(keeper), hands_(hands), failed_(std::move(failed)) {}

  void add(Launching launching) { waiting_.push_back(std::move(launching)); }
  /// Does some of it, something at any rate. Returns: whether there is more.
  bool work();
  /// The attempt of a job that is to stop and of which nothing was launched yet: nothing will be.
  /// One that has a process goes on first, so that there is somebody to be stopped.
  std::optional<Attempt> take(JobId job);

 private:
  Expected<bool> read_some(Launching& next) const;
  void finish(Launching launching, const Expected<bool>& read);
  Expected<void> launch(Launching& launching);

  const Keeper& keeper_;
  const Hands hands_;
  const Failed failed_;
  std::deque<Launching> waiting_;
};

}  // namespace berth::live
