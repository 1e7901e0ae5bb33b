// Published traces, where they are at hand: read as `berth` reads them, the format told by the
// first line.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/paths.hpp"
#include "trace/formats.hpp"
#include "trace/gzip.hpp"

namespace berth::trace {

/// A file below the published traces, unpacked; a failure of the running test if it is bad.
inline std::string published_text(const std::string& name) {
  const auto text = unpacked(test::read_file(test::shared_dir() / "traces" / name), name);
  EXPECT_TRUE(text) << text.error().message;
  return text.value_or("");
}

inline Trace published(const std::string& name, std::span<const Profile> profiles = {}) {
  const std::string text = published_text(name);
  const auto format = guess_format(text, name);
  EXPECT_TRUE(format) << format.error().message;
  if (!format) return {};
  auto trace = (*format)->read({.text = text, .file = name, .profiles = profiles});
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : Trace{};
}

}  // namespace berth::trace
