// Why a job waits: the right GPUs, bytes and holders, in figures and in words.
#include "engine/explain.hpp"

#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

using namespace berth::literals;

class Explain : public testing::Test {
 protected:
  Explain() : engine_(cluster(), {}, *make_policy("fifo-skip", "first-fit")) {}

  static Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n0", .gpus = 2, .vram = 24_GiB});
    return cluster;
  }
  static Submitted job(std::uint64_t id, std::int64_t gpus, Bytes vram) {
    Submitted submitted{.job = JobId(id), .spec = {}};
    submitted.spec.request.gpu.count = GpuCount(gpus);
    submitted.spec.request.gpu.vram = vram;
    return submitted;
  }
  void step(std::vector<Input> inputs) { engine_.step(kStart, inputs); }

  Engine engine_;
};

TEST_F(Explain, NamesTheGpuTheBytesAndTheHolder) {
  step({job(1, 1, 20_GiB), job(2, 1, 18_GiB), job(3, 1, 8_GiB)});
  const Explanation found = explain(engine_.view(), JobId(3));
  EXPECT_EQ(found.why, Why::Capacity);
  EXPECT_EQ(found.fitting, 0);
  ASSERT_EQ(found.nearest.size(), 2U);
  EXPECT_EQ(found.nearest[0].gpu, GpuId(1));
  EXPECT_EQ(found.nearest[0].lacking, 2_GiB + 512_MiB);  // 18 + 8 + guard - 24
  EXPECT_EQ(found.nearest[0].holders, std::vector{JobId(2)});
  EXPECT_EQ(
      found.text,
      "job 3: asks 1 GPU of 8 GiB; 0 of 2 GPUs could take it now; n0:1 lacks 2.5 GiB (held by "
      "job 2); n0:0 lacks 4.5 GiB (held by job 1)");
}

TEST_F(Explain, NamesALostGpu) {
  step({GpuHealth{GpuId(0), false}, job(1, 1, 20_GiB), job(2, 1, 20_GiB)});
  const Explanation found = explain(engine_.view(), JobId(2));
  EXPECT_NE(found.text.find("n0:0 is out of service"), std::string::npos) << found.text;
}

TEST_F(Explain, NamesTheLimit) {
  Settings settings;
  settings.limits.jobs = 1;
  step({Configured{settings}, job(1, 1, 4_GiB), job(2, 1, 4_GiB)});
  const Explanation found = explain(engine_.view(), JobId(2));
  EXPECT_EQ(found.why, Why::Limit);
  EXPECT_EQ(
      found.text,
      "job 2: asks 1 GPU of 4 GiB; its user holds 1 jobs and 1 GPUs, the limits are 1 and none");
}

TEST_F(Explain, NamesTheJobThatMustNotBeDelayed) {
  Engine engine(cluster(), {}, *make_policy("fifo-reserve", "first-fit"));
  engine.step(kStart, std::vector<Input>{job(1, 1, 20_GiB), job(2, 2, 20_GiB), job(3, 1, 20_GiB)});
  const Explanation found = explain(engine.view(), JobId(3));
  EXPECT_EQ(found.why, Why::Reservation);
  EXPECT_EQ(found.behind, std::vector{JobId(2)});
}

}  // namespace
}  // namespace berth
