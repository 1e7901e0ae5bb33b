// POST /v1/adopt: whether a process that its user started by hand can become a job, and as which.
//
// What /proc tells of it is of a moment ago: its shim looks again, by the time of its start. What
// is in the process's memory is not read (processes.hpp). Belongs to the engine's thread, but for
// parse_adopt().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/requests/denial.hpp"
#include "daemon/settings/roles.hpp"
#include "live/new_jobs.hpp"

namespace berth::daemon {

class Daemon;

struct AdoptWish {
  pid_t pid = 0;
  /// When it started, in clock ticks since boot, as who asks sees it; none: not said.
  std::optional<std::uint64_t> start = {};
  live::Submission said =
      {};  ///< Its memory, time limit, name and command, as far as they are said.
};
/// Errors: as parse_submission().
Expected<AdoptWish> parse_adopt(std::string_view body);

struct Adopting {
  AdoptWish wish;
  uid_t peer = 0;
  Rights rights = Rights::User;
  std::function<std::string(uid_t)> user_text;  ///< As JobChanges::user_text().
};
/// The job that it is to be; or why it cannot be one, with the thing, the value and the limit.
std::expected<live::Submission, Denial> admit_adoption(const Adopting& asked, const Daemon& daemon);

}  // namespace berth::daemon
