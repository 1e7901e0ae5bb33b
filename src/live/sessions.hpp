// Commands whose words do not say what is run.
//
// A shell or an interpreter without a file runs what somebody types or pipes into it; a notebook, a
// terminal multiplexer or an agent runs what it is given later. What one of them took says nothing
// of the next, although their words are the same.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace berth::live {

/// True for such a command. Programs that run another, as `env` and `conda run`, are looked
/// through, and so is the text of `sh -c`, its first 16 KiB. Cost: O(bytes). A pure function: no
/// file is looked at.
bool is_session(std::span<const std::string> arguments, std::string_view directory);

}  // namespace berth::live
