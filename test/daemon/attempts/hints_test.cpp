// Goal: a program that takes the whole card by default is named at its submission with the figure
// to give it, and jobs of one machine do not meet at one port.
//
// Method: command lines as people type them, on cards of two sizes.
#include "daemon/attempts/hints.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace berth::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace berth::literals;

class MemoryWarnings : public testing::Test {
 protected:
  MemoryWarnings() {
    for (const std::int64_t gib : {80, 24, 8}) {
      Device device;
      device.total = Bytes(gib << 30);
      devices_.push_back(device);
    }
  }
  std::vector<std::string> warnings(const std::vector<std::string>& words) const {
    return memory_warnings(words, asked_, devices_);
  }

  std::vector<Device> devices_;
  GpuRequest asked_{.count = GpuCount(1), .vram = 10_GiB, .sharing = Sharing::Shared};
};

TEST_F(MemoryWarnings, HaveTheFigureOfTheSmallestCardThatTheJobCouldGet) {
  EXPECT_THAT(warnings({"vllm", "serve", "m"}),
              ElementsAre(HasSubstr("give it --gpu-memory-utilization 0.41 (10 GiB of 24 GiB)")));
  EXPECT_THAT(warnings({"python", "-m", "sglang.launch_server"}),
              ElementsAre(HasSubstr("--mem-fraction-static 0.41")));
  asked_.vram = 30_GiB;
  EXPECT_THAT(warnings({"python", "-m", "vllm.entrypoints.api_server"}),
              ElementsAre(HasSubstr("0.37 (30 GiB of 80 GiB)")));
  asked_.vram = 90_GiB;
  EXPECT_THAT(warnings({"vllm"}), ElementsAre(testing::EndsWith("--gpu-memory-utilization")));
}

TEST_F(MemoryWarnings, OfAFigureThatIsMoreThanWasAskedFor) {
  EXPECT_THAT(warnings({"vllm", "serve", "m", "--gpu-memory-utilization", "0.9"}),
              ElementsAre("--gpu-memory-utilization takes 21.6 GiB of a card of 24 GiB: give it "
                          "--gpu-memory-utilization 0.41 (10 GiB of 24 GiB)"));
  EXPECT_THAT(warnings({"sh", "-c", "exec vllm serve m --gpu-memory-utilization=0.42 --port 1"}),
              ElementsAre(HasSubstr("takes 10 GiB of a card")));
  EXPECT_THAT(warnings({"vllm", "serve", "--gpu-memory-utilization", "$SHARE"}), IsEmpty());
}

TEST_F(MemoryWarnings, AreNotForWhoSaysItOrHasTheCardAlone) {
  EXPECT_THAT(warnings({"vllm", "serve", "--gpu_memory_utilization=0.3"}), IsEmpty());
  EXPECT_THAT(warnings({"python", "train.py"}), IsEmpty());
  asked_.sharing = Sharing::Alone;
  EXPECT_THAT(warnings({"vllm", "serve"}), IsEmpty());
  asked_ = {.count = GpuCount(1), .vram = 0_GiB, .sharing = Sharing::Shared};
  EXPECT_THAT(warnings({"vllm", "serve"}), IsEmpty()) << "it has the whole card";
}

TEST(OwnPort, IsAnothersOfNoJobNearbyNorTheUsualOne) {
  std::set<std::string> ports;
  for (std::uint64_t job = 1; job <= 9000; ++job) ports.insert(own_port(JobId(job)));
  EXPECT_EQ(ports.size(), 9000U);
  EXPECT_FALSE(ports.contains("29500"));
  for (const std::string& port : ports) EXPECT_LT(std::stoi(port), 32768) << "the kernel's own";
}

}  // namespace
}  // namespace berth::daemon
