// Goal: a mix is drawn as doc/scenarios.md defines it, the same for one seed everywhere.
// Method: small traces as text; figures of large ones against the definition of each key.
#include "trace/mix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "trace/error.hpp"
#include "trace/formats.hpp"

namespace berth::trace {
namespace {

constexpr Bytes kMiB{std::int64_t{1} << 20};

class Mixes : public testing::Test {
 protected:
  Mixes() : workloads_(*read_workloads(shipped_workloads(), "w")) {
    mixes_ = *read_mixes(shipped_mixes(), "m", workloads_);
  }
  Mix mix(std::string_view name) const { return *std::ranges::find(mixes_, name, &Mix::name); }
  Mix changed(std::string_view name, const std::vector<std::string>& changes) const {
    Mix result = mix(name);
    for (const std::string& text : changes) {
      EXPECT_EQ(error_of(change(result, text, workloads_)), "none") << text;
    }
    return result;
  }
  Trace draw(const Mix& mix, std::int64_t jobs, std::uint64_t seed = 1) const {
    const auto trace =
        draw_mix(mix, workloads_, {.jobs = jobs, .gpus = 32, .memory = kMiB * 1024 * 2560}, seed);
    EXPECT_EQ(error_of(trace), "none");
    return *trace;
  }
  const Workload& workload(const TraceJob& job) const {
    return *std::ranges::find(workloads_, job.model, &Workload::name);
  }

  std::vector<Workload> workloads_;
  std::vector<Mix> mixes_;
};

double in_days(Duration time) { return static_cast<double>(micros(time)) / 86'400e6; }

/// GPU-days of all jobs, each alone.
double work_of(const Trace& trace) {
  double sum = 0;
  for (const TraceJob& job : trace.jobs) {
    sum += static_cast<double>(job.spec.request.gpu.count.raw()) * in_days(job.duration);
  }
  return sum;
}

double span_of(const Trace& trace) {
  return in_days(trace.jobs.back().submit - trace.jobs.front().submit);
}

template <class Key>
auto shares_by(const Trace& trace, Key key) {
  std::map<std::decay_t<decltype(key(trace.jobs.front()))>, double> shares;
  for (const TraceJob& job : trace.jobs) {
    shares[key(job)] += 1 / static_cast<double>(trace.jobs.size());
  }
  return shares;
}

std::string user_of(const TraceJob& job) { return job.user; }

TEST_F(Mixes, AreTheSameBytesForOneSeed) {
  EXPECT_EQ(write_native(draw(mix("even-limits"), 3, 7)),
            "job,user,model,submit_seconds,duration_seconds,gpus,vram_bytes,gpu_milli,alone,"
            "cpu_milli,memory_bytes,types,priority,limit_seconds,deadline_seconds,class,"
            "duty_milli,memory\n"
            "1,user1,serve-13b,0,28800,1,40802189312,,,,,,,57600,,service,965,"
            "0:0|60:24996|1800:26965|7200:30904|14400:33859|18000:36813\n"
            "2,user6,vqa-eval,567.615248,1960,1,16106127360,,,,,,,3920,,,800,"
            "0:0|60:13474|90:13794\n"
            "3,user2,notebook,1861.25,28800,1,15032385536,,,,,,,57600,,long,50,"
            "0:0|900:0|960:12894\n");
  EXPECT_NE(write_native(draw(mix("even"), 50, 1)), write_native(draw(mix("even"), 50, 2)));
}

TEST_F(Mixes, AJobOfTheTableIsItsWorkload) {
  for (const TraceJob& job : draw(mix("even"), 200).jobs) {
    const Workload& row = workload(job);
    EXPECT_EQ(job.duration, row.run_time);
    EXPECT_EQ(job.use, row.use);
    EXPECT_EQ(job.duty, row.duty);
    EXPECT_EQ(job.spec.duration_class, row.duration_class);
    EXPECT_EQ(job.spec.request.gpu.count, row.gpus);
    EXPECT_EQ(job.spec.request.gpu.vram, row.asks);
    EXPECT_EQ(job.spec.request.gpu.sharing, Sharing::Shared);
    EXPECT_EQ(job.spec.time_limit, kForever);
  }
}

TEST_F(Mixes, IsWhatIsReadAgain) {
  const std::string text = write_native(draw(mix("philly-limits"), 300));
  const auto again = read_native({.text = text, .file = "n"});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(write_native(*again), text);
}

TEST_F(Mixes, ReachTheirLoadExactly) {
  for (const Mix& each : mixes_) {
    const Trace trace = draw(each, 500);
    const double load = work_of(trace) / (32 * span_of(trace));
    EXPECT_NEAR(load, static_cast<double>(each.load) / 1000, 1e-6) << each.name;
    EXPECT_EQ(trace.jobs.front().submit, kStart);
  }
  EXPECT_EQ(draw(mix("even"), 1).jobs.front().submit, kStart);
}

TEST_F(Mixes, LoadOfMemoryIsThePeaksOverTheGpusMemory) {
  const Trace trace = draw(changed("even", {"load_of=memory", "load=0.8"}), 500);
  double offered = 0;
  for (const TraceJob& job : trace.jobs) {
    offered += static_cast<double>(job.use.peak() / kMiB) *
               static_cast<double>(job.spec.request.gpu.count.raw()) * in_days(job.duration);
  }
  EXPECT_NEAR(offered / (1024 * 2560 * span_of(trace)), 0.8, 1e-6);
}

TEST_F(Mixes, DrawWorkloadsByTheirWeights) {
  const auto model = [](const TraceJob& job) { return job.model; };
  const auto even = shares_by(draw(mix("even"), 24'000), model);
  ASSERT_EQ(even.size(), workloads_.size());
  for (const auto& [name, share] : even) EXPECT_NEAR(share, 1.0 / 12, 0.01) << name;
  const auto shorts = shares_by(draw(mix("shorts"), 24'000), model);
  ASSERT_EQ(shorts.size(), 4U);
  EXPECT_NEAR(shorts.at("embed-batch"), 0.6, 0.02);
  EXPECT_NEAR(shorts.at("llava-7b"), 0.01, 0.005);
}

TEST_F(Mixes, DrawSizesThenWorkloadsOfThatSize) {
  const Trace trace = draw(mix("philly"), 24'000);
  const auto sizes =
      shares_by(trace, [](const TraceJob& job) { return job.spec.request.gpu.count.raw(); });
  EXPECT_NEAR(sizes.at(1), 0.932, 0.01);
  EXPECT_NEAR(sizes.at(8), 0.023, 0.005);
  const auto models = shares_by(trace, [](const TraceJob& job) { return job.model; });
  EXPECT_NEAR(models.at("notebook"), 0.932 / 8, 0.01);
  EXPECT_NEAR(models.at("llava-7b"), 0.023 / 2, 0.005);
}

TEST_F(Mixes, PhillysRunTimesStretchTheCurveAndDecideTheClass) {
  const Trace trace = draw(mix("philly"), 2000);
  std::size_t shorts = 0;
  for (const TraceJob& job : trace.jobs) {
    const Workload& row = workload(job);
    const DurationClass stated = job.spec.duration_class;
    if (row.duration_class == DurationClass::Service) {
      EXPECT_EQ(stated, DurationClass::Service);
    } else {
      EXPECT_EQ(stated == DurationClass::Short, job.duration <= minutes(15));
      EXPECT_EQ(stated == DurationClass::Long, job.duration > hours(4));
    }
    shorts += stated == DurationClass::Short ? 1 : 0;
    EXPECT_EQ(job.use.peak(), row.use.peak());
    ASSERT_EQ(job.use.points().size(), row.use.points().size());
    const double stretch = in_days(job.duration) / in_days(row.run_time);
    EXPECT_NEAR(in_days(job.use.points().back().at), in_days(row.use.points().back().at) * stretch,
                1e-9);
  }
  EXPECT_GT(shorts, 500U);
}

TEST_F(Mixes, LimitsAreSoManyRunTimes) {
  for (const TraceJob& job : draw(mix("even-limits"), 100).jobs) {
    EXPECT_EQ(job.spec.time_limit, job.duration * 2);
  }
}

TEST_F(Mixes, UsersSubmitAsMuchAsEachOther) {
  const auto users = shares_by(draw(mix("even"), 24'000), user_of);
  ASSERT_EQ(users.size(), 8U);
  for (const auto& [name, share] : users) EXPECT_NEAR(share, 0.125, 0.01) << name;
}

TEST_F(Mixes, AGreedyUserSubmitsTenTimesAsMuch) {
  const auto users = shares_by(draw(mix("greedy"), 34'000), user_of);
  ASSERT_EQ(users.size(), 8U);
  EXPECT_NEAR(users.at("greedy1"), 10.0 / 17, 0.02);
  EXPECT_NEAR(users.at("user7"), 1.0 / 17, 0.01);
}

TEST_F(Mixes, ALyingUserSaysShortAndHalfAndALimitOutOfReach) {
  std::size_t lies = 0;
  for (const TraceJob& job : draw(mix("liar-limits"), 1000).jobs) {
    if (job.user != "liar1") {
      EXPECT_EQ(job.spec.time_limit, job.duration * 2);
      continue;
    }
    ++lies;
    EXPECT_EQ(job.spec.duration_class, DurationClass::Short);
    EXPECT_EQ(job.spec.time_limit, kNeverReached);
    EXPECT_EQ(job.spec.request.gpu.vram, (job.use.peak() + kMiB) / (2 * kMiB) * kMiB);
    EXPECT_EQ(job.use, workload(job).use);
  }
  EXPECT_NEAR(static_cast<double>(lies), 125, 40);
  for (const TraceJob& job : draw(mix("liar"), 50).jobs) EXPECT_EQ(job.spec.time_limit, kForever);
}

TEST_F(Mixes, ThatDifferInUsersOrLimitsHaveTheSameJobs) {
  const auto jobs_of = [](Trace trace) {
    std::vector<std::string> jobs;
    for (const TraceJob& job : trace.jobs) {
      jobs.push_back(job.name + " " + job.model + " " + std::to_string(micros(job.submit)) + " " +
                     std::to_string(micros(job.duration)));
    }
    return jobs;
  };
  const auto even = jobs_of(draw(mix("even"), 100));
  for (const char* other : {"even-limits", "two", "greedy", "liar"}) {
    EXPECT_EQ(jobs_of(draw(mix(other), 100)), even) << other;
  }
}

TEST_F(Mixes, ExtraJobsArriveAtTheirPartOfTheSpanAndCountInNoLoad) {
  const Trace plain = draw(mix("shorts"), 100);
  const Trace more = draw(changed("shorts", {"also={ llava-7b = 0.25 }"}), 100);
  ASSERT_EQ(more.jobs.size(), 101U);
  EXPECT_EQ(more.jobs.back().submit, plain.jobs.back().submit);
  const auto extra = std::ranges::find(more.jobs, "extra", &TraceJob::user);
  EXPECT_EQ(extra->model, "llava-7b");
  EXPECT_NEAR(in_days(extra->submit - kStart), 0.25 * span_of(plain), 1e-6);
}

TEST_F(Mixes, SteadyArrivalsHaveNoBusyHours) {
  const auto by_hour = [](const TraceJob& job) { return (job.submit - kStart) / hours(1) % 24; };
  const auto steady = shares_by(draw(changed("philly", {"arrivals=steady"}), 24'000), by_hour);
  for (const auto& [hour, share] : steady) EXPECT_NEAR(share, 1.0 / 24, 0.006) << hour;
  const auto daily = shares_by(draw(mix("philly"), 24'000), by_hour);
  EXPECT_NEAR(daily.at(7), 0.087, 0.01);
  EXPECT_NEAR(daily.at(15), 0.027, 0.01);
}

TEST_F(Mixes, TogetherAsManyJobsAsUsersArriveAtAnInstant) {
  const Trace trace = draw(changed("even", {"arrivals=together", "users=5"}), 23);
  const auto at = shares_by(trace, [](const TraceJob& job) { return job.submit; });
  ASSERT_EQ(at.size(), 5U);
  EXPECT_NEAR(at.begin()->second * 23, 5, 1e-9);
  EXPECT_NEAR(at.rbegin()->second * 23, 3, 1e-9);
  EXPECT_NEAR(work_of(trace) / (32 * span_of(trace)), 1, 1e-6);
}

TEST_F(Mixes, ASpanOfMoreThanACenturyIsRefused) {
  const auto drawn = draw_mix(changed("philly", {"load=0.001"}), workloads_,
                              {.jobs = 10'000, .gpus = 1, .memory = kMiB}, 1);
  EXPECT_EQ(error_of(drawn),
            "mix 'philly': 10000 jobs at this load arrive over more than a century");
}

}  // namespace
}  // namespace berth::trace
