// The memory of GPUs by the names of their types, where a list of machines has nothing else.
#pragma once

#include <string_view>

#include "core/base/units.hpp"

namespace berth::trace {

/// GiB at the end of a type: `a100_80gb`, `80g`; kUnknownCard for other names.
Bytes size_in(std::string_view type);

/// By Alibaba's names for types, or else their end.
Bytes card_size(std::string_view type);

}  // namespace berth::trace
