#include "cli/attend/raw_terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace berth::cli {

TerminalMode::TerminalMode(int descriptor, Keys keys)
    : descriptor_(descriptor), keys_(keys), known_(tcgetattr(descriptor, &before_) == 0) {
  enter();
}

TerminalMode::~TerminalMode() {
  // Characters typed ahead belong to the next reader, so they are not flushed.
  if (is_in_ && is_foreground(descriptor_)) tcsetattr(descriptor_, TCSADRAIN, &before_);
}

void TerminalMode::enter() {
  is_in_ = known_ && is_foreground(descriptor_);
  if (!is_in_) return;
  termios mode = before_;
  if (keys_ == Keys::Raw) {
    cfmakeraw(&mode);
  } else {
    mode.c_lflag &= ~static_cast<tcflag_t>(ICANON);
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
  }
  tcsetattr(descriptor_, TCSADRAIN, &mode);
}

void TerminalMode::follow() {
  const bool is_in_front = known_ && is_foreground(descriptor_);
  if (is_in_front && !is_in_) return enter();
  is_in_ = is_in_front;
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
