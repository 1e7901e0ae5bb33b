// Trace and cluster files as they are published: plain, packed with gzip, or in a tar.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace berth::trace {

/// The most text one file may hold. All of it is in memory at once.
inline constexpr std::size_t kMostText = std::size_t{1} << 30;

/// The text of a file's bytes: those of every gzip member if it begins as gzip does, else as it is;
/// of an archive of tar, that of the only file in it.
/// Errors: BadData naming the file for one that is damaged, cut short, followed by something else,
/// named `.gz` without being it, or holds more than `most` bytes of text.
Expected<std::string> unpacked(std::string bytes, std::string_view file,
                               std::size_t most = kMostText);

}  // namespace berth::trace
