// Goal: `berth doctor` names the policy of a daemon that many decisions held up.
// Method: the sentence is asked for directly; turns are made up.
#include "daemon/requests/doctor.hpp"

#include <gtest/gtest.h>

namespace berth::daemon {
namespace {

TEST(Doctor, FewLongTurnsAreNotTold) {
  EXPECT_EQ(slow_turns_text({}, 7), "");
  EXPECT_EQ(slow_turns_text({.work = seconds(1), .long_ones = 19}, 7), "");
}

TEST(Doctor, ManyLongTurnsAreToldWithTheJobsThatWait) {
  EXPECT_EQ(slow_turns_text({.work = Duration(412'345), .long_ones = 20}, 8000),
            "20 turns took more than 20 ms of a processor, the longest 412 ms, and requests waited "
            "meanwhile; 8000 jobs wait now; `berth policies NAME` says what a decision of a policy "
            "costs");
}

}  // namespace
}  // namespace berth::daemon
