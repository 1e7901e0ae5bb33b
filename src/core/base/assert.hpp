// The one macro of the project: a broken invariant stops the process, in release too.
//
// Bad input, I/O and peers give an Error (error.hpp); this is for what only a bug of ours can
// cause.
#pragma once

namespace berth {

/// Prints the claim and its place to stderr and aborts.
[[noreturn]] void assertion_failed(const char* claim, const char* file, int line);

}  // namespace berth

#define BERTH_ASSERT(claim) \
  ((claim) ? static_cast<void>(0) : ::berth::assertion_failed(#claim, __FILE__, __LINE__))
