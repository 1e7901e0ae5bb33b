// Goal: a start that Slurm does not make is tried on each node that can have the job, then ever
// more seldom, and is never the last. Method: words of Slurm's, on four nodes, one of them small.
#include "slurm/unmade.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace berth::slurm {
namespace {

using namespace literals;

class Unmade : public testing::Test {
 protected:
  Unmade() {
    cluster_.add_switch();
    for (const Bytes vram : {80_GiB, 80_GiB, 80_GiB, 40_GiB}) {
      cluster_.add_node({.name = "n", .gpus = 2, .vram = vram, .type = "g#"});
    }
  }
  NextTry on(std::uint32_t gpu, std::string_view word) {
    job_.grant.shares = {{.gpu = GpuId(gpu)}};
    const NextTry next = starts_.add(job_, cluster_, word);
    job_.spec.request.gpu.only = next.only;
    return next;
  }

  Cluster cluster_;
  Job job_ = [] {
    Job job;
    job.id = JobId(7);
    return job;
  }();
  UnmadeStarts starts_;
};

TEST_F(Unmade, TriesEachNodeThatIsNoSmaller) {
  const NextTry first = on(0, "BadConstraints");
  EXPECT_EQ(first.only, 0b11111100U);
  EXPECT_EQ(first.wait, seconds(1));
  EXPECT_EQ(on(2, "Slurm: Requested node configuration is not available").only, 0b11110000U);
  const NextTry last = on(4, "ReqNodeNotAvail");
  EXPECT_EQ(last.only, 0U) << "the fourth has smaller GPUs";
  EXPECT_EQ(last.wait, seconds(10));
  EXPECT_EQ(on(0, "BadConstraints").only, 0b11111100U) << "and once more";
}

TEST_F(Unmade, WaitsEverLongerForALimitOfItsUser) {
  std::vector<Duration> waits;
  for (int i = 0; i < 30; ++i) {
    const NextTry next = on(0, "AssocMaxJobsLimit");
    EXPECT_EQ(next.only, 0U);
    waits.push_back(next.wait);
  }
  EXPECT_EQ(waits[0], seconds(10));
  EXPECT_EQ(waits[1], seconds(20));
  EXPECT_EQ(waits.back(), minutes(10));
  EXPECT_TRUE(starts_.forget(JobId(7)));
  EXPECT_FALSE(starts_.forget(JobId(7)));
  EXPECT_EQ(on(0, "AssocMaxJobsLimit").wait, seconds(10));
}

TEST_F(Unmade, KeepsTheGpusThatItsUserNamed) {
  job_.spec.request.gpu.only = 0b11;
  EXPECT_EQ(on(0, "BadConstraints").only, 0b11U);
  EXPECT_EQ(on(1, "BadConstraints").wait, seconds(20));
}

TEST_F(Unmade, ABarEndsWhereTheOthersStayBusy) {
  const Instant begin = kStart + hours(1);
  const auto over = [&](Duration later) { return starts_.over(job_, cluster_, begin + later); };
  job_.spec.conditions.edit().begin = begin;
  EXPECT_FALSE(over(hours(9))) << "it may have any";
  on(0, "BadConstraints");
  EXPECT_FALSE(over(minutes(14)));
  EXPECT_EQ(over(minutes(15)), GpuSet{0});
  EXPECT_FALSE(over(minutes(15))) << "it is asked for once";
  starts_ = {};
  EXPECT_EQ(over(minutes(15)), GpuSet{0}) << "after a restart";
  job_.spec.request.gpu.only = 0b1000;
  EXPECT_FALSE(over(hours(9))) << "its user named a GPU";
}

TEST_F(Unmade, OfSeveralNodesIsTriedAnywhere) {
  job_.grant.shares = {{.gpu = GpuId(0)}, {.gpu = GpuId(2)}};
  EXPECT_EQ(starts_.add(job_, cluster_, "BadConstraints").only, 0U);
}

TEST(UnmadeWords, TellWhatPassesByItself) {
  for (const char* const word : {"", "None", "Resources", "Priority", "JobHeldAdmin"}) {
    EXPECT_FALSE(is_refusal(word)) << word;
  }
  for (const char* const word : {"AssocMaxJobsLimit", "BadConstraints", "ReqNodeNotAvail"}) {
    EXPECT_TRUE(is_refusal(word)) << word;
  }
  EXPECT_TRUE(is_of_all_nodes("QOSMaxJobsPerUserLimit"));
  EXPECT_TRUE(is_of_all_nodes("Slurm: Job violates accounting/QOS policy (job submit limit)"));
  EXPECT_FALSE(is_of_all_nodes("Reservation"));
}

}  // namespace
}  // namespace berth::slurm
