// Which jobs a list holds: by user, state and name.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/print/json.hpp"
#include "core/base/error.hpp"

namespace berth::cli {

/// The uid of a user's name on this machine, or of a number. Errors: InvalidArgument naming it.
Expected<std::uint32_t> user_number(const std::string& name);

struct JobFilter {
  std::set<std::uint32_t> users;   ///< None: of all users.
  std::set<std::string> states;    ///< None: in any state.
  std::vector<std::string> names;  ///< Patterns, of which one must fit; none: any name.

  bool takes(const Json& job) const;
  /// The uid that a daemon may be asked for, where it is one.
  std::optional<std::uint32_t> only_user() const;
  /// Whether a job that has ended, or one that has not, can be taken.
  bool wants_ended() const;
  bool wants_live() const;
};

/// Adds states as typed: `queued,held`, `ended` for all states of jobs that have ended, `waiting`
/// for those that wait. Errors: InvalidArgument naming the word and the valid ones.
Expected<void> add_states(JobFilter& filter, const std::vector<std::string>& typed);

}  // namespace berth::cli
