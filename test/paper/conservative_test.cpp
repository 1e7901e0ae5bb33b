// Conservative backfilling against its published definition.
//
// Source: Mu'alem and Feitelson, "Utilization, Predictability, Workloads, and User Runtime
// Estimates in Scheduling the IBM SP2 with Backfilling", TPDS 12(6), 2001: every job gets a
// reservation on arrival, at the first point of the profile where it fits for all of its estimate;
// when a job ends early the schedule is compressed, job by job, and no reservation moves back.
// Tolerance: none, every job starts at the same second.
// Method: that definition, written naively over GPUs in use second by second, against
// `conservative` on 300 random traces; and what it promises, start by start.
#include <gtest/gtest.h>

#include <map>

#include "paper/backfill.hpp"

namespace berth::test {
namespace {

class NaiveConservative {
 public:
  NaiveConservative(const std::vector<PlainJob>& jobs, std::int64_t gpus)
      : jobs_(jobs), gpus_(gpus), starts_(jobs.size(), -1), promised_(jobs.size(), -1) {
    std::int64_t horizon = jobs.back().submit + 1;
    for (const PlainJob& job : jobs) horizon += job.planned;
    used_.assign(static_cast<std::size_t>(horizon), 0);
  }

  std::vector<std::int64_t> run() {
    std::size_t started = 0;
    for (std::int64_t now = 0; started < jobs_.size(); ++now) {
      bool early = false;
      for (std::size_t j = 0; j < jobs_.size(); ++j) {
        const PlainJob& job = jobs_[j];
        if (starts_[j] < 0 || starts_[j] + job.run != now || job.planned == job.run) continue;
        use(now, starts_[j] + job.planned, -job.gpus);
        early = true;
      }
      for (std::size_t j = 0; early && j < jobs_.size(); ++j) {
        if (jobs_[j].submit < now && starts_[j] < 0) reserve(j, now);
      }
      for (std::size_t j = 0; j < jobs_.size(); ++j) {
        if (jobs_[j].submit == now) promised_[j] = reserve(j, now);
      }
      for (std::size_t j = 0; j < jobs_.size(); ++j) {
        if (starts_[j] >= 0 || !reserved_.contains(j) || reserved_[j] != now) continue;
        starts_[j] = now;
        ++started;
      }
    }
    return starts_;
  }

  /// What each job was promised on arrival.
  const std::vector<std::int64_t>& promised() const { return promised_; }

 private:
  void use(std::int64_t from, std::int64_t to, std::int64_t gpus) {
    for (std::int64_t t = from; t < to; ++t) used_[static_cast<std::size_t>(t)] += gpus;
  }

  std::int64_t reserve(std::size_t j, std::int64_t now) {
    const PlainJob& job = jobs_[j];
    if (reserved_.contains(j)) use(reserved_[j], reserved_[j] + job.planned, -job.gpus);
    std::int64_t from = now;
    for (std::int64_t t = now; t < from + job.planned; ++t) {
      if (used_[static_cast<std::size_t>(t)] + job.gpus > gpus_) from = t + 1;
    }
    use(from, from + job.planned, job.gpus);
    return reserved_[j] = from;
  }

  const std::vector<PlainJob>& jobs_;
  std::int64_t gpus_;
  std::vector<std::int64_t> used_;  ///< By second, as planned.
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> promised_;
  std::map<std::size_t, std::int64_t> reserved_;
};

TEST(Conservative, StartsEveryJobWhenTheDefinitionSays) {
  std::size_t passed = 0;
  std::size_t sooner = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const std::int64_t gpus = 4 + static_cast<std::int64_t>(seed % 13);
    const std::vector<PlainJob> jobs = random_jobs(seed, gpus);
    NaiveConservative naive(jobs, gpus);
    const auto wanted = naive.run();
    ASSERT_EQ(starts("conservative", "count", jobs, one_node(gpus)), wanted) << "seed " << seed;
    if (!std::ranges::is_sorted(wanted)) ++passed;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      ASSERT_LE(wanted[j], naive.promised()[j]) << "seed " << seed;
      if (wanted[j] < naive.promised()[j]) ++sooner;
    }
  }
  EXPECT_GT(passed, 150U);   // traces in which no job passes prove nothing
  EXPECT_GT(sooner, 1000U);  // nor do those in which no job ends early
}

/// a leaves at 20, not at 100; b, promised 100, starts then. c and d were promised 150 and 160, and
/// come forward behind it.
TEST(Conservative, AnEarlyEndMovesNobodyBack) {
  const std::vector<PlainJob> jobs = {
      {0, 3, 20, 100}, {1, 4, 50, 50}, {2, 2, 10, 10}, {3, 3, 10, 10}};
  EXPECT_EQ(starts("conservative", "count", jobs, one_node(4)),
            (std::vector<std::int64_t>{0, 20, 70, 80}));
}

/// Where EASY lets a job pass that delays the second in the queue, conservative does not.
TEST(Conservative, PromisesEveryJobAndNotTheFirstOnly) {
  const std::vector<PlainJob> jobs = {
      {0, 3, 100, 100}, {1, 3, 50, 50}, {2, 4, 20, 20}, {3, 1, 200, 200}};
  EXPECT_EQ(starts("easy", "count", jobs, one_node(4)),
            (std::vector<std::int64_t>{0, 100, 203, 3}));
  EXPECT_EQ(starts("conservative", "count", jobs, one_node(4)),
            (std::vector<std::int64_t>{0, 100, 150, 170}));
}

/// The same on nodes: d is booked on the second at 50, so e may not have the GPU that is free
/// there, and gets one of the first at 50.
TEST(Conservative, BooksPlacesAndNotNumbers) {
  Cluster cluster;
  cluster.add_switch();
  for (int n = 0; n < 2; ++n) cluster.add_node({.name = "n", .gpus = 2});
  const std::vector<PlainJob> jobs = {
      {0, 1, 50, 50}, {0, 1, 100, 100}, {0, 1, 50, 50}, {1, 2, 10, 10}, {2, 1, 200, 200}};
  EXPECT_EQ(starts("conservative", "first-fit", jobs, cluster),
            (std::vector<std::int64_t>{0, 0, 0, 50, 50}));
}

}  // namespace
}  // namespace berth::test
