// What the operating system says of a call that failed.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "core/base/error.hpp"

namespace berth {

/// `WHAT: No space left on device`, by errno.
inline std::unexpected<Error> io_error(const std::string& what) {
  return fail(ErrorCode::Io, what + ": " + std::generic_category().message(errno));
}

}  // namespace berth
