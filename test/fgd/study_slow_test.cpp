// Goal: berth's placements give the figures that Weng et al. (ATC 2023) published, run by run.
// Method: their default mix with two of their seeds; every figure of a run at every load. `random`
// draws otherwise, and is held to the tolerance of the study. tools/results-fgd runs everything.
#include <gtest/gtest.h>

#include "fgd/report.hpp"
#include "support/paths.hpp"

namespace berth::fgd {
namespace {

class FgdStudy : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = test::shared_dir() / "traces/openb-2023";
    if (const auto absent = test::absent_shared(folder_ / "fgd-expected/summary.csv")) {
      GTEST_SKIP() << *absent;
    }
    auto mix = load_mix(folder_, "default");
    auto theirs = load_published(folder_ / "fgd-expected");
    ASSERT_TRUE(mix) << mix.error().message;
    ASSERT_TRUE(theirs) << theirs.error().message;
    mix_ = std::move(*mix);
    theirs_ = std::move(*theirs);
  }

  std::filesystem::path folder_;
  Mix mix_;
  Curves theirs_;
};

TEST_F(FgdStudy, EveryPlacementWithoutChanceMeetsEveryPublishedFigureOfTheDefaultMix) {
  for (const std::int64_t seed : {42, 47}) {
    const Draw drawn = draw(mix_, seed);
    for (const Way& way : kWays) {
      if (way.place == "random") continue;
      const auto run = fgd::run(drawn, way.place, seed);
      ASSERT_TRUE(run) << run.error().message;
      const RunName name{.mix = "default", .way = std::string(way.published), .seed = seed};
      const Match match = match_of(run->curve, theirs_.at(name));
      EXPECT_EQ(match.equal, match.all) << way.place << ", seed " << seed;
    }
  }
}

/// From the log of a run that the authors show in the artifact's README.
TEST_F(FgdStudy, FgdAllocatesToTheThousandthWhatTheAuthorsLogShows) {
  const Draw drawn = draw(mix_, 42);
  EXPECT_EQ(drawn.arrive.size(), 10'866U);
  const auto run = fgd::run(drawn, "fgd", 42);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->allocated, 5'919'410);
}

TEST_F(FgdStudy, RandomIsAsTheirs) {
  Curves ours;
  const RunName name{.mix = "default", .way = "01-Random", .seed = 0};
  for (std::int64_t seed = 42; seed <= 51; ++seed) {
    const auto run = fgd::run(draw(mix_, seed), "random", seed);
    ASSERT_TRUE(run) << run.error().message;
    ours[{.mix = name.mix, .way = name.way, .seed = seed}] = run->curve;
  }
  for (const Measure measure : {Measure::Allocated, Measure::Fragmented}) {
    for (const std::size_t load : kLoads) {
      const Cell cell = cell_of(ours, theirs_, name, measure, load);
      EXPECT_TRUE(cell.is_inside()) << load << " %: " << cell.ours << ", published "
                                    << cell.theirs.value_or(0) << ", tolerance " << cell.tolerance;
    }
  }
}

}  // namespace
}  // namespace berth::fgd
