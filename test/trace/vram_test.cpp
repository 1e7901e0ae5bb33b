// Goal: jobs without a memory get one from the distribution that was named, the same for one seed.
// Method: the extremes and the means of many draws; bad models.
#include "trace/vram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/error.hpp"
#include "trace/formats.hpp"

namespace berth::trace {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// Many draws, ascending.
std::vector<std::int64_t> draws(const VramModel& model) {
  Rng rng(7);
  std::vector<std::int64_t> all(20'000);
  for (std::int64_t& one : all) one = model.draw(rng).raw();
  std::ranges::sort(all);
  return all;
}

TEST(VramModel, UniformIsAsLikelyEverywhere) {
  const auto model = VramModel::parse("uniform:2G-20G");
  ASSERT_TRUE(model) << model.error().message;
  const auto all = draws(*model);
  EXPECT_GE(all.front(), 2 * kGiB);
  EXPECT_LT(all.back(), 20 * kGiB);
  EXPECT_NEAR(static_cast<double>(all[all.size() / 2]) / kGiB, 11, 0.3);
  EXPECT_NEAR(static_cast<double>(all[all.size() / 4]) / kGiB, 6.5, 0.3);
}

TEST(VramModel, OneSizeIsADistributionToo) {
  const auto model = VramModel::parse("uniform:3G-3G");
  ASSERT_TRUE(model);
  EXPECT_EQ(draws(*model).front(), 3 * kGiB);
  EXPECT_EQ(draws(*model).back(), 3 * kGiB);
}

TEST(VramModel, QuantilesAreKept) {
  const auto model = VramModel::read("quantile,vram\n0,1G\n0.5,2G\n0.9,2G\n1,1024T\n", "q.csv");
  ASSERT_TRUE(model) << model.error().message;
  const auto all = draws(*model);
  EXPECT_GE(all.front(), kGiB);
  EXPECT_NEAR(static_cast<double>(all[all.size() / 4]) / kGiB, 1.5, 0.05);
  EXPECT_EQ(all[all.size() * 7 / 10], 2 * kGiB);
  EXPECT_GT(all[all.size() * 19 / 20], std::int64_t{400} << 40);
}

TEST(VramModel, RefusesWhatIsNoModel) {
  for (const char* bad : {"", "uniform", "uniform:", "uniform:2G", "uniform:4G-2G", "uniform:-2G",
                          "uniform:2G-", "normal:2G-3G", "uniform:0-2G"}) {
    EXPECT_EQ(error_of(VramModel::parse(bad)),
              "memory model '" + std::string(bad) +
                  "': expected uniform:LOW-HIGH such as uniform:2G-20G, or a file of quantiles");
  }
}

TEST(VramModel, NamesWhatIsWrongInAFile) {
  const auto error = [](const std::string& rows) {
    return error_of(VramModel::read("quantile,vram\n" + rows, "q.csv"));
  };
  EXPECT_EQ(
      error("0.1,1G\n"),
      "q.csv:2: column 'quantile': '0.1', expected 0 first, then more than in the line before");
  EXPECT_THAT(error("0,1G\n0,2G\n"), HasSubstr("q.csv:3: column 'quantile': '0'"));
  EXPECT_THAT(error("0,1G\n1.1,2G\n"), HasSubstr("'1.1', expected a number from 0 to 1"));
  EXPECT_EQ(error("0,2G\n1,1G\n"),
            "q.csv:3: column 'vram': '1G', expected a size such as 20G, no less than before");
  EXPECT_THAT(error("0,big\n"), HasSubstr("column 'vram': 'big'"));
  EXPECT_EQ(error(""), "q.csv: the last quantile must be 1");
  EXPECT_EQ(error("0,1G\n0.5,2G\n"), "q.csv: the last quantile must be 1");
  EXPECT_EQ(error_of(VramModel::read("vram\n", "q")), "q:1: no column 'quantile' in the header");
}

TEST(DrawVram, OnlyWhereNothingIsStated) {
  const std::string text =
      "job,submit_seconds,duration_seconds,gpus,vram_bytes,gpu_milli,alone\n"
      "whole,0,1,1,,,\nstated,1,1,1,5000000000,,1\nnone,2,1,0,,,\npart,3,1,1,,500,\n";
  const auto model = VramModel::parse("uniform:2G-20G");
  auto a = read_native({.text = text, .file = "n"});
  auto b = a;
  auto c = a;
  ASSERT_TRUE(a && model);
  draw_vram(*a, *model, 1);
  draw_vram(*b, *model, 1);
  draw_vram(*c, *model, 2);
  const auto gpu = [](const Expected<Trace>& trace, std::size_t i) {
    return trace->jobs.at(i).spec.request.gpu;
  };
  EXPECT_GE(gpu(a, 0).vram, Bytes(2 * kGiB));
  EXPECT_EQ(gpu(a, 0).sharing, Sharing::Shared);
  EXPECT_EQ(gpu(a, 1).vram, Bytes(5'000'000'000));
  EXPECT_EQ(gpu(a, 1).sharing, Sharing::Alone);
  EXPECT_EQ(gpu(a, 2).vram, Bytes(0));
  EXPECT_GE(gpu(a, 3).vram, Bytes(2 * kGiB));
  EXPECT_EQ(gpu(a, 3).milli, GpuMilli(500));
  EXPECT_EQ(gpu(a, 0), gpu(b, 0));
  EXPECT_NE(gpu(a, 0), gpu(c, 0));
}

}  // namespace
}  // namespace berth::trace
