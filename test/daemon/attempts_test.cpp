// Goal: what belongs to an attempt is that attempt's: its time limit and its warning signal.
// Method: a real berthd and jobs that ask to be run again.
#include <gtest/gtest.h>

#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::Json;
using test::Rig;

/// The signal comes four seconds after each start: earlier than one second would be too early by
/// any measure.
TEST(Attempts, AreEachWarnedBeforeTheirOwnTimeLimit) {
  Rig rig;
  rig.start();
  Json asked = test::kNoGpus;
  asked.update({{"time_limit_seconds", 1000},
                {"warning_signal", "USR2"},
                {"warning_seconds", 996},
                {"requeue_on", {75}}});
  const int id = rig.submit(
      "exec 2>/dev/null; began=$(date +%s%N)\n"
      "told() { [ $((($(date +%s%N) - began) / 1000000)) -gt 1000 ] && echo late || echo early;"
      "  [ $BERTH_ATTEMPT = 2 ] && exit 0; exit 75; }\n"
      "trap told USR2; while :; do sleep 0.05; done",
      asked);
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["state"], "done") << job;
  EXPECT_EQ(job["attempts"].size(), 2U);
  EXPECT_EQ(rig.log(id), "late\nlate\n");
}

}  // namespace
}  // namespace berth
