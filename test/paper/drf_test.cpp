// `drf` against "Dominant Resource Fairness" (Ghodsi et al., NSDI 2011), section 4.1: the worked
// example of Table 1, with host memory as in the paper and with GPU memory in its place.
//
// Method: users A and B submit more than fits at one instant; the order of starts, and what each
// holds then, are compared exactly. A third user, who only waits, must be next however little is
// left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

using testing::ElementsAre;
using namespace literals;

constexpr UserId kA(1);
constexpr UserId kB(2);

/// 9 cores, 18 GiB of host memory, and one GPU of 18 GiB.
Cluster nine_cores() {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node(
      {.name = "n", .gpus = 1, .vram = 18_GiB, .slots = 32, .cpu = CpuMilli(9000), .host = 18_GiB});
  return cluster;
}

JobSpec task(UserId user, std::int64_t cores, Bytes host) {
  JobSpec spec{.user = user};
  spec.request = {.cpu = CpuMilli(1000 * cores), .host = host, .gpu = {}};
  return spec;
}

/// The same with memory on the GPU; a thousandth of its compute, so that it never dominates.
JobSpec gpu_task(UserId user, std::int64_t cores, Bytes vram) {
  JobSpec spec = task(user, cores, Bytes(0));
  spec.request.gpu = {.count = 1_gpus, .vram = vram, .milli = GpuMilli(1)};
  return spec;
}

class DrfExample : public testing::Test {
 protected:
  /// Whose jobs start, in order, when these are all submitted at once.
  std::vector<UserId> starts(std::span<const JobSpec> specs) {
    std::vector<Input> inputs;
    for (const JobSpec& spec : specs) {
      inputs.push_back(Submitted{.job = JobId(++submitted_), .spec = spec});
    }
    std::vector<UserId> users;
    for (const Effect& effect : engine_.step(now_, inputs).list) {
      const auto* launch = std::get_if<Launch>(&effect);
      if (launch != nullptr) users.push_back(engine_.view().find(launch->job)->spec.user);
    }
    return users;
  }

  Instant now_ = kStart;
  std::uint64_t submitted_ = 0;
  Engine engine_{nine_cores(),
                 {.settings = {.admission = {.guard_floor = Bytes(0), .guard_ppm = 0}}},
                 *make_policy("drf", "")};
};

/// B holds the GPU of value 3, A two of value 1: a third of A's share is still less than B's.
TEST(DrfByValue, CountsGpusByWhatTheyAreWorth) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "new", .gpus = 1, .vram = 18_GiB, .type = "new"});
  cluster.add_node({.name = "old", .gpus = 3, .vram = 18_GiB, .type = "old"});
  for (const bool by_value : {false, true}) {
    Settings settings;
    if (by_value) settings.gpu_values["new"] = 3000;
    Engine engine(cluster, {.settings = settings, .bounds = {}}, *make_policy("drf", ""));
    std::vector<Input> inputs;
    for (const auto& [user, type] : {std::pair(kB, 0U), {kA, 1U}, {kA, 1U}, {kB, 1U}, {kA, 1U}}) {
      JobSpec spec{.user = user};
      spec.request.gpu = {.count = 1_gpus, .sharing = Sharing::Alone};
      spec.request.gpu.types = cluster.type_bit(GpuId(type));
      inputs.push_back(Submitted{.job = JobId(inputs.size() + 1), .spec = spec});
    }
    engine.step(kStart, inputs);
    EXPECT_EQ(is_running(engine.view().find(JobId(4))->state), !by_value);
    EXPECT_EQ(is_running(engine.view().find(JobId(5))->state), by_value);
  }
}

TEST_F(DrfExample, StartsInTheOrderOfTable1) {
  std::vector<JobSpec> jobs(8, task(kB, 3, 1_GiB));
  jobs.insert(jobs.end(), 8, task(kA, 1, 4_GiB));
  EXPECT_THAT(starts(jobs), ElementsAre(kB, kA, kA, kB, kA));
}

TEST_F(DrfExample, CountsGpuMemoryLikeAnyOther) {
  std::vector<JobSpec> jobs(8, gpu_task(kB, 3, 1_GiB));
  jobs.insert(jobs.end(), 8, gpu_task(kA, 1, 4_GiB));
  EXPECT_THAT(starts(jobs), ElementsAre(kB, kA, kA, kB, kA));
}

TEST_F(DrfExample, ServesAUserWhoOnlyWaitedFirst) {
  starts(std::vector{task(kA, 1, 4_GiB), task(kA, 1, 4_GiB), task(kB, 7, 1_GiB)});  // all cores
  const UserId late(3);
  EXPECT_THAT(starts(std::vector{task(kA, 1, 4_GiB), task(late, 1, 4_GiB)}), ElementsAre());
  const std::vector<Input> end = {Exited{.job = JobId(1), .attempt = Attempt(1)},
                                  Released{JobId(1), Attempt(1)}};
  engine_.step(now_ + seconds(1), end);
  EXPECT_EQ(engine_.view().account(late).jobs, 1) << "one core is free, and A has another";
}

}  // namespace
}  // namespace berth
