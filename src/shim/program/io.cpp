#include "shim/program/io.hpp"

#include <unistd.h>

#include <cerrno>

namespace berth::shim {

namespace {

Moved moved(ssize_t count) {
  if (count > 0) return {.flow = Flow::Some, .bytes = static_cast<std::size_t>(count)};
  if (count == 0) return {.flow = Flow::Ended};
  const bool later = errno == EAGAIN || errno == EINTR;
  return {.flow = later ? Flow::Full : Flow::Ended};
}

}  // namespace

int append_line(int file, std::string_view line) {
  const ssize_t written = write(file, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return 0;
  if (written < 0) return errno;
  // A part without its newline would swallow the line after it.
  const off_t size = lseek(file, 0, SEEK_END);
  if (ftruncate(file, size - written) != 0) return errno;
  return ENOSPC;
}

Moved read_some(int file, char* into, std::size_t most) { return moved(read(file, into, most)); }

Moved write_some(int file, std::string_view bytes) {
  return moved(write(file, bytes.data(), bytes.size()));
}

}  // namespace berth::shim
