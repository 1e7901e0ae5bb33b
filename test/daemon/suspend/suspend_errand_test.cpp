// Goal: what berthd and its suspend helper say to each other is understood whole, and what is torn
// or strange is passed over. Method: there and back, and cut off at every byte.
#include "daemon/suspend/suspend_errand.hpp"

#include <gtest/gtest.h>

namespace berth::daemon {
namespace {

Errand an_errand() {
  return {.what = Errand::What::Resume,
          .cuda = "/a folder/libcuda.so.1",
          .nvml = "libnvidia-ml.so.1",
          .job = JobId(42),
          .shim = 99,
          .cgroup = "/sys/fs/cgroup/berth/berth-42.1",
          .gpus = {"GPU-1", "GPU-2"},
          .lock_timeout = seconds(3),
          .holders = {{.process = {7, 8}, .bytes = Bytes(9), .gpus = {"GPU-3", "GPU-4"}},
                      {.process = {10, 11}, .bytes = Bytes(0), .gpus = {}}}};
}

TEST(SuspendErrand, AnErrandIsReadAsItWasWritten) {
  const auto read = decode_errand(encode(an_errand()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, an_errand());
}

TEST(SuspendErrand, WhatIsNoErrandIsRefused) {
  for (const char* text : {"", "\n", "errand 9 1 1 1\n\n", "cuda x\n\n",
                           "errand 1 1 1 1\nholder x\n\n", "errand 1 1 1 1\nsing\n\n"}) {
    EXPECT_FALSE(decode_errand(text)) << text;
  }
}

TEST(SuspendErrand, WhatItTellsCountsLineByLine) {
  const std::string text =
      "holds 7 8 9 GPU-1\nasks\ndid locked 7\nsings\ndid restored 7\n"
      "failed 60 cuCheckpointProcessLock of process 7: CUDA_ERROR_NOT_READY\n";
  const Told told = decode_told(text);
  ASSERT_EQ(told.holders.size(), 1U);
  EXPECT_EQ(told.holders[0], (Holder{.process = {7, 8}, .bytes = Bytes(9), .gpus = {"GPU-1"}}));
  EXPECT_TRUE(told.asks);
  EXPECT_FALSE(told.is_done);
  EXPECT_EQ(told.restored, std::vector<pid_t>{7});
  EXPECT_EQ(told.error, "cuCheckpointProcessLock of process 7: CUDA_ERROR_NOT_READY");
  EXPECT_EQ(told.again, seconds(60));
  EXPECT_EQ(decode_told("failed -1 never\n").again, kForever);
  EXPECT_EQ(decode_told("version 13000\ndone\n").version, 13000);
}

TEST(SuspendErrand, ATornLineIsNotThere) {
  EXPECT_TRUE(decode_told("done\n").is_done);
  EXPECT_FALSE(decode_told("done").is_done);
  EXPECT_TRUE(decode_told("holds 7 8 9 GPU-1\nhol").holders.size() == 1);
  EXPECT_TRUE(decode_told("holds 7 8\n").holders.empty());
}

}  // namespace
}  // namespace berth::daemon
