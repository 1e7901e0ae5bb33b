// Priorities order the jobs of one user among themselves, and take nothing from others.
//
// Method: random streams in which the jobs of each user are alike, run with and without priorities
// under every registered policy that does not preempt. A user's priorities may exchange the names
// of the user's jobs and nothing else: the same user's jobs start and end on the same GPUs at the
// same instants. No job starts for the first time while one of its user with a larger priority
// waits for that. In random worlds with faults the properties of every policy hold as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "property/lockstep.hpp"
#include "property/registered.hpp"

namespace berth::test {
namespace {

constexpr std::uint64_t kOwnStreams = 30;

/// Makes the jobs of each user alike but for their priorities.
void make_alike(World& world) {
  std::map<UserId, WorldJob> first;
  std::vector<JobId> ids;
  for (WorldJob& job : world.jobs()) {
    const WorldJob& model = first.try_emplace(job.spec.user, job).first->second;
    const std::int32_t priority = job.spec.priority;
    job.spec = model.spec;
    job.spec.priority = priority;
    job.duration = model.duration;
    job.left = model.left;
    ids.push_back(JobId(ids.size() + 1));
  }
  world.relabel(ids);
}

std::vector<std::string> that_do_not_preempt() {
  std::vector<std::string> all = registered_policies();
  std::erase_if(all, [](const std::string& name) { return choose(name)->preempts(); });
  return all;
}

class OwnPriority : public testing::TestWithParam<std::string> {
 protected:
  void check_first(const Engine& engine, const Launch& launch) {
    const Job& started = *engine.view().find(launch.job);
    engine.view().for_each_pending([&](const JobView& job) {
      const bool never_ran = engine.view().find(job.id())->attempt == Attempt(0);
      if (job.user() != started.spec.user || !never_ran) return;
      passed_ += job.id() < started.id ? 1 : 0;
      EXPECT_LE(job.spec().priority, started.spec.priority)
          << "job " << job.id().value() << " waits for job " << launch.job.value();
    });
  }

  /// What happened, with users in place of jobs.
  std::vector<std::string> run(std::uint64_t seed, bool has_priorities) {
    World world({.seed = seed, .jobs = 24, .priorities = has_priorities});
    make_alike(world);
    Engine engine(world.cluster(), world.engine_options(), policy_for(GetParam(), seed));
    while (world.next()) {
      const Effects& effects = engine.step(world.now(), world.inputs());
      for (const Effect& effect : effects.list) {
        const auto* launch = std::get_if<Launch>(&effect);
        if (launch != nullptr && has_priorities) check_first(engine, *launch);
      }
      world.perform(effects);
    }
    EXPECT_TRUE(world.all_finished());
    EXPECT_EQ(engine.dropped(), 0U);
    std::vector<std::string> log;
    for (const WorldJob& job : world.jobs()) {
      const std::string user = "user " + std::to_string(job.spec.user.value()) + " ";
      for (const std::string& what : job.history) log.push_back(user + what);
    }
    std::ranges::sort(log);
    return log;
  }

  int passed_ = 0;
};

TEST_P(OwnPriority, ExchangesTheNamesOfAlikeJobsAndNothingElse) {
  for (std::uint64_t seed = 1; seed <= kOwnStreams; ++seed) {
    SCOPED_TRACE(GetParam() + ", seed " + std::to_string(seed));
    const auto without = run(seed, false);
    ASSERT_EQ(run(seed, true), without);
    if (HasFailure()) return;
  }
  EXPECT_GT(passed_, 0) << "no job passed an earlier one";
}

TEST_P(OwnPriority, KeepsTheInvariantsInAWorldOfFaults) {
  for (std::uint64_t seed = 1; seed <= kOwnStreams; ++seed) {
    SCOPED_TRACE(GetParam() + ", seed " + std::to_string(seed));
    WorldOptions options = rough(seed);
    options.priorities = true;
    Lockstep(GetParam(), options).run();
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, OwnPriority, testing::ValuesIn(that_do_not_preempt()),
                         policy_test_name);

}  // namespace
}  // namespace berth::test
