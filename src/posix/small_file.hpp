// Files of the kernel's, such as those of cgroups, which may go while they are read.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

#include "posix/descriptor.hpp"

namespace berth {

/// What can be read of it; "" if nothing can. Streams will not do: one that is read through an
/// iterator throws where a read fails.
inline std::string read_small_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part{};
  while (file.is_open()) {
    const ssize_t got = ::read(file.number(), part.data(), part.size());
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace berth
