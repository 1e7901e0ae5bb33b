// Goal: libnvidia-ml.so.1 answers as NVML does: devices, memory, processes, events, errors.
// Method: the library is opened in this process and called by exported names; tenants are child
// processes of the emulated CUDA driver.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <thread>

#include "emu/nvml/abi.hpp"
#include "emu/spin.hpp"
#include "emu/support.hpp"

namespace berth::emu {
namespace {

constexpr int kNvmlOk = 0;

/// NVML on a machine, from nvmlInit_v2 to nvmlShutdown.
class Nvml : public test::Library {
 public:
  explicit Nvml(const test::Machine& machine) : Library("libnvidia-ml.so.1") {
    ::setenv("BERTH_EMU_STATE", machine.state().c_str(), 1);
    EXPECT_EQ(call("nvmlInit_v2"), kNvmlOk);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() { EXPECT_EQ(call("nvmlShutdown"), kNvmlOk); }

  NvmlDevice device(unsigned index) const {
    NvmlDevice device = nullptr;
    EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", index, &device), kNvmlOk);
    return device;
  }
  std::string text(const char* function, NvmlDevice device) const {
    std::array<char, 96> buffer{};
    EXPECT_EQ(call(function, device, buffer.data(), 96U), kNvmlOk);
    return buffer.data();
  }
  std::vector<NvmlProcessInfo> processes(NvmlDevice device) const {
    std::array<NvmlProcessInfo, 64> infos{};
    unsigned count = infos.size();
    EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, infos.data()),
              kNvmlOk);
    return {infos.begin(), infos.begin() + count};
  }
};

/// A process that holds memory on GPU 0, beside a context of 64 MiB, until it is killed. Returns
/// when it does.
test::Process tenant(const test::Machine& machine, std::uint64_t bytes) {
  const auto before = machine.gpu(0).processes.size();
  test::Process process(
      [bytes] {
        const test::Library cuda("libcuda.so.1");
        void* context = nullptr;
        std::uint64_t address = 0;
        EXPECT_EQ(cuda.call("cuInit", 0U), kNvmlOk);
        EXPECT_EQ(cuda.call("cuCtxCreate_v2", &context, 0U, 0), kNvmlOk);
        EXPECT_EQ(cuda.call("cuMemAlloc_v2", &address, std::size_t{bytes}), kNvmlOk);
        ::pause();
      },
      joining(machine));
  EXPECT_TRUE(test::eventually([&] {
    const auto now = machine.gpu(0).processes;
    return now.size() > before && now.back().second >= bytes + 64 * kMebibyte;
  }));
  return process;
}

TEST(Nvml, NeedsInit) {
  const test::Library nvml("libnvidia-ml.so.1");
  unsigned count = 0;
  EXPECT_EQ(nvml.call("nvmlDeviceGetCount_v2", &count), 1);
  EXPECT_EQ(nvml.call("nvmlShutdown"), 1);
  EXPECT_STREQ(nvml.call<const char*>("nvmlErrorString", 1), "Uninitialized");
  ::setenv("BERTH_EMU_STATE", "/nonexistent", 1);
  EXPECT_EQ(nvml.call("nvmlInit_v2"), 9);
}

TEST(Nvml, InitIsCounted) {
  const test::Machine machine;
  const Nvml nvml(machine);
  EXPECT_EQ(nvml.call("nvmlInit"), kNvmlOk);
  EXPECT_EQ(nvml.call("nvmlShutdown"), kNvmlOk);
  unsigned count = 0;
  EXPECT_EQ(nvml.call("nvmlDeviceGetCount_v2", &count), kNvmlOk);
  EXPECT_EQ(count, 2U);
}

TEST(Nvml, OtherLayoutVersionIsAMismatch) {
  const test::Machine machine;
  FILE* file = std::fopen(machine.state().c_str(), "r+");
  ASSERT_NE(file, nullptr);
  std::fseek(file, 8, SEEK_SET);
  std::fputc(99, file);
  std::fclose(file);
  ::setenv("BERTH_EMU_STATE", machine.state().c_str(), 1);
  EXPECT_EQ(test::Library("libnvidia-ml.so.1").call("nvmlInit_v2"), 18);
  test::in_child(joining(machine),
                 [] { EXPECT_EQ(test::Library("libcuda.so.1").call("cuInit", 0U), 803); });
}

TEST(Nvml, FindsDevicesEveryWay) {
  const test::Machine machine;
  const Nvml nvml(machine);
  const auto second = nvml.device(1);
  NvmlDevice found = nullptr;
  EXPECT_EQ(nvml.call("nvmlDeviceGetHandleByIndex_v2", 2U, &found), 2);
  const auto uuid = nvml.text("nvmlDeviceGetUUID", second);
  EXPECT_EQ(uuid, machine.gpu(1).uuid);
  EXPECT_EQ(nvml.call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &found), kNvmlOk);
  EXPECT_EQ(found, second);
  EXPECT_EQ(nvml.call("nvmlDeviceGetHandleByUUID", "GPU-none", &found), 6);
  EXPECT_EQ(nvml.call("nvmlDeviceGetHandleByPciBusId_v2", "00000000:0F:00.0", &found), kNvmlOk);
  EXPECT_EQ(found, second);
  unsigned index = 9;
  EXPECT_EQ(nvml.call("nvmlDeviceGetIndex", second, &index), kNvmlOk);
  EXPECT_EQ(index, 1U);
  EXPECT_EQ(nvml.call("nvmlDeviceGetIndex", NvmlDevice{}, &index), 2);
  EXPECT_EQ(nvml.text("nvmlDeviceGetName", second), "Berth Emulated GPU");
  std::array<char, 4> small{};
  EXPECT_EQ(nvml.call("nvmlDeviceGetName", second, small.data(), 4U), 7);
  NvmlPciInfo pci{};
  EXPECT_EQ(nvml.call("nvmlDeviceGetPciInfo_v3", second, &pci), kNvmlOk);
  EXPECT_STREQ(pci.bus_id, "00000000:0F:00.0");
  EXPECT_STREQ(pci.bus_id_legacy, "0000:0F:00.0");
  EXPECT_EQ(pci.bus, 0x0fU);
}

TEST(Nvml, MemoryVersionsDifferInWhatIsReserved) {
  const test::Machine machine;
  const Nvml nvml(machine);
  const auto process = tenant(machine, 100 * kMebibyte);
  const auto used = 164 * kMebibyte;
  NvmlMemory first{};
  EXPECT_EQ(nvml.call("nvmlDeviceGetMemoryInfo", nvml.device(0), &first), kNvmlOk);
  EXPECT_EQ(first.total, kGibibyte);
  EXPECT_EQ(first.used, used + 24 * kMebibyte);
  EXPECT_EQ(first.free, first.total - first.used);
  NvmlMemoryV2 second{};
  EXPECT_EQ(nvml.call("nvmlDeviceGetMemoryInfo_v2", nvml.device(0), &second), 25);
  second.version = kNvmlMemoryV2Tag;
  EXPECT_EQ(nvml.call("nvmlDeviceGetMemoryInfo_v2", nvml.device(0), &second), kNvmlOk);
  EXPECT_EQ(second.reserved, 24 * kMebibyte);
  EXPECT_EQ(second.used, used);
  EXPECT_EQ(second.total, second.reserved + second.used + second.free);
}

TEST(Nvml, ListsForeignProcessesWithTheirContext) {
  const test::Machine machine;
  const Nvml nvml(machine);
  const auto device = nvml.device(0);
  unsigned count = 0;
  EXPECT_EQ(nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count,
                      static_cast<NvmlProcessInfo*>(nullptr)),
            kNvmlOk);
  auto one = tenant(machine, 100 * kMebibyte);
  const auto other = tenant(machine, 200 * kMebibyte);
  EXPECT_EQ(nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count,
                      static_cast<NvmlProcessInfo*>(nullptr)),
            7);
  EXPECT_EQ(count, 2U);
  const auto listed = nvml.processes(device);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].pid, static_cast<unsigned>(one.pid()));
  EXPECT_EQ(listed[0].used_gpu_memory, 164 * kMebibyte);
  EXPECT_EQ(listed[0].gpu_instance_id, 0xffffffffU);
  EXPECT_EQ(listed[1].used_gpu_memory, 264 * kMebibyte);
  EXPECT_TRUE(nvml.processes(nvml.device(1)).empty());
  std::array<NvmlProcessInfoV1, 2> old{};
  EXPECT_EQ(nvml.call("nvmlDeviceGetComputeRunningProcesses", device, &count, old.data()), kNvmlOk);
  EXPECT_EQ(old[1].used_gpu_memory, 264 * kMebibyte);
  one.signal(SIGKILL);
  EXPECT_TRUE(test::eventually([&] { return nvml.processes(device).size() == 1; }));
}

TEST(Nvml, XidEventsReachThoseWhoRegistered) {
  const test::Machine machine;
  const Nvml nvml(machine);
  NvmlEventSet set = nullptr;
  NvmlEventData data{};
  ASSERT_EQ(nvml.call("nvmlEventSetCreate", &set), kNvmlOk);
  EXPECT_EQ(nvml.call("nvmlDeviceRegisterEvents", nvml.device(1), std::uint64_t{8}, set), kNvmlOk);
  EXPECT_EQ(nvml.call("nvmlDeviceRegisterEvents", nvml.device(1), std::uint64_t{1}, set), 3);
  EXPECT_EQ(nvml.call("nvmlEventSetWait_v2", set, &data, 1U), 10);
  ASSERT_TRUE(inject_xid(machine.state(), 0, 13));  // no one registered for GPU 0
  const std::jthread injector([&] { ASSERT_TRUE(inject_xid(machine.state(), 1, 48)); });
  EXPECT_EQ(nvml.call("nvmlEventSetWait_v2", set, &data, 30000U), kNvmlOk);
  EXPECT_EQ(data.device, nvml.device(1));
  EXPECT_EQ(data.event_type, 8U);
  EXPECT_EQ(data.event_data, 48U);
  EXPECT_EQ(nvml.call("nvmlEventSetFree", set), kNvmlOk);
  EXPECT_EQ(nvml.call("nvmlEventSetFree", set), 2);
  EXPECT_EQ(nvml.call("nvmlEventSetWait_v2", set, &data, 1U), 2);
}

TEST(Nvml, Xid79LosesTheGpuUntilItIsRestored) {
  const test::Machine machine;
  const Nvml nvml(machine);
  const auto device = nvml.device(0);
  NvmlMemory memory{};
  NvmlDevice found = nullptr;
  unsigned count = 0;
  ASSERT_EQ(test::run({EMU_TOOL, "xid", machine.state(), "--gpu", "0", "--xid", "79"}).code, 0);
  EXPECT_EQ(nvml.call("nvmlDeviceGetMemoryInfo", device, &memory), 15);
  EXPECT_EQ(nvml.call("nvmlDeviceGetHandleByIndex_v2", 0U, &found), 15);
  EXPECT_EQ(nvml.call("nvmlDeviceGetCount_v2", &count), kNvmlOk);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(nvml.call("nvmlDeviceGetMemoryInfo", nvml.device(1), &memory), kNvmlOk);
  EXPECT_NE(test::run({EMU_TOOL, "show", machine.state()}).output.find("LOST"), std::string::npos);
  ASSERT_EQ(test::run({EMU_TOOL, "restore", machine.state(), "--gpu", "0"}).code, 0);
  EXPECT_EQ(nvml.call("nvmlDeviceGetMemoryInfo", device, &memory), kNvmlOk);
}

TEST(Nvml, TopologyHasPairsAndNodes) {
  const test::Machine machine({.gpu_bytes = std::vector<std::uint64_t>(8, kGibibyte)});
  const Nvml nvml(machine);
  const auto level = [&](unsigned one, unsigned other) {
    int found = -1;
    EXPECT_EQ(nvml.call("nvmlDeviceGetTopologyCommonAncestor", nvml.device(one), nvml.device(other),
                        &found),
              kNvmlOk);
    return found;
  };
  EXPECT_EQ(level(0, 0), 0);
  EXPECT_EQ(level(0, 1), 10);
  EXPECT_EQ(level(0, 3), 40);
  EXPECT_EQ(level(3, 4), 50);
  std::array<NvmlDevice, 8> near{};
  unsigned count = near.size();
  EXPECT_EQ(nvml.call("nvmlDeviceGetTopologyNearestGpus", nvml.device(2), 10, &count, near.data()),
            kNvmlOk);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(near[0], nvml.device(3));
}

TEST(Nvml, MigAndLimitsAreNotSupported) {
  const test::Machine machine;
  const Nvml nvml(machine);
  for (const char* name : {"nvmlDeviceGetMigMode", "nvmlDeviceSetMemoryLimits_v1"}) {
    EXPECT_EQ(nvml.call(name, nvml.device(0)), 3) << name;
  }
  unsigned most = 9;
  EXPECT_EQ(nvml.call("nvmlDeviceGetMaxMigDeviceCount", nvml.device(0), &most), kNvmlOk);
  EXPECT_EQ(most, 0U);
}

TEST(Nvml, UtilisationFollowsTheWork) {
  const test::Machine machine;
  const Nvml nvml(machine);
  const auto utilisation = [&](unsigned index) {
    NvmlUtilization rates{};
    EXPECT_EQ(nvml.call("nvmlDeviceGetUtilizationRates", nvml.device(index), &rates), kNvmlOk);
    return rates.gpu;
  };
  const auto holders = [&](unsigned index) {
    std::array<NvmlProcessInfo, 4> infos{};
    unsigned count = infos.size();
    EXPECT_EQ(nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", nvml.device(index), &count,
                        infos.data()),
              kNvmlOk);
    return count;
  };
  EXPECT_EQ(utilisation(0), 0U);
  const test::Process busy({EMU_LOAD, "--steps=0", "--step-ms=50", "--duty=1"}, joining(machine));
  EXPECT_TRUE(test::eventually([&] { return utilisation(0) >= 30; }));
  EXPECT_EQ(utilisation(1), 0U);
  // Beside it one that holds memory and runs nothing.
  const test::Process still({EMU_LOAD, "--steps=0", "--duty=0"}, joining(machine));
  EXPECT_TRUE(test::eventually([&] { return holders(0) == 2; }));
  std::uint64_t newest = 0;
  const auto samples_since = [&](std::uint64_t since) {
    std::vector<NvmlProcessUtilizationSample> samples(64);
    auto count = static_cast<unsigned>(samples.size());
    const int result =
        nvml.call("nvmlDeviceGetProcessUtilization", nvml.device(0), samples.data(), &count, since);
    EXPECT_TRUE(result == kNvmlOk || result == 6) << result;  // NOT_FOUND: there is none yet
    samples.resize(count);
    return samples;
  };
  const auto is_busy = [&](const NvmlProcessUtilizationSample& sample) {
    return sample.pid == static_cast<unsigned>(busy.pid());
  };
  EXPECT_TRUE(test::eventually([&] {
    const auto samples = samples_since(0);
    if (!samples.empty()) newest = samples.back().time_stamp;
    return std::ranges::any_of(
        samples, [&](const auto& sample) { return is_busy(sample) && sample.sm_util >= 80; });
  }));
  // Its kernels of no length may take a moment each on a slow machine.
  for (const auto& sample : samples_since(0)) {
    if (is_busy(sample)) continue;
    EXPECT_LE(sample.sm_util, 5U) << "the other one runs nothing";
  }
  for (const auto& sample : samples_since(newest)) EXPECT_GT(sample.time_stamp, newest);
  EXPECT_TRUE(test::eventually([&] { return samples_since(newest).size() > 1; }));
  unsigned room = 1;
  NvmlProcessUtilizationSample one{};
  EXPECT_EQ(
      nvml.call("nvmlDeviceGetProcessUtilization", nvml.device(0), &one, &room, std::uint64_t{0}),
      7);
  EXPECT_GT(room, 1U);
}

}  // namespace
}  // namespace berth::emu
