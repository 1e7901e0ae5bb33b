// Goal: limits come out of a variable as they went in, and nothing in it does harm.
#include "shim/ulimits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::shim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Ulimits, AreThoseOfThisProcess) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const auto all = ulimits_in(own_ulimits());
  EXPECT_EQ(all.size(), 10U);
  EXPECT_THAT(all, testing::Contains(Ulimit{RLIMIT_NOFILE, files.rlim_cur}));
}

TEST(Ulimits, LeaveOutWhatIsNoLimit) {
  EXPECT_THAT(ulimits_in("nofile=200,stack=unlimited,core=0"),
              ElementsAre(Ulimit{RLIMIT_NOFILE, 200}, Ulimit{RLIMIT_STACK, RLIM_INFINITY},
                          Ulimit{RLIMIT_CORE, 0}));
  for (const char* text : {"", ",", "=", "nofile", "nofile=", "nofile=-1", "nofile=1k", "NOFILE=1",
                           "files=1", "nofile=99999999999999999999", "nofile=unlimited "}) {
    EXPECT_THAT(ulimits_in(text), IsEmpty()) << text;
  }
}

TEST(Ulimits, AreOfTheFirstVariableOfThatName) {
  EXPECT_THAT(ulimits_of({"A=1", "BERTH_ULIMITS=core=1", "BERTH_ULIMIT=core=2"}),
              ElementsAre(Ulimit{RLIMIT_CORE, 2}));
  EXPECT_THAT(ulimits_of({"BERTH_ULIMIT"}), IsEmpty());
}

}  // namespace
}  // namespace berth::shim
