// What a reader says, as text.
#pragma once

#include <string>

#include "core/base/error.hpp"

namespace berth::trace {

/// "none" if there is no error.
template <class T>
std::string error_of(const Expected<T>& read) {
  return read ? "none" : read.error().message;
}

}  // namespace berth::trace
