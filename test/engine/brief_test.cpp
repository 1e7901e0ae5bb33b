// Goal: the few words of a list say what is missing, where and who has it.
// Method: small scenes on two GPUs, words by hand.
#include "engine/brief.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text/text.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

using namespace berth::literals;

class Brief : public testing::Test {
 protected:
  Brief() { use("fifo-skip"); }

  void use(const std::string& policy, const Settings& settings = {}) {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n0", .gpus = 2, .vram = 24_GiB});
    engine_.emplace(cluster, EngineOptions{.settings = settings, .bounds = {}},
                    *make_policy(policy, "first-fit"));
  }
  static Submitted job(std::uint64_t id, std::int64_t gpus, Bytes vram) {
    Submitted submitted{.job = JobId(id), .spec = {}};
    submitted.spec.request.gpu.count = GpuCount(gpus);
    submitted.spec.request.gpu.vram = vram;
    return submitted;
  }
  void step(const std::vector<Input>& inputs) { engine_->step(kStart, inputs); }
  std::string of(std::uint64_t id, const ForeignUse& foreign = {}) const {
    const ClusterView view = engine_->view();
    const JobId job(id);
    return brief_text(explain(view, job, engine_->refused(job)), view.job(job), view, foreign);
  }

  std::string why(std::uint64_t id) const {
    const ClusterView view = engine_->view();
    const JobId job(id);
    return explain(view, job, engine_->refused(job)).text;
  }

  std::optional<Engine> engine_;
};

TEST_F(Brief, NamesTheBytesTheGpuAndTheHolder) {
  step({job(1, 1, 20_GiB), job(2, 1, 18_GiB), job(3, 1, 8_GiB)});
  EXPECT_EQ(of(3), "needs 2.5 GiB more on GPU 1 (job 2)");
}

TEST_F(Brief, NamesNonBerthProcesses) {
  step({Measured{.gpu = GpuId(0), .foreign = 20_GiB, .used = 20_GiB, .tenants = {}},
        job(1, 1, 22_GiB), job(2, 1, 8_GiB)});
  EXPECT_EQ(of(2), "needs 4 GiB more on GPU 0 (non-berth processes, 20 GiB)");
  EXPECT_EQ(of(2, [](GpuId) { return "python of eve, 20 GiB"; }),
            "needs 4 GiB more on GPU 0 (non-berth python of eve, 20 GiB)");
}

TEST_F(Brief, OfAGangSaysHowManyHaveRoom) {
  step({job(1, 1, 20_GiB), job(2, 2, 20_GiB)});
  EXPECT_EQ(of(2), "needs 2 GPUs, 1 has room: GPU 0 lacks 16.5 GiB (job 1)");
}

TEST_F(Brief, OfAWholeGpuSaysWhoIsThere) {
  Submitted whole = job(3, 1, Bytes(0));
  whole.spec.request.gpu.sharing = Sharing::Alone;
  step({job(1, 1, 4_GiB), job(2, 1, 22_GiB), whole});
  EXPECT_EQ(of(3), "needs GPU 0 alone (job 1)");
}

/// Its free memory would suffice, or be 2 GiB short: that is not what the others wait for.
TEST_F(Brief, OfAGpuThatAJobHasToItselfSaysThatAlone) {
  Submitted alone = job(1, 1, 4_GiB);
  alone.spec.request.gpu.sharing = Sharing::Alone;
  for (const Bytes asked : {4_GiB, 22_GiB}) {
    use("fifo-skip");
    step({alone, job(2, 1, 22_GiB), job(3, 1, asked)});
    EXPECT_EQ(of(3), "needs " + to_text(asked - 1536_MiB) + " more on GPU 1 (job 2)");
    EXPECT_THAT(why(3), testing::HasSubstr("; GPU 0 is used by job 1 alone")) << to_text(asked);
    step({job(4, 2, asked)});
    EXPECT_EQ(of(4), "needs 2 GPUs, none has room: GPU 1 lacks " + to_text(asked - 1536_MiB) +
                         " (job 2), GPU 0 is used by job 1 alone");
  }
  use("fifo-skip");
  Submitted other = job(2, 1, 4_GiB);
  other.spec.request.gpu.sharing = Sharing::Alone;
  step({alone, other, job(3, 1, 4_GiB)});
  EXPECT_EQ(of(3), "GPU 0 is used by job 1 alone");
}

/// The other GPU lacks less, and the job on it ends nobody knows when.
TEST_F(Brief, SpeaksOfThePlaceThatIsReserved) {
  use("easy");
  Submitted limited = job(1, 1, 20_GiB);
  limited.spec.time_limit = minutes(10);
  step({limited, job(2, 1, 18_GiB), job(3, 1, 8_GiB)});
  EXPECT_EQ(of(3), "needs 4.5 GiB more on GPU 0 (job 1); GPU 0 reserved for it");
}

TEST_F(Brief, CountsManyHolders) {
  std::vector<Input> inputs;
  for (std::uint64_t id = 1; id <= 8; ++id) inputs.emplace_back(job(id, 1, 5_GiB));
  inputs.emplace_back(job(9, 1, 10_GiB));
  step(inputs);
  EXPECT_EQ(of(9), "needs 6.5 GiB more on GPU 0 (4 jobs)");
}

TEST_F(Brief, NamesALimitByTheOneThatIsReached) {
  Settings settings;
  settings.limits.jobs = 2;
  use("fifo-skip", settings);
  step({job(1, 1, 4_GiB), job(2, 1, 4_GiB), job(3, 1, 4_GiB)});
  EXPECT_EQ(of(3), "user limit reached: 2 of 2 running jobs");
  settings.limits.jobs = 0;
  settings.limits.gpus = GpuCount(2);
  use("fifo-skip", settings);
  step({job(1, 2, 4_GiB), job(3, 1, 4_GiB)});
  EXPECT_EQ(of(3), "user limit reached: 2 of 2 GPUs");
}

TEST_F(Brief, NamesTheLimitOfTheUserAlone) {
  Settings settings;
  settings.limits.jobs = 20;
  settings.user_limits[UserId(7)].jobs = 2;
  settings.user_limits[UserId(8)].gpus = GpuCount(2);
  use("fifo-skip", settings);
  std::vector<Input> inputs;
  for (std::uint64_t id = 1; id <= 6; ++id) {
    Submitted one = job(id, 1, 2_GiB);
    one.spec.user = UserId(id <= 3 ? 7 : 8);
    inputs.emplace_back(one);
  }
  step(inputs);
  EXPECT_EQ(of(3), "user limit reached: 2 of 2 running jobs");
  EXPECT_EQ(of(6), "user limit reached: 2 of 2 GPUs");
}

TEST_F(Brief, SaysHowBusyTheGpusAreThatItDoesNotJoin) {
  use("headroom");
  Submitted first = job(1, 1, 6_GiB);
  Submitted second = job(2, 1, 6_GiB);
  first.spec.request.gpu.only = set_of(GpuId(0));
  second.spec.request.gpu.only = set_of(GpuId(1));
  step({first, second});
  engine_->step(kStart + minutes(2),
                std::vector<Input>{Measured{.gpu = GpuId(0), .used = 6_GiB, .utilisation = 85},
                                   Measured{.gpu = GpuId(1), .used = 6_GiB, .utilisation = 88},
                                   job(3, 1, 5_GiB)});
  EXPECT_EQ(of(3), "GPUs 0, 1 are 85, 88 % busy (limit 75 %)");
  engine_->step(kStart + minutes(3),
                std::vector<Input>{Measured{.gpu = GpuId(0), .used = 6_GiB, .utilisation = 40}});
  EXPECT_TRUE(is_running(engine_->view().find(JobId(3))->state));
}

TEST_F(Brief, SaysThatAJobHasJustBegunThere) {
  use("headroom");
  Submitted first = job(1, 1, 6_GiB);
  Submitted second = job(2, 1, 6_GiB);
  first.spec.request.gpu.only = set_of(GpuId(0));
  second.spec.request.gpu.only = set_of(GpuId(1));
  step({Measured{.gpu = GpuId(0), .used = 6_GiB, .utilisation = 10},
        Measured{.gpu = GpuId(1), .used = 6_GiB, .utilisation = 10}, first, second});
  engine_->step(kStart + seconds(20), std::vector<Input>{job(3, 1, 6_GiB)});
  EXPECT_EQ(of(3), "a job began on GPU 0 less than a minute ago");
}

/// That may keep it long after the GPU has settled.
TEST_F(Brief, SaysWhomItMustNotDelayBesideTheRuleOfAGpu) {
  step({job(1, 1, 4_GiB), job(2, 1, 4_GiB)});
  const ClusterView view = engine_->view();
  Explanation found;
  found.why = Why::Patience;
  found.gate = {.what = GateWord::What::Settling, .gpu = GpuId(0)};
  EXPECT_EQ(brief_text(found, view.job(JobId(2)), view, {}),
            "a job began on GPU 0 less than a minute ago");
  found.behind = {JobId(1)};
  EXPECT_EQ(brief_text(found, view.job(JobId(2)), view, {}),
            "a job began on GPU 0 less than a minute ago; must not delay job 1");
}

TEST_F(Brief, SaysWhoGoesFirst) {
  use("fifo");
  step({job(1, 1, 20_GiB), job(2, 2, 20_GiB), job(3, 1, 4_GiB)});
  EXPECT_EQ(of(3), "waits its turn: jobs ahead of it come first");
}

/// The others are in use, and that will end.
TEST_F(Brief, NamesFirstWhatDecides) {
  Cluster four;
  four.add_switch();
  four.add_node({.name = "n0", .gpus = 4, .vram = 24_GiB});
  engine_.emplace(four, EngineOptions{}, *make_policy("fifo-skip", "first-fit"));
  const Drain drain{.by = UserId(7), .reason = "replace fan", .shown = "bob"};
  step({Drained{GpuId(3), drain}, job(1, 1, 20_GiB), job(2, 1, 20_GiB), job(3, 1, 20_GiB),
        job(4, 4, Bytes(0)), job(5, 3, Bytes(0))});
  EXPECT_EQ(of(4),
            "needs 4 GPUs, none has room: GPU 3 is drained by bob (replace fan), GPU 0 is in use "
            "(job 1)");
  EXPECT_EQ(of(5), "needs 3 GPUs, none has room: GPU 0 is in use (job 1), GPU 1 is in use (job 2)")
      << "it can do without";
}

TEST_F(Brief, SaysOfAGpuThatWasNotGivenThatItWasNot) {
  step({Drained{GpuId(0), Drain{.reason = "CUDA_VISIBLE_DEVICES=1"}}, job(1, 2, 4_GiB)});
  EXPECT_EQ(of(1),
            "needs 2 GPUs, 1 has room: GPU 0 was not given to berthd "
            "(CUDA_VISIBLE_DEVICES=1)");
}

TEST_F(Brief, NamesAGpuThatIsOut) {
  step({GpuHealth{GpuId(0), false}, GpuHealth{GpuId(1), false}, job(1, 1, 4_GiB)});
  EXPECT_EQ(of(1), "GPU 0 is out of service");
}

}  // namespace
}  // namespace berth
