// Goal: what a gang needs of the hosts is split over its nodes and never adds up to less.
// Method: every split of small gangs.
#include "core/ask.hpp"

#include <gtest/gtest.h>

#include "core/text/text.hpp"
#include "core/view.hpp"

namespace berth {
namespace {

using namespace literals;

TEST(HostPart, RoundsUpAndKeepsTheWhole) {
  EXPECT_EQ(host_part(10, 1, 4), 3);
  EXPECT_EQ(host_part(10, 4, 4), 10);
  EXPECT_EQ(host_part(10, 0, 0), 10);
  for (const std::int64_t amount : {0L, 1L, 7L, 1L << 60}) {
    for (std::size_t all = 1; all <= 9; ++all) {
      for (std::size_t here = 1; here < all; ++here) {
        EXPECT_GE(host_part(amount, here, all) + host_part(amount, all - here, all), amount);
        EXPECT_LE(host_part(amount, here, all), amount);
      }
    }
  }
}

Job job_with(const GpuRequest& gpu) {
  Job job{.id = JobId(1), .submitted = kStart, .since = kStart};
  job.spec.request.gpu = gpu;
  return job;
}

TEST(AskOf, ChargesWhatIsStated) {
  const Job job = job_with({.count = 1_gpus, .vram = 5_GiB});
  EXPECT_EQ(ask_of(JobView(job, kStart)).request.gpu.vram, 5_GiB);
  EXPECT_FALSE(ask_of(JobView(job, kStart)).alone());
}

TEST(AskOf, ElseTheEstimateElseAWholeGpu) {
  Job job = job_with({.count = 1_gpus});
  EXPECT_TRUE(ask_of(JobView(job, kStart)).alone());
  job.spec.vram_estimate = 7_GiB;
  EXPECT_EQ(ask_of(JobView(job, kStart)).request.gpu.vram, 7_GiB);
  EXPECT_FALSE(ask_of(JobView(job, kStart)).alone());
}

TEST(AskOf, AJobThatWantsToBeAloneIsNotShrunk) {
  Job job = job_with({.count = 1_gpus, .sharing = Sharing::Alone});
  job.spec.vram_estimate = 7_GiB;
  EXPECT_TRUE(ask_of(JobView(job, kStart)).alone());
  EXPECT_EQ(ask_of(JobView(job, kStart)).request.gpu.vram, Bytes(0));
}

TEST(AskOf, PlansByTheLimitThatIsEnforcedElseByTheEstimate) {
  Job job = job_with({.count = 1_gpus});
  EXPECT_EQ(ask_of(JobView(job, kStart)).planned, kForever);
  job.spec.time_limit = seconds(100);
  job.ran = seconds(30);
  EXPECT_EQ(ask_of(JobView(job, kStart)).planned, seconds(70));
  job.spec.estimate = seconds(20);
  EXPECT_EQ(ask_of(JobView(job, kStart)).planned, seconds(70));
  job.spec.time_limit = kForever;
  EXPECT_EQ(ask_of(JobView(job, kStart)).planned, Duration::zero());
}

TEST(JobView, CountsTimeOnlyInItsOwnState) {
  Job job = job_with({.count = 3_gpus});
  job.ran = seconds(10);
  job.waited = seconds(5);
  const Instant now = kStart + seconds(7);
  EXPECT_EQ(JobView(job, now).ran(), seconds(10));
  EXPECT_EQ(JobView(job, now).waited(), seconds(12));
  job.state = JobState::Running;
  job.attained = 2_gpus * seconds(10);
  job.grant.shares.resize(3);
  EXPECT_EQ(JobView(job, now).ran(), seconds(17));
  EXPECT_EQ(JobView(job, now).waited(), seconds(5));
  EXPECT_EQ(JobView(job, now).attained(), 2_gpus * seconds(10) + 3_gpus * seconds(7));
}

}  // namespace
}  // namespace berth
