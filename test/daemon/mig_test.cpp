// Goal: MIG instances are GPUs of their own: a job gets one to itself, sees that and no other, and
// what it takes hurts nobody. Method: a real berthd on emulated GPUs that are split.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::Json;
using test::kGiB;
using test::Rig;
using testing::HasSubstr;

constexpr const char* kSplit = "1x80GiB,mig=h100:3g.40gb+2g.20gb+1g.10gb";

Json wish(std::int64_t gib) { return {{"vram_bytes", gib * kGiB}}; }

int gpu_of(Rig& rig, int id) { return rig.job(id)["gpus"][0].get<int>(); }

TEST(Mig, InstancesAreGpusOfTheirOwn) {
  Rig rig({.gpus = kSplit});
  rig.start();
  const Json gpus = rig.request("GET", "/v1/gpus").body["gpus"];
  ASSERT_EQ(gpus.size(), 3U);
  std::vector<std::string> names;
  for (const Json& gpu : gpus) {
    names.push_back(gpu["name"].get<std::string>());
    EXPECT_EQ(gpu["slots"], 1) << gpu;
    EXPECT_EQ(gpu["problem"], "") << gpu;
    EXPECT_TRUE(gpu["uuid"].get<std::string>().starts_with("MIG-")) << gpu;
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("Berth Emulated GPU MIG 3g.40gb",
                                                   "Berth Emulated GPU MIG 2g.20gb",
                                                   "Berth Emulated GPU MIG 1g.10gb"));
  const Json doctor = rig.request("GET", "/v1/doctor").body;
  EXPECT_THAT(doctor.dump(), HasSubstr("mig on 3 of 3 GPUs"));
  EXPECT_THAT(doctor.dump(), HasSubstr("is split into MIG instances"));
}

TEST(Mig, AJobHasAnInstanceToItselfAndIsToldItsUuid) {
  Rig rig({.gpus = kSplit});
  rig.start();
  const std::string script = std::string("echo sees $CUDA_VISIBLE_DEVICES; ") + test::kUntilGo;
  std::vector<int> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(rig.submit(script, wish(2)));
  std::set<int> taken;
  for (int i = 0; i < 3; ++i) {
    rig.wait_for(ids[static_cast<std::size_t>(i)], "running");
    taken.insert(gpu_of(rig, ids[static_cast<std::size_t>(i)]));
  }
  EXPECT_EQ(taken.size(), 3U) << "one job on each";
  EXPECT_EQ(rig.job(ids[3])["state"], "queued") << "2 GiB more would fit, but not a second job";
  const Json job = rig.job(ids[0]);
  EXPECT_EQ(job["memory_limit"], "mig");
  EXPECT_THAT(job["memory_limit_line"].get<std::string>(), HasSubstr("instance to itself"));
  const Json gpu =
      rig.request("GET", "/v1/gpus").body["gpus"][static_cast<std::size_t>(gpu_of(rig, ids[0]))];
  test::eventually("it says what it sees", [&] {
    return rig.log(ids[0]).find("sees " + gpu["uuid"].get<std::string>()) != std::string::npos;
  });
  rig.folder().write("go", "");
  for (const int id : ids) rig.wait_end(id);
}

TEST(Mig, AJobThatTakesTooMuchHurtsNobodyElse) {
  Rig rig({.gpus = kSplit});
  rig.start();
  const int honest =
      rig.submit(test::load("--vram 15G --ramp 500ms --steps 100 --step-ms 10"), wish(16));
  const int liar = rig.submit(test::load("--vram 60G --steps 10 --step-ms 10"), wish(2));
  EXPECT_EQ(rig.wait_end(liar)["state"], "oom");
  EXPECT_EQ(rig.wait_end(honest)["state"], "done");
}

TEST(Mig, AJobMayAskForAProfile) {
  Rig rig({.gpus = kSplit});
  rig.start();
  Json asks = wish(2);
  asks["share"] = "mig:2g.20gb";
  const int id = rig.submit("true", asks);
  const Json job = rig.wait_end(id);
  EXPECT_EQ(rig.request("GET", "/v1/gpus").body["gpus"][job["gpus"][0].get<std::size_t>()]["name"],
            "Berth Emulated GPU MIG 2g.20gb");
}

TEST(Mig, WhatNoInstanceCanBeIsRefused) {
  Rig rig({.gpus = kSplit});
  rig.start();
  const auto refusal = [&](const Json& more) {
    Json body = more;
    body["command"] = {"true"};
    body["environment"] = Json::array();
    body["directory"] = "/";
    return rig.request("POST", "/v1/jobs", body).body["error"].get<std::string>();
  };
  EXPECT_THAT(refusal({{"gpus", 2}}), HasSubstr("gpus: 2, and a program can use one MIG instance"));
  EXPECT_THAT(refusal({{"share", "mig:7g.80gb"}}),
              HasSubstr("share: 'mig:7g.80gb': no GPU that the job accepts is like that"));
  EXPECT_THAT(refusal({{"share", "timeslice"}}), HasSubstr("share: 'timeslice': no GPU"));
  EXPECT_THAT(refusal({{"share", "half"}}), HasSubstr("share: 'half', must be now"));
}

std::vector<std::string> names_of(Rig& rig) {
  std::vector<std::string> names;
  const Json gpus = rig.request("GET", "/v1/gpus").body["gpus"];
  for (const Json& gpu : gpus) {
    const std::string name = gpu["name"].get<std::string>();
    names.push_back(name.substr(name.rfind(' ') + 1));
  }
  std::ranges::sort(names);
  return names;
}

TEST(Mig, GpusAreCutAsConfigured) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root cuts instances";
  Rig rig({.gpus = "2x80GiB,mig=h100:7g.80gb",
           .config = "probe = \"100ms\"\nmig = [\"3g.40gb\", \"2g.20gb\", \"1g.10gb\"]\n"});
  rig.start();
  EXPECT_EQ(names_of(rig), (std::vector<std::string>{"1g.10gb", "1g.10gb", "2g.20gb", "2g.20gb",
                                                     "3g.40gb", "3g.40gb"}));
  const int id = rig.submit(test::load("--vram 30G --steps 5 --step-ms 10"), wish(31));
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
}

TEST(Mig, NothingIsCutUnderAJobNorWhatDoesNotFit) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root cuts instances";
  Rig rig({.gpus = "1x80GiB,mig=h100:3g.40gb+3g.40gb"});
  rig.start();
  const int id = rig.submit(test::kUntilGo, wish(2));
  rig.wait_for(id, "running");
  EXPECT_EQ(rig.stop(), 0);
  rig.folder().write("berth.toml", "mig = [\"7g.80gb\"]\n");
  rig.start();
  EXPECT_EQ(names_of(rig), (std::vector<std::string>{"3g.40gb", "3g.40gb"}));
  rig.folder().write("go", "");
  rig.wait_end(id);
  EXPECT_EQ(rig.stop(), 0);
  rig.folder().write("berth.toml", "mig = [\"4g.40gb\", \"4g.40gb\"]\n");
  rig.start();
  EXPECT_EQ(names_of(rig), (std::vector<std::string>{"3g.40gb", "3g.40gb"}));
  EXPECT_EQ(rig.stop(), 0);
  rig.folder().write("berth.toml", "mig = [\"7g.80gb\"]\n");
  rig.start();
  EXPECT_EQ(names_of(rig), std::vector<std::string>{"7g.80gb"});
}

TEST(Mig, AFailedGpuTakesAllItsInstancesOutOfService) {
  Rig rig({.gpus = kSplit});
  rig.start();
  ASSERT_EQ(test::run_program("berth-emu",
                              {"xid", rig.state() + "/emulated-gpus", "--gpu", "0", "--xid", "48"})
                .exit_code,
            0);
  test::eventually("all are out of service", [&] {
    const Json gpus = rig.request("GET", "/v1/gpus").body["gpus"];
    return gpus.size() == 3 &&
           std::ranges::none_of(gpus, [](const Json& gpu) { return gpu["healthy"] == true; });
  });
}

}  // namespace
}  // namespace berth
