// Goal: a job that waits for others, for a time or for its turn starts to wait for a place exactly
// when it may, ends when it never can, and all of it survives a snapshot.
// Method: jobs driven through their states by hand; the engine's own check after every step.
#include <gtest/gtest.h>

#include "engine/rig.hpp"

namespace berth::test {
namespace {

using namespace berth::literals;

class Deferral : public testing::Test {
 protected:
  Deferral() : rig_(nodes_of(1, 8)) {}

  static JobSpec after(std::vector<Dependency> on, Instant begin = kStart) {
    JobSpec spec = shared(1, 1_GiB);
    spec.conditions = Conditions{.after = std::move(on), .begin = begin};
    return spec;
  }
  static JobSpec after(JobId job, After when) { return after({{.job = job, .when = when}}); }

  /// `tasks` jobs, of which so many may be at once.
  std::vector<JobId> submit_array(std::int32_t tasks, std::int32_t at_once) {
    std::vector<JobId> jobs;
    for (std::int32_t task = 0; task < tasks; ++task) {
      JobSpec spec = shared(1, 1_GiB);
      const JobId first = jobs.empty() ? JobId(rig_.engine().view().job_count() + 1) : jobs[0];
      spec.conditions =
          Conditions{.array = {.first = first, .task = task, .tasks = tasks, .at_once = at_once}};
      jobs.push_back(rig_.submit(spec));
    }
    return jobs;
  }
  std::size_t count(JobState state) const {
    std::size_t jobs = 0;
    rig_.engine().view().for_each_job([&](const Job& job) { jobs += job.state == state ? 1 : 0; });
    return jobs;
  }
  void end(JobId job, Outcome outcome = Outcome::Done) {
    rig_.exited(job, outcome, outcome == Outcome::Done ? 0 : 3);
    rig_.released(job);
  }
  JobId run() { return rig_.run(shared(1, 1_GiB), {0}); }

  Rig rig_;
};

TEST_F(Deferral, AJobWaitsForTheEndOfAnother) {
  const JobId first = run();
  const JobId second = rig_.submit(after(first, After::Ok));
  EXPECT_EQ(rig_.state(second), JobState::Deferred);
  rig_.exited(first);
  EXPECT_EQ(rig_.state(second), JobState::Deferred) << "its berth is not released";
  rig_.released(first);
  EXPECT_EQ(rig_.state(second), JobState::Queued);
  EXPECT_TRUE(rig_.job(second).spec.conditions.is_default());
}

TEST_F(Deferral, NoDecisionStartsIt) {
  const JobId first = run();
  const JobId second = rig_.submit(after(first, After::Any));
  EXPECT_TRUE(rig_.start(second, {1}).list.empty());
  EXPECT_EQ(rig_.engine().dropped(), 1U);
}

TEST_F(Deferral, AnArrayIsMadeNarrowerAndWider) {
  const auto jobs = submit_array(6, 3);
  EXPECT_EQ(count(JobState::Queued), 3U);
  rig_.start(jobs[0], {0});
  const auto set_width = [&](std::int32_t at_once) {
    std::vector<Input> inputs;
    for (const JobId job : jobs) {
      if (!rig_.knows(job)) continue;
      JobSpec spec = rig_.job(job).spec;
      spec.conditions.edit().array.at_once = at_once;
      inputs.emplace_back(Updated{.job = job, .spec = spec});
    }
    rig_.tell(inputs);
  };
  set_width(2);
  EXPECT_EQ(rig_.state(jobs[1]), JobState::Queued);
  EXPECT_EQ(rig_.state(jobs[2]), JobState::Deferred) << "the last goes back";
  set_width(1);
  EXPECT_EQ(count(JobState::Deferred), 5U) << "the one that runs goes on";
  end(jobs[0]);
  EXPECT_EQ(rig_.state(jobs[1]), JobState::Queued);
  EXPECT_EQ(count(JobState::Deferred), 4U);
  set_width(4);
  EXPECT_EQ(count(JobState::Queued), 4U);
}

TEST_F(Deferral, AnArrayGetsItsFirstBoundWhileItRuns) {
  const auto jobs = submit_array(4, 0);
  rig_.start(jobs[0], {0});
  std::vector<Input> inputs;
  for (const JobId job : jobs) {
    JobSpec spec = rig_.job(job).spec;
    spec.conditions.edit().array.at_once = 2;
    inputs.emplace_back(Updated{.job = job, .spec = spec});
  }
  rig_.tell(inputs);
  EXPECT_EQ(rig_.state(jobs[1]), JobState::Queued);
  EXPECT_EQ(count(JobState::Deferred), 2U);
}

struct End {
  Outcome outcome;
  After when;
  bool starts;
};

TEST_F(Deferral, WhichEndItTakesIsItsUsersWord) {
  for (const End& end_ : {End{Outcome::Done, After::Ok, true},
                          {Outcome::Done, After::Any, true},
                          {Outcome::Done, After::NotOk, false},
                          {Outcome::Failed, After::Ok, false},
                          {Outcome::Failed, After::Any, true},
                          {Outcome::Failed, After::NotOk, true},
                          {Outcome::Lost, After::NotOk, true},
                          {Outcome::Lost, After::Ok, false}}) {
    const JobId first = run();
    const JobId second = rig_.submit(after(first, end_.when));
    end(first, end_.outcome);
    EXPECT_EQ(rig_.knows(second), end_.starts);
    if (rig_.knows(second)) rig_.tell({CancelAsked{second}});
  }
}

TEST_F(Deferral, AJobThatNeverCanEndsWithThoseBehindItAndSaysWhy) {
  const JobId first = run();
  std::vector<JobId> chain = {first};
  for (int i = 0; i < 5; ++i) chain.push_back(rig_.submit(after(chain.back(), After::Ok)));
  const JobId cleanup = rig_.submit(after(chain.back(), After::NotOk));
  rig_.exited(first, Outcome::Failed, 3);
  const Effects& effects = rig_.released(first);
  std::vector<std::string> notes;
  for (const Effect& effect : effects.list) {
    if (const auto* finished = std::get_if<Finished>(&effect)) {
      EXPECT_EQ(finished->outcome, finished->job == first ? Outcome::Failed : Outcome::Cancelled);
      notes.push_back(finished->note);
    }
  }
  ASSERT_EQ(notes.size(), 6U);
  EXPECT_EQ(notes[1],
            "never started: job 1 ended as failed, and it was to start only if that ended well");
  EXPECT_EQ(notes[5],
            "never started: job 5 ended as cancelled, and it was to start only if that ended well");
  EXPECT_EQ(rig_.state(cleanup), JobState::Queued);
}

TEST_F(Deferral, ItsBeginMayBeChangedUntilItStarts) {
  const auto begins = [&](JobId job, std::int64_t second) {
    Updated updated{.job = job, .spec = rig_.job(job).spec};
    updated.spec.conditions.edit().begin = kStart + seconds(second);
    rig_.tell({updated});
    return rig_.state(job);
  };
  const JobId job = rig_.submit(after({}, kStart + hours(1)));
  EXPECT_EQ(begins(job, 7200), JobState::Deferred);
  EXPECT_EQ(begins(job, 0), JobState::Queued);
  EXPECT_EQ(begins(job, 60), JobState::Deferred) << "it waits for no place any more";
  rig_.at(60).tell({});
  EXPECT_EQ(rig_.state(job), JobState::Queued);
  rig_.tell({HoldAsked{job}});
  EXPECT_EQ(begins(job, 90), JobState::Held);
  rig_.tell({ReleaseAsked{job}});
  EXPECT_EQ(rig_.state(job), JobState::Deferred);
  rig_.at(90).tell({});
  rig_.start(job, {0});
  EXPECT_EQ(begins(job, 200), JobState::Starting) << "it has started";

  const JobId follower = rig_.submit(after({{.job = job}}, kStart + seconds(300)));
  EXPECT_EQ(begins(follower, 0), JobState::Deferred) << "it waits for a job still";
}

TEST_F(Deferral, ATaskWhoseBeginIsPutOffGivesUpItsTurn) {
  const std::vector<JobId> tasks = submit_array(3, 1);
  Updated updated{.job = tasks[0], .spec = rig_.job(tasks[0]).spec};
  updated.spec.conditions.edit().begin = kStart + seconds(60);
  rig_.tell({updated});
  EXPECT_EQ(rig_.state(tasks[0]), JobState::Deferred);
  EXPECT_EQ(rig_.state(tasks[1]), JobState::Queued);
  rig_.at(60).tell({});
  EXPECT_EQ(rig_.state(tasks[0]), JobState::Deferred) << "another has its turn";
  rig_.tell({CancelAsked{tasks[1]}});
  EXPECT_EQ(rig_.state(tasks[0]), JobState::Queued);
}

/// As Slurm has it: the whole array has ended, and one of its jobs at least not well.
TEST_F(Deferral, OfAnArrayAsAWholeOneJobThatDidNotEndWellIsEnough) {
  for (const int bad : {0, 1, 2, 3}) {  // 3: none
    const std::vector<JobId> array = {run(), run(), run()};
    std::vector<Dependency> on;
    for (const JobId job : array) {
      on.push_back({.job = job, .when = After::NotOk, .array = array[0]});
    }
    const JobId cleanup = rig_.submit(after(on));
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(rig_.state(cleanup), JobState::Deferred) << bad << " " << i;
      end(array[static_cast<std::size_t>(i)], i == bad ? Outcome::Failed : Outcome::Done);
    }
    ASSERT_EQ(rig_.knows(cleanup), bad < 3);
    if (bad == 3) continue;
    EXPECT_EQ(rig_.state(cleanup), JobState::Queued);
    rig_.tell({CancelAsked{cleanup}});
  }
}

TEST_F(Deferral, OfAnArrayThatEndedWellTheArrayIsNamed) {
  const std::vector<JobId> array = {run(), run()};
  const JobId cleanup =
      rig_.submit(after({{.job = array[0], .when = After::NotOk, .array = array[0]},
                         {.job = array[1], .when = After::NotOk, .array = array[0]}}));
  end(array[1]);
  rig_.exited(array[0]);
  std::vector<std::string> notes;
  for (const Effect& effect : rig_.released(array[0]).list) {
    const auto* const finished = std::get_if<Finished>(&effect);
    if (finished != nullptr && finished->job == cleanup) notes.push_back(finished->note);
  }
  EXPECT_EQ(notes, std::vector<std::string>{"never started: all tasks of array 1 ended well, and "
                                            "it was to start only if one did not"});
}

TEST_F(Deferral, AnArrayWhoseJobsEndInOneStepOrBeforeCountsAsAWhole) {
  const JobId first = run();
  const auto both = [&](std::optional<Outcome> ended) {
    return after({{.job = first, .when = After::NotOk, .array = first},
                  {.job = JobId(40), .when = After::NotOk, .ended = ended, .array = first}});
  };
  const JobId waits = rig_.submit(both(Outcome::Failed));
  EXPECT_EQ(rig_.state(waits), JobState::Deferred) << "one has not ended";
  const JobId never = rig_.submit(both(Outcome::Done));
  end(first);
  EXPECT_EQ(rig_.state(waits), JobState::Queued);
  EXPECT_FALSE(rig_.knows(never));
}

TEST_F(Deferral, ATaskThatKeptAJobFromStartingIsNamedByItsHandle) {
  const auto array = submit_array(2, 0);
  const JobId follower = rig_.submit(after(array[1], After::Ok));
  rig_.start(array[1], {0});
  rig_.tell({Started{array[1], Attempt(1)}});
  rig_.exited(array[1], Outcome::Failed, 3);
  std::string note;
  for (const Effect& effect : rig_.released(array[1]).list) {
    const auto* const finished = std::get_if<Finished>(&effect);
    if (finished != nullptr && finished->job == follower) note = finished->note;
  }
  EXPECT_EQ(note, "never started: job " + std::to_string(array[0].value()) +
                      "_1 ended as failed, and it was to start only if that ended well");
}

TEST_F(Deferral, AJobThatEndedBeforeOrInTheSameStepCounts) {
  JobSpec spec = after({{.job = JobId(1), .when = After::Ok, .ended = Outcome::Done}});
  const JobId first = run();  // number 1
  EXPECT_EQ(rig_.state(rig_.submit(spec)), JobState::Queued);
  spec = after({{.job = JobId(1), .when = After::Ok, .ended = Outcome::Failed}});
  EXPECT_FALSE(rig_.knows(rig_.submit(spec)));
  rig_.exited(first);
  rig_.tell({Released{first, rig_.attempt(first)},
             Submitted{.job = JobId(50), .spec = after(first, After::Ok)},
             Submitted{.job = JobId(51), .spec = after(first, After::NotOk)}});
  EXPECT_EQ(rig_.state(JobId(50)), JobState::Queued);
  EXPECT_FALSE(rig_.knows(JobId(51)));
}

TEST_F(Deferral, NobodyWaitsForHimselfOrForTheUnknown) {
  rig_.tell({Submitted{.job = JobId(9), .spec = after(JobId(9), After::Any)},
             Submitted{.job = JobId(10), .spec = after(JobId(11), After::Any)},
             Submitted{.job = JobId(12), .spec = after(JobId(3), After::Any)}});
  EXPECT_EQ(rig_.engine().view().job_count(), 0U);
}

TEST_F(Deferral, ItWaitsForAllOfThemAndForItsTime) {
  const JobId first = run();
  const JobId second = run();
  const JobId third = rig_.submit(after({{.job = first}, {.job = second}}, kStart + seconds(100)));
  end(first);
  end(second);
  EXPECT_EQ(rig_.state(third), JobState::Deferred);
  EXPECT_EQ(rig_.engine().effects().wake_at, kStart + seconds(100));
  rig_.at(99).tell({Ticked{}});
  EXPECT_EQ(rig_.state(third), JobState::Deferred);
  rig_.at(100).tell({Ticked{}});
  EXPECT_EQ(rig_.state(third), JobState::Queued);
}

/// Several end in one step, one is waited for in two ways, and the jobs that wait stand in all
/// states that they can wait in. The rig compares what is kept with what the jobs ask for.
TEST_F(Deferral, OfManyJobsToWaitForEachEndIsMetOnce) {
  std::vector<JobId> running;
  std::vector<Dependency> all;
  for (std::uint32_t i = 0; i < 6; ++i) {
    running.push_back(rig_.run(shared(1, 1_GiB), {i}));
    all.push_back({.job = running.back(), .when = After::Any});
    if (i == 2) all.push_back({.job = running.back(), .when = After::NotOk});
  }
  const JobId plain = rig_.submit(after(all));
  const JobId other = rig_.submit(after({all.rbegin(), all.rend()}, kStart + seconds(100)));
  const JobId held = rig_.submit(after(all));
  rig_.tell({HoldAsked{held}});
  const JobId never = rig_.submit(after(running[4], After::Ok));
  const auto waits_for = [&](JobId id) {
    return rig_.engine().view().find(id)->spec.conditions->after.size();
  };
  const auto fails = [&](JobId id) { return Exited{id, rig_.attempt(id), Outcome::Failed, 1}; };
  rig_.tell({fails(running[1]), Released{running[1], rig_.attempt(running[1])}});
  for (const JobId id : {plain, other, held}) EXPECT_EQ(waits_for(id), 6U) << id.value();
  rig_.tell({fails(running[2]), Released{running[2], rig_.attempt(running[2])}, fails(running[4]),
             Released{running[4], rig_.attempt(running[4])}});
  for (const JobId id : {plain, other, held}) EXPECT_EQ(waits_for(id), 3U) << id.value();
  EXPECT_FALSE(rig_.knows(never));
  for (const int i : {5, 0, 3}) {
    EXPECT_EQ(rig_.state(plain), JobState::Deferred);
    end(running[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(rig_.state(plain), JobState::Queued);
  EXPECT_EQ(rig_.state(other), JobState::Deferred);
  EXPECT_EQ(rig_.state(held), JobState::Held);
  rig_.at(100).tell({ReleaseAsked{held}});
  EXPECT_EQ(rig_.state(other), JobState::Queued);
  EXPECT_EQ(rig_.state(held), JobState::Queued);
}

TEST_F(Deferral, AHeldOneIsReleasedIntoWhatItStillWaitsFor) {
  const JobId first = run();
  const JobId second = rig_.submit(after(first, After::Ok));
  rig_.tell({HoldAsked{second}});
  EXPECT_EQ(rig_.state(second), JobState::Held);
  rig_.tell({ReleaseAsked{second}});
  EXPECT_EQ(rig_.state(second), JobState::Deferred);
  rig_.tell({HoldAsked{second}});
  end(first);
  EXPECT_EQ(rig_.state(second), JobState::Held);
  rig_.tell({ReleaseAsked{second}});
  EXPECT_EQ(rig_.state(second), JobState::Queued);
}

TEST_F(Deferral, AnArrayHasSoManyAtOnce) {
  const auto jobs = submit_array(5, 2);
  EXPECT_EQ(count(JobState::Queued), 2U);
  rig_.start(jobs[0], {0});
  rig_.tell({Started{jobs[0], Attempt(1)}});
  EXPECT_EQ(count(JobState::Deferred), 3U);
  end(jobs[0], Outcome::Failed);
  EXPECT_EQ(rig_.state(jobs[2]), JobState::Queued);
  rig_.tell({HoldAsked{jobs[1]}});
  EXPECT_EQ(rig_.state(jobs[3]), JobState::Queued) << "a held job keeps no turn";
  rig_.tell({ReleaseAsked{jobs[1]}});
  EXPECT_EQ(rig_.state(jobs[1]), JobState::Deferred);
  rig_.tell({CancelAsked{jobs[2]}, CancelAsked{jobs[3]}});
  EXPECT_EQ(count(JobState::Queued), 2U);
  EXPECT_EQ(count(JobState::Deferred), 0U);
}

TEST_F(Deferral, AKeyIsOfOneLiveJobOfAUser) {
  JobSpec spec = shared(1, 1_GiB);
  spec.conditions = Conditions{.unique = "nightly"};
  const JobId first = rig_.submit(spec);
  EXPECT_EQ(rig_.engine().job_with_key(UserId(7), "nightly"), first);
  EXPECT_EQ(rig_.engine().job_with_key(UserId(8), "nightly"), std::nullopt);
  rig_.tell({Submitted{.job = JobId(50), .spec = spec}});
  EXPECT_FALSE(rig_.knows(JobId(50)));
  EXPECT_EQ(only<Finished>(rig_.engine().effects())->note,
            "never started: job 1 has its key 'nightly' already");
  rig_.tell({CancelAsked{first}});
  rig_.tell({Submitted{.job = JobId(51), .spec = spec}});
  EXPECT_TRUE(rig_.knows(JobId(51)));
}

TEST_F(Deferral, AJobRunsAgainAfterTheCodesItNames) {
  JobSpec spec = shared(1, 1_GiB);
  spec.conditions = Conditions{.requeue_on = {75}, .requeues = 2};
  const JobId id = rig_.run(spec, {0});
  const JobId next = rig_.submit(after(id, After::NotOk));
  for (int run = 0; run < 2; ++run) {
    rig_.exited(id, Outcome::Failed, 75);
    EXPECT_EQ(rig_.state(id), JobState::Stopping);
    rig_.released(id);
    EXPECT_EQ(rig_.state(id), JobState::Queued);
    rig_.start(id, {0});
    rig_.tell({Started{id, rig_.attempt(id)}});
  }
  EXPECT_EQ(rig_.state(next), JobState::Deferred);
  rig_.exited(id, Outcome::Failed, 75);
  rig_.released(id);
  EXPECT_FALSE(rig_.knows(id)) << "no more of these";
  EXPECT_EQ(rig_.state(next), JobState::Queued);
}

/// Its log may hold the words of a failure that it caught.
TEST_F(Deferral, AJobRunsAgainAfterItsCodesWhateverItsWordsAre) {
  JobSpec spec = shared(1, 1_GiB);
  spec.conditions = Conditions{.requeue_on = {75}, .requeues = 2};
  spec.retries = 1;
  const JobId id = rig_.run(spec, {0});
  rig_.exited(id, Outcome::Oom, 75);
  rig_.released(id);
  EXPECT_EQ(rig_.job(id).spec.request.gpu.vram, 1_GiB + Bytes((1_GiB).raw() / 2))
      << "with more memory, as long as it may";
  rig_.start(id, {0});
  rig_.tell({Started{id, rig_.attempt(id)}});
  rig_.exited(id, Outcome::Oom, 75);
  rig_.released(id);
  EXPECT_EQ(rig_.state(id), JobState::Queued);
  EXPECT_EQ(rig_.job(id).spec.conditions->requeues, 1);
}

TEST_F(Deferral, AnUpdateIsOfWhatWaitsOnly) {
  const JobId queued = rig_.submit(shared(1, 1_GiB));
  const JobId running = run();
  JobSpec spec = shared(1, 5_GiB);
  spec.time_limit = seconds(60);
  spec.priority = 4;
  spec.conditions.edit().comment = "a note";
  rig_.tell({Updated{queued, spec}, Updated{running, spec}, Updated{JobId(99), spec}});
  EXPECT_EQ(rig_.job(queued).spec.request.gpu.vram, 5_GiB);
  EXPECT_EQ(rig_.job(queued).spec.time_limit, seconds(60));
  EXPECT_EQ(rig_.job(queued).spec.priority, 4);
  EXPECT_EQ(rig_.job(running).spec.request, shared(1, 1_GiB).request);
  EXPECT_EQ(rig_.job(running).spec.priority, 0);
  for (const JobId id : {queued, running}) {
    EXPECT_EQ(rig_.job(id).spec.conditions->comment, "a note") << "which is of any job";
  }
  spec.request.gpu.vram = 500_GiB;
  rig_.tell({Updated{queued, spec}});
  EXPECT_EQ(rig_.job(queued).spec.request.gpu.vram, 5_GiB) << "no GPU has so much";
}

TEST_F(Deferral, AnEstimateIsOfWhatWaitsAndHasNone) {
  const JobId queued = rig_.submit(shared(1, 1_GiB));
  JobSpec spec = shared(1, 1_GiB);
  spec.estimate = seconds(7);
  const JobId stated = rig_.submit(spec);
  const JobId running = run();
  for (const JobId id : {queued, stated, running, JobId(99)}) {
    rig_.tell({Estimated{id, seconds(50), 2}});
  }
  EXPECT_EQ(rig_.job(queued).spec.estimate, seconds(50));
  EXPECT_EQ(rig_.job(queued).spec.learned_from, 2);
  EXPECT_EQ(rig_.job(stated).spec, spec) << "its user stated one";
  EXPECT_EQ(rig_.job(running).spec.estimate, kForever);
  rig_.tell({Estimated{queued, seconds(60), 3}});
  EXPECT_EQ(rig_.job(queued).spec.estimate, seconds(60)) << "a learned one is not a stated one";
  rig_.tell({HoldAsked{queued}, Estimated{queued, seconds(70), 4}});
  EXPECT_EQ(rig_.job(queued).spec.learned_from, 4);
}

TEST_F(Deferral, ADrainedGpuTakesNoJobsUntilItsTime) {
  const JobId there = run();
  rig_.tell({Drained{GpuId(0), Drain{.until = kStart + seconds(50), .reason = "fan"}}});
  EXPECT_EQ(rig_.state(there), JobState::Running);
  const JobId id = rig_.submit(shared(1, 1_GiB));
  EXPECT_TRUE(rig_.start(id, {0}).list.empty());
  EXPECT_EQ(rig_.engine().effects().wake_at, kStart + seconds(50));
  rig_.at(50).tell({Ticked{}});
  EXPECT_EQ(rig_.start(id, {0}).list.size(), 1U);
  rig_.tell({Drained{GpuId(1), Drain{}}});
  const JobId other = rig_.submit(shared(1, 1_GiB));
  EXPECT_TRUE(rig_.start(other, {1}).list.empty());
  rig_.tell({Drained{GpuId(1), std::nullopt}});
  EXPECT_EQ(rig_.start(other, {1}).list.size(), 1U);
}

TEST_F(Deferral, UsersHaveLimitsOfTheirOwn) {
  Settings settings;
  settings.limits.jobs = 5;
  settings.user_limits[UserId(7)] = {.gpus = GpuCount(0), .jobs = 1};
  rig_.tell({Configured{settings}});
  run();
  const JobId second = rig_.submit(shared(1, 1_GiB));
  EXPECT_TRUE(rig_.start(second, {1}).list.empty());
  EXPECT_EQ(rig_.engine().refused(second)->refusal.why, Why::Limit);
  JobSpec others = shared(1, 1_GiB);
  others.user = UserId(8);
  const JobId third = rig_.submit(others);
  EXPECT_EQ(rig_.start(third, {1}).list.size(), 1U);
}

TEST_F(Deferral, ASnapshotHasAllOfIt) {
  const JobId first = run();
  submit_array(5, 2);
  rig_.submit(after({{.job = first}}, kStart + seconds(100)));
  rig_.tell({HoldAsked{rig_.submit(after(first, After::Any))},
             Drained{GpuId(3), Drain{.until = kStart + seconds(9), .reason = "fan"}}});
  auto copy = Engine::restore(rig_.engine().save(), std::make_unique<Script>());
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ(copy->check(), std::nullopt);
  EXPECT_EQ(copy->save(), rig_.engine().save());
  const std::vector<Input> end_of_first = {
      Exited{.job = first, .attempt = Attempt(1), .outcome = Outcome::Done, .code = 0},
      Released{first, Attempt(1)}};
  copy->step(kStart + seconds(100), end_of_first);
  rig_.at(100).tell(end_of_first);
  EXPECT_EQ(copy->save(), rig_.engine().save());
  EXPECT_FALSE(copy->view().drains().contains(GpuId(3)));
}

}  // namespace
}  // namespace berth::test
