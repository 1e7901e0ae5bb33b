// Goal: which jobs die for lack of GPU memory, and that `guarantee` is never the cause.
// Method: one GPU of 16 GiB and jobs worked out by hand; then many drawn ones under every mode.
#include "sim/memory.hpp"

#include <gtest/gtest.h>

#include "core/base/rng.hpp"
#include "policy/registry.hpp"
#include "report/metrics.hpp"
#include "sim/simulator.hpp"

namespace berth::sim {
namespace {

using namespace literals;

trace::TraceJob job(int submit, int run, Bytes vram) {
  trace::TraceJob job{.name = "j",
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(1)}};
  job.spec.request.gpu.count = GpuCount(1);
  job.spec.request.gpu.vram = vram;
  return job;
}

Cluster cluster_of(std::uint32_t gpus) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = gpus, .vram = 16_GiB, .context = 256_MiB});
  return cluster;
}

Grant grant_of(const Cluster& cluster, const trace::TraceJob& job, GpuId gpu = GpuId(0)) {
  const Occupancy empty(cluster, {});
  return empty.grant_for(cluster, Ask{.request = job.spec.request}, {.gpus = {gpu}, .host = {}});
}

class MemoryTest : public testing::Test {
 protected:
  MachineFigures run(AdmissionMode mode, MemoryModel memory, const Cluster& cluster) {
    memory.is_on = true;
    const Options options{.settings = {.admission = {.mode = mode}},
                          .seed = 7,
                          .memory = memory,
                          .foreign = foreign_};
    result_ = *simulate(trace_, cluster, *make_policy("fifo-skip", "first-fit"), options);
    return *measure(trace_, cluster, result_).machine;
  }
  std::int64_t ooms(const MachineFigures& figures, OomKind kind) const {
    return figures.ooms[static_cast<std::size_t>(kind)];
  }

  trace::Trace trace_;
  ForeignModel foreign_;
  Result result_;
};

TEST_F(MemoryTest, TheTruthIsWithinTheErrorAndFollowsTheSeed) {
  for (int i = 0; i < 100; ++i) trace_.jobs.push_back(job(0, 1, 10_GiB));
  const Cluster cluster = cluster_of(1);
  const Memory one(trace_, cluster, {.is_on = true, .error = 20}, 1);
  const Memory same(trace_, cluster, {.is_on = true, .error = 20}, 1);
  const Memory other(trace_, cluster, {.is_on = true, .error = 20}, 2);
  std::size_t differ = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(one.need(i), same.need(i));
    EXPECT_GE(one.need(i), 8_GiB);
    EXPECT_LE(one.need(i), 12_GiB);
    differ += one.need(i) != other.need(i) ? 1 : 0;
  }
  EXPECT_GT(differ, 90U);
}

TEST_F(MemoryTest, AProbeSeesContextsAtOnceAndTheNeedAfterTheRamp) {
  trace_.jobs = {job(0, 100, 4_GiB)};
  const Cluster cluster = cluster_of(2);
  Memory memory(trace_, cluster, {.is_on = true, .ramp = seconds(5)}, 0);
  memory.begin(0, grant_of(cluster, trace_.jobs[0], GpuId(1)), kStart);
  std::vector<Measured> seen = memory.measured();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].gpu, GpuId(1));
  EXPECT_EQ(seen[0].used, 256_MiB);
  EXPECT_FALSE(memory.has_changed());
  EXPECT_EQ(memory.next(), kStart + seconds(5));
  EXPECT_TRUE(memory.grow(kStart + seconds(5)).empty());
  seen = memory.measured();
  EXPECT_EQ(seen[0].tenants.at(0).bytes, 4_GiB + 256_MiB);
  EXPECT_EQ(memory.next(), kNever);
  memory.end(0);
  EXPECT_EQ(memory.measured().at(0).used, Bytes(0));
}

TEST_F(MemoryTest, WhoeverHasTheLastOfItDiesAndTheKindSaysWhoIsToBlame) {
  trace_.jobs = {job(0, 100, 9_GiB), job(0, 100, 9_GiB)};
  const Cluster cluster = cluster_of(1);
  Memory memory(trace_, cluster, {.is_on = true}, 0);
  for (const std::size_t i : {0U, 1U}) memory.begin(i, grant_of(cluster, trace_.jobs[i]), kStart);
  const std::vector<Oom> failed = memory.grow(kStart + seconds(30));
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].job, 1U);
  EXPECT_EQ(failed[0].kind, OomKind::Admission);  // both within their charge: let in wrongly

  // The first now was charged for 4 GiB and takes 9: the second, within its charge, dies of that.
  Memory beside(trace_, cluster, {.is_on = true}, 0);
  Grant small = grant_of(cluster, trace_.jobs[0]);
  small.shares[0].granted = 4_GiB;
  beside.begin(0, small, kStart);
  beside.begin(1, grant_of(cluster, trace_.jobs[1]), kStart);
  EXPECT_EQ(beside.grow(kStart + seconds(30)).at(0).kind, OomKind::NeighbourOverrun);

  // Of itself, if it is beyond its own charge, whatever the other does.
  Memory own(trace_, cluster, {.is_on = true}, 0);
  own.begin(0, small, kStart);
  own.begin(1, small, kStart);
  EXPECT_EQ(own.grow(kStart + seconds(30)).at(0).kind, OomKind::OwnOverrun);
}

TEST_F(MemoryTest, AForeignProcessIsToBlameIfItCameAfterTheLastGrant) {
  trace_.jobs = {job(0, 100, 9_GiB), job(0, 100, 4_GiB)};
  const Cluster cluster = cluster_of(1);
  Memory memory(trace_, cluster, {.is_on = true}, 0);
  memory.begin(0, grant_of(cluster, trace_.jobs[0]), kStart);
  memory.take_foreign(GpuId(0), 20_GiB);  // no room: it takes nothing
  memory.take_foreign(GpuId(0), 8_GiB);
  const Measured seen = memory.measured().at(0);
  EXPECT_EQ(seen.foreign, 8_GiB);
  EXPECT_EQ(seen.used, 8_GiB + 256_MiB);
  EXPECT_EQ(memory.grow(kStart + seconds(30)).at(0).kind, OomKind::Foreign);

  // Let in again while the process is there, it dies of its admission; once that is gone, of none.
  memory.begin(0, grant_of(cluster, trace_.jobs[0]), kStart + seconds(40));
  EXPECT_EQ(memory.grow(kStart + seconds(70)).at(0).kind, OomKind::Admission);
  memory.begin(0, grant_of(cluster, trace_.jobs[0]), kStart + seconds(80));
  memory.free_foreign(GpuId(0));
  EXPECT_TRUE(memory.grow(kStart + seconds(110)).empty());
  EXPECT_EQ(memory.measured().at(0).foreign, Bytes(0));
}

TEST_F(MemoryTest, ACurveIsFollowedByTheWorkThatIsDoneAndNotByTheClock) {
  trace_.jobs = {job(0, 100, 12_GiB), job(0, 100, 12_GiB)};
  trace_.jobs[0].use = *trace::parse_use_curve("0:1024|50:1024|60:9216|70:512");
  trace_.jobs[1].use = *trace::parse_use_curve("0:3072");
  const Cluster cluster = cluster_of(1);
  Memory memory(trace_, cluster, {.is_on = true}, 0);
  EXPECT_EQ(memory.need(0), 9_GiB);
  for (const std::size_t i : {0U, 1U}) memory.begin(i, grant_of(cluster, trace_.jobs[i]), kStart);
  EXPECT_EQ(memory.next(), kNever) << "none of them waits for a ramp";
  EXPECT_EQ(memory.measured().at(0).used, 512_MiB) << "contexts";
  const auto used = [&](std::size_t i, int done) {
    EXPECT_FALSE(memory.follow(i, seconds(done)).has_value());
    return memory.has_changed() ? memory.measured().at(0).used : Bytes(0);
  };
  EXPECT_EQ(used(0, 0), 1_GiB + 512_MiB);
  EXPECT_EQ(used(1, 0), 4_GiB + 512_MiB);
  EXPECT_EQ(used(1, 50), Bytes(0)) << "nothing has changed";
  EXPECT_EQ(used(0, 55), 8_GiB + 512_MiB);
  EXPECT_EQ(used(0, 60), 12_GiB + 512_MiB);
  EXPECT_EQ(used(0, 99), 4_GiB) << "what it no longer needs is free";
}

TEST_F(MemoryTest, AJobDiesAtTheStepOfItsCurveForWhichThereIsNoRoom) {
  // The GPU has 16,384 MiB less two contexts of 256 and the neighbour's 9,216: 6,656. The line goes
  // up by 320 MiB every 3.125 s, so the 21st step, to 6,720, is the first that does not fit.
  trace_.jobs = {job(0, 100, 9_GiB), job(0, 100, 10_GiB)};
  trace_.jobs[0].use = *trace::parse_use_curve("0:9216");
  trace_.jobs[1].use = *trace::parse_use_curve("0:0|100:10240");
  const Duration step = seconds(100) / 32;
  const MachineFigures figures = run(AdmissionMode::None, {.retries = 0}, cluster_of(1));
  EXPECT_EQ(ooms(figures, OomKind::Admission), 1);
  EXPECT_EQ(result_.jobs[1].spent.ran, 21 * step);
  EXPECT_EQ(result_.jobs[0].end, kStart + seconds(100));

  // At half the speed in twice the time, and after the time that a start takes.
  const Options shared{.settings = {.admission = {.mode = AdmissionMode::None}},
                       .rates = {.share = *parse_share("timeslice")},
                       .costs = {.start = seconds(7)},
                       .memory = {.retries = 0}};
  result_ = *simulate(trace_, cluster_of(1), *make_policy("fifo-skip", "first-fit"), shared);
  EXPECT_TRUE(result_.lacks_memory) << "a curve is enough for memory to be modelled";
  EXPECT_EQ(result_.jobs[1].spent.ran, seconds(7) + 2 * 21 * step);
}

TEST_F(MemoryTest, WhatAJobGivesBackLetsItsNeighbourGrow) {
  trace_.jobs = {job(0, 100, 12_GiB), job(0, 100, 12_GiB)};
  trace_.jobs[0].use = *trace::parse_use_curve("0:11264|50:11264|51:1024");
  trace_.jobs[1].use = *trace::parse_use_curve("0:1024|60:1024|61:11264");
  EXPECT_EQ(run(AdmissionMode::None, {}, cluster_of(1)).ooms,
            (std::array<std::int64_t, kOomKinds>{}));
  trace_.jobs[0].use = *trace::parse_use_curve("0:11264|70:11264|71:1024");
  EXPECT_EQ(ooms(run(AdmissionMode::None, {.retries = 0}, cluster_of(1)), OomKind::Admission), 1);
}

TEST_F(MemoryTest, ARunUnderNoneLosesAJobByAdmissionAndTriesItAgain) {
  // Both start at 0; at 30 s the second finds 16 - 9.5 GiB. It comes again at once asking 13.5, and
  // dies of the same at 60 s; then for the last time at 90 s: its two tries are over.
  trace_.jobs = {job(0, 100, 9_GiB), job(0, 100, 9_GiB)};
  const MachineFigures figures = run(AdmissionMode::None, {}, cluster_of(1));
  EXPECT_EQ(ooms(figures, OomKind::Admission), 3);
  EXPECT_EQ(figures.out_of_memory, 1);
  EXPECT_DOUBLE_EQ(figures.lost_gpu_hours, 90 / 3600.0);
  EXPECT_EQ(result_.jobs[0].end, kStart + seconds(100));
  EXPECT_EQ(result_.jobs[1].end, kNever);

  const MachineFigures kept = run(AdmissionMode::Guarantee, {}, cluster_of(1));
  EXPECT_EQ(kept.ooms, (std::array<std::int64_t, kOomKinds>{}));
  EXPECT_EQ(result_.jobs[1].end, kStart + seconds(200));
}

TEST_F(MemoryTest, FreeMemoryLetsInWhatHasNotRampedYet) {
  // The poll at 0 s sees 16 GiB free for each; the third, at 40 s, sees what is used and waits.
  trace_.jobs = {job(0, 100, 9_GiB), job(0, 100, 6_GiB), job(0, 100, 6_GiB), job(40, 10, 6_GiB)};
  const MachineFigures figures = run(AdmissionMode::FreeMemory, {.retries = 0}, cluster_of(1));
  EXPECT_EQ(ooms(figures, OomKind::Admission), 1);
  EXPECT_EQ(result_.jobs[3].start, kStart + seconds(100));
}

TEST_F(MemoryTest, OnlyGuaranteeNeverLosesAJobByAdmission) {
  Rng rng(3);
  for (int i = 0; i < 300; ++i) {
    trace_.jobs.push_back(
        job(10 * i, static_cast<int>(rng.between(20, 900)), 1_GiB * rng.between(1, 12)));
  }
  const Cluster cluster = cluster_of(4);
  const MemoryModel memory{.error = 30};
  const MachineFigures guarantee = run(AdmissionMode::Guarantee, memory, cluster);
  EXPECT_EQ(ooms(guarantee, OomKind::Admission), 0);
  EXPECT_GT(guarantee.overruns + ooms(guarantee, OomKind::OwnOverrun), 0);
  EXPECT_GT(ooms(run(AdmissionMode::None, memory, cluster), OomKind::Admission), 0);
  EXPECT_GT(ooms(run(AdmissionMode::FreeMemory, memory, cluster), OomKind::Admission), 0);
  const MachineFigures exact = run(AdmissionMode::Guarantee, {}, cluster);
  EXPECT_EQ(exact.ooms, (std::array<std::int64_t, kOomKinds>{}));
  EXPECT_EQ(exact.overruns, 0);
}

/// On a machine that only lacks memory, a job runs for its run time and for what it loses.
TEST_F(MemoryTest, WorkThatDiesForLackOfMemoryIsLost) {
  Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    trace_.jobs.push_back(
        job(10 * i, static_cast<int>(rng.between(20, 900)), 1_GiB * rng.between(1, 12)));
  }
  std::size_t failed = 0;
  struct {
    AdmissionMode mode;
    std::int32_t retries;
  } const runs[] = {{AdmissionMode::Guarantee, 0},
                    {AdmissionMode::Guarantee, 2},
                    {AdmissionMode::FreeMemory, 1},
                    {AdmissionMode::None, 1}};
  for (const auto& [mode, retries] : runs) {
    const MachineFigures figures = run(mode, {.error = 30, .retries = retries}, cluster_of(4));
    double lost = 0;
    for (const JobResult& one : result_.jobs) {
      const bool ended = one.end != kNever;
      const Duration useful = ended ? trace_.jobs[one.job].duration : Duration(0);
      ASSERT_EQ(one.spent.lost, one.spent.ran - useful) << "job " << one.job;
      lost += in_seconds(one.spent.lost) / 3600;
      failed += mode == AdmissionMode::Guarantee && !ended ? 1 : 0;
    }
    EXPECT_GT(lost, 0);
    EXPECT_NEAR(figures.lost_gpu_hours, lost, 1e-9);
  }
  EXPECT_GT(failed, 0U) << "else none was ended for good for its overrun";
}

TEST_F(MemoryTest, BesideForeignProcessesGuaranteeLosesJobsToThoseAlone) {
  Rng rng(3);
  for (int i = 0; i < 300; ++i) {
    trace_.jobs.push_back(
        job(10 * i, static_cast<int>(rng.between(20, 900)), 1_GiB * rng.between(1, 12)));
  }
  foreign_ = *parse_foreign("every=10m,for=5m,size=1G-10G");
  const Cluster cluster = cluster_of(4);
  const MachineFigures guarantee = run(AdmissionMode::Guarantee, {}, cluster);
  EXPECT_GT(ooms(guarantee, OomKind::Foreign), 0);
  EXPECT_EQ(ooms(guarantee, OomKind::Admission), 0);
  EXPECT_EQ(ooms(guarantee, OomKind::OwnOverrun), 0);
  const MachineFigures declared = run(AdmissionMode::Declared, {}, cluster);
  EXPECT_GT(ooms(declared, OomKind::Admission), 0);  // present tenants are ignored
  const MachineFigures polled = run(AdmissionMode::FreeMemory, {}, cluster);
  EXPECT_GT(ooms(polled, OomKind::Admission), 0);
  EXPECT_GT(ooms(polled, OomKind::Admission) + ooms(polled, OomKind::Foreign),
            ooms(guarantee, OomKind::Foreign));
}

TEST_F(MemoryTest, ForeignProcessesAreReadAsWritten) {
  const auto model = parse_foreign("size=2G-20G,every=6h,for=30m");
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(*model,
            (ForeignModel{.every = hours(6), .stay = minutes(30), .least = 2_GiB, .most = 20_GiB}));
  EXPECT_EQ(parse_foreign("size=2G,every=6h")->most, 2_GiB);
  for (const char* text :
       {"", "every=6h", "size=2G", "every=6h,size=3G-2G", "every=6h,size=2G,x"}) {
    EXPECT_EQ(parse_foreign(text).error().message,
              "--foreign: '" + std::string(text) +
                  "' is not every=TIME,for=TIME,size=LEAST-MOST, such as "
                  "every=6h,for=1h,size=2G-9G");
  }
}

}  // namespace
}  // namespace berth::sim
