// Amounts as users type them. Every error says what is expected; the caller names the thing.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth {

/// The least size that may be given without a unit.
inline constexpr Bytes kLeastPlain{std::int64_t{1} << 20};

/// `10G`, `10GB`, `10GiB`, `512M`, `1.5g`, `7.5 GiB`, `1T`, `17b`: powers of 1024, from 1 byte to
/// 1024 TiB; a fraction of a byte is dropped. A number alone is of bytes, at least kLeastPlain.
/// Errors: InvalidArgument.
Expected<Bytes> parse_size(std::string_view text);

/// `90` and `90s`, `250ms`, `1.5m`, `30min`, `4h`, `1h30m`, `2d`, `1w`; `15:00` (minutes and
/// seconds), `1:30:00`, and with days before hours `1-12`, `1-12:30`, `1-12:30:00`: above 0, up to
/// 3650 days. `m` is minutes. Nothing else in berth reads durations.
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
