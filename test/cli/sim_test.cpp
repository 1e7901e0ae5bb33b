// Goal: `berth sim` says what it did in stable formats, and what was wrong in words and exit codes.
// Method: runs the real program on small files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth {
namespace {

using test::kBadUsage;
using test::kFailed;
using test::Ran;
using test::ScratchFolder;
using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr auto kTrace =
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
    "10,3,0,1,a,100,0\n"
    "9,2,1.5,1,b,50,1\n"
    "2,1,2,1,c,10,1\n";

class Sim : public testing::Test {
 protected:
  Ran sim(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "sim");
    return test::run_program("berth", arguments);
  }
  Ran sim_small(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"--trace", trace_, "--cluster", "1x4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sim(arguments);
  }

  ScratchFolder scratch_;
  std::string trace_ = scratch_.write("t.csv", kTrace);
};

TEST_F(Sim, WritesOneLinePerJobByNumber) {
  const Ran ran = sim_small({"--policy", "fifo", "--jobs", scratch_ / "jobs.csv"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(test::read_file(scratch_ / "jobs.csv"),
            "job_id,submit,start,end,wait,jct,gpus,preemptions,ooms,user,outcome,run,placement\n"
            "2,2,100,110,98,108,1,0,0,,done,10,n0:2\n"
            "9,1.5,100,150,98.5,148.5,2,0,0,,done,50,n0:0-1\n"
            "10,0,0,100,0,100,3,0,0,,done,100,n0:0-2\n");
}

TEST_F(Sim, WritesOverNoneOfItsInputsAndNoOutputTwice) {
  const Ran lost = sim_small({"--jobs", trace_});
  EXPECT_EQ(lost.exit_code, kBadUsage);
  EXPECT_EQ(lost.err,
            "berth: --jobs " + trace_ + ": is the trace, which would be lost; name another file\n");
  EXPECT_EQ(test::read_file(trace_), kTrace);
  const std::string one = scratch_ / "one";
  const Ran twice = sim_small({"--jobs", one, "--summary", one});
  EXPECT_EQ(twice.err,
            "berth: --summary " + one + ": is written by --jobs too; name another file\n");
  EXPECT_FALSE(std::filesystem::exists(one));
}

TEST_F(Sim, WritesOverNoFileThatAnOptionNames) {
  const std::string file = scratch_.write("f.csv", "job,seconds\n10,1\n9,1\n2,1\n");
  for (const std::string option : {"--estimates", "--limits", "--weights", "--virtual-clusters",
                                   "--service", "--vram-model", "--speeds"}) {
    const Ran ran = sim_small({option, file, "--jobs", file});
    EXPECT_EQ(ran.exit_code, kBadUsage) << option;
    EXPECT_EQ(ran.err, "berth: --jobs " + file + ": is " + option +
                           ", which would be lost; name another file\n");
  }
  const Ran folder = sim_small({"--profiles", scratch_.path().string(), "--jobs", file});
  EXPECT_THAT(folder.err, HasSubstr(": is of --profiles, which would be lost"));
  trace_ = scratch_.write("jobs.csv.part", kTrace);  // what jobs.csv is until it is whole
  EXPECT_EQ(sim_small({"--jobs", scratch_ / "jobs.csv"}).exit_code, kBadUsage);
  EXPECT_EQ(test::read_file(trace_), kTrace);
  const Ran part = sim_small({"--jobs", scratch_ / "one.part", "--summary", scratch_ / "one"});
  EXPECT_THAT(part.err, HasSubstr(": is written by --jobs too; name another file\n"));
  const Ran input = test::run_program(
      "/bin/sh", {"-c", "\"$0\" sim --trace - --cluster 1x4 --jobs \"$1\" < \"$1\"",
                  test::program("berth").string(), trace_});
  EXPECT_THAT(input.err, HasSubstr(": is the trace, which would be lost; name another file\n"));
}

TEST_F(Sim, PrintsOneOutputAndNothingElseBehindWhatIsThere) {
  ASSERT_EQ(sim_small({"--jobs", scratch_ / "jobs.csv"}).exit_code, 0);
  for (const char* name : {"-", "/dev/stdout"}) {
    const Ran printed = sim_small({"--jobs", name});
    EXPECT_EQ(printed.exit_code, 0) << printed.err;
    EXPECT_EQ(printed.out, test::read_file(scratch_ / "jobs.csv"));
  }
  const std::string log = scratch_.write("log", "kept\n");
  test::run_program("/bin/sh", {"-c", "\"$0\" sim --trace \"$1\" --cluster 1x4 --jobs - >> \"$2\"",
                                test::program("berth").string(), trace_, log});
  EXPECT_EQ(test::read_file(log), "kept\n" + test::read_file(scratch_ / "jobs.csv"));
  const std::string other = scratch_.write("other", "kept\n");
  test::run_program("/bin/sh",
                    {"-c", "\"$0\" sim --trace \"$1\" --cluster 1x4 --jobs /dev/fd/3 3>> \"$2\"",
                     test::program("berth").string(), trace_, other});
  EXPECT_EQ(test::read_file(other), "kept\n" + test::read_file(scratch_ / "jobs.csv"));
  EXPECT_EQ(sim_small({"--jobs", "-", "--summary", "-"}).err,
            "berth: --summary -: is written by --jobs too; name another file\n");
  EXPECT_EQ(sim_small({"--json", "--jobs", "-"}).err,
            "berth: --jobs -: is written by --json too; name another file\n");
}

TEST_F(Sim, SaysThatSeedsOfOneRunAreNoSample) {
  const std::string words = "nothing here is drawn at random";
  EXPECT_THAT(sim_small({"--seeds", "3"}).out,
              AllOf(HasSubstr(words), testing::Not(HasSubstr("confidence"))));
  EXPECT_THAT(
      sim_small({"--seeds", "3", "--policy", "fifo@random", "--vram-model", "uniform:2G-20G"}).out,
      testing::Not(HasSubstr(words)));
}

TEST_F(Sim, GivesUsersTheirWeights) {
  const std::string trace = scratch_.write("philly.csv",
                                           "timestamp,duration,num_gpus,gpu_time,cluster\n"
                                           "2017-10-09 00:00:00,1000,2,1000,a\n"
                                           "2017-10-09 00:00:00,1000,1,1000,b\n"
                                           "2017-10-09 00:00:00,100,1,100,c\n"
                                           "2017-10-09 00:00:01,10,1,10,a\n"
                                           "2017-10-09 00:00:02,10,1,10,b\n");
  const std::vector<std::string> run = {"--trace",  trace,      "--cluster", "1x4",
                                        "--policy", "capacity", "--jobs",    scratch_ / "jobs.csv"};
  EXPECT_EQ(sim(run).exit_code, 0);
  EXPECT_THAT(test::read_file(scratch_ / "jobs.csv"),
              AllOf(HasSubstr("\n4,1,110,"), HasSubstr("\n5,2,100,")));  // a holds more
  std::vector<std::string> weighed = run;
  weighed.insert(weighed.end(), {"--weights", "a=4,z=1"});
  EXPECT_EQ(sim(weighed).err, "berth: --weights: no job of the trace is of user 'z'\n");
  EXPECT_THAT(test::read_file(scratch_ / "jobs.csv"),
              AllOf(HasSubstr("\n4,1,100,"), HasSubstr("\n5,2,110,")));
  weighed.back() = scratch_.write("weights.csv", "vc,nodes\na,heavy\n");
  EXPECT_THAT(sim(weighed).err, HasSubstr("weights.csv:2: column 'weight': "));
}

TEST_F(Sim, SaysHowFarOffPredictedStartsAre) {
  const Ran ran =
      sim_small({"--policy", "sjf", "--predictions", "3", "--jobs", scratch_ / "jobs.csv",
                 "--summary", scratch_ / "s", "--report", scratch_ / "page.html"});
  // Job 10 starts at once and job 2 beside it: no job overtakes job 9.
  EXPECT_THAT(ran.out, HasSubstr("of 3 jobs 2 started at once; 1 of the 1 others predicted"));
  EXPECT_THAT(ran.out, HasSubstr("off by: nothing"));
  EXPECT_THAT(test::read_file(scratch_ / "jobs.csv"),
              AllOf(HasSubstr(",ooms,predicted_start,user,"), HasSubstr("\n9,1.5,100,150,"),
                    HasSubstr(",0,0,100,,done"), HasSubstr(",0,0,,,done,")));
  EXPECT_THAT(test::read_file(scratch_ / "s"),
              AllOf(HasSubstr("\"error_over_wait\": 0.0"), HasSubstr("\"calibration\"")));
  EXPECT_THAT(test::read_file(scratch_ / "page.html"), HasSubstr("Wait until the start, sjf"));
  EXPECT_EQ(sim_small({"--predictions", "many"}).exit_code, kBadUsage);
}

TEST_F(Sim, LearnsRunTimesAndSaysHowWell) {
  const Ran ran = sim_small({"--policy", "sjf", "--estimates", "learned"});
  EXPECT_THAT(ran.out, HasSubstr("run times were not known to the policy"));
  EXPECT_THAT(sim_small({"--estimates", "+-10%"}).out,
              HasSubstr("run times as told: 100.0 % of jobs known; 100.0 % within a factor"));
  EXPECT_THAT(sim_small().out, testing::Not(HasSubstr("as told")));
}

TEST_F(Sim, SaysWhatEnergyItTook) {
  const Ran ran = sim_small({"--policy", "fifo", "--power", "100:300"});
  // 410 GPU-seconds of 4 GPUs for 150 s.
  EXPECT_THAT(ran.out, HasSubstr("energy 0.0 kWh: 0.0 busy (0.1 GPU-hours), 0.0 idle"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("out of memory")));
  EXPECT_THAT(sim_small({"--power", "k80=1:2"}).err,
              HasSubstr("--power: the cluster has no GPU of type 'k80'; its types: gpu"));
}

TEST_F(Sim, WhatJobsSayOfThemselvesIsNamed) {
  EXPECT_EQ(sim_small({"--programs", "name", "--progress-every", "10s"}).exit_code, 0);
  EXPECT_THAT(sim_small({"--programs", "user"}).err,
              HasSubstr("--programs: 'user' is unknown; valid values: model, name, none"));
  EXPECT_THAT(sim_small({"--progress-every", "0.5s"}).err,
              HasSubstr("--progress-every: '0.5s' is less than 1s"));
  EXPECT_THAT(sim_small({"--probe-every", "999us"}).err, HasSubstr("--probe-every"));
  EXPECT_THAT(sim_small({"--probe-every", "0.5ms"}).err,
              HasSubstr("--probe-every: '0.5ms' is less than 1ms"));
  EXPECT_THAT(sim_small({"--probe-every", "1s"}).out, HasSubstr("GPU time with a kernel"));
  EXPECT_THAT(sim_small({"--foreign", "size=2G"}).err,
              HasSubstr("--foreign: 'size=2G' is not every=TIME,for=TIME,size=LEAST-MOST"));
  EXPECT_THAT(sim_small({"--foreign", "every=1h,size=2G"}).out, HasSubstr("by foreign 0"));
}

TEST_F(Sim, JobsThatShareAGpuTakeTurns) {
  const std::string trace =
      scratch_.write("shared.csv",
                     "job,submit_seconds,duration_seconds,gpus,vram_bytes,alone\na,0,60,1,4096,0\n"
                     "b,0,60,1,4096,0\n");
  const auto run = [&](const char* share) {
    return sim({"--trace", trace, "--cluster",
                scratch_.write("c.toml", "[[node]]\nname = \"n\"\ngpus = 1\nvram = \"16G\"\n"),
                "--share", share, "--summary", scratch_ / "s"});
  };
  EXPECT_THAT(run("timeslice").out, HasSubstr("run time over alone: mean 2.000"));
  EXPECT_THAT(test::read_file(scratch_ / "s"), HasSubstr("\"ruled_gpu_hours\": 0.0666"));
  EXPECT_THAT(run("timeslice:20%").out, HasSubstr("run time over alone: mean 2.500"));
  EXPECT_THAT(run("timeslice:5").err, HasSubstr("--share timeslice: '5' is not N%"));
  EXPECT_THAT(run("duty").out, HasSubstr("run time over alone: mean 2.000"));
  EXPECT_THAT(run("duty:25%").out, HasSubstr("run time over alone: mean 2.500"));
  EXPECT_THAT(run("duty:101%").err,
              HasSubstr("--share duty: '101%' is not N% with N from 0 to 100"));
  EXPECT_THAT(run("mps:5%").err, HasSubstr("--share mps: it takes no '5%'"));
  EXPECT_THAT(run("mps:cap=50").out, HasSubstr("run time over alone: mean 2.000"));
  EXPECT_THAT(run("timeslice:slice=3ms:switch=1ms").out,
              HasSubstr("run time over alone: mean 2.667"));
  EXPECT_THAT(run("pairs").err, HasSubstr("no table of --speeds has pairs"));
  EXPECT_THAT(run("exclusive").out, HasSubstr("makespan 120 s"));
  EXPECT_THAT(test::read_file(scratch_ / "s"), testing::Not(HasSubstr("machine")));
  EXPECT_THAT(run("free").out, HasSubstr("makespan 60 s"));
  EXPECT_THAT(
      run("fast").err,
      HasSubstr("--share: 'fast' is unknown; valid values: free, exclusive, timeslice, mps, duty"));
}

TEST_F(Sim, SaysWhyJobsWaited) {
  const Ran ran = sim_small({"--policy", "fifo", "--waits", "--summary", scratch_ / "s"});
  // Job 9 wants two of the four GPUs, and one is free, up to 100 s; job 2 could have that one.
  EXPECT_THAT(ran.out, HasSubstr("waiting because of capacity 50.1 %, order 49.9 %"));
  EXPECT_THAT(test::read_file(scratch_ / "s"), HasSubstr("\"total_seconds\": 98.5"));
}

TEST_F(Sim, WhatIsWrongWithTheMachineIsNamed) {
  EXPECT_THAT(sim_small({"--spread-penalty", "100%"}).err,
              HasSubstr("--spread-penalty: '100%' is not N% with N from 0 to 99"));
  EXPECT_THAT(sim_small({"--memory-error", "+-100%"}).err, HasSubstr("--memory-error: '100%' is"));
  EXPECT_THAT(sim_small({"--memory-error", "+-20%"}).out, HasSubstr("by admission 0"));
  EXPECT_THAT(sim_small({"--faults", "30d"}).err, HasSubstr("--faults: '30d' is not node-mtbf="));
  EXPECT_THAT(sim_small({"--faults", "node-mtbf=20s,repair=1s"}).out, HasSubstr("lost to faults"));
  EXPECT_THAT(sim_small({"--restart-cost", "soon"}).err,
              HasSubstr("--restart-cost soon: is not a duration"));
  EXPECT_THAT(sim_small({"--checkpoint-every", "0s"}).err,
              HasSubstr("--checkpoint-every 0s: is not a duration"));
  EXPECT_THAT(sim_small({"--start-latency", "10s", "--checkpoint-every", "never"}).out,
              HasSubstr("overhead"));
  EXPECT_THAT(sim_small({"--speeds", scratch_.write("x", "a,b\n1,2\n")}).err, HasSubstr("model"));
}

TEST_F(Sim, WritesASummary) {
  const Ran ran = sim_small({"--policy", "fifo", "--place", "yarn", "--summary", scratch_ / "s"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const std::string summary = test::read_file(scratch_ / "s");
  EXPECT_THAT(summary, AllOf(HasSubstr("\"policy\": \"fifo\""), HasSubstr("\"place\": \"yarn\""),
                             HasSubstr("\"jobs\": 3"), HasSubstr("\"rejected\": 0"),
                             HasSubstr("\"makespan_seconds\": 150.0"),
                             HasSubstr("\"preemptions\": 0"), HasSubstr("\"ooms\": 0")));
  EXPECT_THAT(summary, ContainsRegex("\"jct_seconds\": \\{[^}]*\"mean\": 118\\.8"));
  EXPECT_TRUE(summary.ends_with("}\n"));
}

TEST_F(Sim, WarnsOfNodesThatAreLikelyAnAmountOfMemory) {
  EXPECT_EQ(
      sim({"--policy", "sjf", "--trace", trace_, "--cluster", "1x4x80"}).err,
      "berth: --cluster 1x4x80 is 320 GPUs, 80 on each node; 1x4x80G is 1x4 GPUs of 80 GiB\n");
  for (const char* const cluster : {"1x4x8", "1x4x80G", "2x80"}) {
    EXPECT_THAT(sim({"--policy", "sjf", "--trace", trace_, "--cluster", cluster}).err, IsEmpty());
  }
}

TEST_F(Sim, PrintsATable) {
  const Ran ran = sim_small({"--policy", "sjf"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.err, IsEmpty());
  EXPECT_THAT(ran.out, AllOf(StartsWith("sjf (consolidated) on 1x4, 3 of 3 jobs ended\n"),
                             HasSubstr("JCT"), HasSubstr("wait"), HasSubstr("makespan")));
}

TEST_F(Sim, SaysWhereJobsShareForNothing) {
  const std::string text = "jobs that share a GPU run as fast as alone here";
  EXPECT_THAT(sim_small({}).out, Not(HasSubstr(text)));
  EXPECT_THAT(sim_small({"--vram-model", "uniform:2G-20G"}).out, HasSubstr(text));
  EXPECT_THAT(sim_small({"--vram-model", "uniform:2G-20G", "--share", "duty"}).out,
              Not(HasSubstr(text)));
}

TEST_F(Sim, TwoRunsWriteTheSameBytes) {
  sim_small({"--policy", "dlas", "--jobs", scratch_ / "a", "--summary", scratch_ / "b"});
  sim_small({"--policy", "dlas", "--jobs", scratch_ / "c", "--summary", scratch_ / "d"});
  EXPECT_EQ(test::read_file(scratch_ / "a"), test::read_file(scratch_ / "c"));
  EXPECT_EQ(test::read_file(scratch_ / "b"), test::read_file(scratch_ / "d"));
}

TEST_F(Sim, LeavesNoHalfWrittenFile) {
  sim_small({"--jobs", scratch_ / "jobs.csv"});
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "jobs.csv.part"));
}

TEST_F(Sim, RejectsWhatCanNeverRunAndGoesOn) {
  const std::string trace = scratch_.write("big.csv", std::string(kTrace) + "77,5,3,1,d,10,1\n");
  const Ran ran = sim({"--trace", trace, "--cluster", "1x4", "--jobs", scratch_ / "jobs.csv"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err,
            "berth: 1 of 4 jobs are rejected, they can never start here: job 77: asks 5 GPUs, the "
            "cluster has 4\n");
  EXPECT_THAT(ran.out, HasSubstr("3 of 4 jobs ended, 1 rejected\n"));
  EXPECT_THAT(test::read_file(scratch_ / "jobs.csv"), HasSubstr("\n77,3,,,,,5,0,0,,rejected,,\n"));
}

TEST_F(Sim, SaysInJsonWhatItWouldWriteToTheSummary) {
  const Ran ran = sim_small({"--policy", "fifo", "--json", "--summary", scratch_ / "s"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, test::read_file(scratch_ / "s"));
  EXPECT_EQ(nlohmann::json::parse(ran.out).at("fairness"), nullptr) << "the trace names no users";
  EXPECT_THAT(sim_small().out, HasSubstr("fairness between users -\n"));
}

TEST_F(Sim, ASummarySaysWhatItIsOf) {
  const Ran ran = sim_small({"--policy", "sjf", "--load", "2", "--seed", "7", "--estimates",
                             "+-10%", "--json", "--jobs", scratch_ / "jobs.csv"});
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json.at("load"), 2);
  EXPECT_EQ(json.at("seed"), 7);
  EXPECT_EQ(json.at("options"), (nlohmann::json{{"--estimates", "+-10%"}}));
  EXPECT_EQ(json.at("trace_sha256").get<std::string>().size(), 64U);
  EXPECT_THAT(json.at("version").get<std::string>(), ContainsRegex("^[0-9]+\\.[0-9]+"));
  EXPECT_EQ(json.at("submitted"), 3);
  EXPECT_EQ(json.at("by_size").size(), 3U);
  sim_small({"--policy", "sjf", "--load", "2", "--report", scratch_ / "page.html"});
  EXPECT_THAT(test::read_file(scratch_ / "page.html"),
              AllOf(HasSubstr("seed 0, load 2"), HasSubstr("SHA-256")));
}

TEST_F(Sim, ALimitIsAFactorOrAFile) {
  EXPECT_THAT(sim_small({"--limits", "1"}).out, HasSubstr("3 of 3 jobs ended\n"));
  EXPECT_THAT(sim_small({"--limits", "0.5"}).out,
              HasSubstr("0 of 3 jobs ended, 3 stopped by their time limit\n"));
  const std::string file = scratch_.write("limits.csv", "job,limit\n9,10\n77,5\n");
  const Ran ran = sim_small({"--limits", file, "--jobs", scratch_ / "jobs.csv"});
  EXPECT_THAT(ran.out, HasSubstr("2 of 3 jobs ended, 1 stopped by their time limit\n"));
  EXPECT_THAT(ran.err, HasSubstr("--limits: 1 of the jobs it names are not in the trace\n"));
  EXPECT_THAT(ran.err, HasSubstr("--limits: 2 jobs of the trace are not in it\n"));
  EXPECT_THAT(test::read_file(scratch_ / "jobs.csv"), HasSubstr(",timeout,10,"));
}

TEST_F(Sim, EstimatesAreReadFromAFile) {
  // Job 9 says that it is shorter than job 2 is, which it is not.
  const std::string file = scratch_.write("estimates.csv", "9,5\n2,50\n10,100\n");
  sim_small({"--policy", "helios/sjf", "--estimates", file, "--jobs", scratch_ / "jobs.csv"});
  EXPECT_THAT(test::read_file(scratch_ / "jobs.csv"), HasSubstr("\n9,1.5,100,150,"));
  EXPECT_THAT(sim_small({"--estimates", file}).out, HasSubstr("run times as told: 100.0 %"));
}

TEST_F(Sim, AFileOfTimesThatNamesNoJobOfTheTraceIsRefused) {
  for (const char* text : {"", "job,seconds\n", "job,seconds\n77,5\n"}) {
    const std::string file = scratch_.write("times.csv", text);
    for (const char* option : {"--estimates", "--limits"}) {
      const Ran ran = sim_small({option, file});
      EXPECT_EQ(ran.exit_code, kBadUsage) << text;
      EXPECT_EQ(ran.err, "berth: " + std::string(option) +
                             ": the file names no job of the trace, whose first is '10'\n");
    }
  }
}

TEST_F(Sim, FiguresOfNoJobsAreNone) {
  const std::vector<std::string> run = {"--limits", "0.5", "--restart-cost", "1s", "--by", "size"};
  const Ran ran = sim_small(run);
  EXPECT_THAT(ran.out, ContainsRegex("\nJCT +- +- +- +-\n"));
  EXPECT_THAT(ran.out, HasSubstr("slowdown: mean -, median -, p95 -;"));
  EXPECT_THAT(ran.out, HasSubstr("makespan - s"));
  EXPECT_THAT(ran.out, HasSubstr("run time over alone: mean -,"));
  EXPECT_THAT(ran.out, ContainsRegex("\n3-4 +1 +0 +- +- +- +- "));
  std::vector<std::string> json = run;
  json.emplace_back("--json");
  const auto summary = nlohmann::json::parse(sim_small(json).out);
  EXPECT_TRUE(summary.at("jct_seconds").at("mean").is_null());
  EXPECT_TRUE(summary.at("makespan_seconds").is_null());
  EXPECT_TRUE(summary.at("by_size")[0].at("mean_jct_seconds").is_null());
}

/// Job 10 has attained 30 GPU-seconds after 10 s, when 9, which is new, takes its GPUs.
TEST_F(Sim, KeysReachThePolicy) {
  const auto preemptions = [&](const char* policy) {
    const Ran ran = sim_small({"--policy", policy, "--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return nlohmann::json::parse(ran.out).at("preemptions").get<int>();
  };
  EXPECT_EQ(preemptions("dlas:thresholds=3250:7200"), 0);
  EXPECT_EQ(preemptions("dlas:thresholds=30"), 1);
  const Ran ran = sim_small({"--policy", "dlas:threshold=30"});
  EXPECT_EQ(ran.exit_code, kBadUsage);
  EXPECT_THAT(ran.err, HasSubstr("policy dlas: unknown key 'threshold'; valid keys: thresholds"));
}

TEST_F(Sim, VirtualClustersAreScheduledApart) {
  const std::string trace = scratch_.write("philly.csv",
                                           "timestamp,duration,num_gpus,type,cluster\n"
                                           "2017-10-01 00:00:00,100,4,t,x\n"
                                           "2017-10-01 00:00:01,100,4,t,x\n"
                                           "2017-10-01 00:00:02,10,1,t,y\n"
                                           "2017-10-01 00:00:02,10,1,t,z\n");
  const std::string parts = scratch_.write("vc.csv", "vc,nodes\nx,1\ny,1\n");
  const Ran ran = sim({"--trace", trace, "--cluster", "2x4", "--policy", "fifo",
                       "--virtual-clusters", parts, "--jobs", scratch_ / "j.csv", "--waits"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("3 of 4 jobs ended, 1 rejected"));
  EXPECT_THAT(ran.err, HasSubstr("its user 'z' has no virtual cluster"));
  EXPECT_THAT(test::read_file(scratch_ / "j.csv"), HasSubstr(",y,done,10,n1:0\n"));
  const Ran asked = sim(
      {"--trace", trace, "--cluster", "2x4", "--virtual-clusters", parts, "--predictions", "2"});
  EXPECT_EQ(asked.exit_code, kBadUsage);
  const Ran many = sim({"--trace", trace, "--cluster", "1x4", "--virtual-clusters", parts});
  EXPECT_EQ(many.exit_code, kBadUsage);
  EXPECT_THAT(many.err, HasSubstr("the virtual clusters have 2 nodes, the cluster has 1"));
}

TEST_F(Sim, AnEmptyValueIsRefused) {
  for (const char* option : {"--limits", "--jobs", "--place", "--price", "--seeds"}) {
    const Ran ran = sim_small({option, ""});
    EXPECT_EQ(ran.exit_code, kBadUsage) << option;
    EXPECT_THAT(ran.err, HasSubstr(std::string(option) + ": needs a value"));
  }
  EXPECT_THAT(sim_small({"--policy", "fifo@"}).err,
              HasSubstr("the name of the placement behind the @ is missing"));
}

TEST_F(Sim, MeasuresAWindowOfArrivals) {
  const Ran ran = sim_small({"--policy", "fifo", "--measure", "1s:2s"});
  EXPECT_THAT(ran.out, HasSubstr(", 1 of 1 jobs ended\n"));
  EXPECT_THAT(ran.out, HasSubstr("JCT                  148.50"));
  EXPECT_THAT(sim_small({"--measure", "1s:"}).out, HasSubstr(", 2 of 2 jobs ended\n"));
  EXPECT_THAT(sim_small({"--measure", "1h:2h"}).err,
              HasSubstr("--measure: no job arrives in 1h:2h"));
}

TEST_F(Sim, SeveralSeedsHaveIntervals) {
  const std::vector<std::string> run = {
      "--policy", "sjf",    "--estimates",         "+-90%",    "--seeds",
      "3,1,2",    "--jobs", scratch_ / "jobs.csv", "--report", scratch_ / "page.html"};
  EXPECT_THAT(sim_small(run).out,
              AllOf(HasSubstr("first of 3 seeds: sjf "), ContainsRegex("mean JCT +[0-9.]+ \\+-")));
  const std::string jobs = test::read_file(scratch_ / "jobs.csv");
  EXPECT_THAT(jobs, AllOf(HasSubstr(",placement,seed\n"), HasSubstr(",3\n"), HasSubstr(",2\n")));
  EXPECT_EQ(std::ranges::count(jobs, '\n'), 1 + 3 * 3);
  EXPECT_THAT(test::read_file(scratch_ / "page.html"), HasSubstr("Over 3 seeds"));
  std::vector<std::string> json = run;
  json.emplace_back("--json");
  const auto summary = nlohmann::json::parse(sim_small(json).out);
  EXPECT_EQ(summary.at("seeds"), (nlohmann::json{3, 1, 2}));
  EXPECT_EQ(summary.at("runs").size(), 3U);
  EXPECT_EQ(summary.at("runs")[1].at("seed"), 1);
  EXPECT_EQ(summary.at("figures").at("jct_seconds_mean").at("values").size(), 3U);
  // One seed alone says the same as among others.
  const auto alone = nlohmann::json::parse(
      sim_small({"--policy", "sjf", "--estimates", "+-90%", "--seed", "2", "--json"}).out);
  EXPECT_EQ(alone.at("jct_seconds"), summary.at("runs")[2].at("jct_seconds"));
}

TEST_F(Sim, SaysFiguresByUserAndSize) {
  EXPECT_THAT(sim_small({"--by", "user"}).out, HasSubstr("the trace names no users\n"));
  EXPECT_THAT(sim_small({"--by", "size,user"}).out,
              AllOf(HasSubstr("GPUs asked "), HasSubstr("\n3-4 ")));
}

TEST_F(Sim, APlacementThatWouldChangeNothingIsRefused) {
  EXPECT_EQ(sim_small({"--policy", "carma@fgd"}).err,
            "berth: policy carma has a placement of its own (carma); placement 'fgd' would change "
            "nothing\n");
  EXPECT_EQ(sim_small({"--policy", "capacity", "--place", "count"}).exit_code, kBadUsage);
  EXPECT_THAT(sim_small({"--policy", "tiresias/dlas"}).out,
              StartsWith("tiresias/dlas (count) on 1x4"));
  EXPECT_EQ(sim_small({"--policy", "tiresias/dlas@count"}).exit_code, 0);
  EXPECT_THAT(sim_small({"--policy", "capacity"}).out, StartsWith("capacity (closest) on 1x4"));
}

TEST_F(Sim, NamesTheFirstFewOfManyThatAreRejectedInOneLine) {
  std::string rows = kTrace;
  for (int i = 70; i < 80; ++i) rows += std::to_string(i) + ",5,3,1,d,10,1\n";
  const Ran ran = sim({"--trace", scratch_.write("big.csv", rows), "--cluster", "1x4"});
  EXPECT_EQ(ran.exit_code, 0);
  const std::string why = ": asks 5 GPUs, the cluster has 4";
  EXPECT_EQ(ran.err, "berth: 10 of 13 jobs are rejected, they can never start here: job 70" + why +
                         "; job 71" + why + "; job 72" + why + "; ...\n");
}

/// Who writes 4x8 has not said how large the GPUs are.
TEST_F(Sim, SaysHowLargeTheGpusOfAShapeAreWhereJobsAskForMore) {
  const std::string trace =
      scratch_.write("t.csv", "job,submit_seconds,duration_seconds,gpus,vram_gib\na,0,10,1,40\n");
  EXPECT_THAT(
      sim({"--trace", trace, "--cluster", "1x2"}).err,
      EndsWith("berth: the GPUs of --cluster 1x2 have 24 GiB; 1x2x80G has GPUs of 80 GiB\n"));
  EXPECT_EQ(sim({"--trace", trace, "--cluster", "1x2x80G"}).err, "");
}

TEST_F(Sim, AShapeHasNoTypesAndJobsThatNameSomeRunOnIt) {
  const std::string trace = scratch_.write(
      "t.csv", "job,submit_seconds,duration_seconds,gpus,types\na,0,10,1,V100\nb,0,10,1,\n");
  const Ran ran = sim({"--trace", trace, "--cluster", "1x2", "--policy", "fifo"});
  EXPECT_EQ(ran.err,
            "berth: --cluster 1x2 says no types of GPU: 1 jobs that name types run on any; a "
            "cluster file has types\n");
  EXPECT_THAT(ran.out, HasSubstr("2 of 2 jobs ended"));
  const std::string cluster = scratch_.write("c.toml", "[[node]]\ngpus = 2\ntype = \"T4\"\n");
  EXPECT_THAT(sim({"--trace", trace, "--cluster", cluster, "--policy", "fifo"}).err,
              HasSubstr("1 of 2 jobs are rejected, they can never start here: job a:"));
}

TEST_F(Sim, ALogOfHeliosIsReplayedOnTheClusterBesideIt) {
  const std::string log = scratch_.write(
      "cluster_log.csv",
      "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,"
      "queue\n"
      "1,u1,vcA,8,4,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 01:00:00,3600,"
      "0\n"
      "2,u1,vcB,16,4,2,COMPLETED,2020-04-01 00:10:00,2020-04-01 00:10:00,2020-04-01 01:10:00,3600,"
      "0\n"
      "3,u2,vcB,0,4,1,COMPLETED,2020-04-01 00:10:00,2020-04-01 00:10:00,2020-04-01 01:10:00,3600,"
      "0\n");
  const std::string days =
      scratch_.write("cluster_gpu_number.csv", "date,vcA,vcB,total\n2020-04-01,8,16,24\n");
  const Ran ran = sim({"--trace", log, "--cluster", days, "--policy", "fifo"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "berth: " + log + ": left out 1 job without a GPU\nberth: --cluster " + days +
                         ": read as 3 nodes of 8 GPUs, the most of a day; it does not say " +
                         "what a node has\n");
  EXPECT_THAT(ran.out, HasSubstr("2 of 2 jobs ended"));
}

TEST_F(Sim, KeepsJobsOffTypesWhereTheirThroughputIsZero) {
  const std::string trace = scratch_.write("own.csv",
                                           "job,model,submit_seconds,duration_seconds,gpus\n"
                                           "a,Net,0,10,1\nb,Net,0,10,1\nc,Other,0,10,1\n");
  const std::string speeds = scratch_.write("t.json", R"json({"v100": {"('Net', 1)": {"null": 4}},
      "k80": {"('Net', 1)": {"null": 0.0}}})json");
  const std::string cluster = scratch_.write(
      "c.toml", "[[node]]\ngpus = 1\ntype = \"v100\"\n[[node]]\ngpus = 1\ntype = \"k80\"\n");
  const Ran ran = sim({"--trace", trace, "--cluster", cluster, "--speeds", speeds, "--policy",
                       "fifo-skip", "--jobs", scratch_ / "jobs.csv", "--summary", scratch_ / "s"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "berth: 2 jobs keep off types of GPU on which their throughput is 0\n");
  EXPECT_THAT(test::read_file(scratch_ / "jobs.csv"),
              AllOf(HasSubstr("\na,0,0,10,"), HasSubstr("\nb,0,10,20,"), HasSubstr("\nc,0,0,10,")));
  EXPECT_THAT(test::read_file(scratch_ / "s"), HasSubstr("\"ruled_gpu_hours\": 0.00277"))
      << "`c` has no figure anywhere";
}

TEST_F(Sim, ReadsAClusterFile) {
  const std::string cluster = scratch_.write(
      "c.csv",
      "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n1,1,4,1,1\n");
  const Ran ran = sim({"--trace", trace_, "--cluster", cluster, "--policy", "fifo"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("makespan 150 s"));
}

TEST_F(Sim, NamesWhatItDoesNotKnow) {
  const Ran policy = sim_small({"--policy", "best"});
  EXPECT_EQ(policy.exit_code, kBadUsage);
  EXPECT_THAT(policy.err,
              AllOf(StartsWith("berth: policy 'best' is unknown; valid names: headroom, "),
                    HasSubstr("tiresias/dlas-gpu")));
  EXPECT_THAT(policy.out, IsEmpty());
  const Ran place = sim_small({"--place", "best"});
  EXPECT_EQ(place.exit_code, kBadUsage);
  EXPECT_THAT(place.err, HasSubstr("placement 'best' is unknown; valid names: count, yarn, "));
  const Ran format = sim_small({"--format", "xml"});
  EXPECT_EQ(format.exit_code, kBadUsage);
  EXPECT_THAT(format.err, HasSubstr("trace format 'xml' is unknown; valid names: "));
}

TEST_F(Sim, NamesTheFileAndTheReason) {
  const Ran absent = sim({"--trace", scratch_ / "none.csv", "--cluster", "1x4"});
  EXPECT_EQ(absent.exit_code, kFailed);
  EXPECT_THAT(absent.err, HasSubstr("none.csv: No such file or directory"));
  const Ran unwritable = sim_small({"--jobs", scratch_ / "no/such/folder.csv"});
  EXPECT_EQ(unwritable.exit_code, kFailed);
  EXPECT_THAT(unwritable.err, HasSubstr("no/such/folder.csv: No such file or directory"));
  const Ran folder = sim({"--trace", scratch_.path().string(), "--cluster", "1x4"});
  EXPECT_EQ(folder.exit_code, kFailed);
  EXPECT_THAT(folder.err, HasSubstr("Is a directory"));
}

TEST_F(Sim, NamesLineAndColumnOfABadTrace) {
  const std::string trace = scratch_.write("bad.csv", std::string(kTrace) + "5,two,3,1,d,10,1\n");
  const Ran ran = sim({"--trace", trace, "--cluster", "1x4", "--jobs", scratch_ / "jobs.csv"});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_THAT(ran.err, HasSubstr("bad.csv:5: column 'num_gpu': 'two', expected an integer from 1"));
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "jobs.csv"));
}

TEST_F(Sim, RefusesABadClusterShape) {
  const Ran ran = sim({"--trace", trace_, "--cluster", "4x"});
  EXPECT_EQ(ran.exit_code, kBadUsage);
  EXPECT_THAT(ran.err, HasSubstr("cluster '4x': expected NODESxGPUS"));
}

TEST_F(Sim, AClusterThatIsNoFileIsToldItsForms) {
  const Ran ran = sim({"--trace", trace_, "--cluster", "4X8"});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_THAT(ran.err, HasSubstr("4X8: No such file or directory; a cluster is such a file, or "));
}

TEST_F(Sim, TellsBadUsageFromFailure) {
  EXPECT_EQ(sim({"--cluster", "1x4"}).exit_code, kBadUsage);
  EXPECT_THAT(sim({"--cluster", "1x4"}).err, HasSubstr("--trace is required"));
  EXPECT_EQ(sim_small({"--polciy", "fifo"}).exit_code, kBadUsage);
  EXPECT_EQ(test::run_program("berth", {"nonesuch"}).exit_code, kBadUsage);
}

TEST(Berth, Helps) {
  const Ran ran = test::run_program("berth", {"--help"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, HasSubstr("sim"));
  EXPECT_EQ(test::run_program("berth", {"sim", "--help"}).exit_code, 0);
}

TEST(Berth, SaysItsVersion) {
  const Ran ran = test::run_program("berth", {"version"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, ContainsRegex("^berth [0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace berth
