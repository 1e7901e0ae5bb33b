// Goal: what the processes of a cgroup hold together never exceeds its limit, what it was
// guaranteed nobody else gets, and its own processes see the limit as all there is. Method: the
// libraries as programs use them, in processes whose cgroup is named by BERTH_EMU_CGROUP; one test
// with a real cgroup v2, where one can be made.
#include "emu/state/limits.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "emu/nvml/abi.hpp"
#include "emu/support.hpp"

namespace berth::emu {
namespace {

using test::Library;
using test::Machine;

Spec new_driver(std::uint32_t release = 615) {
  return {.gpu_bytes = {kGibibyte},
          .context_bytes = 64 * kMebibyte,
          .reserved_bytes = 24 * kMebibyte,
          .driver = release};
}

/// A machine whose cgroups are folders beside its state.
class LimitsTest : public testing::Test {
 protected:
  explicit LimitsTest(const Spec& spec = new_driver()) : machine_(spec) {
    for (const char* name : {"/top", "/top/job", "/top/job/part", "/top/other"}) {
      std::filesystem::create_directory(machine_.folder() + name);
    }
  }
  std::string group(const std::string& name) const { return machine_.folder() + "/" + name; }
  test::Variables inside(const std::string& name) const {
    return joining(machine_, {{"BERTH_EMU_CGROUP", group(name)}});
  }

  /// Calls NVML as a program in some cgroup does.
  template <class Body>
  void with_nvml(const Body& body) const {
    test::in_child(inside("top"), [&] {
      const Library nvml("libnvidia-ml.so.1");
      EXPECT_EQ(nvml.call("nvmlInit_v2"), 0);
      NvmlDevice device = nullptr;
      nvml.call("nvmlDeviceGetHandleByIndex_v2", 0U, &device);
      body(nvml, device);
    });
  }
  NvmlResult set_now(const Library& nvml, NvmlDevice device, const std::string& folder,
                     std::uint64_t soft, std::uint64_t hard) const {
    NvmlSetMemoryLimits limits{folder.c_str(), soft, hard};
    return nvml.call<NvmlResult>("nvmlDeviceSetMemoryLimits_v1", device, &limits);
  }
  void set(const std::string& name, std::uint64_t soft_mib, std::uint64_t hard_mib) const {
    with_nvml([&](const Library& nvml, NvmlDevice device) {
      EXPECT_EQ(set_now(nvml, device, group(name), soft_mib * kMebibyte, hard_mib * kMebibyte),
                NvmlResult::Success);
    });
  }

  /// How much a berth-load in this cgroup gets of what it asks for beside its context.
  test::Ended load(const std::string& name, const std::string& mebibytes) const {
    return test::run({EMU_LOAD, "--vram", mebibytes + "M", "--steps=1", "--step-ms=1"},
                     inside(name));
  }

  Machine machine_;
};

class RootLimits : public LimitsTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root sets limits";
  }
};

TEST_F(RootLimits, AnAllocationBeyondTheHardLimitFails) {
  set("top/job", 0, 300);
  EXPECT_EQ(load("top/job", "236").code, 0) << "a context takes 64 MiB";
  const auto beyond = load("top/job", "238");
  EXPECT_EQ(beyond.code, 77);
  EXPECT_NE(beyond.output.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << beyond.output;
  EXPECT_EQ(load("top/other", "800").code, 0) << "the cgroup beside it has no limit";
}

TEST_F(RootLimits, AContextCountsToo) {
  set("top/job", 0, 60);
  EXPECT_NE(load("top/job", "0").output.find("cuCtxCreate_v2"), std::string::npos);
}

TEST_F(RootLimits, ProcessesOfACgroupAndBelowItCountTogether) {
  set("top/job", 0, 400);
  test::Process first({EMU_LOAD, "--vram=136M", "--steps=0", "--step-ms=1", "--report=1"},
                      inside("top/job/part"));
  first.read_line();
  EXPECT_EQ(load("top/job", "136").code, 0);
  EXPECT_EQ(load("top/job", "138").code, 77);
  const auto limits = machine_.gpu(0).limits;
  ASSERT_EQ(limits.size(), 1U);
  EXPECT_EQ(limits[0].used_bytes, 200 * kMebibyte);
  EXPECT_EQ(limits[0].hard_bytes, 400 * kMebibyte);
}

TEST_F(RootLimits, WhatWasGuaranteedNobodyElseGets) {
  set("top/job", 600, 700);
  EXPECT_EQ(load("top/other", "336").code, 0) << "1000 - 600 - a context";
  EXPECT_EQ(load("top/other", "338").code, 77);
  EXPECT_EQ(load("top/job", "600").code, 0);
  set("top/job", 0, 700);
  EXPECT_EQ(load("top/other", "800").code, 0);
}

TEST_F(RootLimits, AGuaranteeOutlivesACgroupThatWasRemovedWithIt) {
  set("top/job/part", 600, 700);
  std::filesystem::remove(group("top/job/part"));
  EXPECT_EQ(load("top/other", "338").code, 77);
}

TEST_F(RootLimits, AreMovedWhileProcessesRun) {
  set("top/job", 100, 300);
  test::Process job({EMU_LOAD, "--grow=2G/s", "--on-oom=keep", "--steps=0", "--step-ms=1"},
                    inside("top/job"));
  const auto used = [&] { return machine_.gpu(0).used_bytes; };
  EXPECT_TRUE(test::eventually([&] { return used() == 300 * kMebibyte; }));
  set("top/job", 100, 500);
  EXPECT_TRUE(test::eventually([&] { return used() == 500 * kMebibyte; }));
  set("top/job", 100, 200);  // takes nothing away
  EXPECT_EQ(used(), 500 * kMebibyte);
}

TEST_F(RootLimits, TheOwnCgroupsLimitIsAllThereIs) {
  set("top/job", 0, 300);
  const auto seen = [&](const std::string& name) {
    std::pair<std::size_t, std::size_t> info;
    const std::string file = machine_.folder() + "/seen";
    test::in_child(inside(name), [&] {
      const Library cuda("libcuda.so.1");
      cuda.call("cuInit", 0U);
      void* context = nullptr;
      cuda.call("cuCtxCreate_v2", &context, 0U, 0);
      std::size_t free = 0;
      std::size_t total = 0;
      cuda.call("cuMemGetInfo_v2", &free, &total);
      std::ofstream(file) << free << ' ' << total;
    });
    std::ifstream(file) >> info.first >> info.second;
    return info;
  };
  EXPECT_EQ(seen("top/job"), std::pair(236 * kMebibyte, 300 * kMebibyte));
  EXPECT_EQ(seen("top/job/part"), std::pair(236 * kMebibyte, 1000 * kMebibyte)) << "set above it";
  EXPECT_EQ(seen("top/other"), std::pair(936 * kMebibyte, 1000 * kMebibyte));
}

TEST_F(RootLimits, AreReadBackAndCleared) {
  with_nvml([&](const Library& nvml, NvmlDevice device) {
    const auto folder = group("top/job");
    const auto get = [&] {
      NvmlGetMemoryLimits limits{folder.c_str(), 1, 1, 1};
      EXPECT_EQ(nvml.call("nvmlDeviceGetMemoryLimits_v1", device, &limits), 0);
      return limits;
    };
    EXPECT_EQ(get().hard_limit, kNvmlMemoryLimitMax) << "none was set";
    EXPECT_EQ(set_now(nvml, device, folder, 3 * kMebibyte, 7 * kMebibyte), NvmlResult::Success);
    EXPECT_EQ(get().soft_limit, 2 * kMebibyte) << "down to a granule";
    EXPECT_EQ(get().hard_limit, 6 * kMebibyte);
    EXPECT_EQ(set_now(nvml, device, folder, 0, kNvmlMemoryLimitMax), NvmlResult::Success);
    EXPECT_EQ(get().soft_limit, 0U);
    EXPECT_EQ(get().current_used, 0U);
  });
  EXPECT_TRUE(machine_.gpu(0).limits.empty());
}

TEST_F(RootLimits, RefuseWhatIsNoLimit) {
  with_nvml([&](const Library& nvml, NvmlDevice device) {
    EXPECT_EQ(set_now(nvml, device, group("nowhere"), 0, 1), NvmlResult::NotFound);
    EXPECT_EQ(set_now(nvml, device, group("top"), 2, 1), NvmlResult::InvalidArgument);
    void* const nothing = nullptr;
    EXPECT_EQ(nvml.call<NvmlResult>("nvmlDeviceSetMemoryLimits_v1", device, nothing),
              NvmlResult::InvalidArgument);
  });
}

TEST_F(RootLimits, AreSetByRootAlone) {
  with_nvml([&](const Library& nvml, NvmlDevice device) {
    EXPECT_EQ(::setresuid(65534, 65534, 65534), 0);
    EXPECT_EQ(set_now(nvml, device, group("top"), 0, kMebibyte), NvmlResult::NoPermission);
  });
}

class OldDriver : public LimitsTest {
 protected:
  OldDriver() : LimitsTest(new_driver(610)) {}
};

TEST_F(OldDriver, SupportsNone) {
  with_nvml([&](const Library& nvml, NvmlDevice device) {
    EXPECT_EQ(set_now(nvml, device, group("top"), 0, kMebibyte), NvmlResult::NotSupported);
    char version[32] = {};
    nvml.call("nvmlSystemGetDriverVersion", &version[0], 32U);
    EXPECT_STREQ(version, "610.00");
  });
}

TEST(RealCgroup, IsFoundByItself) {
  std::string top;
  for (const std::string mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    const std::string folder = mount + "/berth-emu-" + std::to_string(::getpid());
    if (::access((mount + "/cgroup.procs").c_str(), W_OK) != 0) continue;
    if (::mkdir(folder.c_str(), 0755) == 0) top = folder;
    if (!top.empty() && ::access((top + "/cgroup.procs").c_str(), W_OK) == 0) break;
  }
  if (top.empty()) GTEST_SKIP() << "no cgroup v2 can be made here";
  test::in_child({}, [&] {
    std::ofstream(top + "/cgroup.procs") << ::getpid() << std::flush;
    EXPECT_EQ(own_cgroup(), top);
  });
  EXPECT_EQ(::rmdir(top.c_str()), 0);
}

TEST(Hidden, MemoryIsNotTold) {
  const Machine machine({.gpu_bytes = {kGibibyte}, .hides_memory = true});
  test::in_child(joining(machine), [] {
    const Library nvml("libnvidia-ml.so.1");
    nvml.call("nvmlInit_v2");
    NvmlDevice device = nullptr;
    nvml.call("nvmlDeviceGetHandleByIndex_v2", 0U, &device);
    NvmlMemoryV2 memory{.version = kNvmlMemoryV2Tag};
    NvmlMemory plain{};
    EXPECT_EQ(nvml.call<NvmlResult>("nvmlDeviceGetMemoryInfo_v2", device, &memory),
              NvmlResult::NotSupported);
    EXPECT_EQ(nvml.call<NvmlResult>("nvmlDeviceGetMemoryInfo", device, &plain),
              NvmlResult::NotSupported);
  });
}

}  // namespace
}  // namespace berth::emu
