// Jobs give way to busy services, and each has its share of the time all the same.
//
// Method: random streams of services that are busy off and on, some without end, and of jobs beside
// them, on a machine that takes a few seconds to suspend a job. After every step: no job that gave
// way has waited longer than the bound where it could have its place, no service was stopped, no
// decision was dropped. Every job comes to its end.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/rng.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

constexpr std::uint64_t kYieldStreams = 100;
constexpr Duration kFor = seconds(300);
constexpr Duration kAfter = seconds(60);

class YieldStream {
 public:
  YieldStream(std::uint64_t seed, const std::string& policy)
      : rng_(seed),
        gpus_(rng_.between(1, 3)),
        engine_(cluster(), {}, *make_policy(policy, "best-fit")) {}

  void run() {
    for (std::int64_t gpu = 0; gpu < gpus_; ++gpu) plan_service();
    for (std::int64_t gpu = 0; gpu < gpus_; ++gpu) plan_job();  // one for each place: none queues
    for (int turn = 0; turn < 100'000 && left() > static_cast<std::size_t>(gpus_); ++turn) next();
  }

  std::size_t left() const { return jobs_.size(); }
  std::size_t services() const { return static_cast<std::size_t>(gpus_); }
  int yields() const { return yields_; }
  Duration longest() const { return longest_; }
  bool stopped_a_service() const { return stopped_a_service_; }
  std::string broken() const { return engine_.check().value_or(""); }
  std::uint64_t dropped() const { return engine_.dropped(); }

 private:
  struct Planned {
    JobSpec spec;
    Duration work{0};
    Instant since;
    Instant left = kNever;  ///< When it was suspended last.
  };
  using Coming = std::multimap<Instant, Input>;

  Cluster cluster() const {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n",
                      .gpus = static_cast<std::uint32_t>(gpus_),
                      .vram = Bytes(std::int64_t{24} << 30),
                      .slots = 2});
    return cluster;
  }

  static JobSpec spec(DurationClass what, std::int64_t gib) {
    JobSpec spec{.user = UserId(what == DurationClass::Service ? 1U : 2U), .duration_class = what};
    spec.request.gpu = {.count = GpuCount(1), .vram = Bytes(gib << 30)};
    return spec;
  }
  void plan_service() {
    const JobId id = plan({.spec = spec(DurationClass::Service, 12)}, kStart);
    Instant at = kStart;
    const bool is_for_ever = rng_.one_in(3);
    for (std::int64_t bursts = rng_.between(2, 10); bursts > 0; --bursts) {
      at += seconds(rng_.between(1, 400));
      coming_.emplace(at, Reported{id, "busy", rng_.between(1, 9)});
      at += seconds(rng_.between(1, 900));
      if (!is_for_ever) coming_.emplace(at, Reported{id, "busy", 0});
    }
  }
  void plan_job() {
    plan({.spec = spec(DurationClass::Long, 8), .work = seconds(rng_.between(500, 4000))},
         kStart + seconds(rng_.between(1, 100)));
  }
  JobId plan(const Planned& job, Instant at) {
    const JobId id(++last_);
    jobs_[id] = job;
    coming_.emplace(at, Submitted{.job = id, .spec = job.spec});
    return id;
  }

  void next() {
    if (coming_.empty() || (wake_ && *wake_ < coming_.begin()->first)) {
      if (!wake_) return;
      now_ = *wake_;
      return step({Ticked{}});
    }
    now_ = coming_.begin()->first;
    std::vector<Input> inputs;
    while (!coming_.empty() && coming_.begin()->first == now_) {
      inputs.push_back(coming_.begin()->second);
      coming_.erase(coming_.begin());
    }
    step(inputs);
  }

  void step(const std::vector<Input>& inputs) {
    const Effects effects = engine_.step(now_, inputs);
    for (const Effect& effect : effects.list) {
      if (const auto* launch = std::get_if<Launch>(&effect)) begin(launch->job, launch->attempt);
      if (const auto* more = std::get_if<Continue>(&effect)) begin(more->job, more->attempt);
      if (const auto* stop = std::get_if<Stop>(&effect)) end(*stop);
      if (const auto* finished = std::get_if<Finished>(&effect)) jobs_.erase(finished->job);
    }
    wake_ = effects.wake_at;
  }

  void begin(JobId id, Attempt attempt) {
    Planned& job = jobs_[id];
    if (job.left != kNever) longest_ = std::max(longest_, now_ - job.left);
    job.since = now_;
    coming_.emplace(now_, Started{id, attempt});
    if (job.spec.duration_class == DurationClass::Service) return;
    ends_[id] = coming_.emplace(now_ + job.work, Exited{.job = id, .attempt = attempt});
    releases_[id] = coming_.emplace(now_ + job.work + seconds(1), Released{id, attempt});
  }

  /// Suspended, its work so far is kept.
  void end(const Stop& stop) {
    Planned& job = jobs_[stop.job];
    if (job.spec.duration_class == DurationClass::Service) {
      stopped_a_service_ = true;
      return;
    }
    ++yields_;
    EXPECT_GE(now_ - job.since, kAfter);
    coming_.erase(ends_.at(stop.job));
    coming_.erase(releases_.at(stop.job));
    job.work -= now_ - job.since;
    job.left = now_ + seconds(rng_.between(1, 5));
    coming_.emplace(job.left, Released{stop.job, stop.attempt});
  }

  Rng rng_;
  std::int64_t gpus_;
  Engine engine_;
  Instant now_ = kStart;
  std::uint64_t last_ = 0;
  std::map<JobId, Planned> jobs_;
  Coming coming_;
  std::map<JobId, Coming::iterator> ends_;
  std::map<JobId, Coming::iterator> releases_;
  std::optional<Instant> wake_;
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
    ASSERT_EQ(stream.left(), stream.services()) << "seed " << seed;
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
