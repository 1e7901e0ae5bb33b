// Places of long jobs are lent to short ones, and no job is kept from its place for longer than the
// bound, all loans together.
//
// Method: random streams of long jobs and bursts of short ones on a machine that takes a few
// seconds to suspend a job and to free memory. Every job comes to its end, and the delay of each
// long job, as the engine counts it, is compared with the bound after every step.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/rng.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr std::uint64_t kStreams = 30;
#else
constexpr std::uint64_t kStreams = 300;
#endif

constexpr Duration kBound = seconds(600);

class LendingStream {
 public:
  LendingStream(std::uint64_t seed, const std::string& policy)
      : rng_(seed), engine_(cluster(), {}, *make_policy(policy, "best-fit")) {}

  void run() {
    for (std::int64_t jobs = rng_.between(1, 6); jobs > 0; --jobs) plan(long_job(), kStart);
    Instant at = kStart;
    for (std::int64_t bursts = rng_.between(3, 12); bursts > 0; --bursts) {
      at += seconds(rng_.between(1, 1500));
      for (std::int64_t jobs = rng_.between(1, 8); jobs > 0; --jobs) plan(short_job(), at);
      if (rng_.one_in(3)) plan(long_job(), at);
    }
    for (int turn = 0; turn < 100'000 && (!coming_.empty() || wake_); ++turn) next();
  }

  std::size_t left() const { return engine_.view().job_count(); }
  Duration longest() const { return longest_; }
  int loans() const { return loans_; }
  std::string broken() const { return engine_.check().value_or(""); }
  std::uint64_t dropped() const { return engine_.dropped(); }

 private:
  Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    for (std::int64_t nodes = rng_.between(1, 2); nodes > 0; --nodes) {
      cluster.add_node({.name = "n",
                        .gpus = static_cast<std::uint32_t>(rng_.between(1, 3)),
                        .vram = Bytes(std::int64_t{24} << 30),
                        .slots = 4,
                        .cpu = CpuMilli(32'000)});
    }
    return cluster;
  }

  struct Job {
    JobSpec spec;
    Duration work{0};
    Instant since;
  };

  Job long_job() {
    Job job{.spec = {.user = UserId(1)}, .work = seconds(rng_.between(1000, 8000))};
    job.spec.request.gpu = {.count = GpuCount(1), .vram = Bytes(rng_.between(8, 22) << 30)};
    job.spec.duration_class = rng_.one_in(3) ? DurationClass::Medium : DurationClass::Long;
    if (rng_.one_in(2)) job.spec.estimate = job.work;
    return job;
  }
  Job short_job() {
    Job job{.spec = {.user = UserId(2)}, .work = seconds(rng_.between(5, 200))};
    job.spec.request.gpu = {.count = GpuCount(1), .vram = Bytes(rng_.between(2, 20) << 30)};
    job.spec.duration_class = DurationClass::Short;
    if (!rng_.one_in(5)) job.spec.time_limit = job.work;
    return job;
  }

  void plan(Job job, Instant at) {
    const JobId id(++last_);
    jobs_[id] = std::move(job);
    coming_.emplace(at, Submitted{.job = id, .spec = jobs_[id].spec});
  }

  void next() {
    if (coming_.empty() || (wake_ && *wake_ < coming_.begin()->first)) {
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
    for (const auto& [id, job] : jobs_) {
      if (!engine_.view().knows(id)) continue;
      longest_ = std::max(longest_, engine_.view().job(id).delayed());
    }
  }

  void begin(JobId id, Attempt attempt) {
    jobs_[id].since = now_;
    coming_.emplace(now_, Started{id, attempt});
    const Instant over = now_ + jobs_[id].work;
    ends_[id] = coming_.emplace(over, Exited{.job = id, .attempt = attempt});
    releases_[id] = coming_.emplace(over + seconds(rng_.between(1, 5)), Released{id, attempt});
  }

  /// Suspended, its work so far is kept.
  void end(const Stop& stop) {
    if (stop.how != PreemptHow::Suspend) return;  // at its limit, where it ends by itself
    ++loans_;
    coming_.erase(ends_.at(stop.job));
    coming_.erase(releases_.at(stop.job));
    Job& job = jobs_[stop.job];
    job.work -= now_ - job.since;
    coming_.emplace(now_ + seconds(rng_.between(1, 5)), Released{stop.job, stop.attempt});
  }

  Rng rng_;
  Engine engine_;
  Instant now_ = kStart;
  std::uint64_t last_ = 0;
  std::map<JobId, Job> jobs_;
  using Coming = std::multimap<Instant, Input>;
  Coming coming_;
  std::map<JobId, Coming::iterator> ends_;
  std::map<JobId, Coming::iterator> releases_;
  std::optional<Instant> wake_;
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
