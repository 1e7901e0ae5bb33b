// `gandiva` against turns restated second by second, and against what the paper says of them.
//
// Source: Gandiva (Xiao et al., OSDI 2018), time slicing: where jobs ask for more GPUs than there
// are, they take turns of about a minute and each has an equal part of the time. No figure of the
// paper is compared. Method: jobs of one GPU, whose lengths and arrivals are drawn, through the
// simulator and through a loop over seconds; ends must be equal. Six jobs on four GPUs: each has
// two thirds of the time, to within the turns that the last of it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.hpp"
#include "policy/registry.hpp"
#include "sim/simulator.hpp"
#include "trace/formats.hpp"

namespace berth::test {
namespace {

constexpr int kTurn = 60;

struct Work {
  int comes = 0;
  int takes = 0;
};

trace::Trace trace_of(const std::vector<Work>& all, int gpus = 1) {
  trace::Trace trace;
  for (const Work& work : all) {
    trace::TraceJob job{.name = std::to_string(trace.jobs.size()),
                        .submit = kStart + seconds(work.comes),
                        .duration = seconds(work.takes),
                        .spec = {}};
    job.spec.request.gpu = {.count = GpuCount(gpus), .sharing = Sharing::Alone};
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

std::vector<int> ends_under_gandiva(const trace::Trace& trace, const std::string& cluster) {
  const auto result =
      sim::simulate(trace, *trace::parse_cluster(cluster), *make_policy("gandiva", ""), {});
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(result->dropped, 0U);
  std::vector<int> ends;
  for (const sim::JobResult& job : result->jobs) {
    ends.push_back(static_cast<int>((job.end - kStart) / seconds(1)));
  }
  return ends;
}

/// Turns as the rule has them, by looking at every second.
std::vector<int> ends_by_seconds(const std::vector<Work>& all, std::size_t gpus) {
  struct State {
    int left;
    int since = -1;  ///< Of its GPU; none before.
  };
  std::vector<State> states;
  for (const Work& work : all) states.push_back({.left = work.takes});
  std::vector<std::size_t> queue;
  std::vector<int> ends(all.size());
  std::size_t over = 0;
  const auto has_gpu = [&](std::size_t job) { return states[job].since >= 0; };
  int turn_end = 0;
  for (int now = 0; over < all.size(); ++now) {
    for (State& state : states) state.left -= state.since >= 0 ? 1 : 0;
    std::erase_if(queue, [&](std::size_t job) {
      if (states[job].left > 0) return false;
      ends[job] = now;
      states[job].since = -1;
      ++over;
      return true;
    });
    for (std::size_t job = 0; job < all.size(); ++job) {
      if (all[job].comes == now) queue.push_back(job);
    }
    auto taken = static_cast<std::size_t>(std::ranges::count_if(queue, has_gpu));
    for (const std::size_t job : queue) {
      if (has_gpu(job) || taken == gpus) continue;
      states[job].since = now;
      ++taken;
    }
    if (queue.size() <= gpus || now < turn_end) continue;
    turn_end = now + kTurn;
    std::ranges::stable_partition(queue, [&](std::size_t job) {
      return !has_gpu(job) || now - states[job].since < kTurn / 2;
    });
    for (std::size_t place = 0; place < queue.size(); ++place) {
      State& state = states[queue[place]];
      if (place >= gpus) state.since = -1;
      if (place < gpus && state.since < 0) state.since = now;
    }
  }
  return ends;
}

TEST(Gandiva, JobsOfOneGpuEndWhenTurnsBySecondsSay) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng(seed);
    const auto gpus = static_cast<std::size_t>(rng.between(1, 4));
    std::vector<Work> all;
    for (int i = 0; i < 12; ++i) {
      all.push_back({.comes = static_cast<int>(rng.between(0, 400)),
                     .takes = static_cast<int>(rng.between(1, 500))});
    }
    std::ranges::sort(all, {}, &Work::comes);
    EXPECT_EQ(ends_under_gandiva(trace_of(all), "1x" + std::to_string(gpus)),
              ends_by_seconds(all, gpus))
        << "seed " << seed;
  }
}

TEST(Gandiva, SixJobsOnFourGpusHaveTwoThirdsOfTheTimeEach) {
  constexpr int kTwoHours = 7200;
  const std::vector<Work> all(6, {.comes = 0, .takes = kTwoHours});
  for (const int end : ends_under_gandiva(trace_of(all), "1x4")) {
    EXPECT_NEAR(end, kTwoHours * 6 / 4, 2 * kTurn);
  }
}

/// Jobs of a GPU come all the time, and one of all GPUs has its turns nevertheless.
TEST(Gandiva, AGangHasItsTurns) {
  std::vector<Work> small;
  for (int i = 0; i < 100; ++i) small.push_back({.comes = 20 * i, .takes = 75});
  trace::Trace trace = trace_of(small);
  trace.jobs.push_back(trace_of({{.comes = 100, .takes = 300}}, 4).jobs.front());
  std::ranges::stable_sort(trace.jobs, {}, &trace::TraceJob::submit);
  const auto at = std::ranges::find(trace.jobs, GpuCount(4), [](const trace::TraceJob& job) {
    return job.spec.request.gpu.count;
  });
  const auto ends = ends_under_gandiva(trace, "1x4");
  EXPECT_LT(ends[static_cast<std::size_t>(at - trace.jobs.begin())], 2000);
}

}  // namespace
}  // namespace berth::test
