// Ends the remaining processes of attempts whose shims died. Runs as a process of its own, `berthd
// --end-leftovers`, which orphans.hpp starts.
//
// A job's processes are found by their cgroup, else by the session of the job's own process; those
// that left it are found by what is in their environment. To read that waits for the process's
// memory lock, and its user can hold that lock for ever, by a file system of their own. So no
// thread of the daemon reads it: this process can be killed, or left behind.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "shim/record.hpp"

namespace berth::daemon {

/// The one argument of the process.
inline constexpr const char* kEndLeftovers = "--end-leftovers";

struct Leftover {
  shim::Record record;
  std::string cgroup;  ///< Folder of the attempt's cgroup; there may be none.
};

/// The fate of one attempt's processes.
struct Ended {
  int processes = 0;       ///< Found one by one and killed.
  bool by_cgroup = false;  ///< Nothing is left of it.
  int hanging = 0;         ///< Killed, and still there after a long while.

  bool operator==(const Ended&) const = default;
};

using AttemptKey = std::pair<JobId, Attempt>;

/// The order to a helper, and its answer, line by line.
struct Search {
  std::string mark;  ///< A variable that every job of this daemon has, and no other.
  std::vector<Leftover> left;
};
std::string encode(const Search& search);
/// Errors: BadData for text that is none.
Expected<Search> decode_search(std::string_view text);
struct Report {
  std::map<AttemptKey, Ended> ended;
  bool saw_all = false;  ///< No environment kept it waiting.
};
/// Of what has come so far; lines that are none, and a torn one, are passed over.
Report decode_report(std::string_view text);

/// The process itself: reads its search from standard input, writes its report to standard output.
/// Returns: an exit code.
int end_leftovers();

/// The processes that were killed, each once, by attempt.
using Killed = std::map<AttemptKey, std::set<std::pair<pid_t, std::uint64_t>>>;

/// Kills, of each attempt, the processes of its user that are in the session of its own process;
/// all are stopped first, so that none makes another. As root the calling thread goes before all
/// others meanwhile. Returns: how many it saw, also of those that
/// ended by themselves meanwhile; 0 once nothing is left. O(processes of the machine).
std::size_t kill_in_sessions(std::span<const Leftover> left, Killed& killed);
/// Kills, of each attempt, the processes of its user that carry its number and attempt and the mark
/// in their environment. As above, but for processes that hang: it waits for them.
std::size_t kill_marked(std::span<const Leftover> left, const std::string& mark, Killed& killed);

}  // namespace berth::daemon
