// Goal: TUNE brings down those with the most beyond their part first, no further than that, and
// only where it helps. Method: one node of 4 GPUs and 16 cores, of which 4 are the part of a GPU,
// worked by hand.
#include "policy/whole/host_packing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "policy/registry.hpp"
#include "policy/whole/host_order.hpp"

namespace berth::test {
namespace {

using testing::ElementsAre;

class HostPackingTest : public testing::Test {
 protected:
  static Cluster node() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n0", .gpus = 4, .vram = Bytes(1 << 30), .cpu = CpuMilli(16'000)});
    return cluster;
  }
  static Ask ask(std::int64_t gpus, std::int64_t cores) {
    Ask ask;
    ask.request.gpu = {.count = GpuCount(gpus), .sharing = Sharing::Alone};
    ask.request.cpu = CpuMilli(1000 * cores);
    return ask;
  }
  static HostChoice choice(JobId::rep id, std::int64_t gpus, std::int64_t cores) {
    return {.job = JobId(id), .wants = ask(gpus, cores), .fair = ask(gpus, 4 * gpus)};
  }
  static std::vector<std::int64_t> cores(const HostPacker& packer) {
    std::vector<std::int64_t> cores;
    for (const HostSeat& seat : packer.seats()) cores.push_back(seat.ask.request.cpu.raw() / 1000);
    return cores;
  }

  State state_{node(), Settings()};
  ClusterView view_{state_, kStart};
  Trial trial_ = view_.trial();
  std::unique_ptr<Placer> placer_ =
      std::ranges::find(placers(), "count", &PlacerEntry::name)->make();
  HostPacker tune_{HostPacking::Tune, view_, *placer_, trial_};
};

TEST_F(HostPackingTest, TuneBringsDownWhoHasMostBeyondItsPart) {
  EXPECT_TRUE(tune_.add(choice(1, 1, 10)));
  EXPECT_TRUE(tune_.add(choice(2, 1, 6)));
  EXPECT_TRUE(tune_.add(choice(3, 1, 3)));  // 0 are free: 6 of the first come back
  EXPECT_THAT(cores(tune_), ElementsAre(4, 6, 3));
  EXPECT_TRUE(tune_.add(choice(4, 1, 8)));  // 3 are free, and 4 its part: 2 of the second come back
  EXPECT_THAT(cores(tune_), ElementsAre(4, 4, 3, 4));
  EXPECT_TRUE(tune_.seats()[0].is_reduced);
  EXPECT_TRUE(tune_.seats()[1].is_reduced);
  EXPECT_FALSE(tune_.seats()[2].is_reduced);
  EXPECT_FALSE(tune_.seats()[3].is_reduced);
  EXPECT_EQ(trial_.use().node(NodeId(0)).cpu, CpuMilli(15'000));
}

TEST_F(HostPackingTest, WhereThatDoesNotHelpNobodyIsBroughtDown) {
  EXPECT_TRUE(tune_.add(choice(1, 1, 10)));
  EXPECT_FALSE(tune_.add({.job = JobId(2), .wants = ask(1, 13), .fair = ask(1, 13)}));
  EXPECT_FALSE(tune_.add(choice(3, 4, 12)));
  EXPECT_THAT(cores(tune_), ElementsAre(10));
  EXPECT_FALSE(tune_.seats()[0].is_reduced);
  EXPECT_EQ(trial_.use().node(NodeId(0)).cpu, CpuMilli(10'000));
}

TEST_F(HostPackingTest, GreedyGivesAllOrNoPlace) {
  HostPacker greedy(HostPacking::Greedy, view_, *placer_, trial_);
  EXPECT_TRUE(greedy.add(choice(1, 1, 10)));
  EXPECT_FALSE(greedy.add(choice(2, 1, 8)));
  EXPECT_TRUE(greedy.add(choice(3, 2, 6)));
  EXPECT_THAT(cores(greedy), ElementsAre(10, 6));
}

TEST_F(HostPackingTest, FairGivesTheParts) {
  HostPacker fair(HostPacking::Fair, view_, *placer_, trial_);
  EXPECT_TRUE(fair.add(choice(1, 1, 10)));
  EXPECT_TRUE(fair.add(choice(2, 2, 1)));
  EXPECT_THAT(cores(fair), ElementsAre(4, 8));
}

TEST_F(HostPackingTest, OrdersAreByWhatJobsAskAndHaveLeft) {
  const auto job = [](JobId::rep id, std::int64_t gpus, std::int64_t cores, std::int64_t left) {
    return HostJob{.choice = choice(id, gpus, cores),
                   .arrival = kStart + seconds(static_cast<std::int64_t>(id)),
                   .left = seconds(left),
                   .whole = seconds(10 * left),
                   .attained = GpuTime(static_cast<std::int64_t>(10 - id))};
  };
  const std::vector<HostJob> jobs = {job(1, 2, 2, 30), job(2, 1, 12, 20), job(3, 1, 2, 50)};
  const auto sorted = [&](HostOrder order) {
    std::vector<HostJob> in_order = jobs;
    sort_by(order, in_order, kStart + seconds(100), totals_of(state_.cluster));
    std::vector<JobId::rep> ids;
    for (const HostJob& one : in_order) ids.push_back(one.choice.job.value());
    return ids;
  };
  EXPECT_THAT(sorted(HostOrder::Fifo), ElementsAre(1, 2, 3));
  EXPECT_THAT(sorted(HostOrder::Srtf), ElementsAre(2, 1, 3));
  EXPECT_THAT(sorted(HostOrder::Las), ElementsAre(3, 2, 1));
  EXPECT_THAT(sorted(HostOrder::Ftf), ElementsAre(3, 1, 2));     // 147 / 500, 129 / 300, 118 / 200
  EXPECT_THAT(sorted(HostOrder::Drf), ElementsAre(3, 1, 2));     // 1/4, 1/2, 3/4
  EXPECT_THAT(sorted(HostOrder::Tetris), ElementsAre(1, 3, 2));  // .625 x 30, .375 x 50, 1 x 20
}

TEST_F(HostPackingTest, LasTriesOnlyWhatFitsByNumber) {
  const auto job = [](JobId::rep id, std::int64_t gpus, std::int64_t cores) {
    return HostJob{.choice = choice(id, gpus, cores), .arrival = kStart};
  };
  // The third does not fit beside the first two by number, though the second finds no cores.
  const std::vector<HostJob> jobs = {job(1, 1, 12), job(2, 2, 8), job(3, 2, 1), job(4, 1, 1)};
  HostPacker greedy(HostPacking::Greedy, view_, *placer_, trial_);
  pack(HostOrder::Las, jobs, greedy, trial_);
  EXPECT_THAT(cores(greedy), ElementsAre(12, 1));
}

}  // namespace
}  // namespace berth::test
