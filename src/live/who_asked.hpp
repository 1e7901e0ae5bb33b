// Who ended a job, as its note tells it: what is stored with the job's end, and nothing beside it.
// And what is left of a cancel of more jobs than one step takes, as the note of the last of them
// tells it, which goes when that one ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "journal/store.hpp"

namespace berth::live {

/// Begins the note of a job that another user than its owner cancelled.
inline constexpr std::string_view kCancelled = "cancelled, because ";
/// Begins that of a job that berthd cancelled by a rule.
inline constexpr std::string_view kEnded = "ended, because ";

/// `who`: `alice (uid 1000)`, or `uid 1000`.
std::string cancel_note(const std::string& who);

/// True for a note that begins with what ended the job, which stays in front of what follows.
bool says_who_ended(std::string_view note);
/// What follows that; all of another note.
std::string without_who_ended(const std::string& note);

/// The user who cancelled it; nothing for a job that ended otherwise, or that no user cancelled.
std::optional<UserId> cancelled_by(const journal::End& end, UserId owner);

/// Jobs that one user wants to be cancelled.
struct CancelWish {
  std::string who;
  UserId user;
  std::vector<std::pair<JobId, JobId>> jobs;  ///< From the first to the last of each range.
};
/// Requires: `jobs` is ascending.
std::string wish_note(const std::string& who, const std::vector<JobId>& jobs);
/// Nothing in another note.
std::optional<CancelWish> wish_in(std::string_view note);

}  // namespace berth::live
