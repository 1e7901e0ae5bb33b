// Where tests find the source tree, published data and the programs under test.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace berth::test {

std::filesystem::path source_dir();
/// A program of this build, such as `berth`.
std::filesystem::path program(const std::string& name);
/// Published traces and peer results: $BERTH_SHARED, or what CMake was told. May not exist.
std::filesystem::path shared_dir();
/// Nothing if shared_dir() has this file; else the words to skip a test with:
/// `if (const auto absent = absent_shared("x.csv")) GTEST_SKIP() << *absent;`
std::optional<std::string> absent_shared(const std::filesystem::path& file);

/// The whole file; fails the running test if it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace berth::test
