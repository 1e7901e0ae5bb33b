// Goal: what scripts ask Slurm's commands about jobs has an answer on berth, and filters keep what
// they name and no more. Method: the commands of clients/slurm against a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::Ran;
using test::Rig;
using testing::HasSubstr;

class SlurmQueries : public testing::Test {
 protected:
  explicit SlurmQueries(const test::RigOptions& options = {}) : rig_(options) { rig_.start(); }

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
  void expect_refused(const std::string& line, const std::string& err, int code) {
    const Ran ran = bash(line);
    EXPECT_THAT(ran.err, HasSubstr(err)) << line;
    EXPECT_EQ(ran.exit_code, code) << line;
  }

  Rig rig_;
};

class SlurmQueriesOfLimits : public SlurmQueries {
 protected:
  SlurmQueriesOfLimits() : SlurmQueries({.config = "longest_time = \"36h\"\n"}) {}
};

TEST_F(SlurmQueriesOfLimits, TheLongestTimeIsThePartitions) {
  expect("sinfo -h -o '%P %l'; scontrol show partition | grep -o 'MaxTime=[^ ]*'",
         "berth* 1-12:00:00\nMaxTime=1-12:00:00\n");
}

TEST_F(SlurmQueries, WithoutALongestTimeThePartitionHasNone) {
  expect("sinfo -h -o '%P %l'; scontrol show partition | grep -o 'MaxTime=[^ ]*'",
         "berth* infinite\nMaxTime=UNLIMITED\n");
}

TEST_F(SlurmQueries, ScancelEndsOnlyWhatEveryFilterKeeps) {
  expect(
      "for i in 1 2; do sbatch -Q -H -J job$i -o /dev/null --wrap=true; done;"
      "for filter in '-A nosuch' '-q nosuch' '-w nosuch' '-R nosuch' '-n nosuch'; do"
      "  scancel $filter; scancel $filter -u $(id -un); done; squeue -h -o %j",
      "job1\njob2\n");
  expect("printf 'n\\ny\\n' | scancel -i -u $(id -un); echo; squeue -h -o %j",
         "Cancel job_id=1 name=job1 partition=berth [y/n]? "
         "Cancel job_id=2 name=job2 partition=berth [y/n]? \njob1\n");
  expect("scancel -i 1 </dev/null >/dev/null; squeue -h -o %j", "job1\n");
  expect("scancel -A berth -q normal -t PD -p other; squeue -h -o %j", "");
  expect_refused("scancel -t nostate", "Invalid job state specified: nostate\n", 1);
  expect_refused("scancel 5.x", "scancel: error: Invalid job id 5.x\n", 1);
}

TEST_F(SlurmQueries, AStepAndAScriptAreSignalledAlone) {
  rig_.folder().write("two.sh",
                      "#!/bin/bash\ntrap 'echo script >>told' USR1\n"
                      "bash -c 'trap \"echo child >>told\" USR1; touch up; while :; do sleep 0.05;"
                      " done' &\n"
                      "srun sh -c 'touch up0; sleep 1000'; echo step ended >>told; wait; wait\n");
  expect(
      "sbatch -Q -o /dev/null two.sh; until [ -e up ] && [ -e up0 ]; do sleep 0.05; done;"
      "scancel 1.0; until grep -q step told; do sleep 0.05; done;"
      "scancel -b -s USR1 1; until grep -q script told; do sleep 0.05; done; cat told;"
      "squeue -h -o %t; sacct -n -P -o JobID,State -j 1.0",
      "step ended\nscript\nR\n1.0|CANCELLED\n");
}

TEST_F(SlurmQueries, FiltersNarrowAndEveryPartitionIsThisOne) {
  expect(
      "sbatch -Q -H -p gpu -J one -o /dev/null --wrap=true; squeue -h -p gpu -o %j;"
      "for filter in '-A nosuch' '-q nosuch' '-R nosuch' '-L nosuch'; do squeue -h $filter; done;"
      "for filter in '-A nosuch' '-q nosuch' '-N nosuch' '-g nosuch' '-W nosuch' '-I 2-9'; do"
      "  sacct -n $filter; done; sacct -n -P -X -o JobName -A berth -q normal -r gpu; sinfo -h -p "
      "gpu -o %R; sinfo -h -t idle -o %t; sinfo -h -t down; sinfo -h -R",
      "one\none\nberth\nidle\n");
  expect_refused("squeue -w nosuch", "squeue: error: Invalid node name nosuch\n", 1);
  expect_refused("sinfo -t nosuch", "sinfo: error: Bad state string: \"nosuch\"\n", 1);
  expect_refused("sacct -c", "sacct: error: --completion: berth has no records of jobs but", 1);
}

TEST_F(SlurmQueries, EveryFieldIsKnown) {
  expect(
      "sbatch -Q -H -J one -t 90 -o out/%x-%j.out -e err --mem=1G --wrap=true;"
      "squeue -h -o '%p|%y|%z|%c|%f|%v|%n|%O|%h|%H|%I|%J|%l|%L|%s|%W|%X|%Y|%o';"
      "squeue -h -O jobid:3,cpus-per-task:2,nice:.4x,tres-alloc:30; squeue -o %all | head -c 21",
      "0.00000000000000|0|*:*:*|1|(null)|(null)||0|OK|*|*|*|1:30:00|1:30:00||(null)|N/A|(null)|"
      "(null)\n1  1    0xcpu=1,mem=1G,node=1,billing=1 \nACCOUNT|TRES_PER_NODE");
  expect("squeue -h -O STDOUT:200 | grep -o 'out/one-1.out'; scontrol show job 1 | grep -o '/err$'",
         "out/one-1.out\n/err\n");
  expect(
      "sacct --helpformat | wc -w; fields=$(sacct --helpformat | xargs | tr ' ' ,);"
      "sacct -n -P -j 1 -o $fields | wc -l; sacct -n -P -j 1 -o CPUTimeRAW,TimelimitRaw,MaxRSS;"
      "SACCT_FORMAT=jobid,state sacct -P",
      "109\n1\n0|90|\nJobID|State\n1|PENDING\n");
  expect("sinfo -h -O Weight:4,Root:.5; sinfo -h -o %all | tr -cd '|' | wc -c", "1      no\n41\n");
  expect_refused("squeue -O nosuch", "Invalid job format specification: nosuch\n", 1);
  expect_refused("sinfo -o %j", "Invalid node format specification: j\n", 1);
}

TEST_F(SlurmQueries, SqueueSortsAndHearsItsVariables) {
  expect(
      "for name in b a b; do sbatch -Q -H -J $name -o /dev/null --wrap=true; done;"
      "squeue -h -S j,-i -o '%j%i'; SQUEUE_SORT=-i SQUEUE_FORMAT=%i SQUEUE_NAMES=b squeue -h",
      "a2\nb3\nb1\n3\n1\n");
  expect_refused("squeue -S 0", "Invalid sort specification: 0\n", 1);
}

TEST_F(SlurmQueries, AWaitingJobHasTheTimeAtWhichItBegins) {
  const std::string says = R"(
job=$(sbatch --parsable -t 10 --begin=2040-01-02T03:04:05 --wrap true)
squeue -h -j $job -o %S
scontrol show job $job | grep -o 'EligibleTime=[^ ]*\|StartTime=[^ ]*'
squeue --json | python3 -c '
import json, sys, time
job = json.load(sys.stdin)["jobs"][0]
print(*(time.strftime("%F", time.localtime(job[key])) for key in ("start_time", "eligible_time")))'
)";
  expect(says,
         "2040-01-02T03:04:05\nEligibleTime=2040-01-02T03:04:05\nStartTime=2040-01-02T03:04:05\n"
         "2040-01-02 2040-01-02\n");
}

TEST_F(SlurmQueries, ScontrolReadsJobsInEachForm) {
  expect(
      "sbatch -Q -H -t 10 --wrap true\n"
      "for job in job=1 jobid=1 'JobId 1'; do scontrol -o show $job | cut -d ' ' -f 1; done\n"
      "scontrol update job 1 TimeLimit=20; scontrol update JobId=1 JobName=n\n"
      "squeue -h -o '%j %l'",
      "JobId=1\nJobId=1\nJobId=1\nn 20:00\n");
  expect(
      "printf 'show hostname\\nshow \"x\\nhold 77\\nping\\nquit\\nping\\n' | scontrol 2>&1 | grep "
      "-c "
      "scontrol:",
      "5\n");
}

TEST_F(SlurmQueries, WhatTheyCannotDoIsSaidInASentence) {
  expect_refused("sacct -X -u nosuch", "sacct: error: Invalid user id: nosuch\n", 1);
  expect_refused("mkdir gone; cd gone; rmdir ../gone; sbatch --wrap pwd",
                 "sbatch: error: getcwd failed: No such file or directory\n", 1);
  expect_refused("sbatch -H --wrap true >/dev/full",
                 "sbatch: error: job 1 is submitted; standard output: No space left on device\n",
                 1);
  expect_refused("squeue >/dev/full", "squeue: error: [Errno 28] No space left on device\n", 1);
  const std::string clients = (test::source_dir() / "clients").string();
  expect("PYTHONPATH=" + clients + "/slurm:" + clients + "/python python3 -c 'import berth\n" +
             "from slurm_commands import sbatch\nprint(sbatch.refused(berth.Unreachable()))'",
         "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect "
         "failure)\n");
  expect_refused("sbatch -a 1-5000 --wrap true", "sbatch: error: --array", 1);
}

TEST_F(SlurmQueries, SacctReadsSlurmsTimes) {
  expect(
      "sbatch -Q -H -o /dev/null --wrap=true; for time in 00:00 12:00AM midnight today now-1hour "
      "now-3days $(date +%m%d%y) $(date +%m/%d/%y-00:00) $(date +%m.%d) $(date +%F) "
      "$(date +%FT00:00:00); do sacct -n -X -P -o JobID -S $time -E now+1hour; done | sort | uniq "
      "-c"
      " | xargs",
      "11 1\n");
  expect("sacct -n -X -E now-1hour", "");
  expect_refused("sacct -S 25:00", "Invalid time specification \"25:00\" for --starttime\n", 1);
}

TEST_F(SlurmQueries, SacctKnowsWhoWasInAStateInAWindow) {
  expect(
      "for i in 1 2; do sbatch -Q -W -o /dev/null --wrap='sleep 1.1'; sleep 1.1; done; sbatch -Q "
      "-H -o "
      "/dev/null --wrap=true; start=$(sacct -n -X -P -o Start -j 2); end=$(sacct -n -X -P -o End "
      "-j "
      "2); for state in R CD PD; do echo $state: $(sacct -n -X -P -o JobID -S $start -E $start -s "
      "$state) / $(sacct -n -X -P -o JobID -S $end -E now+1hour -s $state); done; sacct -n -X -s R",
      "R: 2 / 2\nCD: / 2\nPD: / 3\n");
  expect_refused("sacct -s FOO", "sacct: fatal: unrecognized job state value 'FOO'\n", 1);
}

TEST_F(SlurmQueries, HeldTasksOfAnArrayAreARowOfTheirOwn) {
  expect(
      "sbatch -Q -H -a 0-5%1 -o /dev/null --wrap=true; scontrol release 1_[0-2] 1_5; "
      "until [ \"$(squeue -h -o %K | sort -u | head -1)\" != '[0-5%1]' ]; do sleep 0.1; done; "
      "squeue -h -t PD -o '%K %r' | grep Held",
      "3-4%1 JobHeldUser\n");
}

TEST_F(SlurmQueries, ReservationsAreSlurmsAndOpenForTheirUsers) {
  expect("scontrol show reservation; sinfo -T",
         "No reservations in the system\nNo reservations in the system\n");
  expect(
      "berth reserve --gpu 0 --user nobody --from +1h --for 26h --reason demo >/dev/null;"
      "berth reserve --gpu 1 --user $(id -un) --for 1h >/dev/null; scontrol -o show reservation 1 |"
      "grep -o 'Duration=[^ ]*\\|Users=[^ ]*\\|State=[^ ]*\\|TRES=[^ ]*\\|Comment=.*'",
      "Duration=1-02:00:00\nTRES=gres/gpu=1\nUsers=nobody\nState=INACTIVE\nComment=GPU 0: demo\n");
  expect("sinfo -h -T | while read n s b e d h; do echo $n $s $d; done",
         "2 ACTIVE 01:00:00\n1 INACTIVE 1-02:00:00\n");
  expect("scontrol show reservation=7", "Reservation 7 not found\n", 1);
  expect("sbatch -H --reservation=2 --wrap=true 2>&1; squeue -h -R 2 -o '%i %v'; squeue -h -R 1",
         "Submitted batch job 1\n1 2\n");
  expect("sbatch --reservation=2,1 --wrap=true 2>&1",
         "sbatch: error: Batch job submission failed: Access denied to requested reservation\n", 1);
  expect("srun --reservation=lab true 2>&1",
         "srun: error: Unable to allocate resources: Requested reservation is invalid\n", 1);
}

TEST_F(SlurmQueries, ADependentOfAFailedJobHasSlurmsReason) {
  expect(
      "sbatch -Q -H -o /dev/null --wrap='exit 1'; sbatch -Q -d afterok:1 -o /dev/null "
      "--wrap='echo $SLURM_JOB_DEPENDENCY'; scontrol release 1; "
      "until [ -z \"$(squeue -h)\" ]; do sleep 0.1; done; sacct -n -X -P -o State,Reason -j 2; "
      "scontrol show job 2 | grep -o 'Reason=[A-Za-z]*'",
      "CANCELLED|DependencyNeverSatisfied\nReason=DependencyNeverSatisfied\n");
}

TEST_F(SlurmQueries, JsonHasWhatClientsRead) {
  expect(
      "sbatch -Q -H -J one -t 90 -o /dev/null --wrap=true; for line in squeue 'scontrol show job' "
      "'sacct -j 1'; do $line --json | python3 -c 'import json,sys\nall=json.load(sys.stdin)\n"
      "job=all[\"jobs\"][0]\nprint(all[\"errors\"], job[\"job_id\"], job[\"name\"], "
      "job[\"partition\"])'; done; sinfo --json | python3 -c 'import json,sys\n"
      "print(json.load(sys.stdin)[\"nodes\"][0][\"state\"])'; "
      "[ \"$(scontrol show job --yaml)\" = \"$(scontrol show job --json)\" ] && echo 'YAML too'",
      "[] 1 one berth\n[] 1 one berth\n[] 1 one berth\nidle\nYAML too\n");
}

TEST_F(SlurmQueries, ScontrolWritesScriptsAndNamesWhatItCannotDo) {
  rig_.folder().write("plain.sh", "#!/bin/sh\ntrue\n");
  expect(
      "sbatch -Q -H -o /dev/null plain.sh; scontrol write batch_script 1 - | diff - plain.sh;"
      "scontrol write batch_script 1; diff slurm-1.sh plain.sh; scontrol show node -o | wc -l",
      "batch script for job 1 written to slurm-1.sh\n1\n");
  expect("scontrol update JobId=1 TimeLimit=1-2:03; squeue -h -o %l", "1-02:03:00\n");
  expect_refused("scontrol requeuehold 1", "scontrol requeuehold is not supported: berth has", 1);
  expect(
      "sbatch -Q -o /dev/null -J r --wrap 'sleep 1000'; until squeue -h -j 2 -t R | grep -q r; do "
      "sleep 0.05; done; scontrol update JobId=2 Comment=now; squeue -h -n r -o %k; scancel 2",
      "now\n");
  expect("scontrol update JobId=1 Comment='for later'; squeue -h -j 1 -o %k", "for later\n");
  expect(
      "sbatch -Q -o /dev/null -a 0-3%1 --wrap 'sleep 1000'; scontrol update JobId=3 "
      "ArrayTaskThrottle=3; scontrol show job 3_3 | grep -o 'ArrayTaskThrottle=[0-9]*'; scancel 3",
      "ArrayTaskThrottle=3\n");
  expect(
      "sbatch -Q -o /dev/null -J later --begin now+1hour --wrap true; squeue -h -n later -o '%t "
      "%r';"
      "scontrol update JobName=soon JobId=7 StartTime=now; until [ -z \"$(squeue -h -j 7 -t "
      "PD,R,CG)\" ]; "
      "do sleep 0.05; done; sacct -nXP -j 7 -o JobName,State",
      "PD BeginTime\nsoon|COMPLETED\n");
  expect_refused("scontrol update JobId=1 Dependency=afterok:1",
                 "not supported: Dependency=afterok:1: berth keeps what a job waits for", 1);
  expect_refused("scancel 1; scontrol wait_job 1", "scontrol: Job 1 no longer running\n", 1);
}

TEST_F(SlurmQueries, TopGivesAJobALargerPriorityThanAllOthersOfItsUser) {
  expect(
      "for i in 1 2 3; do sbatch -Q -H -o /dev/null --wrap true; done; scontrol update JobId=1 "
      "Priority=7; scontrol top 3,2 && squeue -h -S i -o '%i %Q'",
      "1 7\n2 8\n3 9\n");
  expect_refused("scontrol top", "too few arguments for keyword:top\n", 1);
}

/// Programs ask again where Slurm's controller is away, and give up on any other error.
TEST_F(SlurmQueries, WhereNothingAnswersSlurmsWordsComeFirst) {
  const std::string clients = (test::source_dir() / "clients").string();
  expect("PYTHONPATH=" + clients + "/slurm:" + clients + "/python python3 -c 'import sys\n" +
             "from slurm_commands import main\nsys.stderr = sys.stdout\n"
             "main.say_away(\"squeue\", [\"-h\"], \"why\")\n"
             "main.say_away(\"scontrol\", [\"-o\", \"show\", \"job=7\"], \"why\")' | grep -v why",
         "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
         "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n");
  expect("BERTH_SOCKET=none scontrol ping | grep -c DOWN", "1\n");
}

TEST_F(SlurmQueries, TimesHaveTheFormThatIsAskedFor) {
  expect(
      "sbatch -Q -H -o /dev/null --wrap true; export SLURM_TIME_FORMAT=%s; "
      "[ $(squeue -h -o %V) -le $(date +%s) ] && SLURM_TIME_FORMAT=relative sacct -n -X -P -o "
      "Submit | grep -cE '^[0-9:]{8}$|Ystday'; SLURM_TIME_FORMAT=standard squeue -h -o %V | wc -c",
      "1\n20\n");
}

TEST_F(SlurmQueries, MemoryIsToldAsItWasAskedForAndUnknownJobsAreNamed) {
  expect(
      "sbatch -Q -H -c 2 --mem-per-cpu=100M -o /dev/null --wrap true; squeue -h -o %m; scontrol "
      "show job 1 | grep -o 'MinMemory[^ ]*'; sacct -n -X -P -o ReqMem; scancel -v 99 2>&1",
      "100M\nMinMemoryCPU=100M\n200M\nscancel: Terminating job 99\nscancel: error: Kill job error "
      "on job id 99: Invalid job id specified\n");
  expect("scontrol show config | grep -E '^M'",
         "MaxArraySize            = 4097\nMinJobAge               = 300 sec\n");
}

TEST_F(SlurmQueries, AccountsAreThoseThatAUserHas) {
  expect(
      "sbatch -Q -H -A lab -o /dev/null --wrap true; me=$(id -un); export SBATCH_ACCOUNT=own\n"
      "sacctmgr -n -s list user $me format=account%6; sshare -U --format Account%6 --noheader | "
      "xargs"
      "\nsacctmgr -P show user format=def",
      " berth \n   lab \n   own \nberth lab own\nDefaultAccount\nberth\n");
  expect_refused("sacctmgr add account x", "sacctmgr: error: add is not supported: berth has no",
                 1);
  expect_refused("sacctmgr list moon", "sacctmgr: error: No valid entity in list command\n", 1);
}

}  // namespace
}  // namespace berth
