// What is said of attempts after whose end the job starts again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/print/json.hpp"

namespace berth::cli {

struct AttemptOver {
  std::int64_t attempt = 0;
  /// `attempt 1 ended: out of GPU memory, asked 2 GiB; starts again with 4 GiB`.
  std::string text;
};

/// Those after attempt number `told`, ascending; without the one whose end is the job's, and
/// without those at whose end the job was suspended. `job`: as GET /v1/jobs/ID answers. `news`: the
/// latest of its events while it waited, was started or ran: an ended job shows what it asked for
/// first.
std::vector<AttemptOver> attempts_over(const Json& job, std::int64_t told, const Json& news);

}  // namespace berth::cli
