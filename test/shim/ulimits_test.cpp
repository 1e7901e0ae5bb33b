// Goal: limits, niceness and processors come out of a variable as they went in, and nothing in it
// does harm.
#include "shim/ulimits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

std::vector<int> cpus_of(std::string_view text) {
  const auto cpus = cpu_habits_in(text).cpus;
  std::vector<int> all;
  for (int cpu = 0; cpus && cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &*cpus)) all.push_back(cpu);
  }
  return all;
}

TEST(CpuHabits, AreReadAndWhatIsNoneIsLeftOut) {
  EXPECT_EQ(cpu_habits_in("core=0,nice=10,cpus=1").niceness, 10);
  EXPECT_EQ(cpu_habits_in("nice=-5").niceness, -5);
  EXPECT_THAT(cpus_of("nice=10,cpus=0-2+5+7-8"), ElementsAre(0, 1, 2, 5, 7, 8));
  EXPECT_THAT(cpus_of("cpus=1023"), ElementsAre(1023));
  for (const char* text : {"", "core=0", "nice=", "nice=x", "cpus=", "cpus=-1", "cpus=3-1",
                           "cpus=0-1024", "cpus=1+", "cpus=x", "cpus=1-", "cpus=0++1"}) {
    const CpuHabits habits = cpu_habits_in(text);
    EXPECT_FALSE(habits.niceness) << text;
    EXPECT_EQ(habits.cpus.has_value(), std::string_view(text) == "cpus=1+") << text;
  }
}

TEST(CpuHabits, AreThoseOfThisProcess) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const std::string own = own_ulimits();
  sched_setaffinity(0, sizeof before, &before);
  const bool is_fewer = sysconf(_SC_NPROCESSORS_ONLN) > 1;
  EXPECT_THAT(cpus_of(own), is_fewer ? std::vector{first} : std::vector<int>());
  const int niceness = getpriority(PRIO_PROCESS, 0);
  EXPECT_EQ(cpu_habits_in(own).niceness.value_or(0), niceness);
}

}  // namespace
}  // namespace berth::shim
