// Goal: a driver that hangs costs no job that does not need it, and holds up neither requests nor
// the end of the daemon. Method: as errors_gpu_test.cpp; slow, since a driver is given three
// seconds.
#include <gmock/gmock.h>

#include "daemon/wilful_driver.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::await_unhealthy;
using test::eventually;
using test::gpu_of;
using test::kNoGpus;
using test::kUntilGo;
using test::path;
using ErrorsHang = test::WilfulDriver;

TEST_F(ErrorsHang, ADriverThatHangsHoldsNobodyUp) {
  rig_.start();
  const int runs = rig_.submit(kUntilGo);
  rig_.wait_for(runs, "running");
  be('h');
  await_unhealthy(rig_);
  EXPECT_EQ(gpu_of(rig_, 0)["problem"], "the driver does not answer");
  const int waits = rig_.submit("true");
  EXPECT_EQ(rig_.wait_end(rig_.submit("true", kNoGpus))["state"], "done");
  EXPECT_EQ(rig_.job(waits)["state"], "queued");
  EXPECT_EQ(rig_.request("POST", path(waits, "/cancel")).body["state"], "cancelled");
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(runs)["exit_code"], 3);
  be('o');
  EXPECT_EQ(rig_.wait_end(rig_.submit("true"))["state"], "done");
}

/// Its threads are left where they hang; jobs go on, and the next daemon has them.
TEST_F(ErrorsHang, ADriverThatHangsDoesNotHoldUpTheEnd) {
  rig_.start();
  const int id = rig_.submit(kUntilGo);
  rig_.wait_for(id, "running");
  be('h');
  await_unhealthy(rig_);
  EXPECT_EQ(rig_.stop(), 0);  // or ctest's patience ends
  be('o');
  rig_.start();
  EXPECT_EQ(rig_.job(id)["state"], "running");
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(id)["exit_code"], 3);
}

TEST_F(ErrorsHang, ADriverThatHangsAtTheStartIsToldOfAndLeft) {
  be('h');
  rig_.start_without_waiting();
  eventually("it says so", [&] {
    return test::read_file(rig_.folder() / "daemon.log") ==
           "berthd: is not ready yet: waits for the driver or for the disk\n";
  });
  EXPECT_EQ(rig_.stop(), 0);
}

}  // namespace
}  // namespace berth
