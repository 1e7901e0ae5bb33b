// Goal: names keep the numbers that they got first, also when the table grows.
// Method: more names than several sizes of the table hold, asked for twice.
#include "trace/name_table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth::trace {
namespace {

TEST(NameTable, NamesKeepTheirNumbers) {
  NameTable table;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 0; i < 20'000; ++i) {
      ASSERT_EQ(table.number("job-" + std::to_string(i * 7919)), i);
    }
  }
  EXPECT_EQ(table.size(), 20'000U);
  EXPECT_EQ(table.number(""), 20'000U) << "no name is a name too";
  EXPECT_EQ(table.number(""), 20'000U);
}

}  // namespace
}  // namespace berth::trace
