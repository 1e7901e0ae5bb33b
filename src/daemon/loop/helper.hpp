// A berthd that does one thing for another and ends: what may hang or needs other rights.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "posix/descriptor.hpp"

namespace berth::daemon {

struct HelperProcess {
  pid_t pid = 0;
  Descriptor pidfd;
  Descriptor output;  ///< Of its standard output.
};

/// Standard input of a helper that reads this text.
Expected<Descriptor> helper_input(const std::string& text);

/// Starts this program again with one flag, in a session of its own, with default signals and no
/// environment but `variables`; it reads `input`. Errors: Io.
Expected<HelperProcess> start_helper(
    std::string_view flag, const Descriptor& input,
    const std::vector<std::pair<std::string, std::string>>& variables = {});

}  // namespace berth::daemon
