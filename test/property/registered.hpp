// Every registered policy as the parameter of a test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "policy/registry.hpp"

namespace berth::test {

/// Every name, and what a key or a backfill makes another policy of.
inline std::vector<std::string> registered_policies() {
  std::vector<std::string> all;
  for (const PolicyEntry& entry : policies()) all.emplace_back(entry.name);
  all.emplace_back("tiresias/dlas-gpu:promote=0.5");
  all.emplace_back("tiresias/dlas-gpu:promote=8");
  all.emplace_back("hived:cells=1/1/1:2/2");
  for (const char* composed : {"wfp3+easy", "wfp3+conservative", "fair-share+easy", "srtf+easy",
                               "sjf+lend", "fifo+displace", "sjf+easy:overdue_factor=1",
                               "headroom+yield:yield_for=200s:yield_after=50s"}) {
    all.emplace_back(composed);
  }
  return all;
}

/// A name as GoogleTest takes it.
inline std::string policy_test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

}  // namespace berth::test
