// Goal: generated workloads have Philly's figures, are the same for one seed everywhere, and are
// what the repository ships.
// Method: many jobs against the figures published of the real ones; the shipped files made again.
#include "trace/generate.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/paths.hpp"
#include "trace/formats.hpp"

namespace berth::trace {
namespace {

struct Figures {
  double one_gpu = 0;  ///< Share of the jobs.
  double median = 0;   ///< Seconds.
  double mean = 0;
  double gpu_hours = 0;  ///< Per job.
  std::int64_t largest = 0;
  double gap = 0;   ///< Seconds between two submissions.
  double peak = 0;  ///< Share submitted from 6 to 8, the busiest hours of the file.
  double weekend = 0;
};

Figures figures_of(const Trace& trace) {
  Figures figures;
  std::vector<double> times;
  const auto jobs = static_cast<double>(trace.jobs.size());
  for (const TraceJob& job : trace.jobs) {
    const auto time = static_cast<double>(job.duration / seconds(1));
    const std::int64_t gpus = job.spec.request.gpu.count.raw();
    const std::int64_t hour = (job.submit - kStart) / hours(1);
    times.push_back(time);
    figures.one_gpu += gpus == 1 ? 1 / jobs : 0;
    figures.mean += time / jobs;
    figures.gpu_hours += time * static_cast<double>(gpus) / 3600 / jobs;
    figures.largest = std::max(figures.largest, gpus);
    figures.peak += hour % 24 == 6 || hour % 24 == 7 ? 1 / jobs : 0;
    figures.weekend += hour / 24 % 7 >= 5 ? 1 / jobs : 0;
  }
  std::ranges::sort(times);
  figures.median = times[times.size() / 2];
  const Duration span = trace.jobs.back().submit - trace.jobs.front().submit;
  figures.gap = static_cast<double>(span / seconds(1)) / jobs;
  return figures;
}

TEST(PhillyLike, HasPhillysFigures) {
  const Figures figures = figures_of(philly_like(200'000, 1));
  EXPECT_NEAR(figures.one_gpu, 0.932, 0.005);
  EXPECT_NEAR(figures.median, 1144, 60);
  EXPECT_NEAR(figures.mean, 13'136, 800) << "fitted to 13,487 by its quantiles";
  EXPECT_NEAR(figures.gpu_hours, 11.89, 1.5);
  EXPECT_EQ(figures.largest, 128);
  EXPECT_NEAR(figures.gap, 114.4, 2);
  EXPECT_NEAR(figures.peak, 0.157, 0.01);
  EXPECT_NEAR(figures.weekend, 0.172, 0.01);
}

TEST(PhillyLike, IsTheSameForOneSeed) {
  const std::string one = write_native(philly_like(500, 3));
  EXPECT_EQ(one, write_native(philly_like(500, 3)));
  EXPECT_NE(one, write_native(philly_like(500, 4)));
}

TEST(PhillyLike, IsWhatIsReadAgain) {
  const Trace trace = philly_like(300, 3);
  const std::string text = write_native(trace);
  const auto again = read_native({.text = text, .file = "n"});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(write_native(*again), text);
  EXPECT_EQ(again->jobs.front().user, trace.jobs.front().user);
}

TEST(PhillyLike, AFewJobsOrNone) {
  EXPECT_TRUE(philly_like(0, 1).jobs.empty());
  EXPECT_EQ(philly_like(1, 1).jobs.size(), 1U);
}

TEST(PhillyLike, TheShippedOnesAreMadeByIt) {
  const auto folder = test::source_dir() / "examples/traces";
  EXPECT_EQ(test::read_file(folder / "philly-like-200.csv"), write_native(philly_like(200, 1)));
  EXPECT_EQ(test::read_file(folder / "philly-like-2000.csv"), write_native(philly_like(2000, 1)));
}

}  // namespace
}  // namespace berth::trace
