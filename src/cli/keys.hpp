// Keys of policies, as a study varies them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/settings.hpp"
#include "core/time.hpp"
#include "policy/registry.hpp"

namespace berth::cli {

struct Keys {
  std::vector<std::string> given;  ///< Their names, as they were written.
  Settings settings;               ///< Those of `headroom` and the half-life.
};

/// `half_life=1d,ageing=2h`. Errors: InvalidArgument with the keys there are, or the
/// value and its range.
Expected<Keys> parse_keys(std::string_view text);

/// Errors: InvalidArgument for a key that none of these policies reads.
Expected<void> check_read(const Keys& keys, std::span<const std::string> policies);

}  // namespace berth::cli
