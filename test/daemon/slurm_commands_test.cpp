// Goal: scripts and programs that know Slurm meet on berth what they expect: options, output,
// exit codes. Method: the commands of clients/slurm against a real daemon; what is expected is what
// Slurm 22.05 answers, but for the names of the node and the partition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::Json;
using test::Ran;
using test::Rig;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class SlurmCommands : public testing::Test {
 protected:
  SlurmCommands() { rig_.start(); }

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

TEST_F(SlurmCommands, SbatchTakesScriptsFromFilesInputAndOptions) {
  rig_.folder().write("hello.sh",
                      "#!/bin/bash\n#SBATCH --job-name=hello\n#SBATCH --output=%x-%j.out\n"
                      "#SBATCH --time=5 # minutes\necho hello $SLURM_JOB_ID $1\n");
  expect("sbatch hello.sh you", "Submitted batch job 1\n");
  expect("sbatch --parsable -W hello.sh; cat hello-1.out hello-2.out", "2\nhello 1 you\nhello 2\n");
  expect("sbatch --wait --wrap='exit 3' -o /dev/null", "Submitted batch job 3\n", 3);
  expect("sbatch -W -o /dev/null --wrap='kill -9 $$'", "Submitted batch job 4\n", 1);
  expect("printf '#!/bin/sh\\ntrue\\n' | sbatch -Q -W", "");
  expect("squeue -h -j 1 -o '%i %j %t %l'; sacct -X -n -P -o JobID,State,ExitCode -j 1,3,4",
         "1|COMPLETED|0:0\n3|FAILED|3:0\n4|FAILED|0:9\n");
}

TEST_F(SlurmCommands, ScriptsAreOfBytes) {
  rig_.folder().write("latin.sh",
                      "#!/bin/sh\n# caf\xe9 \\n\n#SBATCH --output=out.%j\n"
                      "printf '%s' '\xe9\\' | od -An -tx1\n");
  expect("sbatch -Q -W latin.sh; sbatch -Q -W <latin.sh; cat out.1 out.2", " e9 5c\n e9 5c\n");
  expect("scontrol write batch_script 1 - | cmp - latin.sh", "");
  expect("BAD=$(printf '\\377') sbatch -Q -W -o told --wrap='echo ${BAD-none}'; cat told",
         "none\n");
  expect_refused("sbatch -o $(printf '\\351') --wrap=true",
                 "sbatch: error: --output: '\\udce9' is not UTF-8\n", 1);
}

/// The doors have a table each of what an option tells; berthd has all the rest.
TEST_F(SlurmCommands, AScriptIsToldTheSameByEitherDoor) {
  // Of one job alone; and how many cores, since berth leaves out that a job has several tasks.
  const std::string own =
      "own() { grep -vE '^SLURM_(JOB_ID|JOBID|ARRAY_JOB_ID|JOB_START_TIME|JOB_END_TIME|TASK_PID|"
      "JOB_GPUS|CPUS_ON_NODE|JOB_CPUS_PER_NODE)=|^GPU_DEVICE_ORDINAL=' told.$1; }; ";
  int job = 0;
  for (const std::string option :
       {"--partition=gpu", "--account=lab", "--qos=high", "--ntasks=1", "--ntasks-per-node=1",
        "--ntasks=2", "--ntasks-per-node=2", "--cpus-per-task=2", "--gpus=1", "--gpus-per-node=1",
        "--gpus-per-task=1", "--mem=100", "--mem=1G", "--time=5", "--array=3-4", "--array=2,8%1",
        "--comment=x"}) {
    const std::string gpu = option.starts_with("--gpus") ? "" : " --gres=gpu:1";
    rig_.folder().write("told.sh", "#!/bin/sh\n#SBATCH " + option + gpu +
                                       "\n#SBATCH --job-name=told\n#SBATCH --output=told.%j\n"
                                       "env | grep -E '^(SLURM|GPU_DEVICE)' | sort\n");
    const Ran by_berth = bash("berth wait $(berth submit told.sh)");
    const Ran by_sbatch = bash("sbatch -W told.sh");
    EXPECT_EQ(by_berth.exit_code, 0) << option << by_berth.err;
    EXPECT_EQ(by_sbatch.exit_code, 0) << option << by_sbatch.err;
    const int tasks = option.starts_with("--array") ? 2 : 1;
    const std::string first = std::to_string(job + 1);
    const std::string second = std::to_string(job + 1 + tasks);
    expect(
        own + "own " + first + " >by_berth; own " + second + " >by_sbatch; diff by_berth by_sbatch",
        "");
    expect("grep -c SLURM_JOB_NAME=told by_berth", "1\n");
    job += 2 * tasks;
  }
}

TEST_F(SlurmCommands, ScontrolKnowsListsOfHostsAndNamesWhatIsNotThere) {
  expect("scontrol show hostnames 'a[1-3,07],b'", "a1\na2\na3\na07\nb\n");
  expect("scontrol show hostlist a1,a2,a3,b,c07", "a[1-3],b,c07\n");
  expect("scontrol show hostnames nosuch", "nosuch\n");
  expect("scontrol show node nosuch", "Node nosuch not found\n", 1);
  expect_refused("scontrol show job abc", "scontrol_print_job error: Invalid job id specified\n",
                 1);
  expect_refused("scontrol hold 99", "Invalid job id specified for job 99\n", 1);
  expect_refused("sacct -j abc", "sacct: fatal: Bad job/step specified: abc\n", 1);
}

TEST_F(SlurmCommands, SqueueSaysWhenJobsStart) {
  expect("sbatch -H --wrap=true -o /dev/null", "Submitted batch job 1\n");
  expect("sbatch -b now+1hour --wrap=true -o /dev/null", "Submitted batch job 2\n");
  expect("squeue --start -h -o '%i %r' ; squeue --start -h | grep -c 'N/A'",
         "2 BeginTime\n1 JobHeldUser\n1\n");
  expect("squeue -h -O JobID:4,tres-per-job:5 -j 1", "1   N/A  \n");
}

TEST_F(SlurmCommands, SbatchSignalsBeforeTheLimitAndSendsMail) {
  expect(
      "sbatch -H -t 5 --signal=B:USR1@90 --mail-type=BEGIN,END --mail-user=ann@example.org "
      "-o /dev/null --wrap=true",
      "Submitted batch job 1\n");
  const Json job = rig_.job(1);
  EXPECT_EQ(job["warning_signal"], "USR1");
  EXPECT_EQ(job["warning_seconds"], 90.0);
  EXPECT_EQ(job["notify"], "ann@example.org");
  expect("sbatch -H -t 1 --signal=USR2@90 --mail-type=NONE -o /dev/null --wrap=true",
         "Submitted batch job 2\n");
  EXPECT_LT(rig_.job(2)["warning_seconds"], 60.0) << "as soon as it runs";
  EXPECT_FALSE(rig_.job(2).contains("notify"));
  expect_refused("sbatch -t 5 --signal=USR1@soon --wrap=true",
                 "sbatch: error: Invalid --signal specification\n", 255);
}

TEST_F(SlurmCommands, OptionsAreReadAsGetoptReadsThem) {
  expect(
      "sbatch --exclusive=user --get-user-env=L --propagate --nice -k --distribution block "
      "--ntasks-per-n 1 -HQJname --comment 'a b' -o/dev/null --wrap true; squeue -h -o '%j %k'",
      "name a b\n");
  expect_refused("sbatch --gpus", "sbatch: option '--gpus' requires an argument\n", 255);
  expect_refused("sbatch --gpu 1", "sbatch: option '--gpu' is ambiguous\n", 255);
  expect_refused("sbatch --parsable=1", "option '--parsable' doesn't allow an argument\n", 255);
  expect_refused("sbatch -9", "sbatch: invalid option -- '9'\n", 255);
  expect("sbatch --help | grep -c -e '  -J, --job-name=VALUE' -e '      --exclusive.=VALUE.'",
         "2\n");
  expect_refused("srun --frob true", "srun: unrecognized option '--frob'\n", 255);
}

TEST_F(SlurmCommands, SbatchRefusesInSlurmsWords) {
  rig_.folder().write("plain.sh", "#!/bin/sh\ntrue\n");
  rig_.folder().write("bare.sh", "true\n");
  expect_refused("sbatch missing.sh", "sbatch: error: Unable to open file missing.sh\n", 1);
  expect_refused("sbatch bare.sh", "sbatch: error: This does not look like a batch script.", 1);
  expect_refused("sbatch --no-such plain.sh", "sbatch: unrecognized option '--no-such'\n", 255);
  expect_refused("sbatch -t soon plain.sh", "sbatch: error: Invalid --time specification\n", 255);
  expect_refused("sbatch --mem=lots plain.sh", "sbatch: error: Invalid --mem specification\n", 255);
  expect_refused("sbatch --gpus=9 plain.sh", "asks 9 GPUs, the cluster has 2\n", 1);
  expect_refused("sbatch --gpus=h100:1 plain.sh",
                 "sbatch: error: --gpus: 'h100' is not a GPU type of this machine; its types: ", 1);
  expect_refused("sbatch --gres=tpu:1 plain.sh", "Invalid generic resource (gres)", 1);
  expect_refused("sbatch -d sometime:1 plain.sh", "failed: Job dependency problem\n", 1);
  expect_refused("sbatch -a 5-1 plain.sh", "failed: Invalid job array specification\n", 1);
  expect("squeue -h -t all", "");
}

/// As sbatch of Slurm 22.05 refuses them before it sends anything.
TEST_F(SlurmCommands, SbatchRefusesValuesThatSlurmRefuses) {
  for (const auto& [options, words] : std::vector<std::pair<std::string, std::string>>{
           {"-t 1:00:00:00", "Invalid --time specification"},
           {"-t +5", "Invalid --time specification"},
           {"--time-min=abc", "Invalid --time-min specification"},
           {"--mail-type=SOMETIME", "Invalid --mail-type specification"},
           {"--distribution=foo", "Invalid --distribution specification"},
           {"--signal=FOO@10", "Invalid --signal specification"},
           {"--signal=USR1@70000", "Invalid --signal specification"},
           {"--mem=-1", "Invalid --mem specification"},
           {"--exclusive=foo", "Invalid --exclusive specification"},
           {"--kill-on-invalid-dep=maybe", "Invalid --kill-on-invalid-dep specification"},
           {"--hint=foo", "unrecognized --hint argument \"foo\", see --hint=help"},
           {"-n 0", "Invalid numeric value \"0\" for --ntasks."},
           {"-c 0", "Invalid numeric value \"0\" for --cpus-per-task."},
           {"--ntasks-per-node=0", "Invalid numeric value \"0\" for --ntasks-per-node."},
           {"-N a", "\"a\" is not a valid node count"},
           {"-N 2-1", "Maximum node count 1 is less than minimum node count 2"}}) {
    expect_refused("sbatch " + options + " --wrap=true", "sbatch: error: " + words + "\n", 255);
  }
  expect_refused("sbatch --mem=1G --mem-per-cpu=1G --wrap=true",
                 "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.\n",
                 1);
  expect("squeue -h -t all", "");
}

TEST_F(SlurmCommands, WhatOneMachineDoesNotHaveIsWarnedOf) {
  const Ran ran = bash(
      "sbatch -Q -H -N 4 --ntasks-per-node=1 --gpus-per-node=1 --exclusive --deadline=now+2hours "
      "-o /dev/null --wrap=true; scontrol show job 1 | grep -c 'Deadline=20'");
  EXPECT_EQ(ran.out, "1\n");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--nodes=4: there is one machine; what is asked for each "
                                       "node, such as its tasks and GPUs, is given once\n"),
                             HasSubstr("--exclusive keeps other jobs off the job's GPUs, not off "
                                       "the machine\n"),
                             HasSubstr(": no job is ended for its deadline; berth show says ")));
}

TEST_F(SlurmCommands, ATestOnlySaysWhenTheJobWouldStart) {
  const Ran ran = bash(
      "sbatch -Q -G 2 -t 60 -o /dev/null --wrap='sleep 1000'; "
      "until [ \"$(squeue -h -o %t)\" = R ]; do sleep 0.1; done; "
      "sbatch --test-only -G 1 -t 10 --wrap=true; sbatch --test-only -H --wrap=true; "
      "date -d now+59min +%FT%H:%M; date -d now+60min +%FT%H:%M; squeue -h -o %i");
  const std::string from = ran.out.substr(0, 16);
  const std::string to = ran.out.substr(17, 16);
  EXPECT_THAT(ran.err, testing::AnyOf(HasSubstr("Job to start at " + from),
                                      HasSubstr("Job to start at " + to)));
  EXPECT_THAT(ran.err, HasSubstr("Job to start at Unknown"));
  EXPECT_EQ(ran.out.substr(34), "1\n") << "nothing is submitted";
}

TEST_F(SlurmCommands, AJobSeesWhatSlurmWouldTellIt) {
  const Ran ran = bash(
      "USER=alice sbatch -W -Q -G 2 -n 1 --mem=100M --export=ALL,MORE=1 -J told -o out "
      "--wrap='env | sort'; cat out");
  for (const char* line :
       {"SLURM_JOB_ID=1\n", "SLURM_JOB_NAME=told\n", "SLURM_NTASKS=1\n", "SLURM_GPUS_ON_NODE=2\n",
        "SLURM_MEM_PER_NODE=100\n", "SLURM_PROCID=0\n", "CUDA_VISIBLE_DEVICES=0,1\n", "MORE=1\n"}) {
    EXPECT_THAT(ran.out, HasSubstr(line));
  }
  EXPECT_THAT(ran.out, Not(HasSubstr("SLURM_ARRAY")));
  if (::geteuid() == 0) {
    EXPECT_THAT(ran.out, HasSubstr("SLURM_JOB_USER=root\n")) << "not as its variable says";
  }
}

TEST_F(SlurmCommands, ArraysAreOneRowWhileTheyWait) {
  expect("sbatch -H -a 0,3-5%2 -J many -o /dev/null --wrap='exit $SLURM_ARRAY_TASK_ID'",
         "Submitted batch job 1\n");
  expect("squeue -h -o '%i %j %t %r'", "1_[0,3-5%2] many PD JobHeldUser\n");
  expect("squeue -h -r -o '%i %A %K'", "1_0 1 0\n1_3 2 3\n1_4 3 4\n1_5 4 5\n");
  expect(
      "scancel 1_4 1_5; scontrol release 1; until [ -z \"$(squeue -h)\" ]; do sleep 0.1; done;"
      "sacct -n -P -X -o JobID,JobIDRaw,ExitCode -j 1",
      "1_0|1|0:0\n1_3|2|3:0\n1_4|3|0:0\n1_5|4|0:0\n");
}

TEST_F(SlurmCommands, DependenciesHoldAndQueuesSayWhy) {
  expect("sbatch -Q -H -J first -o /dev/null --wrap=true", "");
  expect("sbatch -Q -d afterok:1 -J second -t 10 -o /dev/null --wrap=true", "");
  expect("sbatch -Q -b now+1hour -J later -o /dev/null --wrap=true", "");
  const Ran ran = bash("squeue");
  EXPECT_THAT(ran.out, StartsWith("             JOBID PARTITION     NAME     USER ST       TIME  "
                                  "NODES NODELIST(REASON)\n"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("(JobHeldUser)\n"), HasSubstr("(Dependency)\n"),
                             HasSubstr("(BeginTime)\n")));
  expect(
      "scontrol release 1; until [ \"$(squeue -h -o %j)\" = later ]; do sleep 0.1; done;"
      "sacct -X -n -P -o State -j 1,2; scancel -n later; squeue -h",
      "COMPLETED\nCOMPLETED\n");
}

/// As `module load python/2.7` has it; the folder's json.py would be taken for the library's.
TEST_F(SlurmCommands, StartWhateverAModuleHasSet) {
  expect(
      "echo 'raise SystemExit(9)' >json.py; export PYTHONHOME=/nonexistent PYTHONPATH=$PWD;"
      "mkdir old; printf '#!/bin/sh\\nexit 9\\n' >old/python3; chmod +x old/python3; "
      "PATH=$PWD/old:$PATH;"
      "sbatch -H -o /dev/null --wrap=true; squeue -h -o %i",
      "Submitted batch job 1\n1\n");
}

TEST_F(SlurmCommands, ADependencyThatIsNotSupportedIsNamed) {
  expect("sbatch -Q -H -a 1-2 -o /dev/null --wrap=true", "");
  expect(
      "sbatch -Q -d 'AfterAny:1_*,afterok:1_2,singleton' -J alone -o /dev/null --wrap=true;"
      "squeue -h -j 3 -o '%r %E'",
      "Dependency afterany:1(unfulfilled),afterany:2(unfulfilled),afterok:2(unfulfilled)\n");
  const std::string known =
      "is not supported; after, aftercorr, afterok, afterany, afternotok and singleton are\n";
  for (const auto& [asked, why] :
       {std::pair<std::string, std::string>{"afterburst:1", "dependency 'afterburst' " + known},
        {"after:1_1", "job 1_1 has not begun, and berth waits for ends alone: afterany:1_1"},
        {"after:99", "dependency 'after:99': no such job"},
        {"afterok:1+5", "'1+5' is no job; 7 is one, 7_3 a task"},
        {"afterok", "dependency 'afterok': '' is no job"},
        {"afterok:1?afterok:3", "any of several is not supported"},
        {"afterok:99", "job 99: no such job"},
        {"afterok:1_9", "array 1: has no task 9"}}) {
    const std::string line = "sbatch -d '" + asked + "' -o /dev/null --wrap=true";
    expect_refused(line, why, 1);
    expect_refused(line, "failed: Job dependency problem\n", 1);
  }
}

/// `after` waits for a start, which is over; `+60` for an hour since then.
TEST_F(SlurmCommands, ADependencyOnAStartIsATime) {
  expect(
      "sbatch -Q -o /dev/null --wrap='sleep 100'; until [ \"$(squeue -h -o %t)\" = R ]; do sleep "
      "0.1; done;"
      "sbatch -Q -d after:1+60 -J later -o /dev/null --wrap=true; squeue -h -n later -o %r;"
      "sbatch -Q -W -d after:1 -o /dev/null --wrap=true; sacct -X -n -P -o State -j 3;"
      "scancel 1 2",
      "BeginTime\nCOMPLETED\n");
}

/// The time of an earlier run is not of the one that runs now.
TEST_F(SlurmCommands, TimesAreOfAJobsLatestRun) {
  rig_.folder().write("again.sh",
                      "#!/bin/bash\n#SBATCH -t 10 -o /dev/null\n"
                      "[ -z \"$SLURM_RESTART_COUNT\" ] || touch again\nsleep 1000\n");
  expect(
      "sbatch -Q again.sh; until [ \"$(squeue -h -o %t)\" = R ]; do sleep 0.05; done;"
      "first=$(squeue -h -o %S); sleep 1.1; scontrol requeue 1;"
      "until [ -e again ] && [ \"$(squeue -h -o %t)\" = R ]; do sleep 0.05; done;"
      "read start end <<<\"$(squeue -h -o '%S %e')\"; [ \"$start\" != \"$first\" ] && echo later;"
      "limit=$(($(date -d \"$end\" +%s) - $(date -d \"$start\" +%s)));"
      "[ $limit -gt 500 ] && [ $limit -le 600 ] && echo limit;"
      "scontrol -o show job 1 | grep -c \" StartTime=$start EndTime=$end \";"
      "sacct -X -n -P -o Start -j 1 | grep -c \"$start\"",
      "later\nlimit\n1\n1\n");
}

TEST_F(SlurmCommands, ScontrolHoldsAndReleasesByNameAndWhatIsDoneAlreadyIsNoError) {
  expect(
      "sbatch -Q -b now+1hour -J one -o /dev/null --wrap=true;"
      "sbatch -Q -b now+1hour -J one -o /dev/null --wrap=true;"
      "sbatch -Q -b now+1hour -J other -o /dev/null --wrap=true;"
      "scontrol hold jobname=one; scontrol hold JobId=1,2; squeue -h -S i -o '%i %r'",
      "1 JobHeldUser\n2 JobHeldUser\n3 BeginTime\n");
  expect(
      "scontrol release Name=one; scontrol release 1; scontrol hold jobname=none;"
      "squeue -h -o %r | sort -u",
      "BeginTime\n");
  expect_refused("scontrol hold", "too few arguments for keyword:hold\n", 1);
  expect(
      "sbatch -Q -o /dev/null --wrap='sleep 1000'; until [ \"$(squeue -h -j 4 -o %t)\" = R ];"
      "do sleep 0.05; done; scontrol hold 4 2>&1",
      "is running, only a job that waits can be held for job 4\n", 1);
  for (const char* const verb : {"hold 4", "suspend 4", "update JobId=4 TimeLimit=5"}) {
    expect(std::string("scancel 4; until [ -z \"$(squeue -h -j 4)\" ]; do sleep 0.05; done;"
                       "scontrol ") +
               verb + " 2>&1",
           "Job/step already completing or completed for job 4\n", 1);
  }
  const std::string clients = (test::source_dir() / "clients").string();
  expect("export PYTHONPATH=" + clients + "/slurm:" + clients +
             "/python; python3 -c 'from slurm_commands.jobs import Job\n"
             "for why in (\"held by its owner\", \"held because ann (uid 7) asked for that\"):\n"
             "  print(Job({\"id\": 1, \"state\": \"held\", \"reason\": why}).reason)'",
         "JobHeldUser\nJobHeldAdmin\n");
}

TEST_F(SlurmCommands, ScontrolChangesOfAnArrayTheTasksThatItCan) {
  expect(
      "sbatch -Q -a 1-3%1 -o /dev/null --wrap='sleep 1000'; until [ \"$(squeue -h -j 1_1 -o %t)\" "
      "= R ];"
      "do sleep 0.05; done; scontrol hold 1 && squeue -h -t PD -o '%K %r'",
      "2-3%1 JobHeldUser\n");
  expect("scontrol release 1 && squeue -h -t PD -o '%K %r'", "2-3%1 JobArrayTaskLimit\n");
  expect("scontrol hold 1_1 2>&1", "is running, only a job that waits can be held for job 1_1\n",
         1);
  expect("scontrol update JobId=1 Priority=7 2>&1; squeue -h -t PD -o '%K %Q'",
         "1_1: is running, only a job that waits to start can be changed\n1_2-3: No error\n"
         "2-3%1 7\n");
  expect(
      "scontrol update JobId=1 TimeLimit=5 2>&1; squeue -h -t PD -o '%K %l'; squeue -h -t R -o %l",
      "2-3%1 5:00\n5:00\n");
  expect("scontrol resume 1_2 2>&1", "Job is pending execution for job 1_2\n", 1);
  expect("scontrol resume 1 2>&1 | tail -1", "1_2-3: Job is pending execution\n");
}

TEST_F(SlurmCommands, ScontrolUpdateChangesCoresAndMemoryOfAJobThatWaits) {
  expect(
      "sbatch -Q -H -c 2 --mem=1G -o /dev/null --wrap=true; "
      "scontrol update JobId=1 NumCPUs=1 MinMemoryNode=512; squeue -h -o '%C %m'",
      "1 512M\n");
  expect_refused("scontrol update JobId=1 MinMemoryNode=much",
                 "Invalid MinMemoryNode value: much\n", 1);
}

TEST_F(SlurmCommands, ScontrolUpdateChangesALimitByMinutes) {
  expect(
      "sbatch -Q -H -t 10 -o /dev/null --wrap=true; scontrol update JobId=1 TimeLimit=+5;"
      "squeue -h -o %l; scontrol update JobId=1 TimeLimit=-10; squeue -h -o %l",
      "15:00\n5:00\n");
  expect_refused("scontrol update JobId=1 TimeLimit=soon", "Invalid TimeLimit value: soon\n", 1);
  expect_refused("scontrol update JobId=1 TimeLimit=UNLIMITED",
                 "Invalid TimeLimit value: UNLIMITED: a limit is not lifted\n", 1);
  expect_refused("sbatch -Q -H -o /dev/null --wrap=true; scontrol update JobId=2 TimeLimit=+5",
                 "Invalid TimeLimit value: +5: the job has no limit\n", 1);
  expect_refused("scontrol update JobId=1 Priority=high", "Invalid Priority value: high\n", 1);
}

TEST_F(SlurmCommands, SrunRunsStepsAndJobs) {
  expect("srun -n2 -l echo hello | sort", "0: hello\n1: hello\n");
  expect("srun -G1 sh -c 'echo $CUDA_VISIBLE_DEVICES $SLURM_PROCID'", "0 0\n");
  expect_refused("srun sh -c 'exit 5'", ": task 0: Exited with exit code 5\n", 5);
  expect_refused("srun sh -c 'kill -9 $$'", ": task 0: Killed\n", 137);
  expect_refused("srun sh -c 'exit 255'", ": task 0: Exited with exit code 255\n", 255);
  expect("srun --gres=gpu:1 --exact --mpi=none --pty echo hi --pty", "hi --pty\n");
  expect_refused("srun --jobid=1 true", "allocation for job 1: Job/step already completing", 1);
  expect_refused("srun no_such_command", "error: execve(): no_such_command: No such file", 2);
  expect("sbatch -W -Q -o out --wrap='srun -n1 sh -c \"exit 4\"; echo after $?'; tail -1 out",
         "after 4\n");
}

TEST_F(SlurmCommands, ScontrolRequeueRunsABatchJobAgainUnderItsNumber) {
  rig_.folder().write("again.sh",
                      "#!/bin/bash\n#SBATCH -o again-%j.out\n"
                      "echo run ${SLURM_RESTART_COUNT:-0}\n"
                      "[ -z \"$SLURM_RESTART_COUNT\" ] || exit 0\neval \"$1\"\nsleep 1000\n");
  expect("sbatch -Q -W again.sh 'scontrol requeue $SLURM_JOB_ID'; cat again-1.out",
         "run 0\nrun 1\n");
  expect(
      "sbatch -Q again.sh; until grep -q run again-2.out; do sleep 0.05; done; scontrol requeue 2;"
      "until grep -q 'run 1' again-2.out; do sleep 0.05; done; "
      "scontrol show job 2 | grep -o 'Requeue=1 Restarts=.'",
      "Requeue=1 Restarts=1\n");
  expect("sbatch -Q -W -o /dev/null --wrap='exit 240'; sacct -n -X -P -o State,ExitCode -j 3",
         "FAILED|241:0\n");  // the code by which berth knows that it was told to
  expect_refused("scontrol requeue 3", "already completing or completed for job 3\n", 1);
  expect_refused("sbatch -Q -H again.sh; scontrol requeue 4", "Job is pending execution", 1);
  expect_refused(
      "sbatch -Q --no-requeue again.sh; until [ \"$(squeue -h -j 5 -o %t)\" = R ]; do sleep 0.05;"
      "done; scontrol requeue 5",
      "Requested operation is presently disabled for job 5\n", 1);
}

/// A script without an ear for SIGTERM would be gone at once, and all with it.
TEST_F(SlurmCommands, AStepThatSavesHasTimeForItBeforeItsJobRunsAgain) {
  rig_.folder().write("save.sh",
                      "#!/bin/bash\n#SBATCH -o saved -t 5 --signal=USR1@60\n"
                      "[ -z \"$SLURM_RESTART_COUNT\" ] || { echo again; exit 0; }\n"
                      "srun sh -c 'exec 2>/dev/null; trap \"echo told\" TERM; touch up; until [ -e "
                      "go ]; do sleep 0.05; "
                      "done; echo in time'\necho and no further\n");
  expect(
      "sbatch -Q save.sh; until [ -e up ]; do sleep 0.05; done; scontrol requeue 1; "
      "until grep -q told saved; do sleep 0.05; done; touch go; "
      "until grep -q again saved; do sleep 0.05; done; grep -v ^srun: saved",
      "told\nin time\nagain\n");
  expect(
      "sbatch -Q -o out -t 5 --signal=USR1@60 --wrap='trap \"echo heard\" USR2; echo up; while :; "
      "do "
      "sleep 0.05; done'; until grep -q up out; do sleep 0.05; done; scancel -b -s USR2 2; "
      "until grep heard out; do sleep 0.05; done; scancel 2",
      "heard\n");
}

TEST_F(SlurmCommands, AScriptsSignalsAndEndAreItsOwn) {
  expect(
      "sbatch -Q -W -o out --wrap='echo $(( $$ == SLURM_TASK_PID )); kill -9 $$'; cat out;"
      "sbatch -Q -o out -J trap --wrap='trap \"echo told; exit 6\" USR1; echo up;"
      " while :; do sleep 0.05; done'; until grep -q up out; do sleep 0.05; done;"
      "scancel -b -s USR1 2; until [ -z \"$(squeue -h)\" ]; do sleep 0.1; done;"
      "grep -v ^User out; sacct -n -P -o JobID,State,ExitCode",
      "1\nup\ntold\n1|FAILED|0:9\n1.batch|CANCELLED|0:9\n2|FAILED|6:0\n2.batch|FAILED|6:0\n");
}

TEST_F(SlurmCommands, ASignalBeforeTheLimitIsForStepsOrWithBForTheScript) {
  expect(
      "sbatch -Q -W -t 60 --signal=USR2@1 -o out --wrap='srun sh -c \"trap \\\"echo told; exit "
      "3\\\" "
      "USR2; touch up; while :; do sleep 0.05; done\" 2>errors & until [ -e up ]; do sleep 0.05; "
      "done; kill -s USR2 -- -$(cut -d\" \" -f5 /proc/$PPID/stat); wait $!; echo goes on $?'; "
      "until grep -q goes out; do sleep 0.05; done; "
      "cat out",
      "told\ngoes on 3\n");
  expect(
      "sbatch -Q -W -t 60 --signal=B:USR2@1 -o out2 --wrap='"
      "trap \"echo script; touch heard\" USR2; "
      "srun sh -c \"trap \\\"echo step\\\" USR2; touch up2; "
      "until [ -e go ]; do sleep 0.05; done\" & until [ -e up2 ]; do sleep 0.05; done; "
      "kill -s USR2 -- -$(cut -d\" \" -f5 "
      "/proc/$PPID/stat); until [ -e heard ]; do sleep 0.05; done; touch go; wait; wait'; "
      "until grep -q script out2; do sleep 0.05; done; cat out2",
      "script\n");
}

TEST_F(SlurmCommands, SacctHasTheStepsOfAJobsLastRun) {
  expect(
      "sbatch -Q -W -o /dev/null --wrap='srun true; srun -J named sh -c \"exit 4\";"
      " srun sh -c \"kill -9 \\$\\$\"'; srun true; sbatch -Q -W -o /dev/null --wrap='srun true;"
      " [ -n \"$SLURM_RESTART_COUNT\" ] || srun sh -c \"scontrol requeue 3; sleep 1000\"';"
      "sacct -n -P -o JobID,JobName,State,ExitCode",
      "1|wrap|FAILED|0:9\n1.batch|batch|CANCELLED|0:9\n1.0|true|COMPLETED|0:0\n"
      "1.1|named|FAILED|4:0\n1.2|sh|CANCELLED|0:9\n2|srun|COMPLETED|0:0\n"
      "2.0|true|COMPLETED|0:0\n3|wrap|COMPLETED|0:0\n3.batch|batch|COMPLETED|0:0\n"
      "3.0|true|COMPLETED|0:0\n");
  expect("sacct -n -X -P -o JobID -j 1", "1\n");
}

TEST_F(SlurmCommands, ScancelEndsJobsOrSignalsTheirSteps) {
  expect(
      "sbatch -Q -o out -J long --wrap='srun sh -c \"trap \\\"echo told; exit 0\\\" USR1; "
      "echo up; while :; do sleep 0.05; done\"'; until grep -q up out; do sleep 0.05; done;"
      "scancel -s USR1 1; until grep -q told out; do sleep 0.05; done;"
      "until [ -z \"$(squeue -h)\" ]; do sleep 0.1; done; sacct -X -n -P -o State -j 1",
      "COMPLETED\n");
  expect(
      "sbatch -Q -o /dev/null --wrap='sleep 1000'; scancel 2; scancel 2; scancel 77;"
      "until [ -z \"$(squeue -h)\" ]; do sleep 0.1; done; sacct -X -n -P -o State -j 2",
      "CANCELLED by " + std::to_string(getuid()) + "\n");
  expect_refused("scancel", "scancel: error: No job identification provided\n", 1);
  expect_refused("scancel abc", "scancel: error: Invalid job id abc\n", 1);
  expect_refused("scancel -s NOSUCH 1", "Unknown job signal: NOSUCH\n", 1);
}

TEST_F(SlurmCommands, SinfoAndScontrolDescribeTheMachine) {
  expect("sinfo -o %P; sinfo -h -o '%R %a %D %t'", "PARTITION\nberth*\nberth up 1 idle\n");
  const Ran ran = bash("sbatch -Q -H -J shown -c 1 -t 10 --wrap=true; scontrol show job 1");
  EXPECT_THAT(ran.out, AllOf(HasSubstr("JobId=1 JobName=shown\n"),
                             HasSubstr("   JobState=PENDING Reason=JobHeldUser "),
                             HasSubstr(" TimeLimit=00:10:00 ")));
  expect("scontrol update JobId=1 TimeLimit=20 JobName=other; squeue -h -o '%j %l'",
         "other 20:00\n");
  expect_refused("squeue -j 999", "slurm_load_jobs error: Invalid job id specified\n", 1);
  expect_refused("squeue -t nostate", "Invalid job state specified: nostate\n", 1);
}

TEST_F(SlurmCommands, GpusThatBerthdWasNotGivenAreNotOfTheNode) {
  rig_.stop();
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  rig_.start();
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  expect("sinfo -h -o %G; scontrol show node | grep -c 'Gres=gpu:berth_emulated_gpu:1$'",
         "gpu:berth_emulated_gpu:1\n1\n");
}

}  // namespace
}  // namespace berth
