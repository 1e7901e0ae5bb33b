// Goal: what a job holds beyond its grant is known, and who waits for it: a job that would fit
// without it, and not one that fits anyway, never would, or waits for something else. Method: an
// engine with jobs on two GPUs of 24 GiB, and measurements told one by one.
#include "live/surplus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/registry.hpp"

namespace berth::live {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr Bytes kGibibyte{std::int64_t{1} << 30};

class Surplus : public testing::Test {
 protected:
  static Cluster two_gpus() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 2, .vram = kGibibyte * 24, .context = Bytes(0)});
    return cluster;
  }
  JobId submit(std::int64_t gib, std::int64_t gpus = 1) {
    const JobId id(++last_);
    JobSpec spec{.user = UserId(7)};
    spec.request.gpu = {
        .count = GpuCount(gpus), .vram = kGibibyte * gib, .sharing = Sharing::Shared};
    engine_.step(++now_, {{Submitted{id, spec}}});
    if (const Job* const job = engine_.view().find(id); holds_berth(job->state)) {
      engine_.step(++now_, {{Started{id, job->attempt}}});
    }
    return id;
  }
  void hold(JobId id, std::int64_t gib) {
    const GpuId gpu = engine_.view().find(id)->grant.shares.front().gpu;
    engine_.step(
        ++now_,
        {{Measured{.gpu = gpu, .used = kGibibyte * gib, .tenants = {{id, kGibibyte * gib}}}}});
  }
  const Job& job(JobId id) { return *engine_.view().find(id); }

  struct Ticks {
    Instant at = kStart;
    Instant operator++() { return at = at + seconds(1); }
  };
  Engine engine_{two_gpus(), {}, *make_policy("fifo-skip", "first-fit")};
  Ticks now_;
  std::uint64_t last_ = 0;
};

TEST_F(Surplus, IsWhatAJobHoldsBeyondItsGrant) {
  const JobId id = submit(4);
  EXPECT_EQ(surplus_of(job(id)), Bytes(0));
  hold(id, 3);
  EXPECT_EQ(surplus_of(job(id)), Bytes(0));
  hold(id, 16);
  EXPECT_EQ(surplus_of(job(id)), kGibibyte * 12);
}

TEST_F(Surplus, IsWantedByAJobThatWouldFitWithoutIt) {
  const JobId honest = submit(4);
  submit(20);  // takes the second GPU
  const JobId greedy = submit(12);
  EXPECT_EQ(job(greedy).grant.shares.front().gpu, job(honest).grant.shares.front().gpu);
  hold(greedy, 20);
  EXPECT_THAT(wanted_surplus(engine_), IsEmpty()) << "nobody waits";
  const JobId waits = submit(6);
  const auto found = wanted_surplus(engine_);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].holder, greedy);
  EXPECT_EQ(found[0].wanted_by, waits);
  EXPECT_EQ(found[0].gpu, GpuId(0));
  EXPECT_EQ(found[0].held, kGibibyte * 20);
  EXPECT_EQ(found[0].granted, kGibibyte * 12);
}

TEST_F(Surplus, IsWantedWhereTheOtherGpuTakesNoJobs) {
  const JobId greedy = submit(4);
  hold(greedy, 16);
  engine_.step(++now_, {{Drained{.gpu = GpuId(1), .drain = Drain{}}}});
  const JobId waits = submit(12);
  const auto found = wanted_surplus(engine_);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].holder, greedy);
  EXPECT_EQ(found[0].wanted_by, waits);
}

TEST_F(Surplus, IsNotWantedByAJobThatWouldNotFitThenEither) {
  const JobId greedy = submit(12);
  hold(greedy, 20);
  submit(22);  // takes the other GPU
  submit(23);
  EXPECT_THAT(wanted_surplus(engine_), IsEmpty());
}

TEST_F(Surplus, IsWantedByAJobOfSeveralGpus) {
  const JobId greedy = submit(4);
  hold(greedy, 16);
  const JobId waits = submit(12, 2);
  EXPECT_FALSE(holds_berth(job(waits).state));
  const auto found = wanted_surplus(engine_);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].holder, greedy);
  EXPECT_EQ(found[0].wanted_by, waits);
}

}  // namespace
}  // namespace berth::live
