// Where the live benchmarks run programs: a folder of its own, and the end of everything that was
// started there.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace berth::bench {

using Words = std::vector<std::string>;
using Seconds = std::chrono::duration<double>;

/// A program's absolute path, arguments and environment.
struct Program {
  Words words;
  Words environment;
};

/// On what a bed stands. In memory to wait for the disk costs nothing, so what is left is our own.
enum class Ground { Disk, Memory };

/// A new folder, in the system's temporary folder or in its memory. A process beside us waits for
/// our end, whatever it is, or for the bed's; then it kills whatever has the folder on its command
/// line or in its environment, and removes it. So every program that is started must have it there.
class Bed {
 public:
  explicit Bed(Ground ground = Ground::Disk);
  ~Bed();
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

  /// Starts it with no input and its output going to the file `log`. Errors: Io.
  Expected<pid_t> start(const Program& program) const;
  /// Runs it to its end. Returns: how long that took, from before the start to after the end.
  /// Errors: Io; Conflict if it did not exit with 0, with what `log` says.
  Expected<Seconds> run(const Program& program) const;
  /// Starts it, and ends it once it has written something. Returns: how long that took. Errors: Io;
  /// Conflict if it ended before.
  Expected<Seconds> time_to_output(const Program& program) const;
  /// What programs have written.
  std::string log() const;

 private:
  Expected<pid_t> spawn(const Program& program, int output) const;

  std::string path_;
  int lifeline_ = -1;  ///< Its other end is read by the process that cleans up.
  pid_t cleaner_ = -1;
};

/// Asks every few milliseconds until it is true. Errors: Io naming `what` after half a minute.
Expected<void> eventually(const std::string& what, const std::function<bool()>& holds);

/// The whole file; "" if it cannot be read.
std::string slurp(const std::string& path);

/// A program of this build.
std::string built(const std::string& name);

/// A program of this build in a file as an installation makes it: what a linker wrote piece by
/// piece lies in smaller pieces in the kernel's memory, and takes longer to map.
std::string as_installed(const std::string& name);

/// A program on PATH; "" if there is none.
std::string installed(const std::string& name);

/// Some 3 KB of variables, as a shell has them.
Words usual_environment();

}  // namespace berth::bench
