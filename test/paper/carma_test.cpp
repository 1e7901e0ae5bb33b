// CARMA's mapper against the rule its authors publish; not against a figure.
//
// Source: Yousefzadeh-Asl-Miandoab, Karimzadeh, Ibragimov, Ciorba, Tozun, "CARMA", arXiv
// 2508.19073, 2025, policy EST-MAGM of itu-rad/CARMA: candidates have the estimate and 2 GiB (2,048
// MiB) available and are less than 80 % busy; the most available memory goes first, the first among
// equals; the head of the queue is tried until it has enough candidates. Memory is that of tasks
// published with it (MiB). Tolerance: none; where we differ on purpose, the policy says so.
// Method: one pass on a server like theirs, four GPUs of 40 GiB, with tenants as stated.
#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

class Carma : public testing::Test {
 protected:
  static Cluster station() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "dgx", .gpus = 4, .vram = 40_GiB, .slots = 8});
    return cluster;
  }
  static JobSpec task(std::int64_t mib, std::int64_t gpus = 1) {
    JobSpec spec;
    spec.request.gpu.count = GpuCount(gpus);
    spec.vram_estimate = Bytes(mib << 20);
    return spec;
  }
  void busy(std::uint32_t gpu, std::int16_t percent) {
    GpuUse use = scene_.view().use().gpu(GpuId(gpu));
    use.utilisation = percent;
    scene_.state().ledger.set_gpu(scene_.state().cluster, GpuId(gpu), use);
  }
  /// Where a fresh policy starts this job now; empty if it does not.
  std::vector<std::uint32_t> placed(JobId job) {
    const auto policy = *make_policy("carma", "");
    std::vector<std::uint32_t> gpus;
    for (const Decision& decision : policy->decide(scene_.view(), {}).list) {
      const auto* const start = std::get_if<Start>(&decision);
      if (start == nullptr || start->job != job) continue;
      for (const GpuId gpu : start->placement.gpus) gpus.push_back(gpu.value());
    }
    return gpus;
  }
  using Gpus = std::vector<std::uint32_t>;
  Scene scene_{station()};
};

TEST_F(Carma, TakesTheMostAvailableMemory) {
  scene_.run(task(19'828), {0});  // BERT_base
  scene_.run(task(12'622), {1});  // BERT_large
  scene_.run(task(28'360), {2});  // gpt2_large
  scene_.run(task(21'870), {3});  // vgg16, batch 128
  EXPECT_EQ(placed(scene_.wait(task(5'230))), Gpus{1});
}

TEST_F(Carma, LeavesTwoGibibytesBesideTenants) {
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) scene_.run(task(20'000), {gpu});
  EXPECT_EQ(placed(scene_.wait(task(40 * 1024 - 20'000 - 2048))), Gpus{0});
  EXPECT_EQ(placed(scene_.wait(task(40 * 1024 - 20'000 - 2047))), Gpus{});
}

TEST_F(Carma, BelievesWhatIsMeasuredToo) {
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    scene_.run(task(4'000), {gpu});
    GpuUse use = scene_.view().use().gpu(GpuId(gpu));
    use.used = Bytes(std::int64_t{gpu == 2 ? 5'000 : 30'000} << 20);
    scene_.state().ledger.set_gpu(scene_.state().cluster, GpuId(gpu), use);
  }
  EXPECT_EQ(placed(scene_.wait(task(16'000))), Gpus{2});
}

TEST_F(Carma, JoinsNobodyOnABusyGpu) {
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) scene_.run(task(1'000), {gpu});
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) busy(gpu, 80);
  const JobId job = scene_.wait(task(5'230));
  EXPECT_EQ(placed(job), Gpus{});
  busy(3, 79);
  EXPECT_EQ(placed(job), Gpus{3});
}

TEST_F(Carma, WantsAsManyCandidatesAsTheJobHasGpus) {
  for (std::uint32_t gpu = 0; gpu < 3; ++gpu) scene_.run(task(1'000), {gpu});
  busy(0, 95);
  busy(1, 95);
  const JobId two = scene_.wait(task(9'200, 2));  // xlnet_base
  EXPECT_EQ(placed(two), (Gpus{2, 3}));
  busy(2, 95);
  EXPECT_EQ(placed(two), Gpus{});
}

TEST_F(Carma, NobodyPassesAndWhoRanOutOfMemoryGoesFirst) {
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) scene_.run(task(30'000), {gpu});
  scene_.wait(task(12'622));
  const JobId small = scene_.wait(task(1'443));
  EXPECT_EQ(placed(small), Gpus{});
  scene_.job(small).retries_used = 1;
  EXPECT_EQ(placed(small), Gpus{0});
}

}  // namespace
}  // namespace berth::test
