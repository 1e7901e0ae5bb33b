// The three streams that a program is started with.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace berth {

/// Opens /dev/null for each of standard input, output and error that is closed (`<&-`). Otherwise
/// the next file or socket that is opened gets its number, and is read and written as if it were
/// that stream. To be called before anything is opened.
inline void open_closed_streams() {
  int file = 0;
  while ((file = ::open("/dev/null", O_RDWR)) >= 0 && file <= STDERR_FILENO) {
  }
  if (file > STDERR_FILENO) ::close(file);
}

}  // namespace berth
