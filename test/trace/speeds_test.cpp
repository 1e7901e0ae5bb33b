// Goal: tables of speeds say what their files say, in every format, and what is wrong is named.
// Method: small files of each format, and the published ones where they are at hand.
#include "trace/speeds.hpp"

#include <gtest/gtest.h>

#include "support/paths.hpp"
#include "trace/gzip.hpp"

namespace berth::trace {
namespace {

Speeds read(std::string_view text) {
  Speeds speeds;
  const auto done = read_speeds(text, "f", "v100", speeds);
  EXPECT_TRUE(done.has_value()) << done.error().message;
  return speeds;
}

std::string refusal(std::string_view text) {
  Speeds speeds;
  const auto done = read_speeds(text, "f", "v100", speeds);
  return done ? "" : done.error().message;
}

TEST(Speeds, BerthsOwn) {
  const Speeds speeds = read(
      "model,gpus,nodes,type,beside,speed,utilisation,start_seconds,restart_seconds\n"
      "bert,8,2,,,0.8,,,\n"
      "bert,8,4,,,0.5,,,\n"
      ",,2,,,0.9,,,\n"
      "bert,,,k80,,0.25,,,\n"
      "bert,,,,vgg,0.6,,,\n"
      "bert,,,,*,0.7,,,\n"
      "bert,,,,,,0.95,5,62\n"
      ",,,,,,,10,\n");
  EXPECT_EQ(speeds.spread("bert", 8, 2), Rate(800'000));
  EXPECT_EQ(speeds.spread("bert", 8, 3), Rate(500'000));  // as on four
  EXPECT_EQ(speeds.spread("bert", 8, 9), Rate(500'000));  // the most that were measured
  EXPECT_EQ(speeds.spread("bert", 4, 2), Rate(900'000));  // any model
  EXPECT_EQ(speeds.on_type("bert", 3, "k80"), Rate(250'000));
  EXPECT_FALSE(speeds.on_type("vgg", 3, "k80").has_value());
  EXPECT_EQ(speeds.beside("bert", 1, "vgg"), Rate(600'000));
  EXPECT_EQ(speeds.beside("bert", 1, "lm"), Rate(700'000));
  EXPECT_FALSE(speeds.beside("vgg", 1, "bert").has_value());
  EXPECT_EQ(speeds.facts("bert").utilisation, Rate(950'000));
  EXPECT_EQ(speeds.facts("bert").start, seconds(5));
  EXPECT_EQ(speeds.facts("bert").restart, seconds(62));
  EXPECT_EQ(speeds.facts("vgg").start, seconds(10));
  EXPECT_FALSE(speeds.facts("vgg").restart.has_value());
}

TEST(Speeds, ChronusAndGavel) {
  const Speeds chronus = read(R"({"alexnet": {"2": {"1": 1.0, "2": 0.745}}, "b": {}})");
  EXPECT_EQ(chronus.spread("alexnet", 2, 2), Rate(745'000));
  const Speeds gavel = read(R"json({"v100": {"('A (batch size 4)', 2)": {"null": 10.0,
      "('B', 2)": [4.0, 1.0], "('C', 2)": [0.0, 0.0], "('D', 2)": [10.5, 3]}},
    "v100_unconsolidated": {"('A (batch size 4)', 2)": {"null": 7.5}},
    "k80": {"('A (batch size 4)', 2)": {"null": 2.5}}})json");
  const std::string a = "A (batch size 4)";
  EXPECT_EQ(gavel.beside(a, 2, "B"), Rate(400'000));
  EXPECT_FALSE(gavel.beside(a, 2, "C").has_value());  // zeros are not measured
  EXPECT_EQ(gavel.beside(a, 2, "D"), kFullSpeed);     // noise
  EXPECT_EQ(gavel.spread(a, 2, 5), Rate(750'000));
  EXPECT_EQ(gavel.on_type(a, 2, "k80"), Rate(250'000));
}

TEST(Speeds, LucidsRowsOfOnePairAreAveraged) {
  const Speeds speeds = read(
      ",model1,dataset1,speed1,model2,speed2\n"
      "0,M,X,0.9,R,1.034\n"
      "1,M,Y,0.7,R,0.6\n");
  EXPECT_EQ(speeds.beside("M", 1, "R"), Rate(800'000));
  EXPECT_EQ(speeds.beside("R", 1, "M"), Rate(800'000));  // of 1 and 0.6
  const Speeds singles = read("model,gpu_util\nBERT,99.5\nBERT,90.5\n");
  EXPECT_EQ(singles.facts("BERT").utilisation, Rate(950'000));
}

TEST(Speeds, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal("{}"), "f: expected Gavel's throughputs or Chronus' model_info");
  EXPECT_EQ(refusal(R"({"a": {"2": {"1": -1}}})"),
            "f: 'a': expected GPUs, then nodes, then a speed above 0");
  EXPECT_EQ(refusal(R"json({"k80": {"('A', 1)": {"null": 1}}})json"),
            "f: no throughputs for GPU type 'v100'");
  EXPECT_EQ(refusal("model,nodes,type,speed\na,2,k80,0.5\n"),
            "f:2: column 'speed': '0.5', expected a speed in a row that has one of nodes, type and "
            "beside");
  EXPECT_EQ(refusal("model,nodes,speed\na,2,0\n"),
            "f:2: column 'speed': '0', expected a speed above 0");
  EXPECT_NE(refusal("nodes,speed\n2,1\n"), "");
}

TEST(Speeds, ThePublishedTablesAreRead) {
  const auto shared = test::shared_dir() / "traces";
  const auto file = [&](const char* name) {
    const std::string path = (shared / name).string();
    return trace::unpacked(test::read_file(path), path).value_or("");
  };
  if (file("lucid-venus/colocate_info.csv").empty()) GTEST_SKIP() << "no published tables here";
  const Speeds gavel = read(file("gavel/simulation_throughputs.json.gz"));
  // 2.5399 beside of 4.7953 alone on a K80 is another type; these are of V100s.
  EXPECT_TRUE(gavel.on_type("ResNet-18 (batch size 16)", 1, "k80").has_value());
  EXPECT_TRUE(gavel.has_pairs() && gavel.has_spreads());
  const Speeds chronus = read(file("philly-2017/chronus/model_info.json"));
  EXPECT_EQ(chronus.spread("alexnet", 2, 2), Rate(745'069));
  EXPECT_EQ(chronus.spread("inception_v3", 2, 2), kFullSpeed);
  EXPECT_TRUE(read(file("lucid-venus/colocate_info.csv")).has_pairs());
  EXPECT_TRUE(read(file("lucid-venus/single_data.csv")).facts("BERT").utilisation > Rate(900'000));
}

}  // namespace
}  // namespace berth::trace
