// On what and when something was measured, for documents.
#pragma once

#include <string>

namespace berth::lab {

/// `2 cores, MODEL`.
std::string machine();
/// `2026-11-23`, in UTC.
std::string today();

}  // namespace berth::lab
