// Goal: shown to users at submit, how far off is the predicted start once others have arrived?
// Method: 100 seeded jobs on four GPUs with more work than there is room for, run times stated as
// time limits; each start is predicted from a copy of the engine at the job's submission, and
// compared with the start it got. The distribution is printed; a share of good ones is required
// only where the policy serves in order of submission, as then no later job goes first.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>

#include "engine/forecast.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

constexpr int kJobs = 100;
constexpr std::uint64_t kRuns = 3;
constexpr double kGood = 0.20;  ///< Of the wait.

struct Arrival {
  Instant at;
  Submitted submitted;
  Duration duration;
};

/// Run times from one minute to four hours, alike on a logarithmic scale; `slack`: by how much the
/// limit may exceed the run time, in percent.
std::vector<Arrival> arrivals(std::uint64_t seed, std::int64_t slack) {
  constexpr std::array<std::int64_t, 6> minutes_of = {1, 4, 15, 40, 120, 240};
  Rng rng(seed);
  std::vector<Arrival> list;
  Instant at = kStart;
  for (int i = 1; i <= kJobs; ++i) {
    const auto decade = static_cast<std::size_t>(rng.between(0, 4));
    const Duration duration =
        seconds(rng.between(60 * minutes_of[decade], 60 * minutes_of[decade + 1]));
    Submitted job{.job = JobId(static_cast<std::uint64_t>(i)), .spec = {}};
    GpuRequest& gpu = job.spec.request.gpu;
    gpu.count = GpuCount(rng.one_in(5) ? rng.between(2, 4) : 1);
    gpu.vram = Bytes(rng.between(2, 22) << 30);
    job.spec.user = UserId(static_cast<std::uint32_t>(rng.between(1, 5)));
    job.spec.time_limit = duration * (100 + rng.between(0, slack)) / 100;
    list.push_back({at, job, duration});
    at += seconds(rng.between(30, 1200));
  }
  return list;
}

struct Prediction {
  Instant submitted;
  Instant predicted;
  Instant start = kNever;

  double wait() const { return static_cast<double>(micros(start - submitted)) / 1e6; }
  /// Of the wait; of a second where there was none.
  double error() const {
    const double off = static_cast<double>(std::abs(micros(predicted - start))) / 1e6;
    return off / std::max(wait(), 1.0);
  }
};

/// The engine with a perfect machine around it, and a look ahead at each submission.
class Show {
 public:
  Show(std::string_view policy, std::vector<Arrival> list)
      : policy_(policy), list_(std::move(list)), engine_(cluster(), {}, fresh()) {}

  std::vector<Prediction> run() {
    for (std::size_t next = 0; next < list_.size() || !ends_.empty();) {
      Instant now = ends_.empty() ? kNever : ends_.begin()->first;
      if (next < list_.size()) now = std::min(now, list_[next].at);
      std::vector<Input> inputs = ended(now);
      std::vector<JobId> fresh_jobs;
      for (; next < list_.size() && list_[next].at == now; ++next) {
        inputs.emplace_back(list_[next].submitted);
        fresh_jobs.push_back(list_[next].submitted.job);
      }
      step(now, inputs);
      for (const JobId job : fresh_jobs) predict(now, job);
    }
    std::vector<Prediction> made;
    for (auto& [job, prediction] : made_) {
      prediction.start = starts_.at(job);
      made.push_back(prediction);
    }
    return made;
  }

 private:
  static Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 4, .vram = Bytes(std::int64_t{24} << 30)});
    return cluster;
  }
  std::unique_ptr<Policy> fresh() const { return *make_policy(policy_, "best-fit"); }

  std::vector<Input> ended(Instant now) {
    std::vector<Input> inputs;
    for (; !ends_.empty() && ends_.begin()->first == now; ends_.erase(ends_.begin())) {
      const JobId job = ends_.begin()->second;
      inputs.emplace_back(Exited{.job = job, .attempt = Attempt(1)});
      inputs.emplace_back(Released{job, Attempt(1)});
    }
    return inputs;
  }

  void step(Instant now, const std::vector<Input>& inputs) {
    for (const Effect& effect : engine_.step(now, inputs).list) {
      const auto* const launch = std::get_if<Launch>(&effect);
      if (launch == nullptr) continue;
      starts_[launch->job] = now;
      ends_.emplace(now + list_[launch->job.value() - 1].duration, launch->job);
    }
  }

  void predict(Instant now, JobId job) {
    auto copy = Engine::restore(engine_.save(), fresh());
    ASSERT_TRUE(copy);
    const Forecast found = forecast(std::move(*copy), job, {.now = now});
    made_[job] = {.submitted = now, .predicted = found.start.value_or(kNever)};
    EXPECT_TRUE(found.start) << found.text;
  }

  std::string_view policy_;
  std::vector<Arrival> list_;
  Engine engine_;
  std::set<std::pair<Instant, JobId>> ends_;
  std::map<JobId, Instant> starts_;
  std::map<JobId, Prediction> made_;
};

struct Summary {
  std::size_t waited = 0;
  double good_of_all = 0;
  double good_of_waited = 0;
  double late = 0;    ///< Of those that waited: started after the prediction.
  double median = 0;  ///< Of the relative errors of those that waited.
  double p90 = 0;
};

double share(std::ptrdiff_t part, std::size_t all) {
  return all == 0 ? 1 : static_cast<double>(part) / static_cast<double>(all);
}

Summary summary_of(const std::vector<Prediction>& made) {
  const auto is_good = [](const Prediction& one) { return one.error() <= kGood; };
  const auto is_late = [](const Prediction& one) { return one.start > one.predicted; };
  std::vector<Prediction> waited;
  std::ranges::copy_if(made, std::back_inserter(waited),
                       [](const Prediction& one) { return one.start > one.submitted; });
  std::ranges::sort(waited, {}, &Prediction::error);
  const auto at = [&](std::size_t percent) {
    return waited.empty() ? 0 : waited[(waited.size() - 1) * percent / 100].error();
  };
  return {waited.size(),
          share(std::ranges::count_if(made, is_good), made.size()),
          share(std::ranges::count_if(waited, is_good), waited.size()),
          share(std::ranges::count_if(waited, is_late), waited.size()),
          at(50),
          at(90)};
}

Summary show(std::string_view policy, std::int64_t slack) {
  std::vector<Prediction> made;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    const auto more = Show(policy, arrivals(seed, slack)).run();
    made.insert(made.end(), more.begin(), more.end());
  }
  const Summary found = summary_of(made);
  std::printf("%-14s %3d %%  %3zu of %zu  %5.0f %%  %5.0f %%  %5.0f %%  %6.2f  %6.2f\n",
              std::string(policy).c_str(), static_cast<int>(slack), found.waited, made.size(),
              100 * found.good_of_all, 100 * found.good_of_waited, 100 * found.late, found.median,
              found.p90);
  return found;
}

TEST(HundredJobs, PredictedAgainstActualStarts) {
  std::printf(
      "policy         slack  waited      within 20 %% of the wait            error\n"
      "                                     all   waited     late     p50     p90\n");
  for (const std::int64_t slack : {0, 10, 50}) {
    const Summary found = show("fifo", slack);
    const double required = slack == 0 ? 1 : slack == 10 ? 0.9 : 0;
    EXPECT_GE(found.good_of_all, required);  // no later job goes first
    for (const char* policy : {"headroom", "easy", "fifo-skip", "sjf"}) show(policy, slack);
  }
}

}  // namespace
}  // namespace berth::test
