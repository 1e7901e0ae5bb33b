// All tables are figures of the 82,247 jobs of Philly that were published in the Pollux and Sia
// artefacts: 109 days, 93 % of one GPU, median run time 1,144 s, mean 13,136 s, the largest of 128
// GPUs. doc/traces.md compares them with what comes out.
// Whole numbers only, so that every machine generates the same bytes.
#include "trace/generate.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kMillisPerJob = 114'395;  ///< 9,408,690 s for 82,247 jobs.

/// What is left of a run time's distribution up to this share of the jobs, in millionths.
struct Quantile {
  std::int64_t share;
  std::int64_t seconds;
};

constexpr auto kOneGpu = std::to_array<Quantile>({{0, 1},
                                                  {10'000, 30},
                                                  {50'000, 52},
                                                  {100'000, 62},
                                                  {200'000, 76},
                                                  {250'000, 122},
                                                  {300'000, 215},
                                                  {400'000, 600},
                                                  {500'000, 1120},
                                                  {600'000, 1730},
                                                  {700'000, 2460},
                                                  {750'000, 2720},
                                                  {800'000, 3750},
                                                  {850'000, 5340},
                                                  {900'000, 8510},
                                                  {930'000, 12300},
                                                  {950'000, 19100},
                                                  {960'000, 26400},
                                                  {970'000, 44200},
                                                  {980'000, 68300},
                                                  {985'000, 93500},
                                                  {990'000, 135000},
                                                  {993'000, 185000},
                                                  {995'000, 267000},
                                                  {997'000, 385000},
                                                  {998'000, 503000},
                                                  {999'000, 869000},
                                                  {999'500, 1450000},
                                                  {999'900, 2640000},
                                                  {kMillion, 3260000}});

constexpr auto kUpToFour = std::to_array<Quantile>({{0, 2},
                                                    {50'000, 11},
                                                    {100'000, 15},
                                                    {200'000, 19},
                                                    {300'000, 25},
                                                    {400'000, 85},
                                                    {500'000, 370},
                                                    {600'000, 5600},
                                                    {700'000, 25000},
                                                    {800'000, 79000},
                                                    {850'000, 100000},
                                                    {900'000, 170000},
                                                    {950'000, 230000},
                                                    {970'000, 350000},
                                                    {980'000, 470000},
                                                    {990'000, 750000},
                                                    {995'000, 1100000},
                                                    {998'000, 1500000},
                                                    {kMillion, 2800000}});

constexpr auto kEight = std::to_array<Quantile>({{0, 1},
                                                 {50'000, 120},
                                                 {100'000, 220},
                                                 {200'000, 780},
                                                 {300'000, 3900},
                                                 {400'000, 12000},
                                                 {500'000, 24000},
                                                 {600'000, 65000},
                                                 {700'000, 140000},
                                                 {800'000, 200000},
                                                 {850'000, 240000},
                                                 {900'000, 350000},
                                                 {950'000, 530000},
                                                 {970'000, 670000},
                                                 {980'000, 810000},
                                                 {990'000, 1100000},
                                                 {995'000, 2000000},
                                                 {998'000, 2200000},
                                                 {kMillion, 4600000}});

constexpr auto kMore = std::to_array<Quantile>({{0, 1},
                                                {50'000, 35},
                                                {100'000, 69},
                                                {200'000, 340},
                                                {300'000, 880},
                                                {400'000, 3200},
                                                {500'000, 21000},
                                                {600'000, 54000},
                                                {700'000, 74000},
                                                {800'000, 160000},
                                                {850'000, 180000},
                                                {900'000, 250000},
                                                {950'000, 450000},
                                                {970'000, 520000},
                                                {980'000, 620000},
                                                {990'000, 1200000},
                                                {995'000, 1400000},
                                                {998'000, 1700000},
                                                {kMillion, 1700000}});

constexpr auto kSizes = std::to_array<std::int64_t>({1, 2, 4, 8, 12, 16, 24, 32, 64, 128});

// How often, of 100,000: sizes, groups. Of a thousand: hours of a day, days of a week.
constexpr auto kSizeWeights =
    std::to_array<std::int64_t>({93167, 2210, 2274, 1998, 9, 242, 9, 81, 7, 4});
constexpr auto kGroupWeights = std::to_array<std::int64_t>(
    {50125, 19564, 12101, 9025, 2351, 1837, 1745, 1382, 879, 513, 455, 10, 5, 4, 4});
constexpr auto kHourWeights =
    std::to_array<std::int64_t>({53, 41, 47, 46, 29, 48, 70, 87, 46, 42, 43, 36,
                                 31, 29, 27, 27, 37, 28, 33, 30, 42, 38, 47, 42});
constexpr auto kDayWeights = std::to_array<std::int64_t>({123, 152, 163, 184, 206, 87, 85});

std::span<const Quantile> run_times_of(std::int64_t gpus) {
  if (gpus == 1) return kOneGpu;
  if (gpus <= 4) return kUpToFour;
  return gpus == 8 ? std::span<const Quantile>(kEight) : std::span<const Quantile>(kMore);
}

Duration draw(std::span<const Quantile> quantiles, Rng& rng) {
  const std::int64_t share = rng.between(0, kMillion - 1);
  const auto above = std::ranges::upper_bound(quantiles, share, {}, &Quantile::share);
  const Quantile& low = *(above - 1);
  const std::int64_t more = (above->seconds - low.seconds) * (share - low.share);
  return seconds(low.seconds + more / (above->share - low.share));
}

}  // namespace

std::size_t pick(std::span<const std::int64_t> weights, Rng& rng) {
  std::int64_t at =
      rng.between(0, std::accumulate(weights.begin(), weights.end(), std::int64_t{0}) - 1);
  std::size_t index = 0;
  while (at >= weights[index]) at -= weights[index++];
  return index;
}

Duration philly_run_time(std::int64_t gpus, Rng& rng) { return draw(run_times_of(gpus), rng); }

std::vector<Instant> philly_arrivals(std::int64_t jobs, std::int64_t count, Rng rng) {
  std::vector<std::int64_t> sums;  // of the weights of all hours up to this one
  sums.reserve(static_cast<std::size_t>(count));
  for (std::int64_t hour = 0; hour < count; ++hour) {
    const std::int64_t weight = kHourWeights[static_cast<std::size_t>(hour % 24)] *
                                kDayWeights[static_cast<std::size_t>(hour / 24 % 7)];
    sums.push_back((sums.empty() ? 0 : sums.back()) + weight);
  }
  std::vector<Instant> submits;
  submits.reserve(static_cast<std::size_t>(jobs));
  for (std::int64_t i = 0; i < jobs; ++i) {
    const auto hour = std::ranges::upper_bound(sums, rng.between(0, sums.back() - 1));
    submits.push_back(kStart + hours(hour - sums.begin()) + seconds(rng.between(0, 3599)));
  }
  std::ranges::sort(submits);
  return submits;
}

Trace philly_like(std::int64_t jobs, std::uint64_t seed) {
  Trace trace;
  Rng rng(seed, 1);
  const std::int64_t count = jobs * kMillisPerJob / (1000 * 3600) + 1;
  for (const Instant submit : philly_arrivals(jobs, count, Rng(seed, 0))) {
    const std::int64_t gpus = kSizes[pick(kSizeWeights, rng)];
    const std::size_t group = pick(kGroupWeights, rng);
    TraceJob job = whole_gpu_job(std::to_string(trace.jobs.size() + 1), GpuCount(gpus));
    job.submit = submit;
    job.duration = philly_run_time(gpus, rng);
    job.user = (group < 9 ? "vc0" : "vc") + std::to_string(group + 1);
    trace.jobs.push_back(std::move(job));
  }
  number_users(trace);
  return trace;
}

}  // namespace berth::trace
