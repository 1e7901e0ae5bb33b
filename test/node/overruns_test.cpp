// Goal: a job of Slurm's ends if it holds GPU memory that was granted to others, and no other job
// ends: none that is within its grant, none with a GPU of its own, none by what another job calls
// itself. Method: texts of Slurm 22.05.8 and 24.11.5, GPUs as an agent observes them, and a Slurm
// that writes down what it is told.
#include "node/overruns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/overrun_watch.hpp"

namespace berth::node {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// ---- Grants ------------------------------------------------------------------------------------

std::string shown(const std::string& before, const std::string& gres) {
  return before + " UserId=root(0) JobState=RUNNING   Nodes=n1 CPU_IDs=0 Mem=100 GRES=" + gres +
         " MinCPUsNode=1 Comment=(null) \n";
}

Bytes granted(const std::string& text, std::uint32_t job, std::uint32_t gpu) {
  const auto grant = grant_in(text, job, "n1");
  if (!grant || grant->has_whole || !grant->of.contains(gpu)) return Bytes(-1);
  return grant->of.at(gpu);
}

TEST(GrantIn, TheWordsOfBothReleases) {
  EXPECT_EQ(granted(shown("JobId=7 JobName=a", "shard:20(IDX:1)"), 7, 1), 20_GiB);
  EXPECT_EQ(granted(shown("JobId=7 JobName=a", "shard:20(0/80,20/80)"), 7, 1), 20_GiB);
  EXPECT_TRUE(grant_in(shown("JobId=7 JobName=a", "gpu:2(IDX:0-1)"), 7, "n1")->has_whole);
  EXPECT_EQ(grant_in("JobId=7 JobName=a JobState=RUNNING\n", 7, "n1"), JobGrant());
  EXPECT_EQ(grant_in(shown("JobId=7 JobName=a", "shard:20(IDX:1)"), 7, "n2"), JobGrant());
  EXPECT_EQ(grant_in("slurm_load_jobs error\n", 7, "n1"), std::nullopt);
}

TEST(GrantIn, WhatIsOfNoOneGpuIsWhole) {
  for (const char* gres : {"gpu:2(CNT:2)", "gpu:a100:1(IDX:3)", "mps:50(IDX:0)", "shard:20(CNT:20)",
                           "shard:20(IDX:0),gpu:1(IDX:1)"}) {
    EXPECT_TRUE(grant_in(shown("JobId=7 JobName=a", gres), 7, "n1")->has_whole) << gres;
  }
  EXPECT_FALSE(grant_in(shown("JobId=7 JobName=a", "nic:2(CNT:2)"), 7, "n1")->has_whole);
}

TEST(GrantIn, AnArrayIsOfTheTaskThatIsMeant) {
  const std::string array =
      shown("JobId=8 ArrayJobId=8 ArrayTaskId=2 JobName=a", "shard:9(IDX:0)") +
      shown("JobId=9 ArrayJobId=8 ArrayTaskId=1 JobName=a", "shard:5(IDX:0)");
  EXPECT_EQ(granted(array, 8, 0), 9_GiB);
  EXPECT_EQ(granted(array, 9, 0), 5_GiB);
}

TEST(GrantIn, AJobThatCallsItselfLikeALineGainsNothing) {
  const std::string node = " Nodes=n1 CPU_IDs=0 Mem=1 GRES=gpu:4(IDX:0-3)";
  const std::string large = " Nodes=n1 CPU_IDs=0 Mem=1 GRES=shard:80(IDX:0)";
  for (const std::string& name :
       {"x" + node, "x" + large, "x\nJobId=7 JobName=y" + node, "x\nJobId=7 JobName=y" + large}) {
    const std::string text = shown("JobId=7 JobName=" + name, "shard:20(IDX:0)");
    const auto grant = grant_in(text, 7, "n1");
    ASSERT_TRUE(grant) << name;
    EXPECT_FALSE(grant->has_whole) << name;
    EXPECT_LE(grant->of.contains(0) ? grant->of.at(0) : 0_GiB, 20_GiB) << name;
  }
}

std::string row(const std::string& job, const std::string& handle, const std::string& comment) {
  const auto wide = [](std::string text, std::size_t width) {
    text.resize(width, ' ');
    return text;
  };
  return wide(job, 20) + wide(handle, 40) + wide("RUNNING", 20) + wide(comment, 400) + "\n";
}

TEST(IdentityIn, IsThatOfTheTask) {
  const std::string rows = row("8", "8_2", "(null)") + row("9", "8_1", "said before");
  EXPECT_EQ(identity_in(rows, 8), (JobIdentity{"8_2", "RUNNING", ""}));
  EXPECT_EQ(identity_in(rows, 9), (JobIdentity{"8_1", "RUNNING", "said before"}));
  EXPECT_EQ(identity_in(rows, 7), std::nullopt);
  EXPECT_EQ(identity_in("", 7), std::nullopt);
}

TEST(WithNote, KeepsWhatOthersSaid) {
  EXPECT_EQ(with_note("", "it held 2"), "berth: it held 2");
  EXPECT_EQ(with_note("ticket 7", "it held 2"), "ticket 7; berth: it held 2");
  EXPECT_EQ(with_note("ticket 7; berth: it held 1", "it held 2"), "ticket 7; berth: it held 2");
}

// ---- Who must end ------------------------------------------------------------------------------

/// A GPU of 80 GiB, of which 1 GiB is no job's.
NodeGpu a_gpu(std::vector<NodeHolding> jobs, std::uint32_t index = 0) {
  NodeGpu gpu{.index = index, .usable = 80_GiB, .used = 1_GiB, .other = 1_GiB, .jobs = {}};
  for (NodeHolding& holding : jobs) {
    holding.processes = std::max<std::uint32_t>(holding.processes, 1);
    gpu.used += holding.now;
  }
  gpu.jobs = std::move(jobs);
  return gpu;
}

JobGrant shares(Bytes bytes, std::uint32_t gpu = 0) {
  return {.has_whole = false, .of = {{gpu, bytes}}};
}

std::vector<std::uint32_t> ended(const std::vector<NodeGpu>& gpus, const JobGrants& grants,
                                 const OverrunRule& rule = {.context = 1_GiB}) {
  std::vector<std::uint32_t> jobs;
  for (const NodeOverrun& one : overruns_to_end(gpus, grants, {}, rule)) jobs.push_back(one.job);
  return jobs;
}

TEST(Overruns, OfTwoJobsOnlyTheOneThatTookTheOthersEnds) {
  const JobGrants grants = {{1, shares(40_GiB)}, {2, shares(20_GiB)}};
  EXPECT_THAT(ended({a_gpu({{.job = 1, .now = 12_GiB}, {.job = 2, .now = 45_GiB}})}, grants),
              ElementsAre(2));
  EXPECT_THAT(ended({a_gpu({{.job = 1, .now = 12_GiB}, {.job = 2, .now = 21_GiB}})}, grants),
              IsEmpty());
}

TEST(Overruns, ThatNobodyLacksAreKept) {
  const JobGrants grants = {{1, shares(40_GiB)}, {2, shares(20_GiB)}};
  const std::vector<NodeGpu> gpus = {a_gpu({{.job = 1, .now = 12_GiB}, {.job = 2, .now = 30_GiB}})};
  EXPECT_THAT(ended(gpus, grants), IsEmpty());
  EXPECT_THAT(ended(gpus, grants, {.context = 1_GiB, .ends_all = true}), ElementsAre(2));
  EXPECT_EQ(overruns_on(gpus, grants, {.context = 1_GiB}).size(), 1U);
}

TEST(Overruns, AJobThatHoldsNothingYetHasItsGrant) {
  const std::vector<NodeGpu> gpus = {a_gpu({{.job = 2, .now = 60_GiB}})};
  EXPECT_THAT(ended(gpus, {{2, shares(20_GiB)}}), IsEmpty());
  EXPECT_THAT(ended(gpus, {{2, shares(20_GiB)}, {3, shares(40_GiB)}}), ElementsAre(2));
}

TEST(Overruns, AJobMayHoldAContextForEachProcess) {
  const JobGrants grants = {{1, shares(60_GiB)}, {2, shares(18_GiB)}};
  EXPECT_THAT(ended({a_gpu({{.job = 1, .now = 60_GiB}, {.job = 2, .now = 20_GiB, .processes = 2}})},
                    grants),
              IsEmpty());
  EXPECT_THAT(ended({a_gpu({{.job = 1, .now = 60_GiB}, {.job = 2, .now = 20_GiB, .processes = 1}})},
                    grants),
              ElementsAre(2));
}

TEST(Overruns, ForeignMemoryEndsNobodyWithinItsGrant) {
  NodeGpu gpu = a_gpu({{.job = 1, .now = 40_GiB}, {.job = 2, .now = 20_GiB}});
  gpu.other = 40_GiB;
  EXPECT_THAT(ended({gpu}, {{1, shares(40_GiB)}, {2, shares(20_GiB)}}), IsEmpty());
}

TEST(Overruns, AJobOfWholeGpusIsNeverEnded) {
  const JobGrants grants = {{1, shares(40_GiB)}, {2, {.has_whole = true, .of = {}}}};
  EXPECT_THAT(ended({a_gpu({{.job = 1, .now = 20_GiB}, {.job = 2, .now = 58_GiB}})}, grants),
              IsEmpty());
}

TEST(Overruns, AJobOfWhichNothingIsKnownIsNeverEnded) {
  EXPECT_THAT(
      ended({a_gpu({{.job = 1, .now = 40_GiB}, {.job = 2, .now = 39_GiB}})}, {{1, shares(40_GiB)}}),
      IsEmpty());
}

TEST(Overruns, AJobThatAskedForNoGpuEndsWhereOthersLackIt) {
  const JobGrants grants = {{1, shares(60_GiB)}, {2, JobGrant()}};
  EXPECT_THAT(ended({a_gpu({{.job = 1, .now = 10_GiB}, {.job = 2, .now = 10_GiB}})}, grants),
              IsEmpty());
  EXPECT_THAT(ended({a_gpu({{.job = 1, .now = 10_GiB}, {.job = 2, .now = 30_GiB}})}, grants),
              ElementsAre(2));
}

TEST(Overruns, OnAGpuThatSlurmNumbersOtherwiseEndNobody) {
  const JobGrants grants = {{1, shares(60_GiB, 0)}, {2, shares(70_GiB, 1)}};
  EXPECT_THAT(
      ended({a_gpu({{.job = 2, .now = 70_GiB}}, 0), a_gpu({{.job = 1, .now = 60_GiB}}, 1)}, grants),
      IsEmpty());
}

TEST(Overruns, TheLargestEndsFirstAndNoMoreThanMust) {
  const JobGrants grants = {{1, shares(40_GiB)}, {2, shares(10_GiB)}, {3, shares(10_GiB)}};
  const std::vector<NodeGpu> gpus = {
      a_gpu({{.job = 1, .now = 1_GiB}, {.job = 2, .now = 18_GiB}, {.job = 3, .now = 25_GiB}})};
  EXPECT_THAT(ended(gpus, grants), ElementsAre(3));
  EXPECT_THAT(overruns_to_end(gpus, grants, {3}, {.context = 1_GiB}), IsEmpty());
}

// ---- What is done ------------------------------------------------------------------------------

/// Slurm as the tests have it: two jobs with shards of GPU 0, of which job 2 is a task of an array.
class Watched : public testing::Test {
 protected:
  void SetUp() override {
    shown_["1"] = shown("JobId=1 JobName=a", "shard:40(IDX:0)");
    shown_["2"] = shown("JobId=2 ArrayJobId=2 ArrayTaskId=5 JobName=b", "shard:20(IDX:0)");
    identities_ = row("1", "1", "(null)") + row("2", "2_5", "(null)");
  }
  Expected<std::string> slurm(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    calls_.push_back(line);
    if (is_away_) return fail(ErrorCode::Io, words.front() + ": no answer in time");
    if (words.front() == "squeue") return identities_;
    if (words[1] == "update" && is_ending_) {
      return fail(ErrorCode::Io, "scontrol: Job has already finished");
    }
    if (!line.starts_with("scontrol -o -d show job")) return "";
    const auto found = shown_.find(words.back());
    if (found == shown_.end()) return fail(ErrorCode::Io, "scontrol: Invalid job id specified");
    return found->second;
  }
  OverrunWatch watch(daemon::Overuse overuse = daemon::Overuse::Keep) {
    return OverrunWatch(
        {.node = "n1", .overuse = overuse, .context = 1_GiB},
        {.slurm = [this](const auto& words) { return slurm(words); },
         .observe = [this] { return gpus_; },
         .jobs_here = [] { return std::set<std::uint32_t>{1, 2}; },
         .kill = [this](std::uint32_t job, std::uint32_t gpu) { killed_.emplace_back(job, gpu); },
         .log = [this](const std::string& text) { log_ += text + "\n"; }});
  }
  void hold(Bytes first, Bytes second) {
    gpus_ = {a_gpu({{.job = 1, .now = first}, {.job = 2, .now = second}})};
  }
  std::size_t calls_of(const std::string& begin) {
    return static_cast<std::size_t>(std::ranges::count_if(
        calls_, [&](const std::string& call) { return call.starts_with(begin); }));
  }

  std::map<std::string, std::string> shown_;
  std::string identities_;
  std::vector<NodeGpu> gpus_;
  std::vector<std::string> calls_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> killed_;
  std::string log_;
  bool is_away_ = false;
  bool is_ending_ = false;  ///< Slurm takes no notes of its jobs.
  const OverrunWatch::Time now_ = OverrunWatch::Time() + std::chrono::hours(1);
};

TEST_F(Watched, AJobThatTakesAnothersIsToldAndEnded) {
  OverrunWatch own = watch();
  hold(12_GiB, 45_GiB);
  own.look(gpus_, now_);
  EXPECT_THAT(killed_, ElementsAre(std::pair(2U, 0U)));
  const std::string why =
      "it held 45 GiB on GPU 0, was granted 20 GiB, and the rest is granted to "
      "others";
  EXPECT_EQ(calls_of("scontrol update jobid=2_5 admincomment=berth: " + why), 1U);
  EXPECT_EQ(calls_of("scontrol notify 2 berth: ended: " + why), 1U);
  EXPECT_EQ(calls_of("scancel 2_5"), 1U);
  EXPECT_EQ(calls_of("scancel"), 1U);
  EXPECT_EQ(log_, "job 2_5: ended: " + why + "\n");
  EXPECT_LT(std::ranges::find(calls_, "scontrol notify 2 berth: ended: " + why),
            std::ranges::find(calls_, "scancel 2_5"));
}

TEST_F(Watched, SlurmIsAskedOnceForEachJob) {
  OverrunWatch own = watch();
  hold(12_GiB, 20_GiB);
  for (int i = 0; i < 9; ++i) own.look(gpus_, now_ + std::chrono::seconds(i));
  EXPECT_EQ(calls_.size(), 2U);
}

TEST_F(Watched, AJobThatGaveItBackMeanwhileGoesOn) {
  OverrunWatch own = watch();
  hold(12_GiB, 45_GiB);
  const auto seen = gpus_;
  hold(12_GiB, 20_GiB);
  own.look(seen, now_);
  EXPECT_EQ(calls_of("scancel"), 0U);
}

TEST_F(Watched, AJobWithAnotherGrantSinceGoesOn) {
  OverrunWatch own = watch();
  hold(12_GiB, 20_GiB);
  own.look(gpus_, now_);
  shown_["1"] = shown("JobId=1 JobName=a", "shard:20(IDX:0)");
  shown_["2"] = shown("JobId=2 JobName=b", "shard:60(IDX:0)");
  hold(12_GiB, 55_GiB);
  own.look(gpus_, now_ + std::chrono::seconds(1));
  EXPECT_EQ(calls_of("scancel"), 0U);
}

TEST_F(Watched, AJobThatHasEndedMeanwhileIsLeftAlone) {
  OverrunWatch own = watch();
  hold(12_GiB, 45_GiB);
  identities_ = row("1", "1", "(null)");
  own.look(gpus_, now_);
  EXPECT_EQ(calls_of("scancel"), 0U);
  EXPECT_THAT(killed_, IsEmpty());
}

TEST_F(Watched, AJobThatTakesNoNoteIsEndedAllTheSame) {
  OverrunWatch own = watch();
  hold(12_GiB, 45_GiB);
  is_ending_ = true;
  own.look(gpus_, now_);
  EXPECT_THAT(log_, HasSubstr("job 2_5: its user is not told: scontrol: Job has already finished"));
  EXPECT_THAT(killed_, ElementsAre(std::pair(2U, 0U)));
}

TEST_F(Watched, AJobOfBerthSlurmIsLeftToIt) {
  for (const char* const note :
       {"berth vram=20GiB gpus=1 class=short", "berth gpus=1 class=long attempt=1 at=n1:0"}) {
    calls_.clear();
    OverrunWatch own = watch();
    hold(12_GiB, 45_GiB);
    identities_ = row("2", "2_5", note);
    for (int i = 0; i < 3; ++i) own.look(gpus_, now_ + std::chrono::seconds(i));
    EXPECT_EQ(calls_of("scancel"), 0U) << note;
    EXPECT_EQ(calls_of("squeue"), 1U) << note;
  }
}

TEST_F(Watched, AControllerThatIsAwayIsAskedAgain) {
  OverrunWatch own = watch();
  hold(12_GiB, 45_GiB);
  is_away_ = true;
  for (int i = 0; i < 5; ++i) own.look(gpus_, now_ + std::chrono::seconds(i));
  EXPECT_EQ(calls_.size(), 1U);
  is_away_ = false;
  own.look(gpus_, now_ + std::chrono::seconds(5));
  EXPECT_EQ(calls_of("scancel 2_5"), 1U);
}

TEST_F(Watched, AControllerThatGoesAwayIsToldOf) {
  OverrunWatch own = watch();
  hold(12_GiB, 20_GiB);
  own.look(gpus_, now_);
  is_away_ = true;
  hold(12_GiB, 45_GiB);
  own.look(gpus_, now_ + std::chrono::seconds(1));
  EXPECT_EQ(
      log_,
      "job 2: it held 45 GiB on GPU 0, was granted 20 GiB, and the rest is granted to others, "
      "and is not ended: squeue: no answer in time\n");
  EXPECT_THAT(killed_, IsEmpty());
  is_away_ = false;
  own.look(gpus_, now_ + std::chrono::seconds(2));
  EXPECT_EQ(calls_of("scancel 2_5"), 1U);
}

TEST_F(Watched, AJobIsNotEndedTwiceWhileItLeaves) {
  OverrunWatch own = watch();
  hold(12_GiB, 45_GiB);
  for (int i = 0; i < 5; ++i) own.look(gpus_, now_ + std::chrono::seconds(i));
  EXPECT_EQ(calls_of("scancel"), 1U);
  own.look(gpus_, now_ + std::chrono::seconds(6));
  EXPECT_EQ(calls_of("scancel"), 2U);
}

TEST_F(Watched, WarnsOnceAndEndsOnlyWhatOthersLack) {
  OverrunWatch own = watch(daemon::Overuse::Warn);
  hold(12_GiB, 30_GiB);
  for (int i = 0; i < 3; ++i) own.look(gpus_, now_ + std::chrono::seconds(i));
  EXPECT_EQ(calls_of("scontrol notify 2 berth: it held 30 GiB on GPU 0, was granted 20 GiB; it is "
                     "ended if others need the rest"),
            1U);
  EXPECT_EQ(calls_of("scancel"), 0U);
  identities_ = row("2", "2_5", "berth: it held 30 GiB on GPU 0, was granted 20 GiB");
  OverrunWatch next = watch(daemon::Overuse::Warn);  // an agent that was killed and began again
  next.look(gpus_, now_);
  EXPECT_EQ(calls_of("scontrol notify"), 1U);
}

TEST_F(Watched, EndsEachOverrunWhereThatIsConfigured) {
  OverrunWatch own = watch(daemon::Overuse::End);
  hold(12_GiB, 30_GiB);
  own.look(gpus_, now_);
  EXPECT_EQ(calls_of("scancel 2_5"), 1U);
  EXPECT_THAT(killed_, IsEmpty());  // Slurm gives it its time
  EXPECT_THAT(log_, Not(HasSubstr("granted to others")));
}

}  // namespace
}  // namespace berth::node
