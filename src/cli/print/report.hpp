// The exit code of an error in process.
#pragma once

#include "core/base/error.hpp"

namespace berth::cli {

/// Says it on standard error. Returns: kBadUsage for a word or a value that was typed and cannot be
/// (InvalidArgument, NotFound), kFailed for what a file or the system says.
int report(const Error& error);

}  // namespace berth::cli
