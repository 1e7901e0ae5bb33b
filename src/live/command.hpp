// The command of a job and its surroundings, which the engine does not need; blobs in the journal.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/error.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "shim/order.hpp"

namespace berth::live {

/// The user, group and groups of a job: those of the peer that submitted it.
struct Credentials {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;

  bool operator==(const Credentials&) const = default;
};
inline auto members(Credentials& v) { return std::tie(v.user, v.group, v.groups); }

/// A signal before the time limit.
struct Warning {
  std::int32_t signal = 0;
  Duration before{0};

  bool operator==(const Warning&) const = default;
};

/// When to tell somebody of a job.
enum class Occasion : std::uint8_t { Start, End, Fail, Idle, Overuse };

std::string_view word_for(Occasion occasion);
/// `start,fail`: ascending, each once. Errors: InvalidArgument naming what is none.
Expected<std::vector<Occasion>> parse_occasions(std::string_view text);

/// To whom, by what means: a web address, a mail address or a shell command.
struct Notice {
  std::string to;
  std::vector<Occasion> on;  ///< Ascending.

  bool operator==(const Notice&) const = default;
};

struct Command {
  std::vector<std::string> arguments;
  std::string directory;
  mode_t umask = 022;
  Credentials owner;
  BlobId environment;  ///< A blob of its own: many jobs share one.
  /// `optional` where it may go before the job starts; it is of the first attempt alone.
  std::optional<shim::Attach> attach;
  std::int64_t processes = 0;  ///< Most at once, threads too; 0: no limit.
  std::optional<Warning> warning = {};
  std::optional<Notice> notice = {};
  std::string snapshot = {};  ///< A copy of the code that is the job's own; "": none.
  std::string output = {};    ///< The file its output goes to, with %j and the like; "": its log.

  bool operator==(const Command& other) const;
};

std::string encode(const Command& command);
std::string encode_environment(const std::vector<std::string>& variables);
/// Errors: BadData for bytes that encode() did not write.
Expected<Command> decode_command(std::string_view bytes);
Expected<std::vector<std::string>> decode_environment(std::string_view bytes);

/// The variable with which a job allows its charge to fall, in what was submitted.
inline constexpr const char* kShrinkAllowed = "BERTH_VRAM_SHRINK=1";

/// The program that a command runs: the same for commands of one user that do the same work in the
/// same time (telling_words.hpp). Never 0. The environment does not count.
Fingerprint fingerprint_of(const Command& command);
/// The same for commands that need the same memory: the number of epochs does not count either.
Fingerprint memory_fingerprint_of(const Command& command);

/// The command as one line for lists: words quoted where a shell would need it, cut after `most`
/// bytes.
std::string command_line(const std::vector<std::string>& arguments, std::size_t most = 200);

/// What is shown of such a line where the arguments are hidden: `python …` of `/opt/python a.py`.
std::string program_alone(std::string_view command_line);

}  // namespace berth::live
