// What a daemon and its shim say to each other over their socket (SOCK_SEQPACKET, descriptor 3 of
// the shim). The daemon sends one order; the shim answers with events and exits.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.hpp"
#include "shim/record.hpp"

namespace berth::shim {

/// Version of order and events; a daemon only orders shims of its own build, so it must be equal.
inline constexpr int kOrderFormat = 3;

/// Where the input and output of an attended job go: `berth run` or `berth attach` listens there.
struct Attach {
  std::string socket;     ///< Path of a listening unix socket of the user's.
  bool terminal = false;  ///< The job gets a pty; else pipes.
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  bool optional = false;  ///< The job starts and goes on without it, too.
  /// With a pty: standard error has a pipe of its own. As the client wants it that begins the job:
  /// it is sent with the order, and not with the request of one that comes later.
  bool errors_apart = false;
};

/// Everything about one attempt. Sent as one packet together with two descriptors (SCM_RIGHTS):
/// the flocked attempt file and the log file, both opened for appending. Larger orders than a
/// packet takes (arguments and environment up to 2 MB) travel in a memfd, as a third descriptor.
struct Order {
  JobId job;
  Attempt attempt;
  std::vector<std::string> arguments;    ///< arguments[0] is looked up in the job's own PATH.
  std::vector<std::string> environment;  ///< `NAME=value`; all the job gets.
  std::string directory;
  /// Who the job runs as; the shim changes to them only if it runs as root.
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
  mode_t umask = 022;
  std::uint64_t log_cap = 0;          ///< Bytes of output kept in the log; 0: no cap.
  std::int64_t grace_millis = 10000;  ///< Between SIGTERM and SIGKILL when it must stop.
  std::string cgroup;                 ///< Folder of a cgroup v2 made for the attempt; "" for none.
  bool keeps_cgroup = false;          ///< The daemon removes the cgroup, not the shim.
  std::optional<Attach> attach;
  bool errors_apart = false;           ///< As of `attach`.
  std::int32_t save_signal = 0;        ///< Tells it to save its state; 0: it does not by itself.
  std::int64_t save_grace_millis = 0;  ///< From then to SIGTERM.
  std::string output = {};  ///< A file of the user's that its output also goes to; "" for none.
  /// It runs already: this process of the user's, and nothing is started.
  std::optional<Process> adopted = {};
};

/// The largest packet of an order; from there on it travels in a memfd.
inline constexpr std::size_t kLargestPacket = 64 * 1024;

/// The job's process exists (its `go` is written or about to be). Not sent for an attempt that
/// fails before, such as one whose `berth run` is gone.
struct Started {
  Process job;
};
/// The job's own process ended and its process tree is gone; the record is written. The shim exits
/// right after, and the daemon need not wait for that.
struct Ended {
  Exit exit;
  /// `log capped at 64 MiB`, `ended 3 processes left behind`, what failed; `; ` between; often "".
  std::string note;
};
/// Nothing of it ran, for want of what another try may find: a process, a descriptor, room for the
/// attempt file, a file system that answers. The record has neither `go` nor `exit`.
struct Unstarted {
  std::string why;
};
using Event = std::variant<Started, Ended, Unstarted>;

std::string encode(const Order& order);
std::string encode(const Event& event);
/// Errors: BadData for bytes that are no order, an order of another format, and one that no process
/// can be made of (no program, a NUL within a word, a grace below zero).
Expected<Order> decode_order(std::string_view bytes);
/// Errors: BadData for bytes that are no event.
Expected<Event> decode_event(std::string_view bytes);

/// Sends the order with its descriptors. Both stay the caller's (close them). Errors: Io.
Expected<void> send_order(int socket, const Order& order, int attempt_file, int log_file);

/// Signals a shim understands, for daemons that have no socket to it any more.
inline constexpr int kStopSignal = 15;  ///< SIGTERM: end the tree, SIGKILL after the grace.
inline constexpr int kSaveSignal = 14;  ///< SIGALRM: tell it to save, then end the tree.
inline constexpr int kKillSignal = 12;  ///< SIGUSR2: end the tree at once.
/// Queued with any of these: a line in the log says it.
enum class EndedFor : int { Unsaid, Cancel, TimeLimit, GpuMemory };
/// SIGUSR1, queued with a signal's number: those of the job that handle that signal get it. Once:
/// the next is ignored, so that a daemon which does not know whether the one before it sent it may
/// send it again.
inline constexpr int kWarnSignal = 10;
/// SIGWINCH: read the request to attach beside the attempt file and connect there.
inline constexpr int kAttachSignal = 28;

/// The file of that request: the attempt file's path and this. It is removed once it is read.
inline constexpr std::string_view kAttachSuffix = ".attach";
std::string encode(const Attach& request);
/// Errors: BadData for bytes that are no request, or one of another format.
Expected<Attach> decode_attach(std::string_view bytes);

}  // namespace berth::shim
