// Goal: the libraries and programs are what a copy to another machine needs: no libstdc++, no glibc
// newer than 2.35, no exported name but the driver's. Method: objdump, where there is one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>

#include "emu/support.hpp"

namespace berth::emu {
namespace {

constexpr const char* kObjdump = "/usr/bin/objdump";

/// "libcuda_so_1" of ".../libcuda.so.1": a test's name may hold nothing else.
std::string name_of(const ::testing::TestParamInfo<const char*>& info) {
  const std::string path = info.param;
  auto name = path.substr(path.rfind('/') + 1);
  std::ranges::replace_if(name, [](char letter) { return std::isalnum(letter) == 0; }, '_');
  return name;
}

class Symbols : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (::access(kObjdump, X_OK) != 0) GTEST_SKIP() << "no objdump";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(BERTH_SANITIZED)
    GTEST_SKIP() << "sanitized builds are not copied";
#endif
  }
};

TEST_P(Symbols, NeedNothingNew) {
  const auto shown = test::run({kObjdump, "-T", "-p", GetParam()}).output;
  const std::regex version("GLIBC_2\\.([0-9]+)");
  for (std::sregex_iterator at(shown.begin(), shown.end(), version), end; at != end; ++at) {
    EXPECT_LE(std::stoi((*at)[1]), 35) << at->str();
  }
  EXPECT_EQ(shown.find("libstdc++"), std::string::npos);
  EXPECT_EQ(shown.find("libgcc_s"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, Symbols,
                         ::testing::Values(EMU_LIBRARY_DIRECTORY "/libcuda.so.1",
                                           EMU_LIBRARY_DIRECTORY "/libnvidia-ml.so.1", EMU_TOOL,
                                           EMU_LOAD),
                         name_of);

class Exports : public Symbols {};

TEST_P(Exports, AreTheDriversOnly) {
  const std::string name = GetParam();
  const std::string prefix = name.find("cuda") == std::string::npos ? "nvml" : "cu";
  std::istringstream lines(test::run({kObjdump, "-T", name}).output);
  int exported = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" .text") == std::string::npos) continue;
    const auto symbol = line.substr(line.rfind(' ') + 1);
    EXPECT_TRUE(symbol.starts_with(prefix)) << symbol;
    ++exported;
  }
  EXPECT_GT(exported, 50);
}

INSTANTIATE_TEST_SUITE_P(All, Exports,
                         ::testing::Values(EMU_LIBRARY_DIRECTORY "/libcuda.so.1",
                                           EMU_LIBRARY_DIRECTORY "/libnvidia-ml.so.1"),
                         name_of);

}  // namespace
}  // namespace berth::emu
