// Errors of input, I/O and peers. A call that can fail returns Expected; it cannot be ignored.
//
// "Does not fit" is not an error (see Refusal), and a broken invariant is an assertion
// (assert.hpp).
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace berth {

enum class ErrorCode {
  InvalidArgument,  ///< The caller asked for something invalid.
  NotFound,         ///< The named thing does not exist.
  Conflict,         ///< The thing exists, but not in a state that allows this.
  BadData,          ///< A file or message breaks its format.
  Io,               ///< The operating system refused.
  Lost,             ///< A device that was there is gone.
};

/// An error. The message names the thing, the value and the limit: `job 42: asks 9 GPUs, largest
/// node has 8`.
struct Error {
  ErrorCode code;
  std::string message;
};

template <class T>  // std::expected is [[nodiscard]].
using Expected = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

}  // namespace berth
