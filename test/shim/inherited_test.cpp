// Goal: of a job's environment what berth set is not passed on to jobs that it submits, and all
// else is. Method: environments as a job's and as a door's, before and after.
#include "shim/inherited.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::shim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

using Lines = std::vector<std::string>;

/// That of a job, in which these were set by berth.
Lines of_job(Lines others, const Lines& set) {
  std::string marks = "BERTH_SET=";
  for (const std::string& variable : set) {
    marks += (marks.ends_with('=') ? "" : ",") + mark_of(variable);
    others.push_back(variable);
  }
  others.push_back(marks);
  return others;
}

Lines passed_on(Lines environment) {
  drop_inherited(environment);
  return environment;
}

TEST(Inherited, IsNothingOfWhatBerthSet) {
  EXPECT_THAT(passed_on(of_job({"HOME=/a"}, {"MASTER_PORT=20006", "LIST=0,1:2=3", "EMPTY="})),
              ElementsAre("HOME=/a"));
  EXPECT_THAT(mark_of("MASTER_PORT=20006"), StartsWith("MASTER_PORT:"));
  EXPECT_THAT(mark_of("BERTH_JOB_KEY=secret"), testing::Not(HasSubstr("secret")));
}

TEST(Inherited, IsWhatHasAnotherValueNow) {
  Lines environment = of_job({}, {"MASTER_PORT=20006", "JAX=0.083", "GONE=1"});
  environment[0] = "MASTER_PORT=1234";
  std::erase(environment, "GONE=1");
  environment.emplace_back("MASTER_PORT_TOO=20006");
  EXPECT_THAT(passed_on(environment), ElementsAre("MASTER_PORT=1234", "MASTER_PORT_TOO=20006"));
}

TEST(Inherited, IsAllOfAnEnvironmentThatIsNoJobs) {
  const Lines plain = {"SLURM_JOB_ID=7", "BERTH_VRAM_BYTES=1", "A", "B="};
  EXPECT_EQ(passed_on(plain), plain);
}

/// Whatever a step of it was told, and a script said itself.
TEST(Inherited, IsNothingOfWhatAJobWasToldOfSlurm) {
  Lines environment = of_job({"SLURM_STEP_ID=0", "BERTH_SLURM_SIGNAL=B:USR1", "A=1"},
                             {"SLURM_JOB_ID=7", "SLURM_PROCID=0"});
  environment.front() = "SLURM_PROCID=3";
  EXPECT_THAT(passed_on(environment), ElementsAre("A=1"));
}

/// The door that asks for Slurm's variables has set them itself.
TEST(Inherited, IsNoMatterOfWhatADoorSaysOfSlurm) {
  Lines environment = of_job({"BERTH_SLURM=1", "BERTH_SLURM_SIGNAL=USR1"},
                             {"SLURM_JOB_ID=7", "SLURM_JOB_NAME=train", "MASTER_PORT=20006"});
  EXPECT_THAT(passed_on(environment), ElementsAre("BERTH_SLURM=1", "BERTH_SLURM_SIGNAL=USR1",
                                                  "SLURM_JOB_ID=7", "SLURM_JOB_NAME=train"));
}

/// A task of an array has these of berth without anything of Slurm.
TEST(Inherited, IsASlurmVariableThatBerthDidNotSetWhereItToldNothingElseOfSlurm) {
  EXPECT_THAT(passed_on(of_job({"SLURM_CONF=/etc/s"}, {"SLURM_ARRAY_TASK_ID=3"})),
              ElementsAre("SLURM_CONF=/etc/s"));
}

TEST(Inherited, OfWhateverBerthSetSays) {
  for (const char* const odd : {"BERTH_SET=", "BERTH_SET=,,:,A:", "BERTH_SET=A", "BERTH_SET"}) {
    EXPECT_THAT(passed_on({"A=1", odd, "B=2"}), ElementsAre("A=1", "B=2")) << odd;
  }
}

}  // namespace
}  // namespace berth::shim
