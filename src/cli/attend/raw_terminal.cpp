#include "cli/attend/raw_terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "cli/ask/for_later.hpp"

namespace berth::cli {

TerminalMode::TerminalMode(int descriptor, Keys keys) : descriptor_(descriptor), keys_(keys) {
  enter();
}

TerminalMode::~TerminalMode() {
  // Characters typed ahead belong to the next reader, so they are not flushed.
  if (is_in_ && is_foreground(descriptor_)) tcsetattr(descriptor_, TCSADRAIN, &*before_);
}

void TerminalMode::enter() {
  is_in_ = false;
  if (!is_foreground(descriptor_)) return;
  termios mode{};
  if (!before_ && tcgetattr(descriptor_, &mode) == 0) before_ = mode;
  if (!before_) return;
  is_in_ = true;
  mode = *before_;
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
  if (!is_foreground(descriptor_)) {
    is_in_ = false;
  } else if (!is_in_) {
    enter();
  }
}

/// One that is stopped, or in the background, is of another group and does not count.
TerminalKeys::TerminalKeys(int descriptor) {
  if (isatty(descriptor) == 0) return;
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  lock_ = Descriptor(open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (!lock_.is_open() || fcntl(lock_.number(), F_SETLK, &whole) == 0) return;
  if (fcntl(lock_.number(), F_GETLK, &whole) != 0 || whole.l_type == F_UNLCK) return;
  are_ours_ = whole.l_pid <= 0 || getpgid(whole.l_pid) != getpgrp();
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

std::optional<std::size_t> read_in_front(int descriptor, std::span<char> bytes) {
  if (!is_foreground(descriptor)) return std::nullopt;
  const ssize_t got = read(descriptor, bytes.data(), bytes.size());
  if (got >= 0) return static_cast<std::size_t>(got);
  if (is_for_later(errno) || !is_foreground(descriptor)) return std::nullopt;
  return 0;
}

}  // namespace berth::cli
