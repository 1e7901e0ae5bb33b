// Amounts as users type them. Every error says what is expected; the caller names the thing.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/error.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace berth {

/// `10G`, `10GiB`, `512M`, `1.5g`, `1T`, `4096`: powers of 1024, from 1 byte to 1024 TiB; a
/// fraction of a byte is dropped. Errors: InvalidArgument.
Expected<Bytes> parse_size(std::string_view text);

/// `90`, `90s`, `250ms`, `1.5m`, `4h`, `2d`, `1:30:00`, `15:00`: above 0, up to 3650 days.
/// Errors: InvalidArgument.
Expected<Duration> parse_duration(std::string_view text);
/// True for `0`, `0s` and their like, which parse_duration() refuses.
bool is_zero_duration(std::string_view text);

/// A whole number from 0 to `most`. Errors: InvalidArgument.
Expected<std::int64_t> parse_count(std::string_view text, std::int64_t most);

/// `0.5`, `16`: from 0.001 to 100000. Errors: InvalidArgument.
Expected<CpuMilli> parse_cores(std::string_view text);

/// The weight of a user, in thousandths: `2`, `0.5`, from 0.001 to 100000. Errors: InvalidArgument.
Expected<std::int64_t> parse_weight(std::string_view text);

}  // namespace berth
