// Goal: each model of sharing gives the speed that its rule says, both directions of a pair apart,
// and doc/simulator.md lists every one as the program does.
// Method: speeds worked out by hand; the rows of the page from the list of models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "policy/registry.hpp"
#include "sim/one_gpu_job.hpp"
#include "sim/share/duty.hpp"
#include "sim/share/pair_table.hpp"
#include "sim/simulator.hpp"
#include "sim/spread.hpp"
#include "support/paths.hpp"

namespace berth::sim {
namespace {

class SharingModels : public testing::Test {
 protected:
  SharingModels() {
    for (const char* name : {"a", "b", "c"}) trace_.jobs.push_back(one_gpu_job(name, 0, 100));
    for (trace::TraceJob& job : trace_.jobs) {
      job.spec.request.gpu.sharing = Sharing::Shared;
      job.spec.request.gpu.vram = Bytes(std::int64_t{1} << 30);
    }
  }
  SharedGpu gpu(std::size_t who, std::span<const std::size_t> tenants) const {
    return {.who = who, .tenants = tenants, .type = type_, .trace = trace_, .duties = duties_};
  }
  Rate rate(const char* model, std::size_t who, std::vector<std::size_t> tenants) const {
    return (*parse_share(model))->rate(gpu(who, tenants));
  }
  /// Ends in seconds of two jobs that begin together on one GPU.
  std::vector<double> ends(const Options& options) const {
    trace::Trace two = trace_;
    two.jobs.pop_back();
    const auto result =
        simulate(two, *trace::parse_cluster("1x1"), *make_policy("fifo-skip", ""), options);
    std::vector<double> list;
    for (const JobResult& job : result->jobs) list.push_back(in_seconds(job.end - kStart));
    return list;
  }

  std::string type_ = "v100";
  trace::Trace trace_;
  std::vector<std::int64_t> duties_ = {900'000, 300'000, 100'000};
};

TEST_F(SharingModels, TimeSlicesAreTurnsLessWhatSwitchingTakes) {
  EXPECT_EQ(rate("timeslice", 0, {0, 1, 2}), Rate(333'333));
  EXPECT_EQ(rate("timeslice:5%", 0, {0, 1}), Rate(475'000));
  EXPECT_EQ(rate("timeslice:slice=3ms:switch=1ms", 0, {0, 1}), Rate(375'000));
  EXPECT_EQ(rate("timeslice:lost=20:slice=3ms:switch=1ms", 0, {0, 1}), Rate(300'000));
  EXPECT_FALSE((*parse_share("timeslice"))->reads_duties());
}

TEST_F(SharingModels, MpsClientsGoSideBySideUpToTheirCaps) {
  EXPECT_EQ(rate("mps", 0, {0, 2}), kFullSpeed) << "0.9 + 0.1";
  EXPECT_EQ(rate("mps", 2, {0, 1}), Rate(1'000'000'000 / 1200)) << "0.9 + 0.3";
  // At most 0.6 of the threads: the first runs at 0.6 / 0.9, and 0.6 + 0.3 leave room for all.
  EXPECT_EQ(rate("mps:cap=60", 0, {0, 1}), Rate(666'666));
  EXPECT_EQ(rate("mps:cap=60", 1, {0, 1}), kFullSpeed);
  duties_ = {1'000'000, 1'000'000, 1'000'000};
  EXPECT_EQ(rate("mps:cap=50", 0, {0, 1}), Rate(500'000));
  EXPECT_EQ(rate("mps:cap=50", 0, {0, 1, 2}), Rate(333'333)) << "0.5, and 1.5 GPUs are asked for";
}

TEST_F(SharingModels, ACapHoldsForAJobThatIsAloneToo) {
  trace_.jobs.resize(2);
  trace_.jobs[1].submit = kStart + seconds(1000);
  trace_.jobs.push_back(trace_.jobs[1]);
  EXPECT_EQ(ends({.rates = {.share = *parse_share("mps:cap=50")}}),
            (std::vector<double>{200, 1200}));
  EXPECT_EQ(ends({.rates = {.share = *parse_share("mps")}}), (std::vector<double>{100, 1100}));
}

TEST_F(SharingModels, TgsGivesOpportunisticJobsWhatProductionJobsLeave) {
  EXPECT_EQ(rate("tgs", 0, {0, 2}), kFullSpeed) << "both are opportunistic, and there is room";
  EXPECT_EQ(rate("tgs", 0, {0, 1}), Rate(833'333)) << "of 0.9 + 0.3 each has its part";
  trace_.jobs[0].spec.priority = 1;
  EXPECT_GE(rate("tgs", 0, {0, 1}), Rate(970'000));
  EXPECT_LT(rate("tgs", 0, {0, 1}), kFullSpeed) << "it probes how much the other may launch";
  const std::int64_t left = 1'000'000 - rate("tgs", 0, {0, 1}).ppm() * 9 / 10;
  EXPECT_NEAR(static_cast<double>(rate("tgs", 1, {0, 1}).ppm()), static_cast<double>(left) / 0.3,
              3'000);
  trace_.jobs[1].spec.priority = 2;
  EXPECT_EQ(rate("tgs", 0, {0, 1}), Rate(833'333)) << "both are production jobs";
  // A job that never leaves the GPU loses 3 % to one that would use all of it.
  duties_ = {1'000'000, 1'000'000, 1'000'000};
  EXPECT_NEAR(static_cast<double>(rate("tgs", 0, {0, 2}).ppm()), 970'700, 500);
  EXPECT_NEAR(static_cast<double>(rate("tgs", 2, {0, 2}).ppm()), 29'300, 500);
}

TEST_F(SharingModels, SalusGivesAllJobsTheSameMemoryTimesTime) {
  EXPECT_EQ(rate("salus", 0, {0, 1, 2}), Rate(333'333));
  trace_.jobs[1].spec.request.gpu.vram = Bytes(std::int64_t{3} << 30);
  EXPECT_EQ(rate("salus", 0, {0, 1}), Rate(750'000));
  EXPECT_EQ(rate("salus", 1, {0, 1}), Rate(250'000));
}

TEST_F(SharingModels, StagesOfDifferentJobsOverlap) {
  EXPECT_EQ(rate("stages", 0, {0, 1, 2}), Rate(333'333)) << "none states its stages";
  trace_.jobs[0].iteration = {.alone = seconds(10), .stages = {seconds(6), seconds(2), seconds(2)}};
  EXPECT_EQ(rate("stages", 0, {0, 1}), Rate(500'000)) << "one does not";
  trace_.jobs[1].iteration = {.alone = seconds(10), .stages = {seconds(1), seconds(4), seconds(5)}};
  // 6 of a beside 5 of b, then 2 of a beside 1 of the next b, then 4 of it beside 2 of a: 12 s, and
  // 31 % more for two jobs, by 1.33 / 1.015.
  const Rate each(635'965);
  EXPECT_EQ(rate("stages", 0, {0, 1}), each);
  EXPECT_EQ(rate("stages", 1, {0, 1}), each);
  trace_.jobs[2].iteration = {.alone = seconds(100),
                              .stages = {seconds(1), seconds(1), seconds(1)}};
  EXPECT_EQ(rate("stages", 2, {0, 2}), kFullSpeed) << "the group is no slower than it is alone";
  trace_.jobs.resize(5, trace_.jobs[0]);
  EXPECT_EQ(rate("stages", 1, {0, 1, 2, 3, 4}), Rate(71'429)) << "10 of 10 + 10 + 100 + 10 + 10";
}

TEST_F(SharingModels, DutyIsTheNetworkOfItsPage) {
  EXPECT_EQ(rate("duty:20%", 0, {0, 1}), rate_beside(900'000, std::vector{duties_[1]}, 200'000));
  EXPECT_EQ(rate("duty:interference=20", 0, {0, 1}), rate("duty:20%", 0, {0, 1}));
  const std::vector<std::size_t> both = {0, 1};
  const std::int64_t cost = (*parse_share("duty:20%"))->kernel_cost(gpu(0, both));
  EXPECT_LE(std::abs(cost - 1'060'000), 1) << cost;
  EXPECT_EQ((*parse_share("duty"))->kernel_cost(gpu(0, both)), 1'000'000);
}

TEST_F(SharingModels, ThePairTableSaysBothDirectionsApart) {
  Speeds speeds;
  speeds.add_pair("a", 0, "b", Rate(900'000));
  speeds.add_pair("b", 0, "a", Rate(500'000));
  const std::vector<std::size_t> both = {0, 1};
  const std::vector<std::size_t> all = {0, 1, 2};
  EXPECT_EQ(measured_beside(speeds, gpu(0, both)), Rate(900'000));
  EXPECT_EQ(measured_beside(speeds, gpu(1, both)), Rate(500'000));
  EXPECT_EQ(measured_beside(speeds, gpu(0, all)), std::nullopt) << "nobody measured it beside c";
  speeds.add_pair("a", 0, "c", Rate(500'000));
  EXPECT_EQ(measured_beside(speeds, gpu(0, all)), Rate(450'000));
  EXPECT_EQ(rate("pairs", 0, {0, 2}), kFullSpeed);
  EXPECT_EQ(rate("pairs:unmeasured=20", 0, {0, 1, 2}), Rate(640'000));
  // The slow one has 100 x 0.5 done by 100 / 0.9 s, when the other ends, and goes on alone.
  Options options{.rates = {.speeds = speeds, .share = *parse_share("pairs")}};
  const std::vector<double> at = ends(options);
  EXPECT_NEAR(at[0], 111.111, 1e-3);
  EXPECT_NEAR(at[1], 111.111 + 100 - 55.556, 1e-3);
}

TEST_F(SharingModels, IsReadAsWritten) {
  EXPECT_EQ(*parse_share("free"), nullptr);
  EXPECT_EQ(
      parse_share("mig").error().message,
      "--share: 'mig' is unknown; valid values: free, exclusive, timeslice, mps, duty, pairs, tgs, "
      "salus, stages");
  EXPECT_EQ(parse_share("duty:lost=3").error().message,
            "--share duty: unknown key 'lost'; valid keys: interference");
  EXPECT_EQ(parse_share("mps:cap=0").error().message,
            "--share mps: cap=0: must be a percent from 1 to 100, such as 100");
  EXPECT_FALSE(parse_share("duty:").has_value());
}

TEST_F(SharingModels, ThePageListsEveryModel) {
  const std::string page = test::read_file(test::source_dir() / "doc/simulator.md");
  for (const ShareEntry* const entry : shares()) {
    std::string keys;
    for (const Key& key : entry->keys) {
      keys += (keys.empty() ? "`" : " `") + std::string(key.name) + "=" + std::string(key.usual) +
              "`: " + std::string(key.what);
    }
    EXPECT_THAT(page, testing::HasSubstr("| `" + std::string(entry->name) + "` | " +
                                         std::string(entry->rule) + " | " + keys + " | " +
                                         std::string(entry->source) + " |\n"));
  }
}

}  // namespace
}  // namespace berth::sim
