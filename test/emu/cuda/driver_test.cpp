// Goal: libcuda.so.1 answers as the driver does: results, accounting, contexts, streams, events.
// Method: each test is a process of its own (cuInit happens once per process) that opens the
// library and calls the exported functions by name.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "emu/cuda/abi.hpp"
#include "emu/spin.hpp"
#include "emu/support.hpp"

namespace berth::emu {
namespace {

using test::Library;

constexpr int kOk = 0;
constexpr std::uint64_t kContext = 64 * kMebibyte;  // of the default test machine
constexpr std::uint64_t kRoom = 1000 * kMebibyte;

/// An opened driver with a current context on device 0, made with cuCtxCreate_v2.
struct Cuda : Library {
  Cuda() : Library("libcuda.so.1") {
    EXPECT_EQ(call("cuInit", 0U), kOk);
    EXPECT_EQ(call("cuCtxCreate_v2", &context, 0U, 0), kOk);
  }
  int allocate(std::uint64_t* address, std::size_t bytes) const {
    return call("cuMemAlloc_v2", address, bytes);
  }
  std::size_t free_bytes() const {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(call("cuMemGetInfo_v2", &free, &total), kOk);
    EXPECT_EQ(total, kRoom);
    return free;
  }
  void* spin() const {
    void* module = nullptr;
    void* function = nullptr;
    EXPECT_EQ(call("cuModuleLoadData", &module, static_cast<const void*>(kSpinPtx)), kOk);
    EXPECT_EQ(call("cuModuleGetFunction", &function, module, kSpinEntry), kOk);
    return function;
  }
  int launch(void* function, std::uint64_t nanoseconds, void* stream = nullptr) const {
    std::uint64_t iterations = 0;
    void* parameters[] = {&nanoseconds, &iterations};
    return call("cuLaunchKernel", function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, stream,
                static_cast<void**>(parameters), static_cast<void**>(nullptr));
  }
  void* context = nullptr;
};

/// Runs the body with the default machine in a process of its own.
void with_cuda(const std::function<void(const Cuda&, const test::Machine&)>& body) {
  const test::Machine machine;
  test::in_child(joining(machine), [&] { body(Cuda(), machine); });
}

TEST(CudaDriver, NothingWorksBeforeInit) {
  const test::Machine machine;
  test::in_child(joining(machine), [] {
    const Library cuda("libcuda.so.1");
    int count = 0;
    EXPECT_EQ(cuda.call("cuDeviceGetCount", &count), 3);
    EXPECT_EQ(cuda.call("cuInit", 1U), 1);
    EXPECT_EQ(cuda.call("cuDriverGetVersion", &count), kOk);
    EXPECT_EQ(count, 13000);
  });
}

TEST(CudaDriver, WithoutAStateThereIsNoDevice) {
  test::in_child({{"BERTH_EMU_STATE", "/nonexistent"}},
                 [] { EXPECT_EQ(Library("libcuda.so.1").call("cuInit", 0U), 100); });
  test::in_child({}, [] { EXPECT_EQ(Library("libcuda.so.1").call("cuInit", 0U), 100); });
}

TEST(CudaDriver, ForkedChildIsNotInitialised) {
  with_cuda([](const Cuda& cuda, const test::Machine&) {
    test::in_child({}, [&] {
      int count = 0;
      EXPECT_EQ(cuda.call("cuDeviceGetCount", &count), 3);
      EXPECT_EQ(cuda.call("cuInit", 0U), 3);
    });
  });
}

TEST(CudaDriver, DescribesDevices) {
  with_cuda([](const Cuda& cuda, const test::Machine& machine) {
    int value = 0;
    EXPECT_EQ(cuda.call("cuDeviceGetCount", &value), kOk);
    EXPECT_EQ(value, 2);
    int device = -1;
    EXPECT_EQ(cuda.call("cuDeviceGet", &device, 1), kOk);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(cuda.call("cuDeviceGet", &device, 2), 101);
    std::array<char, 64> text{};
    EXPECT_EQ(cuda.call("cuDeviceGetName", text.data(), 64, 1), kOk);
    EXPECT_STREQ(text.data(), "Berth Emulated GPU");
    EXPECT_EQ(cuda.call("cuDeviceGetPCIBusId", text.data(), 64, 1), kOk);
    EXPECT_STREQ(text.data(), "0000:0F:00.0");
    EXPECT_EQ(cuda.call("cuDeviceGetByPCIBusId", &device, static_cast<const char*>("0000:0f:00.0")),
              kOk);
    EXPECT_EQ(device, 1);
    std::size_t bytes = 0;
    EXPECT_EQ(cuda.call("cuDeviceTotalMem_v2", &bytes, 1), kOk);
    EXPECT_EQ(bytes, kRoom);
    EXPECT_EQ(cuda.call("cuDeviceGetAttribute", &value, 33, 1), kOk);
    EXPECT_EQ(value, 0x0f);
    CudaUuid uuid{};
    EXPECT_EQ(cuda.call("cuDeviceGetUuid", &uuid, 1), kOk);
    char first[16];
    std::snprintf(first, sizeof first, "GPU-%02x", static_cast<unsigned char>(uuid.bytes[0]));
    EXPECT_TRUE(machine.gpu(1).uuid.starts_with(first));
  });
}

TEST(CudaDriver, HonoursVisibleDevices) {
  const test::Machine machine({.gpu_bytes = {kGibibyte, 2 * kGibibyte}});
  const auto bus_of_first = [](const char* expected) {
    return [expected] {
      const Library cuda("libcuda.so.1");
      EXPECT_EQ(cuda.call("cuInit", 0U), kOk);
      std::array<char, 64> bus{};
      EXPECT_EQ(cuda.call("cuDeviceGetPCIBusId", bus.data(), 64, 0), kOk);
      EXPECT_STREQ(bus.data(), expected);
    };
  };
  const auto uuid = machine.gpu(0).uuid.substr(0, 12);
  const test::Variables pci{{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  test::in_child(joining(machine, pci), bus_of_first("0000:0B:00.0"));
  test::in_child(joining(machine), bus_of_first("0000:0F:00.0"));
  test::in_child(joining(machine, {{"CUDA_VISIBLE_DEVICES", uuid}}), bus_of_first("0000:0B:00.0"));
  test::in_child(joining(machine, {{"CUDA_VISIBLE_DEVICES", ""}}),
                 [] { EXPECT_EQ(Library("libcuda.so.1").call("cuInit", 0U), 100); });
}

TEST(CudaDriver, MemoryIsCountedWithItsContext) {
  with_cuda([](const Cuda& cuda, const test::Machine& machine) {
    EXPECT_EQ(cuda.free_bytes(), kRoom - kContext);
    std::uint64_t address = 0;
    EXPECT_EQ(cuda.allocate(&address, 100 * kMebibyte), kOk);
    EXPECT_EQ(machine.gpu(0).used_bytes, kContext + 100 * kMebibyte);
    EXPECT_EQ(cuda.call("cuMemFree_v2", address), kOk);
    EXPECT_EQ(cuda.free_bytes(), kRoom - kContext);
    EXPECT_EQ(cuda.call("cuMemFree_v2", address), 1);
    EXPECT_EQ(cuda.call("cuMemFree_v2", std::uint64_t{0}), kOk);
    EXPECT_EQ(cuda.call("cuCtxDestroy_v2", cuda.context), kOk);
    EXPECT_EQ(machine.gpu(0).used_bytes, 0U);
  });
}

TEST(CudaDriver, FullCardSaysOutOfMemory) {
  with_cuda([](const Cuda& cuda, const test::Machine&) {
    std::uint64_t address = 0;
    EXPECT_EQ(cuda.allocate(&address, kRoom - kContext + 1), 2);
    EXPECT_EQ(cuda.allocate(&address, ~std::size_t{0}), 2);
    EXPECT_EQ(cuda.allocate(&address, 0), 1);
    EXPECT_EQ(cuda.allocate(&address, kRoom - kContext), kOk);
    EXPECT_EQ(cuda.allocate(&address, 1), 2);
    void* second = nullptr;
    EXPECT_EQ(cuda.call("cuCtxCreate_v2", &second, 0U, 0), 2);
    const char* text = nullptr;
    EXPECT_EQ(cuda.call("cuGetErrorName", 2, &text), kOk);
    EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
    EXPECT_EQ(cuda.call("cuGetErrorString", 2, &text), kOk);
    EXPECT_STREQ(text, "out of memory");
    EXPECT_EQ(cuda.call("cuGetErrorName", 4711, &text), 1);
  });
}

TEST(CudaDriver, SmallAllocationsShareGranules) {
  with_cuda([](const Cuda& cuda, const test::Machine&) {
    std::array<std::uint64_t, 100> addresses{};
    for (auto& address : addresses) ASSERT_EQ(cuda.allocate(&address, 1000), kOk);
    EXPECT_EQ(cuda.free_bytes(), kRoom - kContext - 2 * kMebibyte);
    for (auto address : addresses) ASSERT_EQ(cuda.call("cuMemFree_v2", address), kOk);
    EXPECT_EQ(cuda.free_bytes(), kRoom - kContext);
  });
}

TEST(CudaDriver, StreamOrderedAllocationsCountToo) {
  with_cuda([](const Cuda& cuda, const test::Machine&) {
    void* const no_stream = nullptr;
    std::uint64_t address = 0;
    EXPECT_EQ(cuda.call("cuMemAllocAsync", &address, std::size_t{50 * kMebibyte}, no_stream), kOk);
    EXPECT_EQ(cuda.free_bytes(), kRoom - kContext - 50 * kMebibyte);
    void* pool = nullptr;
    EXPECT_EQ(cuda.call("cuDeviceGetDefaultMemPool", &pool, 0), kOk);
    std::uint64_t used = 0;
    EXPECT_EQ(cuda.call("cuMemPoolGetAttribute", pool, 7, static_cast<void*>(&used)), kOk);
    EXPECT_EQ(used, 50 * kMebibyte);
    EXPECT_EQ(cuda.call("cuMemFreeAsync", address, no_stream), kOk);
    EXPECT_EQ(cuda.call("cuMemPoolTrimTo", pool, std::size_t{0}), kOk);
    EXPECT_EQ(cuda.free_bytes(), kRoom - kContext);
  });
}

TEST(CudaDriver, ContextStackWorks) {
  with_cuda([](const Cuda& cuda, const test::Machine&) {
    void* second = nullptr;
    void* current = nullptr;
    int device = -1;
    EXPECT_EQ(cuda.call("cuCtxCreate_v2", &second, 0U, 1), kOk);
    EXPECT_EQ(cuda.call("cuCtxGetDevice", &device), kOk);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(cuda.call("cuCtxPopCurrent_v2", &current), kOk);
    EXPECT_EQ(current, second);
    EXPECT_EQ(cuda.call("cuCtxGetCurrent", &current), kOk);
    EXPECT_EQ(current, cuda.context);
    EXPECT_EQ(cuda.call("cuCtxPushCurrent_v2", second), kOk);
    EXPECT_EQ(cuda.call("cuCtxDestroy_v2", cuda.context), kOk);
    EXPECT_EQ(cuda.call("cuCtxPopCurrent_v2", &current), kOk);
    EXPECT_EQ(cuda.call("cuCtxGetDevice", &device), 709);
    EXPECT_EQ(cuda.call("cuCtxDestroy_v2", cuda.context), 201);
    EXPECT_EQ(cuda.call("cuCtxSetCurrent", static_cast<void*>(nullptr)), kOk);
    EXPECT_EQ(cuda.call("cuCtxGetDevice", &device), 201);
  });
}

TEST(CudaDriver, PrimaryContextIsCounted) {
  with_cuda([](const Cuda& cuda, const test::Machine& machine) {
    void* first = nullptr;
    void* again = nullptr;
    unsigned flags = 9;
    int active = 9;
    EXPECT_EQ(cuda.call("cuDevicePrimaryCtxGetState", 1, &flags, &active), kOk);
    EXPECT_EQ(active, 0);
    EXPECT_EQ(cuda.call("cuDevicePrimaryCtxSetFlags_v2", 1, 4U), kOk);
    EXPECT_EQ(cuda.call("cuDevicePrimaryCtxRetain", &first, 1), kOk);
    EXPECT_EQ(cuda.call("cuDevicePrimaryCtxRetain", &again, 1), kOk);
    EXPECT_EQ(first, again);
    EXPECT_EQ(machine.gpu(1).used_bytes, kContext);
    EXPECT_EQ(cuda.call("cuCtxDestroy_v2", first), 201);
    EXPECT_EQ(cuda.call("cuDevicePrimaryCtxRelease_v2", 1), kOk);
    EXPECT_EQ(machine.gpu(1).used_bytes, kContext);
    EXPECT_EQ(cuda.call("cuDevicePrimaryCtxGetState", 1, &flags, &active), kOk);
    EXPECT_EQ(flags, 4U);
    EXPECT_EQ(active, 1);
    EXPECT_EQ(cuda.call("cuDevicePrimaryCtxReset_v2", 1), kOk);
    EXPECT_EQ(machine.gpu(1).used_bytes, 0U);
    EXPECT_EQ(cuda.call("cuDevicePrimaryCtxRelease_v2", 1), 201);
  });
}

TEST(CudaDriver, CopiesRoundTripAndAreChecked) {
  with_cuda([](const Cuda& cuda, const test::Machine&) {
    std::uint64_t address = 0;
    ASSERT_EQ(cuda.allocate(&address, 5000), kOk);
    std::array<char, 5000> sent;
    std::array<char, 5000> received{};
    sent.fill('x');
    const void* source = sent.data();
    void* target = received.data();
    EXPECT_EQ(cuda.call("cuMemcpyHtoD_v2", address, source, sizeof sent), kOk);
    EXPECT_EQ(cuda.call("cuMemsetD8_v2", address, static_cast<unsigned char>('y'), std::size_t{10}),
              kOk);
    EXPECT_EQ(cuda.call("cuMemcpyDtoH_v2", target, address, sizeof received), kOk);
    EXPECT_EQ(received[9], 'y');
    EXPECT_EQ(received[10], 'x');
    EXPECT_EQ(cuda.call("cuMemcpyHtoD_v2", address + 1, source, sizeof sent), 1);
    EXPECT_EQ(cuda.call("cuMemcpyDtoH_v2", target, std::uint64_t{4096}, std::size_t{1}), 1);
    std::uint64_t base = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(cuda.call("cuMemGetAddressRange_v2", &base, &bytes, address + 77), kOk);
    EXPECT_EQ(base, address);
    EXPECT_EQ(bytes, 5000U);
  });
}

TEST(CudaDriver, ModulesAndLaunchesAreChecked) {
  with_cuda([](const Cuda& cuda, const test::Machine&) {
    void* module = nullptr;
    void* function = nullptr;
    const auto load = [&](const char* image) {
      return cuda.call("cuModuleLoadData", &module, static_cast<const void*>(image));
    };
    EXPECT_EQ(load("no such thing"), 200);
    EXPECT_EQ(load("\x7f"
                   "ELF"),
              209);
    EXPECT_EQ(load(".version 7.0"), 218);
    EXPECT_EQ(load(kSpinPtx), kOk);
    EXPECT_EQ(cuda.call("cuModuleGetFunction", &function, module, "other"), 500);
    EXPECT_EQ(cuda.call("cuModuleGetFunction", &function, module, kSpinEntry), kOk);
    EXPECT_EQ(cuda.launch(function, 1000), kOk);
    void** const none = nullptr;
    void* const no_stream = nullptr;
    EXPECT_EQ(
        cuda.call("cuLaunchKernel", function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, no_stream, none, none),
        1);
    EXPECT_EQ(
        cuda.call("cuLaunchKernel", function, 0U, 1U, 1U, 1U, 1U, 1U, 0U, no_stream, none, none),
        1);
    EXPECT_EQ(cuda.call("cuModuleUnload", module), kOk);
    EXPECT_EQ(cuda.launch(function, 1000), 400);
  });
}

TEST(CudaDriver, EventsMeasureTheKernelBetweenThem) {
  with_cuda([](const Cuda& cuda, const test::Machine&) {
    constexpr std::uint64_t kLength = 20000000;
    void* start = nullptr;
    void* end = nullptr;
    void* stream = nullptr;
    auto* const function = cuda.spin();
    EXPECT_EQ(cuda.call("cuEventCreate", &start, 0U), kOk);
    EXPECT_EQ(cuda.call("cuEventCreate", &end, 0U), kOk);
    EXPECT_EQ(cuda.call("cuStreamCreate", &stream, 0U), kOk);
    EXPECT_EQ(cuda.call("cuEventRecord", start, stream), kOk);
    EXPECT_EQ(cuda.launch(function, kLength, stream), kOk);
    EXPECT_EQ(cuda.call("cuEventRecord", end, stream), kOk);
    EXPECT_EQ(cuda.call("cuStreamQuery", stream), 600);
    EXPECT_EQ(cuda.call("cuEventQuery", end), 600);
    EXPECT_EQ(cuda.call("cuEventSynchronize", end), kOk);
    EXPECT_EQ(cuda.call("cuEventQuery", end), kOk);
    EXPECT_EQ(cuda.call("cuStreamQuery", stream), kOk);
    float milliseconds = 0;
    EXPECT_EQ(cuda.call("cuEventElapsedTime", &milliseconds, start, end), kOk);
    // Alone on the GPU: the length, plus what the host takes between record and launch.
    EXPECT_GE(milliseconds, 20.0F);
    EXPECT_LT(milliseconds, 2000.0F);
    EXPECT_EQ(cuda.call("cuStreamDestroy_v2", stream), kOk);
    EXPECT_EQ(cuda.call("cuStreamSynchronize", stream), 400);
  });
}

TEST(CudaDriver, UnsupportedFunctionsSaySo) {
  with_cuda([](const Cuda& cuda, const test::Machine&) {
    for (const char* name :
         {"cuMemAllocManaged", "cuMemCreate", "cuIpcGetMemHandle", "cuMemAlloc", "cuGraphLaunch"}) {
      EXPECT_EQ(cuda.call(name), 801) << name;
    }
  });
}

TEST(CudaDriver, ProcAddressesFollowTheVersion) {
  with_cuda([](const Cuda& cuda, const test::Machine&) {
    const auto look_up = [&](const char* name, int version, int* status) {
      void* found = nullptr;
      const auto result =
          cuda.call("cuGetProcAddress_v2", name, &found, version, std::uint64_t{0}, status);
      EXPECT_EQ(result == kOk, found != nullptr) << name;
      EXPECT_TRUE(result == kOk || result == 500) << name;
      return found;
    };
    int status = -1;
    EXPECT_EQ(look_up("cuMemAlloc", 12000, &status), cuda.symbol("cuMemAlloc_v2"));
    EXPECT_EQ(status, 0);
    EXPECT_EQ(look_up("cuCtxCreate", 3020, &status), cuda.symbol("cuCtxCreate_v2"));
    EXPECT_EQ(look_up("cuCtxCreate", 12080, &status), cuda.symbol("cuCtxCreate_v4"));
    EXPECT_EQ(look_up("cuInit", 2000, &status), cuda.symbol("cuInit"));
    EXPECT_EQ(look_up("cuMemAlloc", 3000, &status), nullptr);
    EXPECT_EQ(status, 2);
    for (const char* name : {"cuNoSuchThing", "cuMemAlloc_v2", "cuserid", "malloc", ""}) {
      EXPECT_EQ(look_up(name, 12000, &status), nullptr) << name;
      EXPECT_EQ(status, 1) << name;
    }
    void* found = nullptr;
    EXPECT_EQ(cuda.call("cuGetProcAddress", "cuMemFree", &found, 11030, std::uint64_t{0}), kOk);
    EXPECT_EQ(found, cuda.symbol("cuMemFree_v2"));
  });
}

TEST(CudaDriver, EveryVersionedNameLeadsSomewhere) {
  with_cuda([](const Cuda& cuda, const test::Machine&) {
    for (const char* name : {"cuCtxDestroy",
                             "cuCtxPopCurrent",
                             "cuCtxPushCurrent",
                             "cuDeviceGetUuid",
                             "cuDevicePrimaryCtxRelease",
                             "cuDevicePrimaryCtxReset",
                             "cuDevicePrimaryCtxSetFlags",
                             "cuDeviceTotalMem",
                             "cuEventDestroy",
                             "cuEventElapsedTime",
                             "cuGetProcAddress",
                             "cuMemAllocHost",
                             "cuMemAllocPitch",
                             "cuMemGetAddressRange",
                             "cuMemGetInfo",
                             "cuMemcpyDtoD",
                             "cuMemcpyDtoDAsync",
                             "cuMemcpyDtoH",
                             "cuMemcpyDtoHAsync",
                             "cuMemcpyHtoD",
                             "cuMemcpyHtoDAsync",
                             "cuMemsetD16",
                             "cuMemsetD32",
                             "cuMemsetD8",
                             "cuModuleGetGlobal",
                             "cuStreamDestroy"}) {
      void* found = nullptr;
      EXPECT_EQ(cuda.call("cuGetProcAddress", name, &found, 13000, std::uint64_t{0}), kOk) << name;
      EXPECT_EQ(found, cuda.symbol((std::string(name) + "_v2").c_str())) << name;
    }
  });
}

TEST(CudaDriver, RuntimeIsRefusedInOneLine) {
  const test::Machine machine;
  const auto path = machine.folder() + "/said";
  test::in_child(joining(machine), [&] {
    ASSERT_NE(std::freopen(path.c_str(), "w", stderr), nullptr);
    const Library cuda("libcuda.so.1");
    const void* table = &cuda;
    const CudaUuid id{};
    EXPECT_EQ(cuda.call("cuGetExportTable", &table, static_cast<const void*>(&id)), 801);
    EXPECT_EQ(table, nullptr);
    EXPECT_EQ(cuda.call("cuGetExportTable", &table, static_cast<const void*>(&id)), 801);
  });
  const auto said = test::run({"/bin/cat", path}).output;
  EXPECT_NE(said.find("CUDA runtime"), std::string::npos);
  EXPECT_NE(said.find("PyTorch"), std::string::npos);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST(CudaDriver, LostGpuFailsCallsAndEndsWaits) {
  with_cuda([](const Cuda& cuda, const test::Machine& machine) {
    ASSERT_EQ(cuda.launch(cuda.spin(), 3600000000000), kOk);  // an hour
    ASSERT_TRUE(inject_xid(machine.state(), 0, 79));
    EXPECT_EQ(cuda.call("cuCtxSynchronize"), 999);
    std::uint64_t address = 0;
    EXPECT_EQ(cuda.allocate(&address, 1000), 999);
    void* context = nullptr;
    EXPECT_EQ(cuda.call("cuCtxCreate_v2", &context, 0U, 0), 999);
    EXPECT_EQ(cuda.call("cuCtxCreate_v2", &context, 0U, 1), kOk);
    EXPECT_EQ(cuda.allocate(&address, 1000), kOk);
  });
}

TEST(CudaDriver, ExecReturnsMemory) {
  const test::Machine machine;
  const test::Process tenant(
      [] {
        const Cuda cuda;
        std::uint64_t address = 0;
        EXPECT_EQ(cuda.allocate(&address, 300 * kMebibyte), kOk);
        ::execl(EMU_LOAD, EMU_LOAD, "--vram=100M", "--steps=0", nullptr);
      },
      joining(machine));
  EXPECT_TRUE(
      test::eventually([&] { return machine.gpu(0).used_bytes == kContext + 100 * kMebibyte; }));
  EXPECT_EQ(machine.gpu(0).processes.size(), 1U);
}

TEST(CudaDriver, DeathReturnsMemoryAndEndsKernels) {
  const test::Machine machine;
  test::Process tenant(
      [] {
        const Cuda cuda;
        std::uint64_t address = 0;
        EXPECT_EQ(cuda.allocate(&address, 300 * kMebibyte), kOk);
        EXPECT_EQ(cuda.launch(cuda.spin(), 3600000000000), kOk);
        ::pause();
      },
      joining(machine));
  ASSERT_TRUE(
      test::eventually([&] { return machine.gpu(0).used_bytes == kContext + 300 * kMebibyte; }));
  EXPECT_EQ(machine.gpu(0).processes.at(0).first, tenant.pid());
  tenant.signal(SIGKILL);
  EXPECT_TRUE(test::eventually([&] { return machine.gpu(0).used_bytes == 0; }));
  EXPECT_TRUE(machine.gpu(0).processes.empty());
  // Its hour of work is gone with it: a kernel of ours does not take two hours.
  test::in_child(joining(machine), [] {
    const Cuda cuda;
    EXPECT_EQ(cuda.launch(cuda.spin(), 1000000), kOk);
    EXPECT_EQ(cuda.call("cuCtxSynchronize"), kOk);
  });
}

}  // namespace
}  // namespace berth::emu
