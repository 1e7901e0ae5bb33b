// Goal: the port over NVML tells the truth about GPUs, tenants, strangers and Xids.
// Method: the emulated libnvidia-ml.so.1 opened by dlopen; tenants and strangers are berth-load
// processes on the emulated CUDA driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "gpu/probe.hpp"
#include "gpu/support.hpp"

namespace berth::test {
namespace {

using emu::test::Machine;
using emu::test::Process;
using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Bytes kContext = 64_MiB;  // of Machine's GPUs

/// A berth-load that holds `size` on GPU 0 until it is killed; it does when this returns.
Process load(const Machine& machine, const std::string& size) {
  Process process({EMU_LOAD, "--vram", size, "--steps", "0", "--step-ms", "1", "--report", "1"},
                  emu::test::joining(machine, {{"CUDA_VISIBLE_DEVICES", "0"}}));
  EXPECT_THAT(process.read_line(), HasSubstr("holding"));
  return process;
}

OwnerOf only(pid_t tenant, JobId job) {
  return [=](pid_t pid) -> Owner {
    if (pid == tenant) return OfJob{job};
    return OfStranger{};
  };
}

TEST(NvmlEmulated, Devices) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  const auto devices = nvml->devices();
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_FALSE(devices->driver_version.empty());
  ASSERT_EQ(devices->list.size(), 2U);
  for (std::uint32_t index = 0; index < 2; ++index) {
    const Device& device = devices->list[index];
    const auto truth = machine.gpu(index);
    EXPECT_EQ(device.index, index);
    EXPECT_EQ(device.name, truth.model);
    EXPECT_EQ(device.uuid, truth.uuid);
    EXPECT_EQ(device.bus_id, truth.bus_id);
    EXPECT_EQ(device.total, 1_GiB);
    EXPECT_EQ(device.reserved, 24_MiB);
    EXPECT_EQ(device.mig, false);
    EXPECT_EQ(device.problem, "");
  }
  ASSERT_EQ(devices->links.size(), 1U);
  EXPECT_EQ(devices->links[0].nearness, Nearness::OneSwitch);
  EXPECT_EQ(devices->links[0].nvlinks, 0U);
}

TEST(NvmlEmulated, NvlinksJoinPairsOrAllByASwitch) {
  const std::vector<std::uint64_t> four(4, emu::kGibibyte);
  const Machine pairs(
      {.gpu_bytes = four, .links = {{.one = 1, .other = 0, .count = 4}, {.one = 2, .other = 3}}});
  const auto devices = open_emulated(pairs)->devices();
  ASSERT_TRUE(devices) << devices.error().message;
  std::vector<std::uint32_t> counts;
  for (const Link& link : devices->links) counts.push_back(link.nvlinks);
  EXPECT_THAT(counts, ElementsAre(4, 0, 0, 0, 0, 1));  // 0-1, 0-2, 0-3, 1-2, 1-3, 2-3
  const Machine switched({.gpu_bytes = four, .switch_links = 18});
  const auto joined = open_emulated(switched)->devices();
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_EQ(joined->links.size(), 6U);
  for (const Link& link : joined->links) EXPECT_EQ(link.nvlinks, 18U);
}

TEST(NvmlEmulated, EnergyGrowsAndIsUnknownWhereTheDriverDoesNotTell) {
  {
    const Machine machine;
    const auto nvml = open_emulated(machine);
    const auto first = sample_of(*nvml).millijoules;
    ASSERT_TRUE(first);
    const Process process = load(machine, "128M");
    const auto second = sample_of(*nvml).millijoules;
    ASSERT_TRUE(second);
    EXPECT_GT(*second, *first);
  }
  const Machine silent({.gpu_bytes = {emu::kGibibyte}, .has_energy = false});
  EXPECT_FALSE(sample_of(*open_emulated(silent)).millijoules);
}

TEST(NvmlEmulated, AGlanceTellsMemoryAndLeavesOutWhatTakesADriverLong) {
  const Machine machine({.gpu_bytes = {emu::kGibibyte}, .keeps_accounts = true});
  const auto nvml = open_emulated(machine);
  Process process = load(machine, "256M");
  const auto seen = nvml->glance(0);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_TRUE(seen->is_glance);
  EXPECT_FALSE(seen->millijoules);
  ASSERT_EQ(seen->processes->size(), 1U);
  EXPECT_EQ(seen->processes->front().pid, process.pid());
  EXPECT_GE(seen->used, 256_MiB);
  process.signal(SIGKILL);
  process.wait();
  const auto after = nvml->glance(0);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->ended.size(), 1U) << "the sample after it does not list the process";
  const auto whole = sample_of(*nvml);
  EXPECT_FALSE(whole.is_glance);
  EXPECT_TRUE(whole.millijoules);
}

TEST(NvmlEmulated, AccountsTellTheMostThatAnEndedProcessHeld) {
  const Machine machine({.gpu_bytes = {emu::kGibibyte}, .keeps_accounts = true});
  const auto nvml = open_emulated(machine);
  EXPECT_EQ(nvml->devices()->list[0].accounts, true);
  Process process = load(machine, "256M");
  const pid_t pid = process.pid();
  EXPECT_THAT(sample_of(*nvml).ended, IsEmpty());
  process.signal(SIGKILL);
  process.wait();
  const auto ended = sample_of(*nvml).ended;
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].pid, pid);
  EXPECT_GE(ended[0].bytes, 256_MiB);
  EXPECT_THAT(sample_of(*nvml).ended, IsEmpty()) << "told once";
}

TEST(NvmlEmulated, AccountsAreOffUnlessAskedFor) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  EXPECT_EQ(nvml->devices()->list[0].accounts, false);
  const auto asked = nvml->keep_accounts(0);
  if (::geteuid() != 0) {
    EXPECT_FALSE(asked);
    return;
  }
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(nvml->devices()->list[0].accounts, true);
}

TEST(NvmlEmulated, TheInstancesOfASplitGpuStandForIt) {
  const Machine machine(
      {.gpu_bytes = {80 * emu::kGibibyte, 80 * emu::kGibibyte}, .mig = "h100:3g.40gb+1g.10gb"});
  const auto nvml = open_emulated(machine);
  const auto devices = nvml->devices();
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_EQ(devices->list.size(), 4U);
  for (std::uint32_t index = 0; index < 4; ++index) {
    const Device& device = devices->list[index];
    EXPECT_EQ(device.index, index);
    EXPECT_EQ(device.board, index / 2);
    EXPECT_EQ(device.bus_id, machine.gpu(index / 2).bus_id);
    EXPECT_EQ(device.mig, true);
    EXPECT_EQ(device.mig_profile, index % 2 == 0 ? "3g.40gb" : "1g.10gb");
    EXPECT_TRUE(device.uuid.starts_with("MIG-")) << device.uuid;
    EXPECT_EQ(device.problem, "");
  }
  EXPECT_EQ(devices->list[1].total, 9984_MiB);
  EXPECT_THAT(devices->links, IsEmpty());
  const auto sample = nvml->sample(3);
  ASSERT_TRUE(sample) << sample.error().message;
  EXPECT_EQ(sample->total, 9984_MiB);
  EXPECT_FALSE(sample->utilisation_percent) << "NVML does not tell it of instances";
  EXPECT_EQ(nvml->set_limits(3, "/sys/fs/cgroup", {}).error().message,
            "a MIG instance: the driver's memory limits are not for these");
}

TEST(NvmlEmulated, AnXidOfASplitGpuIsOneOfEachInstance) {
  const Machine machine({.gpu_bytes = {80 * emu::kGibibyte}, .mig = "h100:3g.40gb+1g.10gb"});
  const auto nvml = open_emulated(machine);
  ASSERT_TRUE(emu::inject_xid(machine.state(), 0, 48));
  for (std::uint32_t index = 0; index < 2; ++index) {
    const auto event = nvml->wait_event(seconds(10));
    ASSERT_TRUE(event && *event);
    EXPECT_EQ(**event, (GpuEvent{.device = index, .xid = 48}));
  }
}

TEST(NvmlEmulated, ASplitGpuWithoutInstancesIsAProblem) {
  const Machine machine({.gpu_bytes = {80 * emu::kGibibyte}, .mig = "a100"});
  const auto devices = open_emulated(machine)->devices();
  ASSERT_EQ(devices->list.size(), 1U);
  EXPECT_EQ(devices->list[0].problem,
            "MIG is on and it has no instance: cut some, or turn MIG off");
}

TEST(NvmlEmulated, AnIdleGpu) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  const Sample sample = sample_of(*nvml);
  EXPECT_EQ(sample.total, 1_GiB);
  EXPECT_EQ(sample.reserved, 24_MiB);
  EXPECT_EQ(sample.used, 0_MiB);
  EXPECT_EQ(sample.utilisation_percent, 0U);
  EXPECT_THAT(sample.processes.value(), IsEmpty());
}

TEST(NvmlEmulated, AProcessAndItsBytes) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  const Process process = load(machine, "256M");
  const Sample sample = sample_of(*nvml);
  EXPECT_EQ(sample.used, 256_MiB + kContext);
  EXPECT_THAT(sample.processes.value(),
              ElementsAre(GpuProcess{.pid = process.pid(), .bytes = 256_MiB + kContext}));
  EXPECT_THAT(sample_of(*nvml, 1).processes.value(), IsEmpty());
}

TEST(NvmlEmulated, AStrangerIsSeenWithinOneProbe) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  const Process tenant = load(machine, "200M");
  const Process stranger = load(machine, "256M");
  const Sample sample = sample_of(*nvml);  // one, the first since either started
  const auto measured =
      measure({.gpu = GpuId(0), .sample = sample, .tenants = 1}, only(tenant.pid(), JobId(7)));
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->foreign, 320_MiB);
  ASSERT_EQ(measured->tenants.size(), 1U);
  EXPECT_EQ(measured->tenants[0].job, JobId(7));
  EXPECT_EQ(measured->tenants[0].bytes, 320_MiB);  // 264 MiB in steps of 64
  EXPECT_EQ(measured->used, 640_MiB);              // 584 MiB
}

TEST(NvmlEmulated, MemoryOfTheDeadIsBack) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  {
    const Process process = load(machine, "256M");
    EXPECT_GT(sample_of(*nvml).used, 256_MiB);
  }
  EXPECT_EQ(sample_of(*nvml).used, 0_MiB);
  EXPECT_THAT(sample_of(*nvml).processes.value(), IsEmpty());
}

TEST(NvmlEmulated, AnXidOfAProgram) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  ASSERT_TRUE(emu::inject_xid(machine.state(), 1, 31));
  const auto event = nvml->wait_event(seconds(10));
  ASSERT_TRUE(event && *event);
  EXPECT_EQ(**event, (GpuEvent{.device = 1, .xid = 31}));
  EXPECT_TRUE(is_application_xid(31));
  EXPECT_TRUE(nvml->sample(1));
}

TEST(NvmlEmulated, Xid79LosesTheGpuAndTheOthersLive) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  ASSERT_TRUE(emu::inject_xid(machine.state(), 1, 79));
  const auto event = nvml->wait_event(seconds(10));
  ASSERT_TRUE(event && *event);
  EXPECT_EQ(**event, (GpuEvent{.device = 1, .xid = 79}));
  EXPECT_FALSE(is_application_xid(79));

  const auto lost = nvml->sample(1);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().message, "nvmlDeviceGetMemoryInfo_v2 on GPU 1: GPU is lost");
  EXPECT_EQ(lost.error().code, ErrorCode::Lost);
  const auto devices = nvml->devices();
  ASSERT_TRUE(devices);
  EXPECT_THAT(devices->list[1].problem, HasSubstr("GPU is lost"));
  EXPECT_TRUE(devices->list[1].is_lost);
  EXPECT_TRUE(nvml->sample(0));

  ASSERT_TRUE(emu::restore_gpu(machine.state(), 1));
  EXPECT_TRUE(nvml->sample(1));
}

TEST(NvmlEmulated, AGpuThatWasLostWhenWeOpenedIsListedAndMayComeBack) {
  const Machine machine;
  ASSERT_TRUE(emu::inject_xid(machine.state(), 0, 79));
  const auto nvml = open_emulated(machine);
  const auto devices = nvml->devices();
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->list.size(), 2U);
  EXPECT_EQ(devices->list[0].index, 0U);
  EXPECT_THAT(devices->list[0].problem, HasSubstr("on GPU 0: GPU is lost"));
  EXPECT_EQ(devices->list[1].problem, "");
  EXPECT_FALSE(nvml->sample(0));
  ASSERT_TRUE(emu::restore_gpu(machine.state(), 0));
  EXPECT_TRUE(nvml->sample(0));
}

TEST(NvmlEmulated, SamplesWhileAnotherThreadWaits) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  std::jthread waiter([&] {
    const auto event = nvml->wait_event(seconds(30));
    EXPECT_TRUE(event && *event);
  });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(nvml->sample(0) && nvml->devices());
  ASSERT_TRUE(emu::inject_xid(machine.state(), 1, 79));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(nvml->sample(0) && !nvml->sample(1));
}

TEST(NvmlEmulated, WaitingEndsWithNothing) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  const auto event = nvml->wait_event(std::chrono::milliseconds(5));
  ASSERT_TRUE(event);
  EXPECT_FALSE(*event);
}

TEST(NvmlEmulated, NoSuchGpu) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  const auto sample = nvml->sample(2);
  ASSERT_FALSE(sample);
  EXPECT_EQ(sample.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(sample.error().message, "GPU 2: there are 2");
}

TEST(NvmlEmulated, NoState) {
  setenv("BERTH_EMU_STATE", "/nonexistent/state", 1);
  const auto nvml = Nvml::open(EMU_LIBRARY_DIRECTORY "/libnvidia-ml.so.1");
  ASSERT_FALSE(nvml);
  EXPECT_EQ(nvml.error().code, ErrorCode::Io);
  EXPECT_EQ(nvml.error().message, "nvmlInit_v2: Driver Not Loaded");
}

TEST(NvmlEmulated, LimitsOfACgroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root sets limits";
  const Machine machine({.gpu_bytes = {emu::kGibibyte}, .driver = 615});
  ::setenv("BERTH_EMU_CGROUP", machine.folder().c_str(), 1);  // any folder is a cgroup
  const auto nvml = open_emulated(machine);
  const std::string group = machine.folder();
  EXPECT_EQ(nvml->limits(0, group)->limits, MemoryLimits{}) << "none was set";
  ASSERT_TRUE(nvml->set_limits(0, group, {.guaranteed = 64_MiB, .most = 128_MiB}));
  EXPECT_EQ(nvml->limits(0, group)->limits, (MemoryLimits{64_MiB, 128_MiB}));
  EXPECT_EQ(nvml->limits(0, group)->used, 0_MiB);
  ASSERT_TRUE(nvml->set_limits(0, group, {}));
  EXPECT_EQ(nvml->limits(0, group)->limits, MemoryLimits{});
  EXPECT_THAT(nvml->set_limits(0, group + "/none", {}).error().message,
              HasSubstr("nvmlDeviceSetMemoryLimits_v1 on GPU 0: Not Found: no cgroup v2"));
  ::unsetenv("BERTH_EMU_CGROUP");
}

TEST(NvmlEmulated, AnOldDriverHasNoLimits) {
  const Machine machine;
  const auto nvml = open_emulated(machine);
  const auto got = nvml->limits(0, machine.folder());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::NotFound);
  EXPECT_EQ(got.error().message, "nvmlDeviceGetMemoryLimits_v1 on GPU 0: Not Supported");
}

}  // namespace
}  // namespace berth::test
