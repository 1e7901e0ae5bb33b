// The memory of boards on which GPU and processors share it: Linux tells it, their drivers do not.
#pragma once

#include <string_view>

#include "core/base/error.hpp"
#include "core/base/units.hpp"

namespace berth {

struct HostMemory {
  Bytes total{0};
  Bytes used{0};  ///< Total less what Linux could give away.
};

/// Out of the text of /proc/meminfo. Errors: BadData naming what is missing.
Expected<HostMemory> parse_host_memory(std::string_view text);

Expected<HostMemory> read_host_memory();

}  // namespace berth
