// The command of a job and its surroundings, which the engine does not need; blobs in the journal.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/text/points.hpp"
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
constexpr auto words_of(Occasion) {
  return std::to_array<std::string_view>({"start", "end", "fail", "idle", "overuse"});
}
/// `start,fail`: ascending, each once. Errors: InvalidArgument naming what is none.
Expected<std::vector<Occasion>> parse_occasions(std::string_view text);

/// To whom, by what means: a web address, a mail address or a shell command.
struct Notice {
  std::string to;
  std::vector<Occasion> on;  ///< Ascending.

  bool operator==(const Notice&) const = default;
};

/// The program that a command runs, as its run times and its memory are learned.
struct Programs {
  Fingerprint run_time{0};  ///< fingerprint_of().
  Fingerprint memory{0};    ///< memory_fingerprint_of().

  bool operator==(const Programs&) const = default;
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
  /// A process that its user started by hand: nothing is started.
  std::optional<shim::Process> adopted = {};
  std::optional<Programs> programs = {};  ///< Where the arguments alone do not tell, or are long.
  /// Where there are too many words for one blob: those with the arguments after `arguments`, and
  /// with the variables after those of `environment`, in order (Words).
  std::vector<BlobId> more_arguments = {};
  std::vector<BlobId> more_environment = {};

  bool operator==(const Command& other) const;
};

std::string encode(const Command& command);
std::string encode_environment(const std::vector<std::string>& variables);
/// Errors: BadData for bytes that encode() did not write.
Expected<Command> decode_command(std::string_view bytes);
Expected<std::vector<std::string>> decode_environment(std::string_view bytes);

/// Words in parts, so that nobody who stores, reads or sends them has to do it at once.
struct Words {
  std::vector<std::string> first;  ///< Of 32 KiB at most; at least one, if there are any.
  std::vector<std::string> more;   ///< Each encode_environment() of 64 KiB, or of one word.
};
Words in_parts(std::vector<std::string> words);
/// The same for variables. Where they need more than one part, the first has the small ones, and of
/// a name that is given twice the first counts.
Words variables_in_parts(std::vector<std::string> variables);

/// Appends the words of a part. Errors: as decode_environment().
Expected<void> append_words(std::vector<std::string>& words, std::string_view part);

/// The variable with which a job allows its charge to fall, in what was submitted.
inline constexpr const char* kShrinkAllowed = "BERTH_VRAM_SHRINK=1";

/// How the variables begin that have the points of a sweep for its tasks, in what was submitted:
/// `BERTH_POINT_3=lr=0.1`.
inline constexpr std::string_view kPoint = "BERTH_POINT_";

/// The program that a command runs: the same for commands of one user that do the same work in the
/// same time (telling_words.hpp); 0 if the words do not say what is run (sessions.hpp). Of the
/// environment nothing counts that note_programs() was not told. Of long arguments those after the
/// first 32 KiB count as they are.
Fingerprint fingerprint_of(const Command& command);
/// The same for commands that need the same memory: the number of epochs does not count either. A
/// task of an array may need other memory than the next, as it does what its number says.
Fingerprint memory_fingerprint_of(const Command& command, std::optional<std::int64_t> task = {});

/// Of a task of a sweep, by its values: one whose values do not tell it from another, as a seed,
/// needs the same memory. Of long arguments all values tell.
Fingerprint memory_fingerprint_of(const Command& command, const Point& point);

/// What else tells which program it is.
struct MoreOfProgram {
  std::vector<std::string> words;  ///< Variables (`NAME=value`) and digests of files.
  std::string directory;           ///< Of which the job's is a copy; "": the job's.
};
/// Notes both in the command, where they cannot be found out again from the command alone in a
/// moment. Requires: all of its arguments are in it.
void note_programs(Command& command, const MoreOfProgram& more);

/// The command as one line for lists: words quoted where a shell would need it, cut after `most`
/// bytes.
std::string command_line(const std::vector<std::string>& arguments, std::size_t most = 200);

/// What is shown of such a line where the arguments are hidden: `python …` of `/opt/python a.py`.
std::string program_alone(std::string_view command_line);

}  // namespace berth::live
