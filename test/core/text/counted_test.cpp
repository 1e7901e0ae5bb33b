// Goal: one of something is told as one.
// Method: the phrases that are counted.
#include "core/text/counted.hpp"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Counted, OneIsNotMany) {
  EXPECT_EQ(number_of_things(2, "jobs that have not ended"), "2 jobs that have not ended");
  EXPECT_EQ(number_of_things(1, "jobs that have not ended"), "1 job that has not ended");
  EXPECT_EQ(number_of_things(1, "jobs without a GPU"), "1 job without a GPU");
  EXPECT_EQ(number_of_things(1, "parts of jobs"), "1 part of jobs");
  EXPECT_EQ(number_of_things(1, "bad rows"), "1 bad row");
  EXPECT_EQ(number_of_things(0, "jobs"), "0 jobs");
}

}  // namespace
}  // namespace berth
