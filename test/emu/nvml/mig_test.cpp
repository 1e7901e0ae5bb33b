// Goal: a GPU that is split by MIG is as its instances: each with its own memory, processes and
// speed, and cut only where NVIDIA's table allows and nobody is. Method: the libraries by their
// exported names, and berth-load as the tenant.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "emu/nvml/abi.hpp"
#include "emu/support.hpp"

namespace berth::emu {
namespace {

constexpr int kMigOk = 0;
constexpr int kMigInvalid = 2;
constexpr int kMigNotSupported = 3;
constexpr int kMigNotFound = 6;
constexpr int kMigInUse = 19;
constexpr int kMigNoRoom = 23;
constexpr unsigned kThreeSlices = 9;  // profile ids of A100 and H100
constexpr unsigned kOneSlice = 19;

Spec split_by(const std::string& mig) {
  return {.gpu_bytes = {80 * kGibibyte}, .context_bytes = 64 * kMebibyte, .mig = mig};
}

/// NVML on a machine, from nvmlInit_v2 to nvmlShutdown.
class SplitNvml : public test::Library {
 public:
  explicit SplitNvml(const test::Machine& machine) : Library("libnvidia-ml.so.1") {
    ::setenv("BERTH_EMU_STATE", machine.state().c_str(), 1);
    EXPECT_EQ(call("nvmlInit_v2"), kMigOk);
    EXPECT_EQ(call("nvmlDeviceGetHandleByIndex_v2", 0U, &whole), kMigOk);
  }
  SplitNvml(const SplitNvml&) = delete;
  SplitNvml& operator=(const SplitNvml&) = delete;
  ~SplitNvml() { EXPECT_EQ(call("nvmlShutdown"), kMigOk); }

  NvmlDevice instance(unsigned index) const {
    NvmlDevice device = nullptr;
    EXPECT_EQ(call("nvmlDeviceGetMigDeviceHandleByIndex", whole, index, &device), kMigOk);
    return device;
  }
  int create(unsigned profile, unsigned start, unsigned size, NvmlGpuInstance* made) const {
    const NvmlPlacement place{.start = start, .size = size};
    return call("nvmlDeviceCreateGpuInstanceWithPlacement", whole, profile, &place, made);
  }
  std::string text(const char* function, NvmlDevice device) const {
    std::array<char, 96> buffer{};
    EXPECT_EQ(call(function, device, buffer.data(), 96U), kMigOk);
    return buffer.data();
  }
  std::vector<NvmlProcessInfo> processes(NvmlDevice device) const {
    std::array<NvmlProcessInfo, 64> infos{};
    unsigned count = infos.size();
    EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, infos.data()),
              kMigOk);
    return {infos.begin(), infos.begin() + count};
  }

  NvmlDevice whole = nullptr;
};

TEST(Mig, AnInstanceIsADeviceWithItsOwnNameAndMemory) {
  const test::Machine machine(split_by("h100:3g.40gb+1g.10gb"));
  const SplitNvml nvml(machine);
  unsigned current = 0;
  unsigned pending = 0;
  unsigned most = 0;
  EXPECT_EQ(nvml.call("nvmlDeviceGetMigMode", nvml.whole, &current, &pending), kMigOk);
  EXPECT_EQ(current, 1U);
  EXPECT_EQ(nvml.call("nvmlDeviceGetMaxMigDeviceCount", nvml.whole, &most), kMigOk);
  EXPECT_EQ(most, 7U);
  EXPECT_EQ(nvml.text("nvmlDeviceGetName", nvml.instance(0)), "Berth Emulated GPU MIG 3g.40gb");
  EXPECT_EQ(nvml.text("nvmlDeviceGetName", nvml.instance(1)), "Berth Emulated GPU MIG 1g.10gb");
  EXPECT_TRUE(nvml.text("nvmlDeviceGetUUID", nvml.instance(0)).starts_with("MIG-"));
  EXPECT_NE(nvml.text("nvmlDeviceGetUUID", nvml.instance(0)),
            nvml.text("nvmlDeviceGetUUID", nvml.instance(1)));
  NvmlMemoryV2 memory{.version = kNvmlMemoryV2Tag};
  EXPECT_EQ(nvml.call("nvmlDeviceGetMemoryInfo_v2", nvml.instance(1), &memory), kMigOk);
  EXPECT_EQ(memory.total, 9984 * kMebibyte);
  NvmlDevice device = nullptr;
  EXPECT_EQ(nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", nvml.whole, 2U, &device),
            kMigNotFound);
  EXPECT_EQ(nvml.call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", nvml.instance(1), &device),
            kMigOk);
  EXPECT_EQ(device, nvml.whole);
  NvmlUtilization busy{};
  EXPECT_EQ(nvml.call("nvmlDeviceGetUtilizationRates", nvml.instance(0), &busy), kMigNotSupported);
}

TEST(Mig, ATenantHasTheMemoryOfItsInstanceAndNoMore) {
  const test::Machine machine(split_by("h100:3g.40gb+1g.10gb"));
  const SplitNvml nvml(machine);
  const auto small = nvml.text("nvmlDeviceGetUUID", nvml.instance(1));
  const auto visible = joining(machine, {{"CUDA_VISIBLE_DEVICES", small}});
  EXPECT_EQ(test::run({EMU_LOAD, "--vram=12G", "--steps=1"}, visible).code, 77);
  test::Process tenant({EMU_LOAD, "--vram=6G", "--steps=0", "--report=1"}, visible);
  EXPECT_TRUE(tenant.read_line().starts_with("step 1"));
  EXPECT_EQ(nvml.processes(nvml.instance(0)).size(), 0U);
  const auto there = nvml.processes(nvml.instance(1));
  ASSERT_EQ(there.size(), 1U);
  EXPECT_EQ(there[0].pid, static_cast<unsigned>(tenant.pid()));
  EXPECT_GE(there[0].used_gpu_memory, 6 * kGibibyte);
  EXPECT_EQ(nvml.processes(nvml.whole).size(), 1U) << "the GPU lists those of all instances";
}

TEST(Mig, AProgramSeesOneInstanceAndNeverTheGpu) {
  const test::Machine machine(split_by("h100:3g.40gb+1g.10gb"));
  const SplitNvml nvml(machine);
  const auto both = nvml.text("nvmlDeviceGetUUID", nvml.instance(1)) + "," +
                    nvml.text("nvmlDeviceGetUUID", nvml.instance(0));
  for (const auto& visible : {both, std::string("0"), std::string("0,1")}) {
    const auto ended = test::run({EMU_LOAD, "--gpus=2", "--steps=1"},
                                 joining(machine, {{"CUDA_VISIBLE_DEVICES", visible}}));
    EXPECT_NE(ended.output.find("--gpus 2: 1 visible"), std::string::npos)
        << visible << ": " << ended.output;
  }
}

TEST(Mig, AnInstanceIsCutOnlyWhereThereIsRoomAndGoesOnlyWhenNobodyIsThere) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root cuts instances";
  const test::Machine machine(split_by("h100"));
  const SplitNvml nvml(machine);
  NvmlGpuInstance half = nullptr;
  NvmlGpuInstance other = nullptr;
  EXPECT_EQ(nvml.create(kThreeSlices, 2, 4, &half), kMigInvalid) << "no legal place";
  EXPECT_EQ(nvml.create(kThreeSlices, 4, 4, &half), kMigOk);
  EXPECT_EQ(nvml.create(kOneSlice, 5, 1, &other), kMigNoRoom);
  EXPECT_EQ(nvml.create(kOneSlice, 3, 1, &other), kMigOk);
  NvmlDevice device = nullptr;
  EXPECT_EQ(nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", nvml.whole, 0U, &device), kMigNotFound)
      << "without compute instances programs can use none";
  NvmlComputeInstance compute = nullptr;
  NvmlComputeInstanceProfile profile{};
  EXPECT_EQ(nvml.call("nvmlGpuInstanceGetComputeInstanceProfileInfo", half, 2U, 0U, &profile),
            kMigOk);
  EXPECT_EQ(nvml.call("nvmlGpuInstanceCreateComputeInstance", half, profile.id, &compute), kMigOk);
  const auto visible = joining(
      machine, {{"CUDA_VISIBLE_DEVICES", nvml.text("nvmlDeviceGetUUID", nvml.instance(0))}});
  {
    test::Process tenant({EMU_LOAD, "--vram=1G", "--steps=0", "--report=1"}, visible);
    EXPECT_TRUE(tenant.read_line().starts_with("step 1"));
    EXPECT_EQ(nvml.call("nvmlComputeInstanceDestroy", compute), kMigInUse);
  }
  EXPECT_EQ(nvml.call("nvmlGpuInstanceDestroy", half), kMigInUse) << "it has a compute instance";
  EXPECT_EQ(nvml.call("nvmlComputeInstanceDestroy", compute), kMigOk);
  EXPECT_EQ(nvml.call("nvmlGpuInstanceDestroy", half), kMigOk);
  EXPECT_EQ(nvml.create(kThreeSlices, 4, 4, &half), kMigOk);
}

TEST(Mig, AnInstanceIsAsSlowAsItIsSmall) {
  const test::Machine machine(split_by("h100:1g.10gb"));
  const auto ended =
      test::run({EMU_LOAD, "--steps=5", "--step-ms=10", "--duty=1"}, joining(machine));
  const auto at = ended.output.find("steps in ");
  ASSERT_NE(at, std::string::npos) << ended.output;
  EXPECT_GE(std::stod(ended.output.substr(at + 9)), 0.34) << "five steps of 10 ms on a seventh";
}

TEST(Mig, ALostGpuTakesItsInstancesAlong) {
  const test::Machine machine(split_by("h100:1g.10gb"));
  const SplitNvml nvml(machine);
  const auto instance = nvml.instance(0);
  ASSERT_TRUE(inject_xid(machine.state(), 0, 79));
  NvmlMemoryV2 memory{.version = kNvmlMemoryV2Tag};
  EXPECT_EQ(nvml.call("nvmlDeviceGetMemoryInfo_v2", instance, &memory), 15);
  ASSERT_TRUE(restore_gpu(machine.state(), 0));
  EXPECT_EQ(nvml.call("nvmlDeviceGetMemoryInfo_v2", instance, &memory), kMigOk);
}

TEST(Mig, RefusalsNameWhatThereIs) {
  const auto refusal = [](const char* text) { return parse_mig_text(text).error(); };
  EXPECT_EQ(refusal("t4"), "'t4' is no model with MIG; there are a100-40, a100, h100, h200, b200");
  EXPECT_EQ(refusal("h200:1g.10gb"),
            "'1g.10gb' is no profile of h200; there are 1g.18gb 1g.35gb 2g.35gb 3g.71gb 4g.71gb "
            "7g.141gb");
  EXPECT_EQ(refusal("a100:4g.40gb+4g.40gb"),
            "'a100:4g.40gb+4g.40gb': these instances do not fit together");
  EXPECT_EQ(create("/tmp/berth-never-made", {.gpu_bytes = {24 * kGibibyte}, .mig = "h100"}).error(),
            "GPU 0: memory 24 GiB, h100 has 79 GiB");
  EXPECT_TRUE(parse_mig_text("a100-40:3g.20gb+2g.10gb+1g.5gb"));
}

}  // namespace
}  // namespace berth::emu
