// Goal: the programs are what a copy to another machine needs: no libstdc++, no glibc newer
// than 2.35; and those that start often start without the dynamic loader. Method: objdump, where
// there is one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <regex>

#include "support/paths.hpp"

namespace berth {
namespace {

constexpr const char* kObjdump = "/usr/bin/objdump";

std::string needs_of(const std::string& program) {
  const std::string command = std::string(kObjdump) + " -T -p '" + program + "' 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"),
                                                             ::pclose);
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), got);
  }
  return text;
}

class Symbols : public testing::TestWithParam<const char*> {};

TEST_P(Symbols, NeedNothingNew) {
  if (::access(kObjdump, X_OK) != 0) GTEST_SKIP() << "no objdump";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitized builds are not copied";
#endif
  const std::string needs = needs_of(test::program(GetParam()).string());
  ASSERT_NE(needs.find("Program Header"), std::string::npos);
  const std::regex version("GLIBC_2\\.([0-9]+)");
  for (std::sregex_iterator at(needs.begin(), needs.end(), version), end; at != end; ++at) {
    EXPECT_LE(std::stoi((*at)[1]), 35) << at->str();
  }
  EXPECT_EQ(needs.find("libstdc++"), std::string::npos);
  EXPECT_EQ(needs.find("libgcc_s"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, Symbols, testing::Values("berth", "berthd", "berth-shim"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase(name, '-');
                           return name;
                         });

class StartedOften : public testing::TestWithParam<const char*> {};

/// A command line is called by scripts in loops, and a shim stands between two jobs: to load and
/// relocate libraries costs more than everything else that `berth submit` does.
TEST_P(StartedOften, HasNoLoader) {
  if (::access(kObjdump, X_OK) != 0) GTEST_SKIP() << "no objdump";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers come as libraries";
#endif
  const std::string needs = needs_of(test::program(GetParam()).string());
  ASSERT_NE(needs.find("Program Header"), std::string::npos);
  EXPECT_EQ(needs.find("INTERP"), std::string::npos);
  EXPECT_EQ(needs.find("NEEDED"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, StartedOften, testing::Values("berth", "berth-shim"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace berth
