// Goal: berth-load and berth-emu as programs: what they print, how they exit.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>

#include "emu/support.hpp"

namespace berth::emu {
namespace {

using test::run;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Load, RunsItsStepsAndExitsAsTold) {
  const test::Machine machine;
  const auto ended = run({EMU_LOAD, "--vram=300M", "--ramp=20ms", "--steps=20", "--step-ms=2",
                          "--report=10", "--exit=5"},
                         joining(machine));
  EXPECT_EQ(ended.code, 5);
  EXPECT_TRUE(contains(ended.output, "step 10/20  ")) << ended.output;
  EXPECT_TRUE(contains(ended.output, "done: 20 steps in ")) << ended.output;
  EXPECT_TRUE(contains(ended.output, "held at most 300 MiB per GPU")) << ended.output;
  EXPECT_EQ(machine.gpu(0).used_bytes, 0U);
}

TEST(Load, ReadsBackWhatItWrote) {
  const test::Machine machine;
  const auto ended =
      run({EMU_LOAD, "--vram=300M", "--steps=5", "--step-ms=2", "--check=yes"}, joining(machine));
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_TRUE(contains(ended.output, "memory intact: 5 blocks")) << ended.output;
}

/// A step of 4 ms of which a half is on the GPU: what is told is the kernel, not the step.
TEST(Load, TellsHowLongItsKernelsTook) {
  const test::Machine machine;
  const auto ended =
      run({EMU_LOAD, "--steps=40", "--step-ms=4", "--duty=0.5", "--report=20"}, joining(machine));
  EXPECT_FALSE(contains(ended.output, "kernels")) << ended.output;
  const auto told =
      run({EMU_LOAD, "--steps=40", "--step-ms=4", "--duty=0.5", "--report=20", "--times=yes"},
          joining(machine));
  double middle = 0;
  double late = 0;
  double worst = 0;
  const auto at = told.output.find("kernels p50 ");
  ASSERT_NE(at, std::string::npos) << told.output;
  ASSERT_EQ(std::sscanf(told.output.c_str() + at, "kernels p50 %lf p99 %lf worst %lf ms", &middle,
                        &late, &worst),
            3)
      << told.output;
  EXPECT_GE(middle, 2.0) << "no kernel is shorter than it was to be";
  EXPECT_LE(middle, late);
  EXPECT_LE(late, worst);
  EXPECT_NE(told.output.find("kernels p50 ", at + 1), std::string::npos) << "in every line";
}

TEST(Load, OutOfMemoryIs77InTheDriversWords) {
  const test::Machine machine;
  const auto ended = run({EMU_LOAD, "--vram", "2G"}, joining(machine));
  EXPECT_EQ(ended.code, 77);
  EXPECT_TRUE(contains(ended.output, "cuMemAlloc_v2 of 2 GiB")) << ended.output;
  EXPECT_TRUE(contains(ended.output, "CUDA_ERROR_OUT_OF_MEMORY: out of memory")) << ended.output;
}

TEST(Load, OutOfMemoryForTheContextToo) {
  const test::Machine machine({.gpu_bytes = {128 * kMebibyte}, .context_bytes = 200 * kMebibyte});
  const auto ended = run({EMU_LOAD}, joining(machine));
  EXPECT_EQ(ended.code, 77);
  EXPECT_TRUE(contains(ended.output, "cuCtxCreate_v2")) << ended.output;
}

TEST(Load, GrowsUntilTheCardIsFull) {
  const test::Machine machine;
  const auto ended = run({EMU_LOAD, "--grow=4G/s", "--steps=0", "--step-ms=5"}, joining(machine));
  EXPECT_EQ(ended.code, 77) << ended.output;
}

TEST(Load, HoldsWhatItsCurveSaysOfTheStepsDone) {
  const test::Machine machine;
  test::Process load({EMU_LOAD, "--curve=0:100|0.2:400|0.201:50", "--steps=0", "--step-ms=2"},
                     joining(machine));
  const auto holds = [&](std::uint64_t mebibytes) {
    return machine.gpu(0).used_bytes == (64 + mebibytes) * kMebibyte;
  };
  std::uint64_t most = 0;
  EXPECT_TRUE(test::eventually([&] {
    most = std::max(most, machine.gpu(0).used_bytes);
    return most > 300 * kMebibyte && holds(50);
  })) << most;
  EXPECT_LE(most, (64 + 400) * kMebibyte);
  load.signal(SIGTERM);
  EXPECT_EQ(load.wait().code, 128 + SIGTERM);
}

TEST(Load, SpikesComeAndGo) {
  const test::Machine machine;
  test::Process load({EMU_LOAD, "--vram=100M", "--spike=200M/50ms", "--steps=0", "--step-ms=2"},
                     joining(machine));
  const auto holds = [&](std::uint64_t mebibytes) {
    return machine.gpu(0).used_bytes == (64 + mebibytes) * kMebibyte;
  };
  EXPECT_TRUE(test::eventually([&] { return holds(300); }));
  EXPECT_TRUE(test::eventually([&] { return holds(100); }));
  load.signal(SIGTERM);
  EXPECT_EQ(load.wait().code, 128 + SIGTERM);
  EXPECT_EQ(machine.gpu(0).used_bytes, 0U);
}

TEST(Load, UsesSeveralGpus) {
  const test::Machine machine;
  test::Process load({EMU_LOAD, "--vram=100M", "--gpus=2", "--steps=0", "--report=1"},
                     joining(machine));
  EXPECT_TRUE(contains(load.read_line(), "step 1  "));
  EXPECT_EQ(machine.gpu(0).used_bytes, 164 * kMebibyte);
  EXPECT_EQ(machine.gpu(1).used_bytes, 164 * kMebibyte);
  EXPECT_EQ(run({EMU_LOAD, "--gpus=3"}, joining(machine)).code, 2);
}

TEST(Load, BadFlagsAndNoDriverAreTold) {
  const auto bad = run({EMU_LOAD, "--duty", "2"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(bad.output, "berth-load: --duty 2: must be from 0 to 1\n");
  const auto help = run({EMU_LOAD, "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(contains(help.output, "--spike SIZE/T"));
  const auto alone = run({EMU_LOAD}, {{"LD_LIBRARY_PATH", EMU_LIBRARY_DIRECTORY}});
  EXPECT_EQ(alone.code, 1);
  EXPECT_TRUE(contains(alone.output, "BERTH_EMU_STATE (not set)")) << alone.output;
  EXPECT_TRUE(contains(alone.output, "CUDA_ERROR_NO_DEVICE")) << alone.output;
}

TEST(Tool, CreatesShowsAndRefuses) {
  const test::Machine machine;
  const auto path = machine.folder() + "/two";
  const auto made = run({EMU_TOOL, "create", "--gpus", "2x24GiB", "--models", "2xTest Card",
                         "--context", "500M", path});
  EXPECT_EQ(made.code, 0) << made.output;
  EXPECT_EQ(made.output, machine.folder() + "/emu.env\n");
  const auto shown = run({EMU_TOOL, "show", path});
  EXPECT_TRUE(contains(shown.output, "Test Card  0 B used of 24 GiB")) << shown.output;
  EXPECT_EQ(run({EMU_TOOL, "create", "--gpus", "2x24GiB", path}).code, 1);
  EXPECT_EQ(run({EMU_TOOL, "create", path}).output, "berth-emu: --gpus is missing\n");
  EXPECT_EQ(run({EMU_TOOL, "create", "--gpus", "2", path}).code, 2);
  EXPECT_EQ(run({EMU_TOOL, "xid", path, "--gpu", "7", "--xid", "79"}).output,
            "berth-emu: gpu 7: the highest is 1\n");
  EXPECT_EQ(run({EMU_TOOL, "xid", path, "--xid", "79"}).code, 2);
  EXPECT_EQ(run({EMU_TOOL}).code, 2);
  EXPECT_EQ(run({EMU_TOOL, "melt", path}).code, 2);
  EXPECT_EQ(run({EMU_TOOL, "show", "/nonexistent"}).code, 1);
}

TEST(Tool, EnvironmentFileIsEnoughToJoin) {
  const test::Machine machine;
  const auto path = machine.folder() + "/joined";
  ASSERT_EQ(run({EMU_TOOL, "create", "--gpus", "1x1G", path}).code, 0);
  const auto ended =
      run({"/bin/sh", "-c", ". " + machine.folder() + "/emu.env; exec " EMU_LOAD " --steps 1"});
  EXPECT_EQ(ended.code, 0) << ended.output;
}

}  // namespace
}  // namespace berth::emu
