#include "cli/attend/raw_terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace berth::cli {

RawTerminal::RawTerminal(int descriptor)
    : descriptor_(descriptor), known_(tcgetattr(descriptor, &before_) == 0) {
  enter();
}

RawTerminal::~RawTerminal() {
  // Characters typed ahead belong to the next reader, so they are not flushed.
  if (known_) tcsetattr(descriptor_, TCSADRAIN, &before_);
}

void RawTerminal::enter() const {
  if (!known_) return;
  termios raw = before_;
  cfmakeraw(&raw);
  tcsetattr(descriptor_, TCSADRAIN, &raw);
}

EagerTerminal::EagerTerminal(int descriptor)
    : descriptor_(descriptor), known_(tcgetattr(descriptor, &before_) == 0) {
  enter();
}

void EagerTerminal::enter() const {
  if (!known_) return;
  termios eager = before_;
  eager.c_lflag &= ~static_cast<tcflag_t>(ICANON);
  eager.c_cc[VMIN] = 1;
  eager.c_cc[VTIME] = 0;
  tcsetattr(descriptor_, TCSADRAIN, &eager);
}

EagerTerminal::~EagerTerminal() {
  if (known_) tcsetattr(descriptor_, TCSADRAIN, &before_);
}

TerminalSize size_of(int descriptor) {
  winsize size{};
  const bool known =
      ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
  return known ? TerminalSize{size.ws_row, size.ws_col} : TerminalSize{};
}

bool is_foreground(int descriptor) {
  return isatty(descriptor) == 0 || tcgetpgrp(descriptor) == getpgrp();
}

}  // namespace berth::cli
