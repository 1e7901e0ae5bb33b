// Goal: however many jobs one user has, held or not, others hear when theirs start, and berthd's
// thread copies no more than it can. Method: engines with more jobs than a look ahead takes in.
#include "daemon/answers/first_jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "engine/forecast.hpp"
#include "policy/registry.hpp"

namespace berth::daemon {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr Bytes kCard{std::int64_t{24} << 30};

Engine one_gpu(const char* policy = "fifo") {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 1, .vram = kCard});
  return Engine(cluster, {}, *make_policy(policy, "first-fit"));
}

JobSpec of_user(std::uint32_t user) {
  JobSpec spec{.user = UserId(user), .time_limit = minutes(10)};
  spec.request.gpu.count = GpuCount(1);
  return spec;
}

/// Ids from `first` on.
std::vector<Input> many(std::uint64_t first, std::size_t count, std::uint32_t user, bool held) {
  std::vector<Input> inputs;
  for (std::uint64_t i = 0; i < count; ++i) {
    inputs.emplace_back(Submitted{JobId(first + i), of_user(user), held});
  }
  return inputs;
}

FirstJobs found_in(const Engine& engine, std::size_t most) {
  FirstJobs first(most);
  while (first.advance(engine.view(), [] { return false; })) {
  }
  return first;
}

TEST(FirstJobsTest, ThoseThatAreHeldTakeNoRoom) {
  Engine engine = one_gpu();
  engine.step(kStart, many(1, 100, 1, true));
  engine.step(kStart, many(101, 3, 2, false));
  FirstJobs first = found_in(engine, 10);
  EXPECT_EQ(first.waiting(), 2U) << "one has a berth";
  EXPECT_THAT(first.take(), ElementsAre(JobId(102), JobId(103)));
  EXPECT_FALSE(first.leaves_out(UserId(1)));
}

TEST(FirstJobsTest, NobodysJobsKeepAnothersOut) {
  Engine engine = one_gpu();
  engine.step(kStart, many(1, 1000, 1, false));
  engine.step(kStart, many(1001, 2, 2, false));
  engine.step(kStart, many(1003, 500, 3, false));
  FirstJobs first = found_in(engine, 12);
  const std::vector<JobId> jobs = first.take();
  EXPECT_THAT(
      jobs, ElementsAre(JobId(2), JobId(3), JobId(4), JobId(5), JobId(6), JobId(1001), JobId(1002),
                        JobId(1003), JobId(1004), JobId(1005), JobId(1006), JobId(1007)));
  EXPECT_TRUE(first.leaves_out(UserId(1)));
  EXPECT_FALSE(first.leaves_out(UserId(2)));
}

TEST(FirstJobsTest, WhatAJobWaitsForComesAlong) {
  Engine engine = one_gpu();
  engine.step(kStart, many(1, 5, 1, true));
  JobSpec follower = of_user(1);
  follower.conditions = Conditions{.after = {{.job = JobId(3)}}};
  JobSpec last = of_user(1);
  last.conditions = Conditions{.after = {{.job = JobId(6)}}};
  engine.step(kStart, std::vector<Input>{Submitted{JobId(6), follower}, Submitted{JobId(7), last}});
  EXPECT_THAT(with_what_they_wait_for(engine.view(), {JobId(7)}, 100),
              ElementsAre(JobId(3), JobId(6), JobId(7)));
  EXPECT_THAT(with_what_they_wait_for(engine.view(), {JobId(7)}, 2), SizeIs(2));
}

/// Thousands of jobs may wait for the same thousands.
TEST(FirstJobsTest, WhatComesAlongIsLookedForWithinBounds) {
  Engine engine = one_gpu();
  engine.step(kStart, many(1, 50, 1, true));
  for (std::uint64_t id = 51; id <= 90; ++id) {  // for those, and for the one before
    Conditions conditions;
    for (std::uint64_t on = id == 51 ? 1 : 0; on <= 50; ++on) {
      conditions.after.push_back({.job = JobId(on == 0 ? id - 1 : on)});
    }
    JobSpec spec = of_user(1);
    spec.conditions = conditions;
    engine.step(kStart, std::vector<Input>{Submitted{JobId(id), spec}});
  }
  EXPECT_THAT(with_what_they_wait_for(engine.view(), {JobId(90)}, 1000), SizeIs(90));
  const auto few = with_what_they_wait_for(engine.view(), {JobId(90)}, 89);
  EXPECT_LT(few.size(), 70U) << "356 looks at 51 for each";
}

/// The start that is predicted is the one that is predicted with all jobs.
TEST(FirstJobsTest, APictureTellsWhatTheWholeTells) {
  for (const char* const policy : {"fifo", "easy", "headroom", "fair-share"}) {
    Engine engine = one_gpu(policy);
    engine.step(kStart, many(1, 200, 1, true));
    engine.step(kStart, many(201, 3, 2, false));
    engine.step(kStart, many(204, 1, 3, false));
    FirstJobs first = found_in(engine, 20);
    const std::string picture = engine.picture(first.take());
    EXPECT_LT(picture.size(), engine.save().size() / 4);
    auto small = Engine::restore_state(picture, *make_policy(policy, "first-fit"));
    ASSERT_TRUE(small) << small.error().message;
    EXPECT_EQ(small->check(), std::nullopt);
    EXPECT_EQ(small->view().job_count(), 4U);
    auto whole = Engine::restore(engine.save(), *make_policy(policy, "first-fit"));
    ASSERT_TRUE(whole);
    const Forecast of_small = forecast(std::move(*small), JobId(204), {});
    const Forecast of_whole = forecast(std::move(*whole), JobId(204), {});
    EXPECT_EQ(of_small.start, of_whole.start) << policy;
    EXPECT_TRUE(of_small.start) << policy;
  }
}

/// Whatever is left out, the rest is a state that can be gone on with.
TEST(FirstJobsTest, AnyPictureIsSound) {
  Engine engine = one_gpu("headroom");
  engine.step(kStart, many(1, 30, 1, false));
  for (std::uint64_t id = 31; id <= 60; ++id) {
    JobSpec spec = of_user(static_cast<std::uint32_t>(id % 3));
    spec.conditions = Conditions{.after = {{.job = JobId(id - 7)}}};
    engine.step(kStart, std::vector<Input>{Submitted{JobId(id), spec, id % 5 == 0}});
  }
  for (std::uint64_t step = 1; step <= 20; ++step) {
    std::vector<JobId> jobs;
    for (std::uint64_t id = step; id <= 60; id += step) jobs.emplace_back(id);
    const auto small =
        Engine::restore_state(engine.picture(jobs), *make_policy("headroom", "first-fit"));
    ASSERT_TRUE(small) << step << ": " << small.error().message;
    EXPECT_EQ(small->check(), std::nullopt);
    EXPECT_FALSE(small->view().running().empty());
  }
}

}  // namespace
}  // namespace berth::daemon
