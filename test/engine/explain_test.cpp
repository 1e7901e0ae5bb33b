// Goal: why a job waits names the right GPUs, bytes and holders, and the jobs that must end.
// Method: small scenes on two GPUs, answers worked out by hand.
#include "engine/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/brief.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

using namespace berth::literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class Explain : public testing::Test {
 protected:
  Explain() : engine_(cluster(), {}, *make_policy("fifo-skip", "first-fit")) {}

  static Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n0", .gpus = 2, .vram = 24_GiB});
    return cluster;
  }
  static Submitted job(std::uint64_t id, std::int64_t gpus, Bytes vram) {
    Submitted submitted{.job = JobId(id), .spec = {}};
    submitted.spec.request.gpu.count = GpuCount(gpus);
    submitted.spec.request.gpu.vram = vram;
    return submitted;
  }
  void step(std::vector<Input> inputs) { engine_.step(kStart, inputs); }

  Engine engine_;
};

TEST_F(Explain, NamesTheGpuTheBytesAndTheHolder) {
  step({job(1, 1, 20_GiB), job(2, 1, 18_GiB), job(3, 1, 8_GiB)});
  const Explanation found = explain(engine_.view(), JobId(3), engine_.refused(JobId(3)));
  EXPECT_EQ(found.why, Why::Capacity);
  EXPECT_EQ(found.fitting, 0);
  ASSERT_EQ(found.nearest.size(), 2U);
  EXPECT_EQ(found.nearest[0].gpu, GpuId(1));
  EXPECT_EQ(found.nearest[0].lacking, 2_GiB + 512_MiB);  // 18 + 8 + guard - 24
  EXPECT_EQ(found.nearest[0].holders, std::vector{JobId(2)});
  EXPECT_EQ(
      found.text,
      "job 3: needs 8 GiB on one GPU; none of the 2 GPUs has room for it; GPU 1 lacks 2.5 GiB "
      "(held by job 2); GPU 0 lacks 4.5 GiB (held by job 1)");
}

TEST_F(Explain, SpeaksOfTheGpusThatTheJobAcceptsOnly) {
  Submitted picky = job(2, 1, 8_GiB);
  picky.spec.request.gpu.only = set_of(GpuId(0));
  step({job(1, 1, 20_GiB), picky});
  const Explanation found = explain(engine_.view(), JobId(2), engine_.refused(JobId(2)));
  EXPECT_EQ(found.why, Why::Capacity);
  EXPECT_EQ(found.text,
            "job 2: needs 8 GiB on one GPU, GPU 0; the only GPU that it accepts has no room for "
            "it; GPU 0 lacks 4.5 GiB (held by job 1)");
  EXPECT_EQ(what_must_end(engine_.view(), JobId(2))->jobs, std::vector{JobId(1)});
  picky = job(3, 1, 8_GiB);
  picky.spec.request.gpu.only = set_of(GpuId(1));
  step({picky});
  EXPECT_EQ(engine_.view().job(JobId(3)).grant().shares.front().gpu, GpuId(1));
}

// ---- Cores and host memory -------------------------------------------------------------------

class ExplainHost : public testing::Test {
 protected:
  void use(std::uint32_t nodes, std::int64_t cores) {
    Cluster cluster;
    cluster.add_switch();
    for (std::uint32_t n = 0; n < nodes; ++n) {
      cluster.add_node({.name = "n" + std::to_string(n),
                        .gpus = 2,
                        .vram = 24_GiB,
                        .cpu = CpuMilli(cores * 1000),
                        .host = 64_GiB});
    }
    engine_.emplace(cluster, EngineOptions{}, *make_policy("fifo-skip", "first-fit"));
  }
  /// `gpus` may be none.
  void submit(std::int64_t gpus, Bytes vram, std::int64_t cores, Bytes host = Bytes(0)) {
    Submitted job{.job = JobId(++last_), .spec = {}};
    job.spec.request.gpu.count = GpuCount(gpus);
    job.spec.request.gpu.vram = vram;
    job.spec.request.cpu = CpuMilli(cores * 1000);
    job.spec.request.host = host;
    engine_->step(kStart, std::vector<Input>{job});
  }
  Explanation of_last() const {
    return explain(engine_->view(), JobId(last_), engine_->refused(JobId(last_)));
  }
  std::string brief_of_last() const {
    return brief_text(of_last(), engine_->view().job(JobId(last_)), engine_->view(), {});
  }

  std::optional<Engine> engine_;
  std::uint64_t last_ = 0;
};

TEST_F(ExplainHost, NamesTheCoresAndWhoHasThem) {
  use(1, 8);
  submit(1, 4_GiB, 5);
  submit(0, Bytes(0), 1);
  submit(1, 4_GiB, 4);
  EXPECT_EQ(of_last().why, Why::Capacity);
  EXPECT_EQ(of_last().host, "needs 4 of 8 cores, 2 are free (held by jobs 1, 2)");
  EXPECT_EQ(brief_of_last(), of_last().host);
}

TEST_F(ExplainHost, OfAGangToo) {
  use(1, 8);
  submit(1, 4_GiB, 5);
  submit(2, 4_GiB, 4);
  EXPECT_EQ(of_last().why, Why::Capacity) << "and not that its GPUs are far apart";
  EXPECT_EQ(of_last().host, "needs 4 of 8 cores, 3 are free (held by job 1)");
}

TEST_F(ExplainHost, NamesHostMemoryBesideCoresWhereBothLack) {
  use(1, 8);
  submit(0, Bytes(0), 6, 60_GiB);
  submit(1, 4_GiB, 4, 8_GiB);
  EXPECT_EQ(of_last().host,
            "needs 4 of 8 cores, 2 are free and 8 GiB of 64 GiB of host memory, 4 GiB are free "
            "(held by job 1)");
}

/// Were only the memory of the GPUs named, its user would clear them in vain.
TEST_F(ExplainHost, StandsBesideWhatTheGpusLack) {
  use(1, 8);
  submit(2, 20_GiB, 6);
  submit(1, 8_GiB, 4);
  EXPECT_EQ(brief_of_last(),
            "needs 4.5 GiB more on GPU 0 (job 1); needs 4 of 8 cores, 2 are free (held by job 1)");
}

/// There are GPUs on one node and cores on the other.
TEST_F(ExplainHost, LooksWhereTheGpusHaveRoom) {
  use(2, 8);
  submit(2, 20_GiB, 1);  // n0
  submit(1, 20_GiB, 6);  // n1
  submit(1, 20_GiB, 4);
  EXPECT_EQ(of_last().why, Why::Capacity);
  EXPECT_EQ(of_last().fitting, 1);
  EXPECT_EQ(of_last().host, "needs 4 of 8 cores, 2 are free on n1 (held by job 2)");
}

TEST_F(ExplainHost, OfAGangOverNodesSaysHowMuchWhere) {
  use(2, 8);
  submit(0, Bytes(0), 6);  // n0
  submit(4, 20_GiB, 16);
  EXPECT_EQ(of_last().why, Why::Capacity);
  EXPECT_EQ(of_last().host,
            "needs 8 of 8 cores beside 2 of its GPUs, 2 are free on n0 (held by job 1)");
}

TEST_F(ExplainHost, SaysNothingWhereOtherGpusWouldDo) {
  use(2, 8);
  submit(0, Bytes(0), 6);
  submit(2, 20_GiB, 1);
  submit(2, 20_GiB, 1);
  submit(1, 20_GiB, 2);
  EXPECT_EQ(of_last().host, "") << "it is the GPUs that lack";
}

TEST_F(Explain, NamesALostGpu) {
  step({GpuHealth{GpuId(0), false}, job(1, 1, 20_GiB), job(2, 1, 20_GiB)});
  const Explanation found = explain(engine_.view(), JobId(2), engine_.refused(JobId(2)));
  EXPECT_NE(found.text.find("GPU 0 is out of service"), std::string::npos) << found.text;
}

TEST_F(Explain, NamesADrainWithWhoAndUntilWhenAndWhy) {
  const Drain drain{
      .until = kStart + hours(2), .by = UserId(8), .reason = "new fan", .shown = "bob until 18:00"};
  step({Drained{GpuId(0), drain}, job(1, 1, 20_GiB), job(2, 2, 20_GiB)});
  const Explanation found = explain(engine_.view(), JobId(2), engine_.refused(JobId(2)));
  EXPECT_THAT(found.text,
              HasSubstr("; GPU 0 is drained by bob until 18:00 (new fan); GPU 1 lacks"));
  ASSERT_EQ(found.nearest.size(), 2U);
  EXPECT_EQ(found.nearest[0].why, Why::Drain);
  EXPECT_EQ(closed_text(found.nearest[1], engine_.view()), "") << "it is in use";
}

/// The policy says that it would fit were no GPU out of service.
TEST_F(Explain, TellsADrainFromAGpuThatIsOutOfService) {
  const auto why = [&] {
    const Refused refused{.ask = ask_of(engine_.view().job(JobId(1))),
                          .refusal = {.why = Why::Health}};
    return explain(engine_.view(), JobId(1), refused).why;
  };
  step({Drained{GpuId(0), Drain{.by = UserId(8)}}, Drained{GpuId(1), Drain{.by = UserId(8)}},
        job(1, 1, 20_GiB)});
  EXPECT_EQ(why(), Why::Drain);
  step({Drained{GpuId(0), std::nullopt}, GpuHealth{GpuId(0), false}});
  EXPECT_EQ(why(), Why::Health);
}

TEST_F(Explain, NamesAReservation) {
  Submitted large = job(2, 1, 20_GiB);
  large.spec.user = UserId(7);
  const Reservation reservation{.gpus = {GpuId(0)},
                                .users = {UserId(8)},
                                .from = kStart + seconds(100),
                                .until = kStart + seconds(200),
                                .by = UserId(0),
                                .reason = "",
                                .shown = "alice from 22:00 until 06:00"};
  step({Reserved{ReservationId(1), reservation}, job(1, 1, 20_GiB), large});
  const Explanation found = explain(engine_.view(), JobId(2), engine_.refused(JobId(2)));
  EXPECT_EQ(found.text,
            "job 2: needs 20 GiB on one GPU; none of the 2 GPUs has room for it; GPU 1 lacks "
            "16.5 GiB (held by job 1); GPU 0 is reserved for alice from 22:00 until 06:00");
  EXPECT_EQ(found.nearest[1].reserved, ReservationId(1));
}

TEST_F(Explain, NamesTheLimit) {
  Settings settings;
  settings.limits.jobs = 1;
  step({Configured{settings}, job(1, 1, 4_GiB), job(2, 1, 4_GiB)});
  const Explanation found = explain(engine_.view(), JobId(2), engine_.refused(JobId(2)));
  EXPECT_EQ(found.why, Why::Limit);
  EXPECT_EQ(found.text, "job 2: needs 4 GiB on one GPU; limit of its user: 1 of 1 running jobs");
}

TEST_F(Explain, SaysThatHostMemoryIsMissingToSuspendJobs) {
  Engine engine(cluster(), {}, *make_policy("turns", "first-fit"));
  Settings settings;
  const auto told = [&](Bytes room) {
    settings.suspend_room = room;
    engine.step(kStart + seconds(1), std::vector<Input>{Configured{settings}});
    const Explanation found = explain(engine.view(), JobId(3), engine.refused(JobId(3)));
    EXPECT_EQ(found.why, Why::Capacity);
    return std::pair(found.text, brief_text(found, engine.view().job(JobId(3)), engine.view(), {}));
  };
  engine.step(kStart, std::vector<Input>{job(1, 1, 20_GiB), job(2, 1, 20_GiB), job(3, 1, 8_GiB)});
  const std::string missing = "too little of suspend_host_memory is left to suspend jobs for it";
  EXPECT_THAT(told(8_GiB).first, Not(HasSubstr(missing))) << "others come first";
  EXPECT_THAT(told(8_GiB - 1_MiB).first, HasSubstr("; " + missing + "; GPU 0 lacks"));
  EXPECT_THAT(told(8_GiB - 1_MiB).second, EndsWith("; " + missing));
}

TEST_F(Explain, NamesTheJobThatMustNotBeDelayed) {
  Engine engine(cluster(), {}, *make_policy("easy", "first-fit"));
  engine.step(kStart, std::vector<Input>{job(1, 1, 20_GiB), job(2, 2, 20_GiB)});
  engine.step(kStart + seconds(1), std::vector<Input>{job(3, 1, 20_GiB)});
  const Explanation found = explain(engine.view(), JobId(3), engine.refused(JobId(3)));
  EXPECT_EQ(found.why, Why::Reservation);
  EXPECT_EQ(found.behind, std::vector{JobId(2)});
  EXPECT_EQ(passing_text(Passing::Who::Nobody, found), "no job behind it starts before it");
}

TEST_F(Explain, SaysWhatThePolicyDecided) {
  const auto why = [&](const char* policy, std::vector<Submitted> jobs) {
    Engine engine(cluster(), {}, *make_policy(policy, "first-fit"));
    std::vector<Input> inputs(jobs.begin(), jobs.end());
    engine.step(kStart, inputs);
    const JobId last = jobs.back().job;
    return explain(engine.view(), last, engine.refused(last));
  };
  const Explanation blocked =
      why("fifo", {job(1, 1, 20_GiB), job(2, 2, 20_GiB), job(3, 1, 20_GiB)});
  EXPECT_EQ(blocked.why, Why::Order);
  EXPECT_THAT(blocked.text, HasSubstr("; jobs ahead of it come first;"));
  const Explanation alone = why("exclusive", {job(1, 2, 4_GiB), job(2, 1, 4_GiB)});
  EXPECT_EQ(alone.why, Why::Capacity) << "there is room beside job 1, but not under exclusive";
  EXPECT_EQ(alone.fitting, 0);
  Submitted limited = job(1, 1, 20_GiB);
  limited.spec.time_limit = seconds(90);
  const Explanation promised = why("easy", {limited, job(2, 2, 20_GiB)});
  EXPECT_EQ(promised.why, Why::Capacity);
  EXPECT_EQ(promised.until, kStart + seconds(90));
}

TEST_F(Explain, SaysThatOtherJobsHaveTheRound) {
  Engine engine(cluster(), {}, *make_policy("gavel/isolated", "first-fit"));
  engine.step(kStart, {{job(1, 1, 20_GiB), job(2, 1, 20_GiB), job(3, 1, 20_GiB)}});
  const Attempt attempt(1);
  engine.step(kStart + seconds(60),
              {{Started{JobId(1), attempt}, Started{JobId(2), attempt},
                Exited{.job = JobId(1), .attempt = attempt}, Released{JobId(1), attempt}}});
  const Explanation found = explain(engine.view(), JobId(3), engine.refused(JobId(3)));
  EXPECT_EQ(found.why, Why::Order) << "a GPU is free until the round ends";
  EXPECT_THAT(found.text, HasSubstr("; other jobs have this round; it has 67 % of the time;"));
}

TEST_F(Explain, SaysBesideWhichJobItsShareOfTheTimeIs) {
  Engine engine(cluster(), {}, *make_policy("gavel/gandiva", "first-fit"));
  Speeds speeds;
  speeds.add_pair("net", 0, "net", Rate(800'000));
  std::vector<Input> inputs = {Profiled{speeds}};
  for (std::uint64_t id = 1; id <= 6; ++id) {
    Submitted submitted = job(id, 1, 4_GiB);
    submitted.spec.model = "net";
    inputs.emplace_back(submitted);
  }
  engine.step(kStart, inputs);
  const Explanation found = explain(engine.view(), JobId(6), engine.refused(JobId(6)));
  EXPECT_EQ(found.why, Why::Order) << "a GPU has room beside others";
  EXPECT_THAT(found.text,
              HasSubstr("; other jobs have this round; it has 67 % of the time, beside job 4"));
}

TEST_F(Explain, SaysThatNoDeadlineIsPromised) {
  Engine engine(cluster(), {}, *make_policy("elasticflow", "first-fit"));
  Submitted first = job(1, 2, 20_GiB);
  Submitted second = job(2, 1, 20_GiB);
  for (Submitted* const one : {&first, &second}) {
    one->spec.estimate = hours(1);
    one->spec.deadline = kStart + hours(1);
  }
  engine.step(kStart, {{first}});
  engine.step(kStart + seconds(1), {{second}});
  const Explanation found = explain(engine.view(), JobId(2), engine.refused(JobId(2)));
  EXPECT_EQ(found.why, Why::Order);
  EXPECT_THAT(found.text,
              HasSubstr("; no deadline is promised to it, and jobs with a promise come first;"));
}

TEST_F(Explain, SaysThatAJobCameAfterThePlan) {
  Engine engine(cluster(), {}, *make_policy("gavel/isolated", "first-fit"));
  engine.step(kStart, {{job(1, 1, 20_GiB)}});
  engine.step(kStart + seconds(60), {{job(2, 1, 20_GiB)}});
  const Explanation found = explain(engine.view(), JobId(2), engine.refused(JobId(2)));
  EXPECT_EQ(found.why, Why::Order) << "a GPU is free until the round ends";
  EXPECT_EQ(found.until, kNever) << "the round is over early if its jobs are";
  EXPECT_THAT(found.text, HasSubstr("; it came after the plan of who gets which GPUs;"));
}

TEST_F(Explain, SaysThatAGateLetsItWait) {
  Cluster two = cluster();
  two.add_node({.name = "n1", .gpus = 1, .vram = 24_GiB});
  Engine engine(two, {}, *make_policy("fifo-skip+local:node_delay=1m", "count"));
  engine.step(kStart, std::vector<Input>{job(1, 1, 20_GiB)});
  engine.step(kStart, std::vector<Input>{job(3, 2, 20_GiB)});
  const Explanation found = explain(engine.view(), JobId(3), engine.refused(JobId(3)));
  EXPECT_EQ(found.why, Why::Patience);
  EXPECT_EQ(found.until, kStart + minutes(1));
  EXPECT_THAT(found.text,
              HasSubstr("; it waits for a better place: the GPUs with room are far apart;"));
}

TEST_F(Explain, NamesThePlaceKept) {
  Engine engine(cluster(), {}, *make_policy("easy", "first-fit"));
  Submitted limited = job(1, 1, 20_GiB);
  limited.spec.time_limit = seconds(90);
  engine.step(kStart, std::vector<Input>{limited, job(2, 2, 20_GiB)});
  const Explanation found = explain(engine.view(), JobId(2), engine.refused(JobId(2)));
  ASSERT_TRUE(found.kept);
  EXPECT_EQ(found.kept->placement.gpus, (std::vector{GpuId(0), GpuId(1)}));
  EXPECT_EQ(found.kept->from, kStart + seconds(90));
  EXPECT_TRUE(found.text.ends_with("; GPU 0, GPU 1 are reserved for it")) << found.text;
  EXPECT_EQ(passing_text(Passing::Who::WhoDelaysNone, found),
            "other jobs may start before it where that does not delay it");
}

/// However few are listed, and however little others lack.
TEST_F(Explain, ListsTheGpuOfThePlaceKeptFirst) {
  Engine engine(cluster(), {}, *make_policy("easy", "first-fit"));
  Submitted limited = job(1, 1, 20_GiB);
  limited.spec.time_limit = seconds(90);
  engine.step(kStart, std::vector<Input>{limited, job(2, 1, 18_GiB), job(3, 1, 8_GiB)});
  const Explanation found = explain(engine.view(), JobId(3), engine.refused(JobId(3)), 1);
  ASSERT_TRUE(found.kept);
  EXPECT_EQ(found.kept->placement.gpus, std::vector{GpuId(0)});
  ASSERT_EQ(found.nearest.size(), 1U);
  EXPECT_EQ(found.nearest[0].gpu, GpuId(0));
  EXPECT_EQ(found.nearest[0].holders, std::vector{JobId(1)});
}

TEST_F(Explain, NamesTheNodeWhereThereAreSeveral) {
  Cluster two = cluster();
  two.add_node({.name = "n1", .gpus = 1, .vram = 24_GiB});
  EXPECT_EQ(gpu_name(two, GpuId(2)), "n1:0");
  EXPECT_EQ(gpu_name(cluster(), GpuId(1)), "GPU 1");
}

// ---- What must end ---------------------------------------------------------------------------

TEST_F(Explain, TheFewestHoldersMustEnd) {
  step({job(1, 1, 4_GiB), job(2, 1, 4_GiB), job(3, 1, 14_GiB), job(4, 1, 20_GiB),
        job(5, 1, 18_GiB)});
  ASSERT_EQ(engine_.view().find(JobId(4))->grant.shares.front().gpu, GpuId(1));
  const auto found = what_must_end(engine_.view(), JobId(5));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->jobs, std::vector{JobId(4)});  // GPU 0 would take jobs 3 and another
  EXPECT_EQ(found->placement.gpus, std::vector{GpuId(1)});
}

TEST_F(Explain, AGangCountsOnce) {
  step({job(1, 2, 20_GiB), job(2, 1, 1_GiB), job(3, 2, 12_GiB)});
  const auto found = what_must_end(engine_.view(), JobId(3));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->jobs, std::vector{JobId(1)});
}

TEST_F(Explain, NobodyMustEndWhereItFits) {
  Engine blocked(cluster(), {}, *make_policy("fifo", "first-fit"));
  blocked.step(kStart, std::vector<Input>{job(1, 1, 20_GiB), job(2, 2, 20_GiB), job(3, 1, 1_GiB)});
  const auto found = what_must_end(blocked.view(), JobId(3));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->jobs.empty());
}

TEST_F(Explain, NobodysEndHelpsAgainstForeignUse) {
  step({Measured{.gpu = GpuId(0), .foreign = 20_GiB, .used = 20_GiB, .tenants = {}},
        GpuHealth{GpuId(1), false}, job(1, 1, 8_GiB)});
  EXPECT_FALSE(what_must_end(engine_.view(), JobId(1)));
}

TEST_F(Explain, HostMemoryIsClearedToo) {
  Cluster small;
  small.add_switch();
  small.add_node({.name = "n0", .gpus = 2, .vram = 24_GiB, .host = 10_GiB});
  Engine engine(small, {}, *make_policy("fifo-skip", "first-fit"));
  Submitted first = job(1, 1, 1_GiB);
  first.spec.request.host = 8_GiB;
  Submitted second = job(2, 1, 1_GiB);
  second.spec.request.host = 4_GiB;
  engine.step(kStart, std::vector<Input>{first, second});
  const auto found = what_must_end(engine.view(), JobId(2));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->jobs, std::vector{JobId(1)});
}

}  // namespace
}  // namespace berth
