// Goal: no driver, however old, refusing or wrong, makes us crash or believe nonsense.
// Method: made-up libraries (crafted_nvml.c) opened by the same dlopen as a real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/support.hpp"

namespace berth::test {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::unique_ptr<Nvml> open(const std::string& kind) {
  auto nvml = Nvml::open(crafted_library(kind));
  if (!nvml) ADD_FAILURE() << nvml.error().message;
  return nvml ? std::move(*nvml) : nullptr;
}

class NvmlCrafted : public ::testing::Test {
 protected:
  void SetUp() override {
    reset_crafted("plain");
    reset_crafted("old");
  }
};

/// A plain driver with these answers.
std::unique_ptr<Nvml> plain(void change(CraftedNvml&)) {
  set_crafted("plain", change);
  return open("plain");
}

std::string sample_error(GpuPort& gpus) {
  const auto sample = gpus.sample(0);
  return sample ? "sampled" : sample.error().message;
}

TEST_F(NvmlCrafted, NoLibrary) {
  const auto nvml = Nvml::open("libno-such-driver.so.1");
  ASSERT_FALSE(nvml);
  EXPECT_EQ(nvml.error().code, ErrorCode::NotFound);
  EXPECT_THAT(nvml.error().message, HasSubstr("libno-such-driver.so.1"));
}

TEST_F(NvmlCrafted, ALibraryWithNothingInIt) {
  const auto nvml = Nvml::open(crafted_library("empty"));
  ASSERT_FALSE(nvml);
  EXPECT_EQ(nvml.error().code, ErrorCode::NotFound);
  EXPECT_EQ(nvml.error().message, "nvmlInit_v2: this driver does not have it");
}

TEST_F(NvmlCrafted, ADriverThatDoesNotStart) {
  set_crafted("plain", [](CraftedNvml& driver) { driver.init = 9; });
  const auto nvml = Nvml::open(crafted_library("plain"));
  ASSERT_FALSE(nvml);
  EXPECT_EQ(nvml.error().code, ErrorCode::Io);
  EXPECT_EQ(nvml.error().message, "nvmlInit_v2: error 9");  // it has no words for it
}

TEST_F(NvmlCrafted, AnOldDriverIsReadByItsOldFunctions) {
  set_crafted("old", [](CraftedNvml& driver) {
    driver.used = 2ULL << 30;
    driver.listed = 2;
    driver.bytes = 1ULL << 30;
  });
  const auto nvml = open("old");
  const auto devices = nvml->devices();
  ASSERT_TRUE(devices);
  ASSERT_THAT(devices->list, SizeIs(2));
  EXPECT_EQ(devices->driver_version, "");
  EXPECT_EQ(devices->list[0].uuid, "");
  EXPECT_EQ(devices->list[0].bus_id, "");
  EXPECT_FALSE(devices->list[0].mig);
  EXPECT_EQ(devices->list[0].reserved, 0_MiB);
  EXPECT_EQ(devices->list[0].problem, "");
  EXPECT_TRUE(devices->links.empty());
  const Sample sample = sample_of(*nvml);
  EXPECT_EQ(sample.used, 2560_MiB);  // v1 counts the reserved 512 MiB
  EXPECT_EQ(sample.reserved, 0_MiB);
  EXPECT_FALSE(sample.utilisation_percent);
  EXPECT_THAT(sample.processes.value(), ElementsAre(GpuProcess{.pid = 1000, .bytes = 1_GiB},
                                                    GpuProcess{.pid = 1001, .bytes = 1_GiB}));
  const auto event = nvml->wait_event(seconds(10));
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().message, "nvmlEventSetCreate: this driver does not have it");
}

TEST_F(NvmlCrafted, V1MemoryWhereV2IsRefused) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.memory_v2 = 25; });
  const Sample sample = sample_of(*nvml);
  EXPECT_EQ(sample.reserved, 0_MiB);
  EXPECT_EQ(sample.used, 512_MiB);
}

TEST_F(NvmlCrafted, ANameThatDoesNotEnd) {
  const auto nvml = plain([](CraftedNvml&) {});
  EXPECT_EQ(nvml->devices()->list[0].name, std::string(128, 'x'));
}

TEST_F(NvmlCrafted, SizesThatCannotBe) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.used = driver.total + (1 << 20); });
  EXPECT_EQ(
      sample_error(*nvml),
      "nvmlDeviceGetMemoryInfo_v2 on GPU 0: used 24577 MiB and reserved 512 MiB of 24576 MiB");
  EXPECT_THAT(nvml->devices()->list[0].problem, HasSubstr("24577 MiB"));
  set_crafted("plain", [](CraftedNvml& driver) { driver.total = 0; });
  EXPECT_THAT(sample_error(*nvml), HasSubstr("of 0 MiB"));
  set_crafted("plain", [](CraftedNvml& driver) { driver.total = ~0ULL; });
  EXPECT_THAT(sample_error(*nvml), HasSubstr("nvmlDeviceGetMemoryInfo_v2"));
}

TEST_F(NvmlCrafted, ProcessSizesThatCannotBeAreUnknown) {
  const auto nvml = plain([](CraftedNvml& driver) {
    driver.listed = 1;
    driver.bytes = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE
  });
  EXPECT_THAT(sample_of(*nvml).processes.value(), ElementsAre(GpuProcess{.pid = 1000}));
  set_crafted("plain", [](CraftedNvml& driver) { driver.bytes = driver.total + 1; });
  EXPECT_THAT(sample_of(*nvml).processes.value(), ElementsAre(GpuProcess{.pid = 1000}));
}

TEST_F(NvmlCrafted, AProcessWithTwoContextsAddsAndOneThatDrawsTooCountsOnce) {
  const auto nvml = plain([](CraftedNvml& driver) {
    driver.listed = 2;
    driver.same_pid = 1;
    driver.graphics_too = 1;
    driver.bytes = 1ULL << 30;
  });
  EXPECT_THAT(sample_of(*nvml).processes.value(),
              ElementsAre(GpuProcess{.pid = 1000, .bytes = 2_GiB}));
}

TEST_F(NvmlCrafted, AListLongerThanExpectedIsAskedForAgain) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.listed = 300; });
  EXPECT_THAT(sample_of(*nvml).processes.value(), SizeIs(300));
}

TEST_F(NvmlCrafted, AListWithoutEndOrWithMoreThanRoomIsUnknown) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.list_never_ends = 1; });
  EXPECT_FALSE(sample_of(*nvml).processes);
  set_crafted("plain", [](CraftedNvml& driver) {
    driver.list_never_ends = 0;
    driver.claimed = 0xffffff00;
  });
  EXPECT_FALSE(sample_of(*nvml).processes);
}

TEST_F(NvmlCrafted, AListThatIsRefusedIsUnknownAndNotEmpty) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.compute_list = 4; });
  EXPECT_FALSE(sample_of(*nvml).processes);
  set_crafted("plain", [](CraftedNvml& driver) {
    driver.compute_list = 0;
    driver.graphics_list = 3;  // servers: no graphics
    driver.listed = 1;
  });
  EXPECT_THAT(sample_of(*nvml).processes.value(), SizeIs(1));
}

TEST_F(NvmlCrafted, MemoryThatMovesWhileWeLookIsNotMemoryThatNobodyOwns) {
  const auto nvml = plain([](CraftedNvml& driver) {
    driver.used = 1ULL << 30;
    driver.used_grows = 1ULL << 30;
  });
  // Readings 1 and 2, 2 and 3, 3 and 4: of the last two the lower.
  EXPECT_EQ(sample_of(*nvml).used, 3_GiB);
}

TEST_F(NvmlCrafted, NonsenseUtilisationIsUnknown) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.utilisation = 101; });
  EXPECT_FALSE(sample_of(*nvml).utilisation_percent);
}

/// What the first two processes are told to have done.
using Uses = std::vector<std::optional<std::uint32_t>>;
Uses uses_of(GpuPort& gpus) {
  Uses uses;
  const auto sample = sample_of(gpus);
  for (const GpuProcess& process : sample.processes.value()) {
    uses.push_back(process.utilisation_percent);
  }
  return uses;
}

void two_on_a_busy_gpu(CraftedNvml& driver) {
  driver.listed = 2;
  driver.bytes = 1ULL << 30;
  driver.utilisation = 50;
  driver.uses = 100;  // more than there is room for at first
  driver.use_percent = 40;
}

TEST_F(NvmlCrafted, WhatEachProcessDidIsToldAndTheOthersDidNothing) {
  const auto nvml = plain(two_on_a_busy_gpu);
  EXPECT_TRUE(nvml->devices()->list[0].tells_process_use);
  EXPECT_EQ(uses_of(*nvml), (Uses{40, 0}));
  EXPECT_EQ(crafted("plain").use_since, 0U);
  uses_of(*nvml);
  EXPECT_EQ(crafted("plain").use_since, 7'000'099U) << "the two seconds before the newest";
}

TEST_F(NvmlCrafted, WhatProcessesDidIsOldWhereTheGpuDidNothing) {
  const auto nvml = plain([](CraftedNvml& driver) {
    two_on_a_busy_gpu(driver);
    driver.utilisation = 0;
  });
  EXPECT_EQ(uses_of(*nvml), (Uses{0, 0}));
}

TEST_F(NvmlCrafted, OneProcessIsNotAskedFor) {
  const auto nvml = plain([](CraftedNvml& driver) {
    two_on_a_busy_gpu(driver);
    driver.listed = 1;
  });
  EXPECT_EQ(uses_of(*nvml), (Uses{std::nullopt}));
}

TEST_F(NvmlCrafted, OneProcessIsNotBlamedForWhatAnotherDidThatHasJustLeft) {
  const auto nvml = plain(two_on_a_busy_gpu);
  EXPECT_EQ(uses_of(*nvml), (Uses{40, 0}));
  set_crafted("plain", [](CraftedNvml& driver) { driver.listed = 1; });
  EXPECT_EQ(uses_of(*nvml), (Uses{40}));
  set_crafted("plain", [](CraftedNvml& driver) { driver.uses = 0; });
  EXPECT_EQ(uses_of(*nvml), (Uses{std::nullopt}));
}

TEST_F(NvmlCrafted, WhatProcessesDidIsUnknownWhereTheDriverSaysNothingOfABusyGpu) {
  const auto nvml = plain([](CraftedNvml& driver) {
    two_on_a_busy_gpu(driver);
    driver.uses = 0;
  });
  EXPECT_TRUE(nvml->devices()->list[0].tells_process_use);
  EXPECT_EQ(uses_of(*nvml), (Uses{std::nullopt, std::nullopt}));
}

TEST_F(NvmlCrafted, LaterCardsAreAskedByTheLaterCall) {
  const auto nvml = plain([](CraftedNvml& driver) {
    two_on_a_busy_gpu(driver);
    driver.process_use = 3;
  });
  EXPECT_EQ(uses_of(*nvml), (Uses{0, 12}));
}

TEST_F(NvmlCrafted, ADriverWithNeitherCallTellsNothingOfProcesses) {
  const auto nvml = plain([](CraftedNvml& driver) {
    two_on_a_busy_gpu(driver);
    driver.process_use = 3;
    driver.processes_use = 3;
  });
  EXPECT_FALSE(nvml->devices()->list[0].tells_process_use);
  EXPECT_EQ(uses_of(*nvml), (Uses{std::nullopt, std::nullopt}));
}

TEST_F(NvmlCrafted, AGpuThatIsRefusedIsListedWithTheReason) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.handle_of_gpu_1 = 4; });
  const auto devices = nvml->devices();
  ASSERT_THAT(devices->list, SizeIs(2));
  EXPECT_EQ(devices->list[0].problem, "");
  EXPECT_EQ(devices->list[1].problem, "nvmlDeviceGetHandleByIndex_v2 on GPU 1: Go Away");
  EXPECT_FALSE(nvml->sample(1));
}

TEST_F(NvmlCrafted, MoreGpusThanAMachineHas) {
  set_crafted("plain", [](CraftedNvml& driver) { driver.gpus = 4'000'000'000; });
  const auto nvml = Nvml::open(crafted_library("plain"));
  ASSERT_FALSE(nvml);
  EXPECT_EQ(nvml.error().message, "nvmlDeviceGetCount_v2: 4000000000 GPUs, the most is 1024");
  EXPECT_EQ(crafted("plain").shutdowns, 1U);
}

TEST_F(NvmlCrafted, MigIsAProblem) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.mig = 1; });
  const auto devices = nvml->devices();
  EXPECT_EQ(devices->list[0].mig, true);
  EXPECT_THAT(devices->list[0].problem, HasSubstr("MIG"));
}

TEST_F(NvmlCrafted, Nvlinks) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.nvlinks = 4; });
  auto links = nvml->devices()->links;
  ASSERT_THAT(links, SizeIs(1));
  EXPECT_EQ(links[0].nvlinks, 4U);
  EXPECT_FALSE(links[0].nearness);
  set_crafted("plain", [](CraftedNvml& driver) {
    driver.nvlinks = 18;
    driver.switched = 1;
  });
  links = nvml->devices()->links;
  ASSERT_THAT(links, SizeIs(1));
  EXPECT_EQ(links[0].nvlinks, 18U);
}

TEST_F(NvmlCrafted, EventsByTheFirstVersion) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.event_data = 48; });
  auto event = nvml->wait_event(std::chrono::microseconds(1500));
  ASSERT_TRUE(event && *event);
  EXPECT_EQ(**event, (GpuEvent{.device = 1, .xid = 48}));
  EXPECT_EQ(crafted("plain").waited_milliseconds, 2U);

  set_crafted("plain", [](CraftedNvml& driver) { driver.event_type = 2; });  // an ECC error
  event = nvml->wait_event(seconds(1));
  ASSERT_TRUE(event);
  EXPECT_FALSE(*event);

  set_crafted("plain", [](CraftedNvml& driver) {
    driver.event_type = 8;
    driver.event_of_stranger = 1;
  });
  event = nvml->wait_event(kForever);
  ASSERT_TRUE(event);
  EXPECT_FALSE(*event);
  EXPECT_EQ(crafted("plain").waited_milliseconds, 0x7fffffffU);

  set_crafted("plain", [](CraftedNvml& driver) { driver.wait = 15; });
  event = nvml->wait_event(-seconds(1));
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().message, "nvmlEventSetWait: error 15");
  EXPECT_EQ(crafted("plain").waited_milliseconds, 0U);
}

TEST_F(NvmlCrafted, OneGpuThatCanReportIsEnoughToListen) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.register_gpu_0 = 3; });
  EXPECT_TRUE(nvml->wait_event(seconds(0)));
}

TEST_F(NvmlCrafted, NoGpuThatCanReport) {
  const auto nvml = plain([](CraftedNvml& driver) {
    driver.register_gpu_0 = 3;
    driver.register_gpu_1 = 4;
  });
  const auto event = nvml->wait_event(seconds(0));
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().message, "nvmlDeviceRegisterEvents on GPU 1: Go Away");
}

TEST_F(NvmlCrafted, NoGpus) {
  const auto nvml = plain([](CraftedNvml& driver) { driver.gpus = 0; });
  EXPECT_THAT(nvml->devices()->list, SizeIs(0));
  EXPECT_FALSE(nvml->wait_event(seconds(0)));
}

}  // namespace
}  // namespace berth::test
