// Goal: a GPU whose memory the driver does not tell is the host's memory and its processes.
// Method: texts of /proc/meminfo; the emulated driver that hides memory, with a load.
#include "gpu/host_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/support.hpp"

namespace berth::test {
namespace {

using namespace literals;

TEST(HostMemory, IsReadFromLinux) {
  const auto read = parse_host_memory(
      "MemTotal:       16384 kB\nMemFree:        1024 kB\nMemAvailable:   12288 kB\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->total, 16_MiB);
  EXPECT_EQ(read->used, 4_MiB);
}

TEST(HostMemory, IsNeverGuessed) {
  EXPECT_EQ(parse_host_memory("").error().message, "/proc/meminfo: no MemTotal");
  EXPECT_EQ(parse_host_memory("MemTotal: 5 kB\n").error().message,
            "/proc/meminfo: no MemAvailable");
  EXPECT_FALSE(parse_host_memory("MemTotal: x kB\nMemAvailable: 1 kB\n"));
}

TEST(HostMemory, StandsForThatOfAGpuThatHidesIt) {
  const emu::test::Machine machine({.gpu_bytes = {emu::kGibibyte}, .hides_memory = true});
  const auto nvml = open_emulated(machine);
  const auto devices = nvml->devices();
  ASSERT_TRUE(devices);
  EXPECT_TRUE(devices->list[0].shares_memory);
  EXPECT_EQ(devices->list[0].problem, "");
  const auto host = read_host_memory();
  ASSERT_TRUE(host);
  EXPECT_EQ(devices->list[0].total, host->total);
  emu::test::Process load({EMU_LOAD, "--vram=100M", "--steps=0", "--step-ms=1", "--report=1"},
                          emu::test::joining(machine));
  load.read_line();
  const auto sample = nvml->sample(0);
  ASSERT_TRUE(sample) << sample.error().message;
  ASSERT_TRUE(sample->processes);
  ASSERT_EQ(sample->processes->size(), 1U);
  EXPECT_EQ(sample->processes->front().bytes, 400_MiB) << "with its context";
  EXPECT_EQ(sample->total, host->total);
  EXPECT_GE(sample->used, 400_MiB);
}

TEST(HostMemory, IsNotAskedWhereTheDriverTells) {
  const emu::test::Machine machine;
  const auto devices = open_emulated(machine)->devices();
  EXPECT_FALSE(devices->list[0].shares_memory);
}

}  // namespace
}  // namespace berth::test
