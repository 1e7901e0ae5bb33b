// `capacity` against what YARN's capacity scheduler is described to guarantee (its documentation,
// and Jeon et al., ATC 2019, section 2.3): a queue may use what others leave idle; when they come,
// freed GPUs go to the queue below its guarantee until all have theirs; inside a queue jobs
// start in order; locality is given up level by level.
//
// Method: a cluster of 16 GPUs that one queue fills before the other comes; GPUs held per queue
// over time, exactly. Quotas: as Philly had them, by weight, under each policy that shares.
// Locality: free GPUs that are apart, and when a job takes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "policy/registry.hpp"
#include "sim/simulator.hpp"

namespace berth {
namespace {

constexpr UserId kFirst(1);
constexpr UserId kSecond(2);

trace::TraceJob capacity_job(UserId user, std::int64_t gpus, Instant submit, Duration run) {
  JobSpec spec{.user = user};
  spec.request.gpu = {.count = GpuCount(gpus), .sharing = Sharing::Alone};
  return {.name = "j", .submit = submit, .duration = run, .spec = spec};
}

std::vector<sim::JobResult> replay(const trace::Trace& trace, const char* cluster,
                                   std::string_view policy = "capacity",
                                   const sim::Options& options = {}) {
  const auto shape = trace::parse_cluster(cluster);
  auto result = sim::simulate(trace, *shape, *make_policy(policy, ""), options);
  EXPECT_TRUE(result) << result.error().message;
  return std::move(result->jobs);
}

/// GPUs that jobs of this user hold at an instant; all jobs have one.
std::int64_t held(const trace::Trace& trace, const std::vector<sim::JobResult>& jobs, UserId user,
                  Instant at) {
  return std::ranges::count_if(jobs, [&](const sim::JobResult& job) {
    return trace.jobs[job.job].spec.user == user && job.start <= at && at < job.end;
  });
}

TEST(Capacity, GivesWhatIsFreedToWhoeverIsBelowItsGuarantee) {
  trace::Trace trace;
  for (int i = 0; i < 200; ++i) {  // one after another, so that something ends all the time
    trace.jobs.push_back(capacity_job(kFirst, 1, kStart + seconds(i < 16 ? i : 16), seconds(160)));
  }
  for (int i = 0; i < 100; ++i) {
    trace.jobs.push_back(capacity_job(kSecond, 1, kStart + seconds(100), seconds(160)));
  }
  const auto jobs = replay(trace, "2x8");
  EXPECT_EQ(held(trace, jobs, kFirst, kStart + seconds(100)), 16) << "what others leave idle";
  EXPECT_EQ(held(trace, jobs, kSecond, kStart + seconds(100)), 0) << "nothing is taken away";
  for (int end = 0; end < 8; ++end) {
    EXPECT_EQ(held(trace, jobs, kSecond, kStart + seconds(160 + end)), end + 1);
  }
  for (int at = 170; at < 1000; at += 10) {
    EXPECT_EQ(held(trace, jobs, kFirst, kStart + seconds(at)), 8) << at;
    EXPECT_EQ(held(trace, jobs, kSecond, kStart + seconds(at)), 8) << at;
  }
}

TEST(Capacity, StartsTheJobsOfAQueueInOrder) {
  trace::Trace trace;
  for (int i = 0; i < 40; ++i) {
    const UserId user = i % 3 == 0 ? kFirst : kSecond;
    trace.jobs.push_back(capacity_job(user, 1, kStart + seconds(i), seconds(100 + i * 37 % 50)));
  }
  const auto jobs = replay(trace, "1x4");
  for (const UserId user : {kFirst, kSecond}) {
    Instant last = kStart;
    for (const sim::JobResult& job : jobs) {
      if (trace.jobs[job.job].spec.user != user) continue;
      EXPECT_GE(job.start, last);
      last = job.start;
    }
  }
}

/// The quotas of three of Philly's virtual clusters (6214e9: 64 nodes, 7f04ca: 32, 11cb48: 16), for
/// a 32nd of its GPUs, by the one mechanism there is for the weights of users.
class PhillyQuotas : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::array kQueues{UserId(1), UserId(2), UserId(3)};

  PhillyQuotas() {
    options_.weights = {{kQueues[0], 64'000}, {kQueues[1], 32'000}, {kQueues[2], 16'000}};
  }

  /// Each queue has jobs of a GPU and some minutes waiting for hours, from its hour on.
  void submit(UserId queue, std::int64_t from) {
    for (int i = 0; i < 2000; ++i) {
      trace_.jobs.push_back(
          capacity_job(queue, 1, kStart + hours(from), seconds(300 + i * 37 % 240)));
    }
  }
  void run() {
    std::ranges::stable_sort(trace_.jobs, {}, &trace::TraceJob::submit);
    jobs_ = replay(trace_, "7x4", GetParam(), options_);
  }
  /// The mean of what they held over two hours from then on.
  std::array<double, 3> held_from(std::int64_t hour) const {
    std::array<double, 3> sums{};
    for (int minute = 0; minute < 120; ++minute) {
      for (std::size_t q = 0; q < kQueues.size(); ++q) {
        const Instant at = kStart + hours(hour) + minutes(minute);
        sums[q] += static_cast<double>(held(trace_, jobs_, kQueues[q], at)) / 120;
      }
    }
    return sums;
  }

  trace::Trace trace_;
  sim::Options options_;
  std::vector<sim::JobResult> jobs_;
};

TEST_P(PhillyQuotas, AreWhatQueuesWithWorkGet) {
  for (const UserId queue : kQueues) submit(queue, 0);
  run();
  const auto held = held_from(1);
  EXPECT_NEAR(held[0], 16, 0.5);
  EXPECT_NEAR(held[1], 8, 0.5);
  EXPECT_NEAR(held[2], 4, 0.5);
}

TEST_P(PhillyQuotas, OfQueuesWithoutWorkGoToTheOthersByWeight) {
  submit(kQueues[1], 0);
  submit(kQueues[2], 0);
  run();
  const auto held = held_from(1);
  EXPECT_NEAR(held[1], 28.0 * 2 / 3, 0.5);
  EXPECT_NEAR(held[2], 28.0 / 3, 0.5);
}

INSTANTIATE_TEST_SUITE_P(SharesByWeight, PhillyQuotas,
                         testing::Values("capacity", "drf", "fair-share"), [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

/// Four nodes of two GPUs under two switches; one GPU of each of some nodes stays free.
class CapacityLocality : public testing::Test {
 protected:
  /// When a job of two GPUs starts if these GPUs are busy for an hour.
  Duration wait_with_busy(std::initializer_list<int> free_on_nodes) {
    trace::Trace trace;
    for (int node = 0; node < 4; ++node) {
      const bool keeps_one = std::ranges::find(free_on_nodes, node) != free_on_nodes.end();
      trace.jobs.push_back(capacity_job(kFirst, 1, kStart, hours(1)));
      trace.jobs.push_back(capacity_job(kFirst, 1, kStart, keeps_one ? seconds(10) : hours(1)));
    }
    trace.jobs.push_back(capacity_job(kSecond, 2, kStart + seconds(20), seconds(10)));
    return replay(trace, "2x2x2").back().start - (kStart + seconds(20));
  }
};

TEST_F(CapacityLocality, WaitsForANodeBeforeItTakesASwitch) {
  EXPECT_EQ(wait_with_busy({0, 1}), minutes(5));
  EXPECT_EQ(wait_with_busy({2, 3}), minutes(5));
}

TEST_F(CapacityLocality, WaitsForASwitchBeforeItTakesTheCluster) {
  EXPECT_EQ(wait_with_busy({1, 2}), minutes(10));
}

}  // namespace
}  // namespace berth
