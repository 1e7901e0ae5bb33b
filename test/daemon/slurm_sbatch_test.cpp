// Goal: what sbatch cannot honour is named, and what it honours is done as Slurm does it.
// Method: the commands of clients/slurm against a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rig.hpp"
#include "support/paths.hpp"
#include "support/reader_watch.hpp"

namespace berth {
namespace {

using test::Ran;
using test::Rig;
using testing::HasSubstr;

class SbatchOfSlurm : public testing::Test {
 protected:
  SbatchOfSlurm() { rig_.start(); }

  Ran bash(const std::string& line) {
    const std::string commands = (test::source_dir() / "clients/slurm/bin").string();
    const std::string programs = test::program("berth").parent_path().string();
    const std::string folder = rig_.folder().path().string();
    const std::string script = rig_.folder().write(
        "script", "export BERTH_SOCKET=" + rig_.socket() +
                      "; unset PYTHONDONTWRITEBYTECODE; export PYTHONPYCACHEPREFIX=" + programs +
                      "/../pycache XDG_STATE_HOME=" + folder + " PATH=" + commands + ":" +
                      programs + ":$PATH\nunset SLURM_JOB_ID\ncd " + folder + "\n" + line + "\n");
    return test::run_program("/bin/bash", {script});
  }
  void expect(const std::string& line, const std::string& out) {
    const Ran ran = bash(line);
    EXPECT_EQ(ran.out, out) << line << "\n" << ran.err;
  }
  void expect_error(const std::string& line, const std::string& err) {
    EXPECT_THAT(bash(line).err, HasSubstr(err)) << line;
  }

  Rig rig_;
};

TEST_F(SbatchOfSlurm, ASignalWithBLeavesTheScriptsChildrenAlone) {
  expect(
      "sbatch -Q -W -t 60 --signal=B:USR1@1 -o out --wrap='trap \"echo batch\" USR1;"
      "(until [ -e go ]; do sleep 0.05; done; exit 5) & "
      "kill -s USR1 -- -$(cut -d\" \" -f5 /proc/$PPID/stat); wait $!; touch go; wait $!; echo $?';"
      "cat out",
      "batch\n5\n");
}

TEST_F(SbatchOfSlurm, AJobHasTheLimitsOfItsShell) {
  expect("ulimit -S -n 201; sbatch -Q -W -o out --wrap='ulimit -S -n'; cat out", "201\n");
  expect(
      "ulimit -S -n 202; sbatch -Q -W -o out --propagate=RLIMIT_NOFILE,core "
      "--wrap='ulimit -S -n'; cat out",
      "202\n");
  expect("ulimit -S -n 203; srun bash -c 'ulimit -S -n'", "203\n");
  expect("ulimit -S -n 204; berth run bash -c 'ulimit -S -n'", "204\n");
  const Ran none = bash(
      "ulimit -S -n 205; sbatch -Q -W -o out --propagate=NONE "
      "--wrap='ulimit -S -n'; cat out");
  EXPECT_THAT(none.out, testing::MatchesRegex("[0-9]+\n"));
  EXPECT_NE(none.out, "205\n");
  expect_error("sbatch --propagate=files --wrap=true",
               "sbatch: error: --propagate=files is not valid.");
}

TEST_F(SbatchOfSlurm, TheScriptIsAFileWhileItRuns) {
  expect(
      "sbatch -Q -W -o out --wrap='exec 9>lock; basename $0; head -c 9 $0'; cat out;"
      "ls berth/slurm-scripts",
      "slurm_script\n#!/bin/sh");
}

TEST_F(SbatchOfSlurm, VariablesOfTheUsersAreTheScripts) {
  expect(
      "export name=n output=o errors=e code=c folder=f signal=s; sbatch -Q -W -o out -e err "
      "--wrap='echo $name $output $errors $code $folder $signal'; cat out",
      "n o e c f s\n");
}

TEST_F(SbatchOfSlurm, FilesAreOpenedAsAsked) {
  expect(
      "echo old >o; cp o e; echo in >i; sbatch -Q -W --open-mode=append -i i -o o -e e "
      "--wrap='cat; echo err >&2'; cat o e; sbatch -Q -W -o o -e e --wrap='echo err >&2'; cat o e",
      "old\nin\nold\nerr\nerr\n");
  expect("sbatch -Q -W -o %4j-%%-%a.out -J 'a%j' --wrap='echo padded'; cat 0003-%-4*94.out",
         "padded\n");
  expect("berth logs 1 | sed \"s:$PWD/::\"; berth logs 3",
         "sbatch: the output goes to o\npadded\n");
}

/// Most scripts of Slurm's users have a file of their own for errors.
TEST_F(SbatchOfSlurm, OutOfMemoryIsReadInTheFileOfErrors) {
  const std::string errors = rig_.folder().write("e", "");
  const test::ReaderWatch looks(errors);
  bash(
      "sbatch --gres=gpu:1 -o o -e e --wrap='until [ -e go ]; do sleep 0.02; done;"
      "echo CUDA error: out of memory >&2; exit 1'");
  ASSERT_TRUE(looks.wait()) << "nobody asks how long the file is";
  rig_.folder().write("go", "");
  expect("berth wait 1 >wait; sacct -X -n -o state%15; cat o e",
         "  OUT_OF_MEMORY \nCUDA error: out of memory\n");
}

TEST_F(SbatchOfSlurm, SingletonsWaitForTheirNamesakes) {
  expect(
      "sbatch -Q -H -J one --wrap=true; sbatch -Q -d singleton -J one --wrap=true;"
      "sbatch -Q -d singleton -J one --wrap=true; squeue -h -j 3 -o '%r %E'",
      "Dependency afterany:1(unfulfilled),afterany:2(unfulfilled)\n");
}

TEST_F(SbatchOfSlurm, ATaskWaitsForTheTaskOfItsNumber) {
  expect(
      "sbatch -Q -a 1-3 -o /dev/null --wrap='[ $SLURM_ARRAY_TASK_ID != 2 ] || exit 1; "
      "[ $SLURM_ARRAY_TASK_ID != 3 ] || until [ -e go ]; do sleep 0.05; done';"
      "sbatch -Q -a 1-3 -d aftercorr:1 -o ran.%a --wrap='echo ran'; until [ -s ran.1 ]; do sleep "
      "0.05; done; squeue -h -r -n wrap -o '%i %t %E' -j 4; touch go; until [ -s ran.3 ]; do sleep "
      "0.05; done; until [ -z \"$(squeue -h)\" ]; do sleep 0.05; done; sacct -n -X -P -o "
      "JobID,State,Reason -j 4",
      "4_3 PD afterok:3(unfulfilled)\n4_1|COMPLETED|None\n4_2|CANCELLED|"
      "DependencyNeverSatisfied\n4_3|COMPLETED|None\n");
  expect_error("sbatch -a 2-4 -d aftercorr:1 --wrap=true",
               "--dependency: array 1: has no task 4 for task 4 of this one\n");
  expect_error("sbatch -d aftercorr:1 --wrap=true",
               "job 1_2 ended as failed: after-ok 1 can never be satisfied\n");
}

TEST_F(SbatchOfSlurm, WhatIsNotHonouredIsNamed) {
  expect_error("sbatch -H --licenses=a:1 --wrap=true", "warning: --licenses=a:1 has no effect: ");
  expect_error("sbatch --container=x --wrap=true", "error: --container=x is not supported: ");
  rig_.folder().write("words.sh", "#!/bin/sh\n#SBATCH --time 5 foo\n");
  expect_error("sbatch words.sh", "Invalid directive found in batch script: foo\n");
  rig_.folder().write("het.sh", "#!/bin/sh\n#SBATCH hetjob\n");
  expect_error("sbatch het.sh", "error: #SBATCH hetjob: a job of several components");
}

TEST_F(SbatchOfSlurm, WhereAFileCannotBeWrittenIsSaidAtOnceAndAfterwards) {
  const std::string here = rig_.folder().path().string();
  const std::string late = "; the job makes it if that is so 10 s after its start\n";
  EXPECT_EQ(
      bash("sbatch -Q -H -o logs/%A_%a.out -e logs/%j.err --wrap=true").err,
      "sbatch: warning: --output=logs/%A_%a.out: the folder " + here + "/logs is not there" + late);
  EXPECT_EQ(bash("sbatch -Q -H -o /dev/null -e new/%j/e --wrap=true").err,
            "sbatch: warning: --error=new/%j/e: the folder " + here + "/new is not there" + late);
  EXPECT_EQ(bash("mkdir there; for file in there/%j %j/out there/%j/%x %%/x; do [ $file != %%/x ] "
                 "|| mkdir %; sbatch -Q -H -o $file --wrap=true; done")
                .err,
            "");
  expect_error("sbatch -Q -H -o there --wrap=true", "there is a folder; the job fails if that is");
  expect_error("sbatch -Q -H -o script/out --wrap=true", "/script is no folder; the job fails if");
  expect(
      "sbatch -Q -W -o there --wrap=true 2>/dev/null; squeue -h -t F -o '%t %r';"
      "sacct -n -X -P -s F -o ExitCode,SystemComment | sed \"s:$PWD/::\"",
      "F JobLaunchFailure\n0:53|output file 'there': Is a directory\n");
}

TEST_F(SbatchOfSlurm, SeveralComponentsAreRefusedByEachCommand) {
  const std::string why = "error: ':': a job of several components is not supported; ";
  expect_error("sbatch -n1 : -n1 --wrap=true", "sbatch: " + why + "submit them one by one\n");
  expect_error("salloc -n1 : -n1 true", "salloc: " + why + "ask at once for what all of them need");
  expect_error("srun --gres=gpu:1 : --gres=gpu:1 true", "srun: " + why + "run them one by one");
  expect_error("srun true : -n1 true", "srun: " + why + "run them one by one");
  expect("srun echo a:b ::; squeue -h -t all -o %i", "a:b ::\n1\n");
}

TEST_F(SbatchOfSlurm, TheEnvironmentRanksBetweenTheScriptAndTheCommandLine) {
  rig_.folder().write("own.sh", "#!/bin/sh\n#SBATCH -t 5 -J script --mem=4G\n");
  expect(
      "SBATCH_TIMELIMIT=7 SBATCH_JOB_NAME=env SBATCH_MEM_PER_CPU=100 sbatch -Q -H -J typed own.sh;"
      "squeue -h -o '%j %l %m'",
      "typed 7:00 100M\n");
}

}  // namespace
}  // namespace berth
