// What a reader says, and what it leaves out.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "trace/trace.hpp"

namespace berth::trace {

/// "none" if there is no error.
template <class T>
std::string error_of(const Expected<T>& read) {
  return read ? "none" : read.error().message;
}

/// The rows that were left out as this.
inline std::size_t left_out_as(const Trace& trace, std::string_view what) {
  for (const LeftOut& kind : trace.left_out_by) {
    if (kind.what == what) return kind.rows;
  }
  return 0;
}

}  // namespace berth::trace
