// Completion in shells: `berth completion SHELL` prints a script that asks `berth complete` for the
// words that may come next, so that what is offered is what this program takes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace CLI {
class App;
}

namespace berth::cli {

/// What may stand for the last of these words, which come after `berth`; it may be empty. Options
/// and subcommands of `app`, names of policies, numbers of jobs that have not ended (asked of a
/// daemon, if one is there). Nothing where any file name may stand. Sorted.
std::vector<std::string> completions(const CLI::App& app, std::span<const std::string> words);

/// Errors: InvalidArgument for a shell that has none.
Expected<std::string_view> completion_script(std::string_view shell);

}  // namespace berth::cli
