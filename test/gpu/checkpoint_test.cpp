// Goal: which machines can suspend, and that those which cannot say why. Method: devices as values;
// the port itself meets the emulated driver in test/daemon/suspend_test.cpp.
#include "gpu/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::HasSubstr;

std::vector<Device> devices(std::vector<std::string> names) {
  std::vector<Device> list;
  for (std::string& name : names) {
    list.push_back({.index = static_cast<std::uint32_t>(list.size()), .name = std::move(name)});
  }
  return list;
}

TEST(SuspensionSupport, OfOneGpuNeedsTheCallsAlone) {
  EXPECT_EQ(why_no_suspension(devices({"A"}), kCheckpointsSince), "");
}

TEST(SuspensionSupport, OfSeveralGpusNeedsRestoresOnAnother) {
  EXPECT_EQ(why_no_suspension(devices({"A", "A"}), kGpuMovesSince), "");
  EXPECT_EQ(why_no_suspension(devices({"A", "A"}), kCheckpointsSince),
            "the driver is of CUDA 12.8, and to restore on another of 2 GPUs needs 13.0 (driver "
            "580)");
}

/// A job goes on on GPUs of its own model, which the engine sees to.
TEST(SuspensionSupport, OfSeveralModelsIsLikeOfOne) {
  EXPECT_EQ(why_no_suspension(devices({"A", "A", "B"}), kGpuMovesSince), "");
}

TEST(SuspensionSupport, OfMigInstancesAndOfNoGpuIsNone) {
  EXPECT_EQ(why_no_suspension({}, kGpuMovesSince), "there is no GPU");
  auto split = devices({"A"});
  split[0].mig = true;
  EXPECT_THAT(why_no_suspension(split, kGpuMovesSince), HasSubstr("GPU 0 is split into MIG"));
}

TEST(SuspensionSupport, WithoutTheLibraryNamesIt) {
  const auto opened = open_checkpoints("/nonexistent/libcuda.so.1");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("/nonexistent/libcuda.so.1"));
}

}  // namespace
}  // namespace berth
