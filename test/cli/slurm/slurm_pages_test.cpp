// Goal: what Slurm tells of its nodes and jobs becomes what each GPU has left, and why a job waits.
// Method: lines that scontrol of Slurm 22.05.8 and of 24.11.5 printed, cut to the words that are
// read; the real program with a scontrol that prints them.
#include "cli/slurm/slurm_pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/program.hpp"

namespace berth {
namespace {

using cli::SlurmFacts;
using cli::SlurmJob;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kOldNodes =
    "NodeName=n1 Arch=x86_64 CPUAlloc=5 CPUTot=64 AvailableFeatures=large ActiveFeatures=large "
    "Gres=gpu:4,shard:320 GresUsed=gpu:0,shard:(null):4(IDX:0-3) RealMemory=1000000 AllocMem=500 "
    "State=MIXED Partitions=gpu  Extra=berth-agent at=1764087000 every=30 gpu=0 usable=81559 "
    "used=20492 other=1024 job=1:20480:20480:1\n"
    "NodeName=n2 CPUAlloc=0 CPUTot=64 ActiveFeatures=(null) Gres=gpu:4,shard:320 "
    "RealMemory=1000000 "
    "AllocMem=0 State=IDLE+DRAIN Partitions=gpu  Reason=bad fan today [root@2026-11-30T13:00:08]\n"
    "NodeName=n3 CPUAlloc=3 CPUTot=64 ActiveFeatures=(null) Gres=gpu:4 GresUsed=gpu:3,shard:0 "
    "RealMemory=1000000 AllocMem=300 State=MIXED Partitions=gpu,other\n";

constexpr std::string_view kOldJobs =
    "JobId=1 JobName=a UserId=root(0) JobState=RUNNING Reason=None Dependency=(null) "
    "StartTime=2026-11-30T13:00:09 Partition=gpu ReqNodeList=(null) ExcNodeList=(null) NodeList=n1 "
    "NumNodes=1 NumCPUs=1 NumTasks=1 JOB_GRES=shard:20   Nodes=n1 CPU_IDs=0 Mem=100 "
    "GRES=shard:20(IDX:0) MinCPUsNode=1 MinMemoryCPU=100M Features=(null) "
    "TresPerNode=gres:shard:20 \n"
    "JobId=2 JobName=b UserId=alice(1000) JobState=RUNNING Partition=gpu NodeList=n1 NumNodes=1 "
    "NumCPUs=1 NumTasks=1 JOB_GRES=shard:30   Nodes=n1 CPU_IDs=1 Mem=100 GRES=shard:30(IDX:0) "
    "TresPerNode=gres:shard:30 \n"
    "JobId=15 ArrayJobId=8 ArrayTaskId=0 JobName=arr UserId=root(0) JobState=RUNNING Partition=gpu "
    "NodeList=n1 NumNodes=1 NumCPUs=1 JOB_GRES=shard:80   Nodes=n1 CPU_IDs=3 Mem=100 "
    "GRES=shard:80(IDX:1-3) TresPerNode=gres:shard:80 \n"
    "JobId=5 JobName=two UserId=root(0) JobState=RUNNING Partition=gpu NodeList=n3 NumNodes=1 "
    "NumCPUs=2 NumTasks=2 JOB_GRES=gpu:2   Nodes=n3 CPU_IDs=61-62 Mem=200 GRES=gpu:2(IDX:1-2) "
    "TresPerTask=gres:gpu:1 \n"
    "JobId=8 ArrayJobId=8 ArrayTaskId=2-9 JobName=arr UserId=root(0) JobState=PENDING "
    "Reason=Resources Dependency=(null) StartTime=2027-11-30T13:00:09 Partition=gpu "
    "ReqNodeList=(null) ExcNodeList=(null) NodeList= NumNodes=1 NumCPUs=1 NumTasks=1 MinCPUsNode=1 "
    "MinMemoryCPU=100M Features=(null) TresPerNode=gres:shard:80 \n";

constexpr std::string_view kNewNodes =
    "NodeName=n1 CPUAlloc=7 CPUTot=64 Gres=gpu:4,shard:320 "
    "GresUsed=gpu:(null):1(IDX:2),shard:(null):190(80/80,80/80,0/80,30/80) RealMemory=1000000 "
    "AllocMem=700 State=MIXED+PLANNED Partitions=gpu\n"
    "NodeName=n3 CPUAlloc=1 CPUTot=64 Gres=gpu:4,shard:320 RealMemory=1000000 AllocMem=100 "
    "State=MIXED+PLANNED Partitions=gpu\n";

constexpr std::string_view kNewJobs =
    "JobId=4 JobName=whole UserId=root(0) JobState=RUNNING Partition=gpu NodeList=n1 NumNodes=1 "
    "NumCPUs=1 NumTasks=1 JOB_GRES=gpu:1   Nodes=n1 CPU_IDs=0 Mem=100 GRES=gpu:1(IDX:2) "
    "TresPerJob=gres/gpu:1 \n"
    "JobId=5 JobName=two UserId=root(0) JobState=RUNNING Partition=gpu NodeList=n1 NumNodes=1 "
    "NumCPUs=2 NumTasks=2 JOB_GRES=shard:60   Nodes=n1 CPU_IDs=59-60 Mem=200 "
    "GRES=shard:60(30/80,0/80,0/80,30/80) TresPerTask=gres/shard:30 \n"
    "JobId=6 JobName=ddp UserId=root(0) JobState=RUNNING Partition=gpu NodeList=n[1,3] NumNodes=2 "
    "NumCPUs=2 NumTasks=2 JOB_GRES=shard:20   Nodes=n1 CPU_IDs=58 Mem=100 "
    "GRES=shard:10(0/80,10/80,0/80,0/80)   Nodes=n3 CPU_IDs=63 Mem=100 "
    "GRES=shard:10(10/80,0/80,0/80,0/80) TresPerTask=gres/shard:10 \n"
    "JobId=7 JobName=waits UserId=root(0) JobState=PENDING Reason=Resources Partition=gpu "
    "StartTime=2026-11-30T14:00:15 NodeList= NumNodes=2-2 NumCPUs=2 NumTasks=2 "
    "TresPerNode=gres/gpu:4 \n";

SlurmFacts facts_of(std::string_view nodes, std::string_view jobs) {
  SlurmIds ids;
  for (std::int64_t id = 1; id < 20; ++id) ids[id] = std::to_string(id);
  return cli::slurm_facts(nodes, slurm_records(jobs, ids).records);
}

SlurmFacts old_facts() { return facts_of(kOldNodes, kOldJobs); }
SlurmFacts new_facts() { return facts_of(kNewNodes, kNewJobs); }

const SlurmJob& job_in(const SlurmFacts& facts, const std::string& handle) {
  return *std::ranges::find(facts.jobs, handle, &SlurmJob::handle);
}

std::vector<std::int64_t> free_of(const SlurmFacts& facts, std::size_t node) {
  std::vector<std::int64_t> free;
  for (const auto& gpu : facts.nodes.at(node).gpus) free.push_back(gpu.free());
  return free;
}

std::string why_text_of(const SlurmFacts& facts, const std::string& handle) {
  return cli::slurm_why_page(job_in(facts, handle), {.facts = facts, .now = "2026-11-30T12:00:00"},
                             {});
}

TEST(SlurmFacts, TellWhatEachGpuHasLeft) {
  EXPECT_THAT(free_of(old_facts(), 0), ElementsAre(30, 54, 54, 54));
  EXPECT_THAT(free_of(new_facts(), 0), ElementsAre(50, 70, 0, 50));
  EXPECT_THAT(free_of(new_facts(), 1), ElementsAre(70, 80, 80, 80));
}

TEST(SlurmFacts, OfBrokenTextsAreNone) {
  EXPECT_TRUE(facts_of("slurm_load_node error: x\n\n=\n", "No jobs in the system\n").nodes.empty());
  EXPECT_TRUE(facts_of("", "JobName=x JobId= GRES=shard:9(IDX:").jobs.empty());
  const SlurmFacts odd =
      facts_of("NodeName=n1 Gres=gpu:99999999\n",
               "JobId=1 JobName=a UserId=b(1) JobState=RUNNING Nodes=n1 a b GRES=gpu:1(IDX:0-9)");
  EXPECT_TRUE(odd.nodes.at(0).gpus.empty());
}

TEST(SlurmWhy, SaysWhatEachNodeLacks) {
  EXPECT_THAT(
      why_text_of(old_facts(), "8_[2-9]"),
      AllOf(HasSubstr("waits: it is next, and not enough is free (Resources)"),
            HasSubstr("1 GPU with 80 GiB"), HasSubstr("54 GiB free on a GPU at most (GPU 1: 8_0)"),
            HasSubstr("processes outside of Slurm hold 1 GiB of GPU 0"),
            HasSubstr("is drained: bad fan today"), HasSubstr("its GPUs have no shards")));
  EXPECT_THAT(why_text_of(new_facts(), "7"),
              AllOf(HasSubstr("4 whole GPUs on each of 2 nodes"),
                    HasSubstr(" has 0 GPUs without jobs"), HasSubstr(" has 3 GPUs without jobs")));
}

constexpr std::string_view kReservations =
    "ReservationName=maint StartTime=2026-11-30T13:00:00 EndTime=2026-11-30T14:00:00 "
    "Duration=01:00:00 Nodes=n[1,3] NodeCnt=2 CoreCnt=128 Flags=MAINT,SPEC_NODES TRES=cpu=128 "
    "Users=root Accounts=(null) State=INACTIVE\n"
    "ReservationName=class StartTime=2026-11-30T11:00:00 EndTime=2026-11-30T14:00:00 Nodes=n3 "
    "NodeCnt=1 CoreCnt=4 TRES=cpu=4 Users=alice Accounts=(null) State=ACTIVE\n";

TEST(SlurmWhy, SaysWhichNodesAreReserved) {
  SlurmFacts facts = old_facts();
  cli::add_reservations(facts, kReservations);
  SlurmJob job = job_in(facts, "8_[2-9]");
  const cli::SlurmView view{.facts = facts, .now = "2026-11-30T12:00:00"};
  const auto reserved = [&](std::size_t node) {
    return cli::slurm_reserved(job, facts.nodes[node], view);
  };
  job.user = "bob";
  job.limit = "01:00:00";
  EXPECT_EQ(reserved(0), "") << "it would end as the reservation begins";
  job.limit = "1-00:00:01";
  EXPECT_EQ(reserved(0), "is reserved (maint) from 2026-11-30 13:00:00 to 2026-11-30 14:00:00");
  job.limit = "UNLIMITED";
  EXPECT_THAT(reserved(2), HasSubstr("is reserved (maint) from "));
  EXPECT_THAT(reserved(2), HasSubstr("; is reserved in part (class) from "));
  job.limit = "00:10:00";
  job.user = "alice";
  EXPECT_THAT(reserved(2), testing::EndsWith(", for its user, too: --reservation=class"));
  EXPECT_EQ(reserved(1), "");
  job.reservation = "class";
  EXPECT_EQ(reserved(2), "");
  EXPECT_EQ(reserved(1), "is not in the job's reservation class");
  job.excluded = {"n2"};
  EXPECT_EQ(reserved(1), "") << "the job rules it out";
}

TEST(SlurmWhy, SaysWhatAPartitionAllows) {
  SlurmFacts facts = old_facts();
  cli::add_partitions(facts, "PartitionName=gpu Default=YES MaxTime=00:10:00 State=UP\n");
  SlurmJob job = job_in(facts, "8_[2-9]");
  job.limit = "01:00:00";
  const auto page = [&] {
    return cli::slurm_why_page(job, {.facts = facts, .now = "2026-11-30T12:00:00"}, {});
  };
  EXPECT_THAT(page(), Not(HasSubstr("\ntime limit ")));
  job.reason = "PartitionTimeLimit";
  EXPECT_THAT(page(), HasSubstr("time limit    asks 01:00:00, gpu has 00:10:00\n"));
}

TEST(SlurmWhy, ATimeThatComesFromNoLimitsIsUnknown) {
  EXPECT_THAT(
      why_text_of(old_facts(), "8_[2-9]"),
      HasSubstr("unknown: jobs in its way have no time limit, so that Slurm says 2027-11-30"));
  EXPECT_THAT(why_text_of(new_facts(), "7"), HasSubstr("2026-11-30 14:00:15, by Slurm's plan"));
}

TEST(SlurmWhy, ReasonsHaveWords) {
  SlurmJob job;
  const auto words = [&](const char* reason) {
    job.reason = reason;
    return cli::slurm_reason(job);
  };
  EXPECT_EQ(words("AssocGrpGRES"),
            "a limit of its account or user on GPUs or shards (AssocGrpGRES)");
  EXPECT_EQ(words("QOSMaxJobsPerUserLimit"), "a limit of its QOS (QOSMaxJobsPerUserLimit)");
  EXPECT_EQ(
      words("ReqNodeNotAvail,_UnavailableNodes:n2"),
      "nodes that it needs are down, drained or reserved (ReqNodeNotAvail,_UnavailableNodes:n2)");
  EXPECT_EQ(words("SomethingNew"), "SomethingNew");
  EXPECT_EQ(words(""), "Slurm has not looked at it yet");
  job.dependency = "afterok:1(unfulfilled)";
  EXPECT_EQ(words("Dependency"), "a dependency is not met: afterok:1(unfulfilled) (Dependency)");
}

TEST(SlurmWhy, NodesThatTheJobLeavesOutAreSo) {
  SlurmJob job;
  job.want = {.nodes = 1, .gpus = 1, .gib = 20, .cpus = 62};
  const auto nodes = old_facts().nodes;
  EXPECT_EQ(cli::slurm_lack(job, nodes[0]), "has 59 cores free of 62");
  job.want.cpus = 1;
  EXPECT_EQ(cli::slurm_lack(job, nodes[0]), "fits");
  job.is_alone = true;
  EXPECT_EQ(cli::slurm_lack(job, nodes[0]), "runs other jobs, and this wants it alone");
  job.is_alone = false;
  job.want.memory_mib = 999'900;
  EXPECT_THAT(cli::slurm_lack(job, nodes[0]), HasSubstr("of host memory free of"));
  job.feature = "small";
  EXPECT_EQ(cli::slurm_lack(job, nodes[0]), "lacks the feature small");
  job.required = {"n3"};
  EXPECT_EQ(cli::slurm_lack(job, nodes[0]), "the job names others");
  job.excluded = {"n1"};
  EXPECT_EQ(cli::slurm_lack(job, nodes[0]), "is excluded for this job");
}

TEST(SlurmWhy, SaysThatAnAgentEndedIt) {
  const std::string note =
      "it held 45 GiB on GPU 0, was granted 20 GiB, and the rest is granted to others";
  const auto text_with = [&](const std::string& state) {
    const std::string line = "JobId=9 JobName=a UserId=root(0) JobState=" + state +
                             " NodeList=n1 AdminComment=ticket 7; berth: " + note + " StdErr=/x \n";
    return why_text_of(facts_of(kOldNodes, line), "9");
  };
  EXPECT_THAT(text_with("CANCELLED"), HasSubstr("\nbecause       " + note + "\n"));
  EXPECT_THAT(text_with("RUNNING"), HasSubstr("\nmemory        " + note + "\n"));
  EXPECT_THAT(why_text_of(old_facts(), "1"), Not(HasSubstr("berth")));
}

TEST(SlurmWhy, SaysThatAJobWaitsForBerthSlurm) {
  const auto facts_with = [&](const std::string& note) {
    return facts_of(kOldNodes,
                    "JobId=9 JobName=a UserId=root(0) JobState=PENDING "
                    "Reason=JobHeldUser AdminComment=" +
                        note + " StdErr=/x \n");
  };
  const SlurmFacts waits = facts_with("berth vram=20GiB gpus=2 class=medium");
  EXPECT_THAT(why_text_of(waits, "9"),
              AllOf(HasSubstr("waits: berth-slurm lets it start, and does not answer on this"),
                    HasSubstr("2 GPUs with 20 GiB each")));
  EXPECT_THAT(cli::slurm_checks(waits, "").dump(),
              HasSubstr("1 job for which berth-slurm is to say when to start"));
  const SlurmFacts held = facts_with("berth gpus=1 class=medium held");
  EXPECT_THAT(why_text_of(held, "9"), HasSubstr("its user holds it: scontrol release"));
  EXPECT_THAT(cli::slurm_checks(held, "").dump(), Not(HasSubstr("berth-slurm is to say")));
}

constexpr std::string_view kConfig =
    "CliFilterPlugins        = cli_filter/lua\nJobSubmitPlugins        = lua\n"
    "SelectTypeParameters    = CR_CORE_MEMORY\nSLURM_VERSION           = 22.05.8\n";

std::string check_text(const SlurmFacts& facts, std::string_view config) {
  return cli::slurm_checks(facts, config).dump();
}

TEST(SlurmDoctor, FlagsWholeGpusBesideShardsWhereSlurmCountsThemWrongly) {
  EXPECT_THAT(check_text(old_facts(), kConfig),
              AllOf(HasSubstr("no job has a whole GPU of a node with shards"),
                    HasSubstr("on 1 of 3 nodes with GPUs"), HasSubstr("a job shares one GPU")));
  EXPECT_THAT(check_text(new_facts(), kConfig),
              HasSubstr("jobs have whole GPUs of nodes with shards: n1; Slurm 22.05.8"));
  const std::string newer =
      "SLURM_VERSION = 24.11.5\nSelectTypeParameters = CR_CORE_MEMORY,MULTIPLE_SHARING_GRES_PJ\n";
  EXPECT_THAT(check_text(new_facts(), newer),
              AllOf(HasSubstr("Slurm 24.11.5 counts them beside shards"),
                    HasSubstr("for a task each"), HasSubstr("--vram and vram=SIZE mean nothing")));
}

TEST(SlurmDoctor, FlagsJobsThatCanOpenAllGpus) {
  const auto with = [](const std::string& lines) {
    return check_text(old_facts(), std::string(kConfig) + lines);
  };
  EXPECT_THAT(with(""), HasSubstr("cgroup.conf has no ConstrainDevices=yes"));
  EXPECT_THAT(with("ConstrainDevices        = yes\nTaskPlugin              = task/affinity\n"),
              HasSubstr("TaskPlugin in slurm.conf has no task/cgroup"));
  EXPECT_THAT(with("TaskPlugin = task/affinity,task/cgroup\nConstrainDevices        = yes\n"),
              HasSubstr("jobs can open their own GPUs alone"));
}

/// The real program, and commands of Slurm's that print these lines.
class SlurmVerbs : public testing::Test {
 protected:
  SlurmVerbs() {
    folder_.write("nodes", std::string(kOldNodes));
    folder_.write("jobs", std::string(kOldJobs));
    folder_.write("reservations", std::string(kReservations));
    folder_.write("config", std::string(kConfig));
    scontrol(
        "case \"$*\" in *node) cat nodes ;; *job) cat jobs ;; *reservation) cat reservations ;; *) "
        "cat config ;; esac");
    command("squeue", "sed -n 's/^JobId=\\([0-9]*\\) .*/\\1 \\1 N\\/A/p' jobs");
  }

  void scontrol(const std::string& line) const { command("scontrol", line); }
  void command(const std::string& name, const std::string& line) const {
    const std::string path =
        folder_.write(name, "#!/bin/sh\ncd " + folder_.path().string() + "\n" + line + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  test::Ran ask(std::vector<std::string> words) const {
    return test::berth(std::move(words), {.environment = {"BERTH_BACKEND=slurm", path_}});
  }

  test::ScratchFolder folder_;
  std::string path_ = "PATH=" + folder_.path().string() + ":/usr/bin:/bin";
};

TEST_F(SlurmVerbs, ReadAllFromSlurm) {
  EXPECT_THAT(ask({"why", "8"}).out, HasSubstr("54 GiB free on a GPU at most"));
  EXPECT_THAT(ask({"why", "8"}).out, HasSubstr("is reserved in part (class) from "));
  EXPECT_THAT(ask({"ls"}).out, AllOf(HasSubstr("8_[2-9]"), HasSubstr("alice")));
  EXPECT_THAT(ask({"ls", "--user", "0"}).out, Not(HasSubstr("alice")));
  EXPECT_THAT(ask({"gpus"}).out, AllOf(HasSubstr("n1:0"), HasSubstr("20 GiB"), HasSubstr("n3:1")));
  EXPECT_THAT(ask({"doctor"}).out, HasSubstr("Slurm 22.05.8 schedules"));
  EXPECT_THAT(ask({"gpus", "--json"}).out, HasSubstr("\"free_bytes\": 32212254720"));
}

TEST_F(SlurmVerbs, KnowATaskThatWaitsAmongOthers) {
  EXPECT_THAT(ask({"why", "8_4"}).out, HasSubstr("job 8_[2-9]"));
  EXPECT_THAT(ask({"why", "8_44"}).err, HasSubstr("sacct has those that ended long ago"));
}

TEST_F(SlurmVerbs, ListNoJobThatAUserWroteIntoAName) {
  folder_.write("jobs",
                "JobId=1 JobName=a\nJobId=6 JobName=b UserId=root(0) JobState=RUNNING "
                "Nodes=n1 CPU_IDs=0 Mem=1 GRES=shard:7(IDX:1) UserId=eve(7) "
                "JobState=PENDING Reason=Priority\n");
  command("squeue", "case \"$*\" in *Name*) cat names ;; *) echo 1 1 N/A ;; esac");
  std::string name =
      "a\nJobId=6 JobName=b UserId=root(0) JobState=RUNNING Nodes=n1 CPU_IDs=0 "
      "Mem=1 GRES=shard:7(IDX:1)";
  name.resize(1100, ' ');
  folder_.write("names", "1" + std::string(19, ' ') + name + "\n");
  scontrol("case \"$*\" in *node) cat nodes ;; *) cat jobs ;; esac");
  EXPECT_THAT(ask({"ls"}).out,
              AllOf(HasSubstr("eve"), HasSubstr("jobs of higher priority go first")));
  EXPECT_THAT(ask({"why", "6"}).err, HasSubstr("no such job"));
  EXPECT_THAT(ask({"gpus", "--json"}).out, Not(HasSubstr("\"1\"")));
  folder_.write("names", "");
  EXPECT_THAT(ask({"ls"}).err, HasSubstr("1 job left out, with texts that look like Slurm's"));
}

TEST_F(SlurmVerbs, SayWhatIsWrong) {
  const auto unknown = ask({"why", "99"});
  EXPECT_EQ(unknown.exit_code, test::kFailed);
  EXPECT_THAT(unknown.err, HasSubstr("job 99: Slurm knows no such job"));
  EXPECT_THAT(ask({"ls", "--sort", "id"}).err, HasSubstr("squeue has more"));
  scontrol("echo 'slurm_load_node error: Unable to contact slurm controller'; exit 1");
  EXPECT_THAT(ask({"gpus"}).err,
              HasSubstr("scontrol -o -d show node: slurm_load_node error: Unable to contact"));
  scontrol("exit 127");
  EXPECT_THAT(ask({"gpus"}).err, HasSubstr("there is no scontrol to ask Slurm by"));
}

}  // namespace
}  // namespace berth
