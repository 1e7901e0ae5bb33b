// A terminal whose keys go to a job as they are pressed; restored in the end.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "posix/descriptor.hpp"

namespace berth::cli {

/// How keys come from a terminal, until this ends. In the background the terminal is the shell's
/// and left as it is: to set it there would stop this process.
class TerminalMode {
 public:
  enum class Keys : std::uint8_t {
    Raw,    ///< All are a job's, as they are pressed.
    Eager,  ///< Read as they are pressed while a job waits; shown, and Ctrl-C is a signal.
  };

  /// Does nothing where the descriptor is no terminal.
  TerminalMode(int descriptor, Keys keys);
  ~TerminalMode();
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;

  /// Again, after a shell has taken the terminal back for a while.
  void enter();
  /// Enters if this is in front and was not.
  void follow();

 private:
  int descriptor_;
  Keys keys_;
  /// As it was when this first was in front: before, it is another's.
  std::optional<termios> before_;
  bool is_in_ = false;
};

/// The keys of a terminal, which one client of a process group has at a time. Two that a script
/// begins together would share them out at random, and the second would take the first's setting
/// for the terminal's own and leave it so.
class TerminalKeys {
 public:
  /// Asks for them, until this ends.
  explicit TerminalKeys(int descriptor);
  /// False if another client has them. True where the descriptor is no terminal.
  bool are_ours() const { return are_ours_; }

 private:
  Descriptor lock_;
  bool are_ours_ = true;
};

struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};
TerminalSize size_of(int descriptor);

/// False for a terminal whose keys another process group gets: reading it would stop this process.
bool is_foreground(int descriptor);

/// What is typed, also from a pipe or a file; 0 at the end of it. That there is something to read
/// may have been seen before a shell put this into the background: then, as when nothing is there,
/// nullopt, without a stop. Requires: SIGTTIN is blocked.
std::optional<std::size_t> read_in_front(int descriptor, std::span<char> bytes);

}  // namespace berth::cli
