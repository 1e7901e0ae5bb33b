// Goal: policies are told in a run what berthd would tell them: which jobs run alike, and how far
// jobs that report are.
// Method: runs worked out by hand, with a measured pair that only run times can betray.
#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "sim/running.hpp"
#include "sim/simulator.hpp"
#include "sim/spread.hpp"

namespace berth::sim {
namespace {

using namespace literals;

trace::TraceJob job(int submit, int run, const char* name, const char* model) {
  trace::TraceJob job{.name = name,
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(1)}};
  job.spec.request.gpu.count = GpuCount(1);
  job.spec.request.gpu.vram = 1_GiB;
  job.model = model;
  return job;
}

Cluster one_gpu() {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 1, .vram = 16_GiB});
  return cluster;
}

class ToldOfPrograms : public testing::Test {
 protected:
  /// x and y alone, twice beside each other, and then y once more while x runs.
  ToldOfPrograms() {
    trace_.jobs = {job(0, 100, "x-1", "x"),    job(200, 100, "y-1", "y"),
                   job(400, 100, "x-2", "x"),  job(400, 100, "y-2", "y"),
                   job(1000, 100, "x-3", "x"), job(1000, 100, "y-3", "y"),
                   job(2000, 100, "x-4", "x"), job(2001, 100, "y-4", "y")};
    for (const char* const model : {"x", "y"}) {
      options_.rates.speeds.add_pair(model, 0, "", Rate(400'000));
    }
  }

  double start_of_last(Programs programs) {
    options_.programs = programs;
    const auto result = simulate(trace_, one_gpu(),
                                 *make_policy("headroom:share_patience=1", "first-fit"), options_);
    EXPECT_EQ(result->jobs[2].end, kStart + seconds(650));  // beside y-2, at two fifths
    return in_seconds(result->jobs.back().start - kStart);
  }

  trace::Trace trace_;
  Options options_;
};

TEST_F(ToldOfPrograms, APolicyAvoidsASlowPairOnceItHasSeenIt) {
  EXPECT_EQ(start_of_last(Programs::None), 2001);
  EXPECT_EQ(start_of_last(Programs::Model), 2100);
  EXPECT_EQ(start_of_last(Programs::Name), 2100);  // x-1 and x-2 are both x-#
}

TEST_F(ToldOfPrograms, AnothersJobsOfThatModelAreOthers) {
  trace_.jobs.back().spec.user = UserId(2);
  EXPECT_EQ(start_of_last(Programs::Model), 2001);
}

/// One GPU, on which one job runs at a time.
TEST(ToldOfRunTimes, JobsThatWaitAreToldOnceEnoughRunsAreKnown) {
  trace::Trace trace;
  for (int i = 0; i < 4; ++i) trace.jobs.push_back(job(i, 10, "x", "x"));
  for (int i = 4; i < 8; ++i) trace.jobs.push_back(job(i, 90, "y", "y"));
  trace.jobs.push_back(job(8, 10, "x-5", "x"));
  trace.jobs.push_back(job(9, 90, "y-5", "y"));
  trace.jobs.push_back(job(20, 90, "y-6", "y"));
  trace.jobs.push_back(job(21, 10, "x-6", "x"));
  for (trace::TraceJob& each : trace.jobs) each.spec.request.gpu.sharing = Sharing::Alone;
  const auto result = simulate(trace, one_gpu(), *make_policy("sjf", "first-fit"),
                               {.told = Told::Learned, .programs = Programs::Model});
  const auto start = [&](std::size_t i) { return in_seconds(result->jobs[i].start - kStart); };
  EXPECT_EQ(start(8), 400) << "in order of submission, as nothing is known";
  EXPECT_EQ(start(9), 410) << "in the step by which the fifth run of x ended";
  EXPECT_EQ(start(11), 500) << "told 10 s by five runs of x, before those that were first";
  EXPECT_EQ(start(10), 510);
}

class ToldOfProgress : public testing::Test {
 protected:
  ToldOfProgress() { trace_.jobs = {job(0, 1000, "a", ""), job(0, 1000, "b", "")}; }

  /// When the next report comes, in seconds, and what it says, in millionths.
  std::pair<double, std::int64_t> next(Running& running) {
    const Instant at = running.next_report();
    return {in_seconds(at - kStart), running.take_report(at)->done};
  }
  void begin(Running& running, std::size_t job, int at) {
    const Occupancy empty(cluster_, {});
    const Ask ask{.request = trace_.jobs[job].spec.request};
    running.begin(job, empty.grant_for(cluster_, ask, {.gpus = {GpuId(0)}, .host = {}}),
                  kStart + seconds(at));
    running.settle(kStart + seconds(at));
  }

  trace::Trace trace_;
  Cluster cluster_ = one_gpu();
};

TEST_F(ToldOfProgress, ComesWithEverySoMuchWorkDone) {
  const Options options{.rates = {.share = *parse_share("timeslice")},
                        .costs = {.start = seconds(10)},
                        .report_every = seconds(300)};
  Running running(trace_, cluster_, options);
  begin(running, 0, 0);
  EXPECT_EQ(running.next_report(), kStart + seconds(10));
  const auto first = running.take_report(kStart + seconds(10));
  EXPECT_EQ(first->done, 0);
  EXPECT_EQ(first->total, 3'333'334);
  EXPECT_EQ(next(running), std::pair(310.0, std::int64_t{1'000'000}));
  begin(running, 1, 410);  // beside it from then on, each at half speed
  EXPECT_EQ(next(running), std::pair(420.0, std::int64_t{0}));
  EXPECT_EQ(next(running), std::pair(810.0, std::int64_t{2'000'000}));
  running.pause(1, kStart + seconds(810));
  running.settle(kStart + seconds(810));
  EXPECT_EQ(next(running), std::pair(1110.0, std::int64_t{3'000'000}));
  EXPECT_EQ(running.next_report(), kNever);  // its end, at 1210 s, says the rest
  EXPECT_EQ(running.next_end(), kStart + seconds(1210));
}

TEST_F(ToldOfProgress, GoesBackWithWorkThatIsLost) {
  const Options options{.costs = {.can_suspend = false, .checkpoint = seconds(400)},
                        .report_every = seconds(100)};
  Running running(trace_, cluster_, options);
  begin(running, 0, 0);
  for (int i = 0; i < 8; ++i) (void)next(running);
  running.pause(0, kStart + seconds(750));
  running.fall_back(0);
  EXPECT_EQ(running.next_report(), kNever);
  begin(running, 0, 800);
  EXPECT_EQ(next(running), std::pair(800.0, std::int64_t{4'000'000}));
  EXPECT_EQ(next(running), std::pair(900.0, std::int64_t{5'000'000}));
}

TEST_F(ToldOfProgress, OfWhichELasMakesUseWhereNobodyKnowsRunTimes) {
  // By service alone the two take turns, and the short one ends at 10,600 s. By what they report
  // the long one gives way for good at 300 s, when its first quantum has shown little.
  trace_.jobs[0].duration = seconds(40'000);
  trace_.jobs[1].duration = seconds(4000);
  trace_.jobs[1].submit = kStart + seconds(1);
  for (trace::TraceJob& each : trace_.jobs) each.spec.request.gpu.sharing = Sharing::Alone;
  Options options{.told = Told::AsStated};
  const auto end = [&] {
    const auto result = simulate(trace_, cluster_, *make_policy("e-las", "first-fit"), options);
    return in_seconds(result->jobs[1].end - kStart);
  };
  EXPECT_EQ(end(), 10'600);
  options.report_every = seconds(400);
  EXPECT_EQ(end(), 4300);
}

}  // namespace
}  // namespace berth::sim
