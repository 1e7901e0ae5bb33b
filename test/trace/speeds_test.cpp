// Goal: tables of speeds say what their files say, in every format, and what is wrong is named.
// Method: small files of each format, and the published ones where they are at hand.
#include <gtest/gtest.h>

#include "support/paths.hpp"
#include "trace/gzip.hpp"
#include "trace/speed_files.hpp"

namespace berth::trace {
namespace {

Speeds speeds_of(std::string_view text) {
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
  const Speeds speeds = speeds_of(
      "model,gpus,nodes,type,beside,speed,utilisation,start_seconds,restart_seconds\n"
      "bert,8,2,,,0.8,,,\n"
      "bert,8,4,,,0.5,,,\n"
      ",,2,,,0.9,,,\n"
      "bert,,,k80,,0.25,,,\n"
      "bert,,,,vgg,0.6,,,\n"
      "bert,,,,*,0.7,,,\n"
      "bert,,,k80,vgg,0.2,,,\n"
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
  EXPECT_EQ(speeds.beside("bert", 1, Speeds::neighbour_on("vgg", "k80")), Rate(200'000));
  EXPECT_EQ(speeds.beside("bert", 1, Speeds::neighbour_on("lm", "k80")), Rate(700'000));
  EXPECT_FALSE(speeds.beside("vgg", 1, "bert").has_value());
  EXPECT_EQ(speeds.facts("bert").utilisation, Rate(950'000));
  EXPECT_EQ(speeds.facts("bert").start, seconds(5));
  EXPECT_EQ(speeds.facts("bert").restart, seconds(62));
  EXPECT_EQ(speeds.facts("vgg").start, seconds(10));
  EXPECT_FALSE(speeds.facts("vgg").restart.has_value());
}

TEST(Speeds, ChronusAndGavel) {
  const Speeds chronus = speeds_of(R"({"alexnet": {"2": {"1": 1.0, "2": 0.745}}, "b": {}})");
  EXPECT_EQ(chronus.spread("alexnet", 2, 2), Rate(745'000));
  const Speeds gavel = speeds_of(R"json({"v100": {"('A (batch size 4)', 2)": {"null": 10.0,
      "('B', 2)": [4.0, 1.0], "('C', 2)": [0.0, 0.0], "('D', 2)": [10.5, 3]}},
    "v100_unconsolidated": {"('A (batch size 4)', 2)": {"null": 7.5}},
    "k80": {"('A (batch size 4)', 2)": {"null": 2.5, "('B', 2)": [0.5, 1.0]}}})json");
  const std::string a = "A (batch size 4)";
  EXPECT_EQ(gavel.beside(a, 2, "B"), Rate(400'000));
  EXPECT_EQ(gavel.beside(a, 2, Speeds::neighbour_on("B", "k80")), Rate(200'000));
  EXPECT_EQ(gavel.beside(a, 2, Speeds::neighbour_on("B", "p100")), Rate(400'000));
  EXPECT_FALSE(gavel.beside(a, 2, "C").has_value());  // zeros are not measured
  EXPECT_EQ(gavel.beside(a, 2, "D"), kFullSpeed);     // noise
  EXPECT_EQ(gavel.spread(a, 2, 5), Rate(750'000));
  EXPECT_EQ(gavel.on_type(a, 2, "k80"), Rate(250'000));
}

TEST(Speeds, AThroughputOfZeroIsNoSpeed) {
  const Speeds gavel =
      speeds_of(R"json({"v100": {"('A', 2)": {"null": 10.0}, "('B', 1)": {"null": 0.0}},
    "k80": {"('A', 2)": {"null": 0.0}, "('B', 1)": {"null": 3.0}}})json");
  EXPECT_FALSE(gavel.runs_on("A", 2, "k80"));
  EXPECT_FALSE(gavel.on_type("A", 2, "k80").has_value());
  EXPECT_TRUE(gavel.runs_on("A", 2, "v100"));
  EXPECT_TRUE(gavel.runs_on("A", 1, "k80")) << "of one GPU the file says nothing";
  EXPECT_FALSE(gavel.runs_on("B", 1, "v100")) << "on the reference too";
  EXPECT_TRUE(gavel.runs_on("B", 1, "k80"));
}

TEST(Speeds, LucidsRowsOfOnePairAreAveraged) {
  const Speeds speeds = speeds_of(
      ",model1,dataset1,speed1,model2,speed2\n"
      "0,M,X,0.9,R,1.034\n"
      "1,M,Y,0.7,R,0.6\n");
  EXPECT_EQ(speeds.beside("M", 1, "R"), Rate(800'000));
  EXPECT_EQ(speeds.beside("R", 1, "M"), Rate(800'000));  // of 1 and 0.6
  const Speeds singles = speeds_of("model,gpu_util\nBERT,99.5\nBERT,90.5\n");
  EXPECT_EQ(singles.facts("BERT").utilisation, Rate(950'000));
}

TEST(Speeds, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal("{}"), "f: expected Gavel's throughputs or Chronus' model_info");
  EXPECT_EQ(refusal(R"({"a": {"2": {"1": -1}}})"),
            "f: 'a': expected GPUs, then nodes, then a speed above 0");
  EXPECT_EQ(refusal(R"json({"k80": {"('A', 1)": {"null": 1}}})json"),
            "f: no throughputs for GPU type 'v100'");
  EXPECT_EQ(refusal("model,nodes,type,speed\na,2,k80,0.5\n"),
            "f:2: column 'speed': '0.5', expected a speed in a row that has nodes, type, beside, "
            "or type and beside");
  EXPECT_EQ(refusal("model,nodes,speed\na,2,0\n"),
            "f:2: column 'speed': '0', expected a speed above 0");
  EXPECT_NE(refusal("nodes,speed\n2,1\n"), "");
}

TEST(Speeds, ThePublishedTablesAreRead) {
  if (const auto absent = test::absent_shared("traces/lucid-venus/colocate_info.csv")) {
    GTEST_SKIP() << *absent;
  }
  const auto file = [](const char* name) {
    const std::string path = (test::shared_dir() / "traces" / name).string();
    return trace::unpacked(test::read_file(path), path).value_or("");
  };
  const Speeds gavel = speeds_of(file("gavel/simulation_throughputs.json.gz"));
  // 2.5399 beside of 4.7953 alone on a K80 is another type; these are of V100s.
  EXPECT_TRUE(gavel.on_type("ResNet-18 (batch size 16)", 1, "k80").has_value());
  EXPECT_TRUE(gavel.has_pairs() && gavel.has_spreads());
  const Speeds chronus = speeds_of(file("philly-2017/chronus/model_info.json"));
  EXPECT_EQ(chronus.spread("alexnet", 2, 2), Rate(745'069));
  EXPECT_EQ(chronus.spread("inception_v3", 2, 2), kFullSpeed);
  EXPECT_TRUE(speeds_of(file("lucid-venus/colocate_info.csv")).has_pairs());
  EXPECT_TRUE(speeds_of(file("lucid-venus/single_data.csv")).facts("BERT").utilisation >
              Rate(900'000));
}

TEST(Scaling, OnALineBetweenWhatWasMeasuredAndNothingBeyond) {
  const Speeds speeds = speeds_of(
      "model,gpus,batch,throughput\n"
      "any,1,,10\nany,2,,18\nany,4,,26\n"
      "big,2,64,5\nbig,2,128,3\nbig,4,128,5\n");
  const Scaling& scaling = speeds.scaling();
  EXPECT_EQ(scaling.speed("any", 0, 1, 2), Rate(1'800'000));
  EXPECT_EQ(scaling.speed("any", 7, 2, 4), Rate(1'444'444));
  EXPECT_EQ(scaling.speed("any", 0, 4, 1), Rate(384'615));
  EXPECT_EQ(scaling.speed("any", 0, 1, 3), Rate(2'200'000));
  EXPECT_FALSE(scaling.speed("any", 0, 1, 8).has_value());
  EXPECT_FALSE(scaling.speed("none", 0, 1, 2).has_value());
  // 96 in all is 48 on each of 2: a step of (1/5 + 1/3) / 2 s; 24 on each of 4, as the 32 measured.
  EXPECT_EQ(scaling.speed("big", 96, 4, 2), Rate(750'000));
  // 192 in all: 96 on each of 2, half as much again as the largest measured; so is 48 on each of 4.
  EXPECT_EQ(scaling.speed("big", 192, 2, 4), Rate(1'666'666));
  EXPECT_FALSE(scaling.speed("big", 0, 2, 4).has_value());  // it hangs on the batch
  EXPECT_FALSE(scaling.speed("big", 3, 2, 4).has_value());  // less than a sample on each
  EXPECT_EQ(scaling.gpus("any"), (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(refusal("model,throughput\na,5\n"),
            "f:2: column 'throughput': '5', expected a throughput in a row that says on how many "
            "GPUs");
}

TEST(Scaling, PublishedThroughputsAreReadAsTheyStand) {
  const auto shared = test::shared_dir() / "traces";
  if (const auto absent =
          test::absent_shared("traces/elasticflow-itp/throughputs_A100/vgg16.csv")) {
    GTEST_SKIP() << *absent;
  }
  Speeds speeds;
  for (const char* const name :
       {"elasticflow-itp/throughputs_A100/vgg16.csv", "elasticflow-itp/throughputs_T4/bert.csv",
        "sia-pollux/profiles/cifar10/placements.csv"}) {
    const std::string path = (shared / name).string();
    const auto done = read_speeds(test::read_file(path), path, "v100", speeds);
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  const Scaling& scaling = speeds.scaling();
  const auto speed = [&](const char* model, std::int64_t batch, std::int64_t asked,
                         std::int64_t given) {
    return static_cast<double>(scaling.speed(model, batch, asked, given)->ppm()) / 1e6;
  };
  // ElasticFlow's rows: vgg16 of batch 256, 1.313656 steps a second on 1 GPU and 20.655522 on 64.
  EXPECT_NEAR(speed("vgg16", 256, 1, 64), 20.655522724924108 / 1.313656050830868, 2e-5);
  EXPECT_NEAR(speed("vgg16", 64, 8, 2), 9.03564356887826 / 19.3298561900258, 2e-6);
  EXPECT_NEAR(speed("bert", 384, 4, 16), 0.3595788817208245 / 0.14271706368521086, 2e-4);
  // Sia's profiles, 128 samples: 64 on each of 2 GPUs of a node take 0.065473 s, and all on one
  // GPU 37/38 of the way from 0.075913 s for 91 to 0.103851 s for 129.
  EXPECT_NEAR(speed("cifar10", 128, 2, 1), 0.065473 / (0.075913 + (0.103851 - 0.075913) * 37 / 38),
              2e-5);
}

TEST(Speeds, MurisTracesSayWhatStagesTake) {
  const std::string head =
      "job_id,num_gpu,model_name,iteration_time,resource_time_0,resource_time_1,resource_time_2\n";
  const Speeds speeds = speeds_of(head + "0,4,net,200,100,0.5,20\n1,2,net,100,1,2,3\n");
  EXPECT_EQ(speeds.iteration("net", 4),
            (Iteration{.alone = Duration(203'000),
                       .stages = {Duration(100'000), Duration(500), Duration(20'000)}}))
      << "1.5 % more than is stated";
  EXPECT_EQ(speeds.iteration("net", 2)->alone, Duration(101'500));
  EXPECT_EQ(speeds.iteration("net", 1), std::nullopt);
  Speeds into;
  EXPECT_FALSE(read_speeds(head + "0,4,net,3600001,1,1,1\n", "muri.csv", "v100", into));
}

TEST(Speeds, MisosStepsAreSpeedsOfMigInstances) {
  const Speeds speeds = speeds_of(
      "model,batch_size,mig_profile,epochs,steps,mean_step_s\n"
      "bert,2,1g.5gb,1,9,0.4\nbert,2,7g.40gb,1,9,0.1\n"
      "bert,4,1g.5gb,1,9,0.4\nbert,4,7g.40gb,1,9,0.2\n");
  EXPECT_EQ(speeds.on_type("bert_train2", 1, "1g.5gb"), Rate(250'000));
  EXPECT_EQ(speeds.on_type("bert_train4", 1, "7g.40gb"), kFullSpeed);
  EXPECT_EQ(speeds.on_type("bert", 1, "1g.5gb"), Rate(375'000));
  if (const auto absent = test::absent_shared("traces/miso-mig/mig_step_time.csv")) {
    GTEST_SKIP() << *absent;
  }
  const auto path = test::shared_dir() / "traces/miso-mig/mig_step_time.csv";
  const Speeds published = speeds_of(test::read_file(path));
  // Of resnet with 128 samples: 29.6 ms on the whole GPU, 64.8 on the smallest slice.
  EXPECT_NEAR(static_cast<double>(published.on_type("resnet_train128", 1, "1g.5gb")->ppm()),
              29.6 / 64.8 * 1e6, 2e3);
}

}  // namespace
}  // namespace berth::trace
