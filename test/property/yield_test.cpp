// Jobs give way to busy services, and each has its share of the time all the same.
//
// Method: random streams of services that are busy off and on, some without end, and of jobs beside
// them, on a machine that takes a few seconds to suspend a job. After every step: no job that gave
// way has waited longer than the bound where it could have its place, no service was stopped, no
// decision was dropped. Every job comes to its end.
#include <gtest/gtest.h>

#include "property/stream.hpp"

namespace berth::test {
namespace {

constexpr std::uint64_t kYieldStreams = 100;
constexpr Duration kFor = seconds(300);
constexpr Duration kAfter = seconds(60);

class YieldStream : public JobStream {
 public:
  YieldStream(std::uint64_t seed, const std::string& policy) : JobStream(seed, policy, machine) {}

  int yields() const { return yields_; }
  Duration longest() const { return longest_; }
  bool stopped_a_service() const { return stopped_a_service_; }

 private:
  static Cluster machine(Rng& rng) {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n",
                      .gpus = static_cast<std::uint32_t>(rng.between(1, 3)),
                      .vram = Bytes(std::int64_t{24} << 30),
                      .slots = 2});
    return cluster;
  }
  static JobSpec spec_of(DurationClass what, std::int64_t gib) {
    JobSpec spec{.user = UserId(what == DurationClass::Service ? 1U : 2U), .duration_class = what};
    spec.request.gpu = {.count = GpuCount(1), .vram = Bytes(gib << 30)};
    return spec;
  }

  void plan_all() override {
    const std::size_t gpus = engine().view().cluster().gpus().size();
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) plan_service();
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) plan_job();  // one for each place: none queues
  }
  void plan_service() {
    const JobId id = plan({.spec = spec_of(DurationClass::Service, 12)}, kStart);
    Instant at = kStart;
    const bool is_for_ever = rng().one_in(3);
    for (std::int64_t bursts = rng().between(2, 10); bursts > 0; --bursts) {
      at += seconds(rng().between(1, 400));
      expect(at, Reported{id, "busy", rng().between(1, 9)});
      at += seconds(rng().between(1, 900));
      if (!is_for_ever) expect(at, Reported{id, "busy", 0});
    }
  }
  void plan_job() {
    plan({.spec = spec_of(DurationClass::Long, 8), .work = seconds(rng().between(500, 4000))},
         kStart + seconds(rng().between(1, 100)));
  }

  void on_begin(const Planned& job) override {
    if (job.left != kNever) longest_ = std::max(longest_, now() - job.left);
  }
  void on_stop(const Planned& job, const Stop&) override {
    if (job.spec.duration_class == DurationClass::Service) {
      stopped_a_service_ = true;
      return;
    }
    ++yields_;
    EXPECT_GE(now() - job.since, kAfter);
  }

  Duration longest_{0};
  int yields_ = 0;
  bool stopped_a_service_ = false;
};

class Yielding : public testing::TestWithParam<const char*> {};

TEST_P(Yielding, EachJobHasItsShareOfTheTime) {
  const std::string policy = std::string(GetParam()) + "+yield:yield_for=5m:yield_after=1m";
  int yields = 0;
  Duration longest{0};
  for (std::uint64_t seed = 1; seed <= kYieldStreams; ++seed) {
    YieldStream stream(seed, policy);
    stream.run();
    ASSERT_EQ(stream.left(), stream.endless()) << "seed " << seed;
    ASSERT_EQ(stream.broken(), "") << "seed " << seed;
    ASSERT_EQ(stream.dropped(), 0U) << "seed " << seed;
    ASSERT_FALSE(stream.stopped_a_service()) << "seed " << seed;
    ASSERT_LE(stream.longest(), kFor) << "seed " << seed;
    yields += stream.yields();
    longest = std::max(longest, stream.longest());
  }
  EXPECT_GT(yields, static_cast<int>(kYieldStreams));
  EXPECT_EQ(longest, kFor) << "so that the bound means something";
}

INSTANTIATE_TEST_SUITE_P(Orders, Yielding,
                         testing::Values("headroom", "sjf", "easy", "fifo-skip", "wfp3"));

}  // namespace
}  // namespace berth::test
