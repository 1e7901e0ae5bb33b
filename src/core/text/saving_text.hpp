// How a job saves its state when it is preempted, as users type it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/conditions.hpp"

namespace berth {

inline constexpr Duration kUsualSaveGrace = seconds(60);

/// `USR1`, `SIGUSR1`: HUP, INT, QUIT, USR1, USR2, ALRM or TERM. Errors: InvalidArgument.
Expected<std::int32_t> parse_signal(std::string_view name);
/// `USR1`. Requires: a number that parse_signal() gave; `signal 9` for others.
std::string signal_name(std::int32_t number);

/// `signal:USR1`, `signal:USR1,grace=2min`; a minute without a grace. Errors: InvalidArgument.
Expected<Saving> parse_saving(std::string_view text);

}  // namespace berth
