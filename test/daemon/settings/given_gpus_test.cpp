// Goal: berthd gives out the GPUs that it was given, by numbers and by UUIDs, and says which; a
// variable that says nothing, or what a container's runtime has done already, changes nothing.
// Method: lists and devices made by hand; a berthd on four emulated GPUs.
#include "daemon/settings/given_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rig.hpp"

namespace berth::daemon {
namespace {

using test::Json;
using test::Rig;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Device> four_gpus() {
  std::vector<Device> devices;
  for (std::uint32_t g = 0; g < 4; ++g) {
    Device device{.index = g, .name = "X"};
    device.uuid = "GPU-" + std::string(1, static_cast<char>('a' + g)) + "0123456-0000";
    device.board = g;
    devices.push_back(device);
  }
  return devices;
}

/// Those that jobs get.
std::vector<std::uint32_t> given(const GpuVariables& variables) {
  const GivenGpus found = given_of(variables, four_gpus());
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t g = 0; g < 4; ++g) {
    if (!found.others.contains(GpuId(g))) numbers.push_back(g);
  }
  return numbers;
}
std::vector<std::uint32_t> by_cuda(const std::string& list) { return given({.cuda = list}); }
std::vector<std::uint32_t> by_container(const std::string& list) { return given({.nvidia = list}); }

TEST(GivenGpus, AreAllWithoutAWord) {
  EXPECT_THAT(given({}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(by_cuda("0,1,2,3"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(by_cuda("3,2,1,0"), ElementsAre(0, 1, 2, 3));
  for (const char* const list : {"all", "void", ""}) {
    EXPECT_THAT(by_container(list), ElementsAre(0, 1, 2, 3)) << list;
  }
  EXPECT_THAT(given_of({.cuda = "0,1,2,3"}, four_gpus()).notes, IsEmpty());
}

TEST(GivenGpus, AreThoseOfCudasList) {
  EXPECT_THAT(by_cuda("1,2"), ElementsAre(1, 2));
  EXPECT_THAT(by_cuda(" 2 , 1 "), ElementsAre(1, 2));
  EXPECT_THAT(by_cuda("GPU-c0123456-0000"), ElementsAre(2));
  EXPECT_THAT(by_cuda("GPU-c,gpu-A0"), ElementsAre(0, 2)) << "as short as it likes";
  EXPECT_THAT(by_cuda(""), IsEmpty());
  EXPECT_THAT(by_cuda("-1"), IsEmpty());
  EXPECT_THAT(by_cuda("NoDevFiles"), IsEmpty());
  EXPECT_THAT(by_cuda("1,9,2"), ElementsAre(1)) << "as for CUDA";
  EXPECT_THAT(by_cuda("1,-1,2"), ElementsAre(1));
  EXPECT_THAT(given_of({.cuda = "1,9,2"}, four_gpus()).notes.front(),
              HasSubstr("CUDA_VISIBLE_DEVICES=1,9,2: there is no GPU 9"));
}

TEST(GivenGpus, AreThoseOfAContainersListUnlessItsRuntimeHasSeenToThat) {
  EXPECT_THAT(by_container("1,2"), ElementsAre(1, 2));
  EXPECT_THAT(by_container("GPU-d0123456-0000"), ElementsAre(3));
  EXPECT_THAT(by_container("none"), IsEmpty());
  EXPECT_THAT(by_container("4,5,6,7"), ElementsAre(0, 1, 2, 3)) << "the host's numbers";
  EXPECT_THAT(given({.cuda = "1,2", .nvidia = "2,3"}), ElementsAre(2)) << "what both say";
}

TEST(GivenGpus, AreInstancesOfAGpuThatIsSplit) {
  std::vector<Device> devices = four_gpus();
  for (std::uint32_t g = 1; g < 4; ++g) {  // three instances of the second GPU
    devices[g].board = 1;
    devices[g].mig = true;
    devices[g].uuid = "MIG-" + std::to_string(g);
  }
  const auto others = [&](const GpuVariables& variables) {
    return given_of(variables, devices).others.size();
  };
  EXPECT_EQ(others({.cuda = "1"}), 1U) << "all of its instances";
  EXPECT_EQ(others({.cuda = "MIG-2"}), 3U);
  EXPECT_EQ(others({.nvidia = "1:0"}), 3U);
  EXPECT_EQ(others({.nvidia = "1:7"}), 4U);
}

TEST(GivenGpus, SayWhichTheyAre) {
  const GivenGpus found = given_of({.cuda = "1,2"}, four_gpus());
  EXPECT_EQ(found.by, "CUDA_VISIBLE_DEVICES=1,2");
  EXPECT_THAT(found.notes,
              ElementsAre("jobs get 2 of 4 GPUs (1, 2), as CUDA_VISIBLE_DEVICES=1,2 says; unset it "
                          "to give out all"));
  EXPECT_THAT(given_of({.cuda = ""}, four_gpus()).notes,
              ElementsAre(HasSubstr("jobs get 0 of 4 GPUs, as CUDA_VISIBLE_DEVICES= says")));
  std::vector<Device> mixed = four_gpus();
  mixed[3].name = "Y";
  EXPECT_THAT(given_of({.cuda = "1,2"}, mixed).notes.back(), HasSubstr("CUDA_DEVICE_ORDER"));
  EXPECT_THAT(given_of({.cuda = "1,2", .order = "PCI_BUS_ID"}, mixed).notes, testing::SizeIs(1));
}

TEST(GivenToBerthd, AreTheOnlyOnesThatJobsGet) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1,2", 1);
  Rig rig({.gpus = "4x24GiB"});
  rig.start();
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  std::vector<int> jobs;
  for (int n = 0; n < 3; ++n) {
    jobs.push_back(rig.submit("echo $CUDA_VISIBLE_DEVICES; sleep 1000", {{"vram_bytes", nullptr}}));
  }
  for (std::size_t n = 0; n < 2; ++n) rig.wait_for(jobs[n], "running");
  test::eventually("they say where", [&] {
    return rig.log(jobs[0]) + rig.log(jobs[1]) == "1\n2\n" ||
           rig.log(jobs[0]) + rig.log(jobs[1]) == "2\n1\n";
  });
  EXPECT_EQ(rig.job(jobs[2])["state"], "queued");
  const Json gpus = rig.request("GET", "/v1/gpus").body["gpus"];
  EXPECT_EQ(gpus[0]["not_given"], "CUDA_VISIBLE_DEVICES=1,2");
  EXPECT_FALSE(gpus[0].contains("drained")) << "nobody drained it";
  EXPECT_FALSE(gpus[1].contains("not_given"));
  const Json lacking =
      rig.request("GET", "/v1/jobs/" + std::to_string(jobs[2]) + "/why").body["lacking"];
  EXPECT_EQ(lacking.back()["why"], "not-given");
  EXPECT_EQ(lacking.back()["text"], "was not given to berthd (CUDA_VISIBLE_DEVICES=1,2)");
  const Json others = {{"users", {"0"}}, {"until_at", 7e9}};
  Json reservation = others;
  reservation["gpus"] = {1, 3};
  const auto reserve = rig.request("POST", "/v1/reserve", reservation);
  EXPECT_EQ(reserve.status, 409);
  EXPECT_EQ(reserve.body["error"],
            "GPU 3: was not given to berthd (CUDA_VISIBLE_DEVICES=1,2); change that, and reload or "
            "start berthd again");
  reservation["gpus"] = "all";
  EXPECT_EQ(rig.request("POST", "/v1/reserve", reservation).body["reservations"][0]["gpus"],
            Json({1, 2}));
  ASSERT_EQ(rig.request("POST", "/v1/unreserve", {{"reservations", {1}}}).status, 200);
  const auto many = rig.request(
      "POST", "/v1/jobs",
      {{"command", {"true"}}, {"directory", "/"}, {"environment", Json::array()}, {"gpus", 3}});
  EXPECT_EQ(many.status, 422);
  EXPECT_THAT(many.body.dump(), HasSubstr("asks 3 GPUs, berthd was given 2 of them "
                                          "(CUDA_VISIBLE_DEVICES=1,2)"));
  const auto undrain = rig.request("POST", "/v1/undrain", {{"gpus", {0}}});
  EXPECT_EQ(undrain.status, 409) << undrain.body;
  rig.stop();
  rig.start();
  test::eventually("all are given out", [&] { return rig.job(jobs[2])["state"] == "running"; });
}

}  // namespace
}  // namespace berth::daemon
