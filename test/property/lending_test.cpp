// Places of long jobs are lent to short ones, and no job is kept from its place for longer than the
// bound, all loans together.
//
// Method: random streams of long jobs and bursts of short ones on a machine that takes a few
// seconds to suspend a job and to free memory. Every job comes to its end, and the delay of each
// long job, as the engine counts it, is compared with the bound after every step.
#include <gtest/gtest.h>

#include "property/stream.hpp"

namespace berth::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr std::uint64_t kStreams = 30;
#else
constexpr std::uint64_t kStreams = 300;
#endif

constexpr Duration kBound = seconds(600);

class LendingStream : public JobStream {
 public:
  LendingStream(std::uint64_t seed, const std::string& policy) : JobStream(seed, policy, machine) {}

  Duration longest() const { return longest_; }
  int loans() const { return loans_; }

 private:
  static Cluster machine(Rng& rng) {
    Cluster cluster;
    cluster.add_switch();
    for (std::int64_t nodes = rng.between(1, 2); nodes > 0; --nodes) {
      cluster.add_node({.name = "n",
                        .gpus = static_cast<std::uint32_t>(rng.between(1, 3)),
                        .vram = Bytes(std::int64_t{24} << 30),
                        .slots = 4,
                        .cpu = CpuMilli(32'000)});
    }
    return cluster;
  }

  void plan_all() override {
    for (std::int64_t jobs = rng().between(1, 6); jobs > 0; --jobs) plan(long_job(), kStart);
    Instant at = kStart;
    for (std::int64_t bursts = rng().between(3, 12); bursts > 0; --bursts) {
      at += seconds(rng().between(1, 1500));
      for (std::int64_t jobs = rng().between(1, 8); jobs > 0; --jobs) plan(short_job(), at);
      if (rng().one_in(3)) plan(long_job(), at);
    }
  }
  Planned long_job() {
    Planned job{.spec = {.user = UserId(1)}, .work = seconds(rng().between(1000, 8000))};
    job.spec.request.gpu = {.count = GpuCount(1), .vram = Bytes(rng().between(8, 22) << 30)};
    job.spec.duration_class = rng().one_in(3) ? DurationClass::Medium : DurationClass::Long;
    if (rng().one_in(2)) job.spec.estimate = job.work;
    return job;
  }
  Planned short_job() {
    Planned job{.spec = {.user = UserId(2)}, .work = seconds(rng().between(5, 200))};
    job.spec.request.gpu = {.count = GpuCount(1), .vram = Bytes(rng().between(2, 20) << 30)};
    job.spec.duration_class = DurationClass::Short;
    if (!rng().one_in(5)) job.spec.time_limit = job.work;
    return job;
  }

  void on_stop(const Planned&, const Stop& wanted) override {
    if (wanted.how == PreemptHow::Suspend) ++loans_;
  }
  void after_step() override {
    for (const auto& [id, job] : jobs()) {
      if (!engine().view().knows(id)) continue;
      longest_ = std::max(longest_, engine().view().job(id).delayed());
    }
  }

  Duration longest_{0};
  int loans_ = 0;
};

class Lending : public testing::TestWithParam<const char*> {};

TEST_P(Lending, DelaysNoJobForLongerThanItsBound) {
  const std::string policy = std::string(GetParam()) + "+lend:delay=10m:after=10s:turn=1m";
  int loans = 0;
  Duration longest{0};
  for (std::uint64_t seed = 1; seed <= kStreams; ++seed) {
    LendingStream stream(seed, policy);
    stream.run();
    ASSERT_EQ(stream.left(), 0U) << "seed " << seed;
    ASSERT_EQ(stream.broken(), "") << "seed " << seed;
    ASSERT_EQ(stream.dropped(), 0U) << "seed " << seed;
    ASSERT_LE(stream.longest(), kBound) << "seed " << seed;
    loans += stream.loans();
    longest = std::max(longest, stream.longest());
  }
  EXPECT_GT(loans, static_cast<int>(kStreams));
  EXPECT_GT(longest, kBound / 4) << "so that the bound means something";
}

INSTANTIATE_TEST_SUITE_P(Orders, Lending, testing::Values("headroom", "fifo", "sjf", "wfp3"));

}  // namespace
}  // namespace berth::test
