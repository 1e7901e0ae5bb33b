#include "core/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace berth {

void assertion_failed(const char* claim, const char* file, int line) {
  std::fprintf(stderr, "berth: broken invariant: %s (%s:%d)\n", claim, file, line);
  std::abort();
}

}  // namespace berth
