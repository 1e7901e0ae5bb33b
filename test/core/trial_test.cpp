// Goal: a hold binds the jobs that would outlast its start, and no others.
// Method: one GPU, one hold; asks of different plans and sizes.
#include "core/trial.hpp"

#include <gtest/gtest.h>

#include "core/ledger.hpp"

namespace berth {
namespace {

using namespace literals;

class Holds : public testing::Test {
 protected:
  Holds() : ledger_(cluster_, {}) {}

  static Cluster one_gpu() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n0",
                      .gpus = 1,
                      .vram = 24_GiB,
                      .slots = 3,
                      .cpu = CpuMilli(8000),
                      .host = 9_GiB});
    return cluster;
  }
  static Ask ask_for(Bytes vram, Duration planned) {
    Ask ask{.request = {}, .planned = planned};
    ask.request.gpu.count = 1_gpus;
    ask.request.gpu.vram = vram;
    return ask;
  }
  /// A hold of 10 GiB for job 1 from 100 s on.
  static std::vector<KeptRoom> hold_ten() {
    return {{.hold = {.job = JobId(1),
                      .ask = ask_for(10_GiB, kForever),
                      .placement = {.gpus = {GpuId(0)}, .host = NodeId(0)},
                      .from = kStart + seconds(100)},
             .until = kStart + seconds(100),
             .charged = {Bytes(0)},
             .tenants = {0},
             .milli = {GpuMilli(0)}}};
  }
  Why look(const std::vector<KeptRoom>& holds, const Ask& ask, JobId job = JobId(2)) {
    Trial trial = ledger_.trial(cluster_);
    trial.respect(holds, kStart);
    return trial.look({.gpus = {GpuId(0)}, .host = NodeId(0)}, ask, job);
  }

  Cluster cluster_ = one_gpu();
  Ledger ledger_;
};

TEST_F(Holds, BindThoseWhoOutstayTheirStart) {
  EXPECT_EQ(look(hold_ten(), ask_for(20_GiB, seconds(100))), Why::Fits);
  EXPECT_EQ(look(hold_ten(), ask_for(20_GiB, seconds(100) + Duration(1))), Why::Reservation);
  EXPECT_EQ(look(hold_ten(), ask_for(20_GiB, kForever)), Why::Reservation);
}

TEST_F(Holds, LeaveWhatTheyDoNotNeed) {
  const Bytes room = 24_GiB - 10_GiB - 512_MiB;
  EXPECT_EQ(look(hold_ten(), ask_for(room, kForever)), Why::Fits);
  EXPECT_EQ(look(hold_ten(), ask_for(room + Bytes(1), kForever)), Why::Reservation);
}

TEST_F(Holds, DoNotBindTheirOwnJob) {
  EXPECT_EQ(look(hold_ten(), ask_for(24_GiB, kForever), JobId(1)), Why::Fits);
}

TEST_F(Holds, CountWhatWasLentBefore) {
  auto holds = hold_ten();
  holds[0].charged = {8_GiB};
  EXPECT_EQ(look(holds, ask_for(6_GiB, kForever)), Why::Reservation);
  EXPECT_EQ(look(holds, ask_for(5_GiB, kForever)), Why::Fits);
  holds[0].tenants = {2};
  EXPECT_EQ(look(holds, ask_for(1_GiB, kForever)), Why::Reservation) << "three slots";
}

TEST_F(Holds, AreNotSharedWithThoseWhoWantToBeAlone) {
  Ask alone = ask_for(1_GiB, kForever);
  alone.request.gpu.sharing = Sharing::Alone;
  EXPECT_EQ(look(hold_ten(), alone), Why::Reservation);
}

TEST_F(Holds, KeepHostMemoryToo) {
  auto holds = hold_ten();
  holds[0].hold.ask.request.host = 8_GiB;
  Ask ask = ask_for(1_GiB, kForever);
  ask.request.host = 2_GiB;
  EXPECT_EQ(look(holds, ask), Why::Reservation);
  ask.planned = seconds(50);
  EXPECT_EQ(look(holds, ask), Why::Fits);
  ask.request.host = 10_GiB;
  EXPECT_EQ(look(holds, ask), Why::Capacity);
}

TEST_F(Holds, WithoutAKnownStartBindEveryone) {
  auto holds = hold_ten();
  holds[0].until = kNever;
  EXPECT_EQ(look(holds, ask_for(20_GiB, seconds(1))), Why::Reservation);
}

TEST_F(Holds, CapacityAndHealthComeFirst) {
  EXPECT_EQ(look(hold_ten(), ask_for(25_GiB, seconds(1))), Why::Capacity);
  ledger_.set_gpu(cluster_, GpuId(0), {.healthy = false});
  EXPECT_EQ(look(hold_ten(), ask_for(1_GiB, seconds(1))), Why::Health);
}

// ---- Contracts -------------------------------------------------------------------------------

TEST(TrialDeath, AGpuIsPutOnce) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n0", .gpus = 2, .vram = 24_GiB});
  const Ledger ledger(cluster, {});
  Ask ask;
  ask.request.gpu.count = 2_gpus;
  ask.request.gpu.vram = 1_GiB;
  Trial trial = ledger.trial(cluster);
  const auto put = [&](std::uint32_t first, std::uint32_t second) {
    trial.put(ask, {.gpus = {GpuId(first), GpuId(second)}, .host = NodeId(0)});
  };
  EXPECT_DEATH(put(0, 0), "greater_equal");
  EXPECT_DEATH(put(1, 0), "greater_equal");
  put(0, 1);
  EXPECT_DEATH(trial.rollback(trial.mark() + 1), "mark <= ");
  EXPECT_DEATH(ledger.trial(cluster), "log_.empty\\(\\)") << "one at a time";
}

}  // namespace
}  // namespace berth
