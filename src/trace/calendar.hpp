// Times of the calendar as instants that count from 1970.
#pragma once

#include <optional>
#include <string_view>

#include "core/base/time.hpp"

namespace berth::trace {

/// `2017-10-09 07:01:55`, or with a T between; a fraction and a zone as `.5+08:00` may follow, and
/// without a zone it is as if of UTC. The seconds may be left out. Nothing for anything else.
std::optional<Instant> calendar_instant(std::string_view text);

/// True if such a time says its zone.
bool has_zone(std::string_view text);

/// By a format of strptime(), after which a fraction of a second may follow; `%s` alone counts from
/// 1970. Nothing for a text of another form, or a format without a date.
std::optional<Instant> instant_by_format(std::string_view text, std::string_view format);

}  // namespace berth::trace
