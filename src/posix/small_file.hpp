// Small files: the kernel's, such as those of cgroups, which may go while they are read, and those
// that a program keeps for its next start.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
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

/// Writes it whole or leaves it as it was. Returns: whether it is written.
inline bool replace_small_file(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  const Descriptor file(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool is_whole = file.is_open() && ::write(file.number(), text.data(), text.size()) ==
                                              static_cast<ssize_t>(text.size());
  return is_whole && std::rename(draft.c_str(), path.c_str()) == 0;
}

}  // namespace berth
