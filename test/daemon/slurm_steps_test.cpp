// Goal: a step of srun has what it asks for of its job and waits for it, and its options do what
// Slurm's do; jobs of srun and salloc get what they ask for. Method: the commands of clients/slurm
// against a real daemon; where a step has to wait, another holds its place until a file is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::Ran;
using test::Rig;
using testing::HasSubstr;

class SlurmSteps : public testing::Test {
 protected:
  SlurmSteps() { rig_.start(); }

  Ran bash(const std::string& line) {
    const std::string commands = (test::source_dir() / "clients/slurm/bin").string();
    const std::string programs = test::program("berth").parent_path().string();
    const std::string script = rig_.folder().write(
        "script", "export BERTH_SOCKET=" + rig_.socket() +
                      "; unset PYTHONDONTWRITEBYTECODE; export PYTHONPYCACHEPREFIX=" + programs +
                      "/../pycache XDG_STATE_HOME=" + rig_.folder().path().string() + " PATH=" +
                      commands + ":" + programs + ":$PATH\n" + "unset SLURM_JOB_ID\ncd " +
                      rig_.folder().path().string() + "\n" + line + "\n");
    return test::run_program("/bin/bash", {script});
  }
  void expect(const std::string& line, const std::string& out, int code = 0) {
    const Ran ran = bash(line);
    EXPECT_EQ(ran.out, out) << line << "\n" << ran.err;
    EXPECT_EQ(ran.exit_code, code) << line << "\n" << ran.err;
  }
  void expect_refused(const std::string& line, const std::string& err) {
    const Ran ran = bash(line);
    EXPECT_THAT(ran.err, HasSubstr(err)) << line;
    EXPECT_EQ(ran.exit_code, 1) << line;
  }
  /// What a batch script of these lines writes, as a job with these options.
  void expect_of_script(const std::string& options, const std::string& lines,
                        const std::string& out) {
    rig_.folder().write("job.sh", "#!/bin/bash\n" + lines);
    expect("rm -f out; sbatch -Q -W -o out " + options + " job.sh; cat out", out);
  }

  Rig rig_;
};

/// A step of these options whose tasks say which GPUs they see.
std::string sees(const std::string& options) {
  return "srun " + options + " sh -c 'echo $CUDA_VISIBLE_DEVICES' | sort\n";
}

TEST_F(SlurmSteps, StepsHaveGpusOfTheirOwn) {
  expect_of_script("-G 2",
                   "for step in a b; do srun -I -n1 --exclusive --gpus=1 sh -c "
                   "'touch '$step'; until [ -e a ] && [ -e b ]; do sleep 0.05; done; "
                   "echo $CUDA_VISIBLE_DEVICES of $SLURM_STEP_GPUS' >out.$step & done\n"
                   "wait; cat out.a out.b | sort\n",
                   "0 of 0\n1 of 1\n");
  expect_of_script("-G 2",
                   sees("-n1 --gres=gpu:1") + sees("-n1 --exact") + sees("-n1 --gres=none") +
                       sees("-n2 -l --gpus-per-task=1") + sees("-n4 -l --gpu-bind=single:2") +
                       sees("-n2 -l --gpu-bind=map_gpu:1,0") +
                       sees("-n2 -l --gpu-bind=mask_gpu:3,2"),
                   "0\n0,1\n\n0: 0\n1: 1\n0: 0\n1: 0\n2: 1\n3: 1\n0: 1\n1: 0\n0: 0,1\n1: 1\n");
  expect_of_script("-n 2 --gpus-per-task=1", sees("-l"), "0: 0\n1: 1\n");
}

TEST_F(SlurmSteps, AStepThatAsksForMoreGpusThanItsJobHasIsRefused) {
  expect_of_script("-G 1", "srun -Q --gpus=2 true 2>&1; echo $?\n",
                   "srun: error: the step asks for 2 GPUs, the job has 1\n"
                   "srun: error: Unable to create step for job 1: Invalid generic resource (gres) "
                   "specification\n1\n");
  expect_of_script("-G 1", "srun --gpu-bind=single:x true 2>&1; echo $?\n",
                   "srun: error: Invalid --gpu-bind argument: single:x, for 1 GPUs\n1\n");
}

/// One that runs holds its place until `go` is there.
TEST_F(SlurmSteps, AStepWaitsForWhatAnotherHolds) {
  const std::string holder =
      " sh -c 'touch up; until [ -e go ]; do sleep 0.05; done; echo first' &\n"
      "until [ -e up ]; do sleep 0.05; done\n";
  const std::string waits =
      " 2>said &\nuntil grep -q 'creation temporarily disabled, retrying' said; do sleep 0.05; "
      "done\n";
  for (const auto& [job, step] : {std::pair<std::string, std::string>{"-n 1", "srun -n1"},
                                  {"-n 1", "srun -n1 --exclusive"},
                                  {"-G 2", "srun -n1 --exact --gpus=2"}}) {
    expect_of_script(
        job,
        "rm -f up go; : >said\n" + step + holder + step + " echo second" + waits + step +
            " --overlap echo beside\ntouch go; wait; grep -c 'Step created for StepId=' said\n",
        "beside\nfirst\nsecond\n1\n");
  }
  expect_of_script(
      "-n 1", "rm -f up go\nsrun -n1" + holder + "srun -n1 -I true 2>&1; echo $?; touch go; wait\n",
      "srun: error: Unable to create step for job 4: Requested nodes are busy\n1\n"
      "first\n");
}

TEST_F(SlurmSteps, AStepWaitsForTheMemoryThatItAsksFor) {
  expect_of_script(
      "--mem=1000 -n 2",
      "srun -n1 --mem=600 sh -c 'touch in; until [ -e go ]; do sleep 0.05; done; echo "
      "first' &\nuntil [ -e in ]; do sleep 0.05; done\nsrun -n1 --mem=400 echo beside\n"
      "srun -I -n1 --mem=401 true 2>&1 | grep -o 'nodes are busy'\n"
      "srun -n1 --mem=1001 true 2>&1 | tail -1 | cut -d: -f4\ntouch go; "
      "srun -n1 --mem=401 echo then 2>&1 | tail -1; wait\n",
      "beside\nnodes are busy\n Memory required by task is not available\nfirst\n"
      "then\n");
  expect_of_script("", "srun --mem=1G true 2>&1",
                   "srun: warning: --mem has no effect on a step: its job asks for no memory\n");
}

TEST_F(SlurmSteps, APlaceIsFreeOnceItsSrunIsGoneAndAStepInAStepHasItsPlace) {
  expect_of_script("-G 2",
                   "exec 2>/dev/null\n"
                   "srun -n1 --gpus=2 sh -c 'echo $$ >up.new; mv up.new up; exec sleep 1000' &\n"
                   "until [ -e up ]; do sleep 0.05; done; kill -9 $!; kill $(cat up)\n"
                   "srun -n1 --gpus=2 sh -c 'srun -n1 --gpus=1 printenv CUDA_VISIBLE_DEVICES'\n",
                   "0\n");
}

TEST_F(SlurmSteps, AStepHasItsEnvironmentDirectoryAndInput) {
  rig_.folder().write("in.txt", "input\n");
  expect_of_script("-n 2",
                   "export MINE=1; mkdir -p sub\n"
                   "srun -n1 --export=ALL,FOO=bar sh -c 'echo $FOO $MINE'\n"
                   "srun -n1 --export=NONE sh -c 'echo [$MINE] $SLURM_JOB_ID'\n"
                   "srun -n1 -D sub sh -c 'basename $(pwd)'\n"
                   "srun -n1 -D nowhere pwd 2>/dev/null\n"
                   "srun -n1 -c 2 sh -c 'echo $SLURM_CPUS_PER_TASK'\n"
                   "srun -n2 -l -i in.txt cat | sort\n",
                   "bar 1\n[] 1\nsub\n/tmp\n2\n0: input\n1: input\n");
}

TEST_F(SlurmSteps, EachTaskReadsTheWholeInput) {
  const std::string reads = "sh -c 'echo $SLURM_PROCID: $(cat)' | sort\n";
  expect("echo in | srun -n 2 " + reads, "0: in\n1: in\n");
  expect_of_script("-n 2", "echo in | srun " + reads + "echo all | srun -i all " + reads,
                   "0: in\n1: in\n0: all\n1: all\n");
  expect(
      "head -c 1000000 /dev/zero | srun -n 2 sh -c "
      "'[ $SLURM_PROCID = 0 ] || wc -c'",
      "1000000\n");
}

TEST_F(SlurmSteps, NamesOfOutputArePaddedAndAFileIsOpenedOnce) {
  expect_of_script("-n 2 -J name",
                   "srun -n2 -o 'f-%3j-%2t-%J-%s-%2n-%4x-%A-%%' echo hi; echo f-*\n"
                   "srun -n2 -o both sh -c 'echo $SLURM_PROCID'; sort both\n"
                   "srun -n2 -l -o marked echo hi; sort marked\n"
                   "srun -n2 -o none echo hi; srun -n2 -o 1 printenv SLURM_PROCID\n",
                   "f-001-00-1.0-0-00-name-1-% f-001-01-1.0-0-00-name-1-%\n"
                   "0\n1\n0: hi\n1: hi\n1\n");
}

TEST_F(SlurmSteps, ABadExitOrALimitEndsTheOthers) {
  const std::string tasks = " sh -c '[ $SLURM_PROCID = 1 ] || exit 3; sleep 1000; true'";
  expect_of_script("-n 2",
                   "exec 2>said\nsrun -n2 -K" + tasks + "; echo $?\nsrun -n2 -W 1" + tasks +
                       "; echo $?\nsrun -n1 -t 0:01 sh -c 'sleep 1000; true'; echo $?\n"
                       "grep -c 'srun: Terminating StepId=' said\n"
                       "grep -c 'CANCELLED AT .* DUE TO TIME LIMIT' said\n",
                   "143\n143\n143\n2\n1\n");
}

TEST_F(SlurmSteps, JobsOfATerminalGetWhatTheyAskFor) {
  expect(
      "mkdir sub; srun -c 1 --mem=100M -D sub --comment 'a b' -p any -J mine sh -c 'basename $PWD;"
      " echo $SLURM_CPUS_ON_NODE $SLURM_CPUS_PER_TASK $SLURM_MEM_PER_NODE';"
      "sacct -n -X -P -o ReqMem,Comment -j 1; salloc -D sub sh -c 'basename $PWD' 2>&1;"
      "srun -d afterok:1 echo after; srun -l -n2 --ntasks-per-gpu=1 printenv CUDA_VISIBLE_DEVICES "
      "| "
      "sort",
      "sub\n1 1 100\n100M|a b\nsalloc: Granted job allocation 2\nsub\nafter\n0: 0\n1: 1\n");
  expect_refused("srun --begin=now+1hour true", "srun: error: --begin is not supported for a job");
  expect_refused("salloc -H true", "salloc: error: --hold is not supported for a job");
  expect_refused("salloc --no-shell", "salloc: error: --no-shell is not supported");
  expect_refused("srun --multi-prog file", "srun: error: --multi-prog is not supported");
}

TEST_F(SlurmSteps, AStepBeginsFromOutsideOfItsJob) {
  expect(
      "sbatch -Q -G 2 -o /dev/null --wrap='touch up; sleep 1000'; until [ -e up ]; do sleep 0.05;"
      "done; srun --jobid=1 --overlap sh -c 'echo $SLURM_JOB_ID $CUDA_VISIBLE_DEVICES';"
      "SLURM_JOB_ID=1 srun --overlap printenv CUDA_VISIBLE_DEVICES;"
      "srun --jobid=1 sh -c 'touch in; exec sleep 1000' 2>said & until [ -e in ]; do sleep 0.05;"
      "done; scancel 1; wait $!; echo $?; grep -c 'AS ITS JOB ENDED' said",
      "1 0,1\n0,1\n137\n1\n");
  expect_refused("srun --jobid=9 true", "allocation for job 9: Invalid job id specified\n");
  expect_refused("sbatch -Q -H -o /dev/null --wrap=true; srun --jobid=2 true",
                 "allocation for job 2: it is PENDING, and a step begins in a job that runs\n");
}

}  // namespace
}  // namespace berth
