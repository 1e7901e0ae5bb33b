// The files that processes of a job have as their standard error, instead of the shim's pipe.
//
// After `python train.py 2>err.log` in a script, with sbatch's --error, with a rank's own file of
// torchrun, what a program says last is not in the job's log. So the shim looks now and then at
// where the processes of its tree write their errors; when the job has failed, the ends of these
// files follow in its log, for the user who asks why, and for the words of out of memory
// (daemon/attempts/oom.hpp).
//
// Which files they are, the kernel says without asking a file system. What asks one is done by a
// process of the user's (helper.hpp), so nothing is shown that they could not read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posix/descriptor.hpp"
#include "shim/program/helper.hpp"
#include "shim/program/io.hpp"
#include "shim/program/user.hpp"

namespace berth::shim {

/// What /proc/PID/fdinfo/FD says.
struct OpenFile {
  bool appends = false;     ///< Each write goes to the file's end.
  std::uint64_t inode = 0;  ///< 0: this kernel does not say.

  bool operator==(const OpenFile&) const = default;
};
OpenFile parse_fdinfo(std::string_view text);

class Elsewhere {
 public:
  static constexpr std::size_t kMostFiles = 16;                     ///< Those that were seen last.
  static constexpr std::size_t kMostShown = std::size_t{32} << 10;  ///< Of all of them together.
  static constexpr std::chrono::seconds kReading{2};

  explicit Elsewhere(User user) : user_(std::move(user)) {}

  /// For poll: milliseconds until on_time() looks again. A process that lives for a quarter of the
  /// job's age, or for two minutes, is not missed.
  int timeout() const;
  void on_time();
  /// Looks at all processes below this one. O(processes of the machine).
  void look();

  struct End {
    std::string file;
    std::string text;  ///< Whole lines, unless one is longer than all that is shown.
  };
  /// Of each file, what came since it was seen first, or since its beginning where it was not
  /// opened to append; as much of its end as there is room for. Not of files without such text, nor
  /// of other files than text. Waits for kReading at most. In the order in which they were seen
  /// last.
  std::vector<End> ends();

 private:
  struct Sizer {
    Helper helper;
    Descriptor says;
  };
  struct File {
    std::string path;
    OpenFile open;
    std::int64_t from = 0;         ///< Less: its user may not read it.
    std::optional<Sizer> sizer{};  ///< Until it has said how long one was that is appended to.
  };
  void note(std::string path, const OpenFile& open);
  static void settle(File& file, Clock::time_point end);

  User user_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point next_ = began_ + kLeast;
  std::vector<File> files_;  ///< The one that was seen last is last.

  static constexpr std::chrono::milliseconds kLeast{500};
  static constexpr std::chrono::milliseconds kMost{120'000};
};

}  // namespace berth::shim
