// A terminal whose keys go to a job as they are pressed; restored in the end.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <cstdint>

namespace berth::cli {

class RawTerminal {
 public:
  /// Does nothing where the descriptor is no terminal.
  explicit RawTerminal(int descriptor);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  /// Again, after a shell has taken the terminal back for a while.
  void enter() const;

 private:
  int descriptor_;
  termios before_{};
  bool known_;
};

/// A terminal whose keys are read as they are pressed while a job waits: they are shown, and Ctrl-C
/// is a signal as before. Restored in the end.
class EagerTerminal {
 public:
  explicit EagerTerminal(int descriptor);
  ~EagerTerminal();
  EagerTerminal(const EagerTerminal&) = delete;
  EagerTerminal& operator=(const EagerTerminal&) = delete;

  /// Again, after a shell has taken the terminal back for a while.
  void enter() const;

 private:
  int descriptor_;
  termios before_{};
  bool known_;
};

struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};
TerminalSize size_of(int descriptor);

/// False for a terminal whose keys another process group gets: reading it would stop this process.
bool is_foreground(int descriptor);

}  // namespace berth::cli
