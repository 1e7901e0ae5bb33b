// Goal: tools/gpu-check, which is for machines with GPUs, works and can fail.
// Method: it runs on emulated GPUs with the programs of this build, and once with a load that does
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "gpu/support.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

emu::test::Ended check(const std::string& gpus, const std::string& programs,
                       const std::string& output) {
  return emu::test::run({(source_dir() / "tools/gpu-check").string(), "--emulate", gpus,
                         "--programs", programs, "--output", output});
}

std::string programs() { return std::filesystem::path(GPU_LIST).parent_path(); }

void expect_passes(const std::string& gpus) {
  const ScratchFolder scratch;
  const auto ended = check(gpus, programs(), scratch / "out");
  EXPECT_EQ(ended.code, 0) << ended.output;
  const std::string report = read_file(scratch / "out");
  EXPECT_THAT(report, HasSubstr("EMULATED " + gpus));
  const bool sets_limits = ::geteuid() == 0;
  EXPECT_THAT(report, HasSubstr(sets_limits ? "30 passed, 0 failed, 2 skipped"
                                            : "26 passed, 0 failed, 3 skipped"));
}

TEST(GpuCheck, PassesOnTwoEmulatedGpus) { expect_passes("2x24GiB"); }

TEST(GpuCheck, PassesOnALargeEmulatedGpu) { expect_passes("1x141GiB"); }

TEST(GpuCheck, FailsWhereALoadHoldsNothing) {
  const ScratchFolder scratch;
  for (const std::string name : {"berth-gpu-list", "berth-emu"}) {
    std::filesystem::create_symlink(programs() + "/" + name, scratch / name);
  }
  const std::string load = scratch.write("berth-load", "#!/bin/sh\necho nothing to do\n");
  std::filesystem::permissions(load, std::filesystem::perms::owner_all);
  const auto ended = check("1x24GiB", scratch.path(), scratch / "out");
  EXPECT_EQ(ended.code, 1) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("FAILED  a tenant of 2 GiB: did not start"));
  EXPECT_THAT(ended.output, HasSubstr("FAILED  out of memory ends with 77: exit 0"));
  EXPECT_THAT(ended.output, Not(HasSubstr(" 0 failed")));
}

}  // namespace
}  // namespace berth::test
