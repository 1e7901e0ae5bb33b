// How berth-eval says that it could not go on.
#pragma once

#include <cstdio>

#include "core/base/error.hpp"

namespace berth::lab {

inline constexpr int kFailed = 1;  ///< The program's exit code.

inline int report(const Error& error) {
  std::fprintf(stderr, "berth-eval: %s\n", error.message.c_str());
  return kFailed;
}

}  // namespace berth::lab
