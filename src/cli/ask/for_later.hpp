// Errors of a read or write that say nothing but to try again.
#pragma once

#include <cerrno>

namespace berth::cli {

inline bool is_for_later(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace berth::cli
