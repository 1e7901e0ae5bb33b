// Goal: what a policy is told of speeds is the table's figure for where a job might be, then what
// was learned of its neighbours, then a rule.
//
// Method: a view over a small table, looked up place by place; figures worked out by hand.
#include "core/knowledge/speeds.hpp"

#include <gtest/gtest.h>

#include "core/base/codec.hpp"
#include "core/view.hpp"

namespace berth {
namespace {

class Speed : public testing::Test {
 protected:
  static Cluster two_types() {
    Cluster cluster;
    cluster.add_switch();
    for (const char* type : {"v100", "v100", "k80"}) {
      cluster.add_node({.name = type, .gpus = 2, .vram = Bytes(1 << 30), .type = type});
    }
    return cluster;
  }
  JobId add(const std::string& model) {
    const JobId id(state_.jobs.size() + 1);
    Job& job = state_.jobs.insert(id, Job{.id = id});
    job.spec.request.gpu.count = GpuCount(2);
    job.spec.model = model;
    return id;
  }
  Rate speed(JobId id, const Where& where) { return view().speed(view().job(id), where); }
  ClusterView view() const { return ClusterView(state_, kStart); }

  State state_{two_types(), {}};
};

TEST_F(Speed, IsFullWhereNothingIsKnown) {
  const JobId id = add("vgg16");
  EXPECT_EQ(speed(id, {.gpus = 2}), kFullSpeed);
  EXPECT_EQ(speed(id, {.gpus = 1}), Rate(500'000)) << "fewer GPUs are as much slower";
  EXPECT_EQ(speed(id, {.gpus = 4, .nodes = 2}), kFullSpeed) << "more are of no use";
  EXPECT_EQ(speed(id, {.gpus = 2, .nodes = 1, .type = 1}), kFullSpeed);
}

TEST(Speeds, SayWhatAnIterationTakes) {
  Speeds speeds;
  EXPECT_EQ(speeds.iteration("net", 1), std::nullopt);
  const Iteration one{.alone = seconds(9), .stages = {seconds(1), seconds(2), seconds(3)}};
  const Iteration any{.alone = seconds(5), .stages = {}};
  speeds.set_iteration("net", 1, one);
  EXPECT_EQ(speeds.iteration("net", 2), std::nullopt);
  speeds.set_iteration("net", 0, any);
  EXPECT_EQ(speeds.iteration("net", 1), one);
  EXPECT_EQ(speeds.iteration("net", 2), any) << "on any number of GPUs";
  EXPECT_TRUE(speeds.is_sane());
  ByteWriter out;
  codec::put(out, speeds);
  const std::string bytes = out.take();
  ByteReader in(bytes);
  Speeds read;
  codec::get(in, read);
  EXPECT_EQ(read, speeds);
  speeds.set_iteration("net", 1, {.alone = Iteration::kMost + seconds(1), .stages = {}});
  EXPECT_FALSE(speeds.is_sane());
}

TEST(Speeds, AreWhatTypesAreWorth) {
  Speeds speeds;
  EXPECT_TRUE(speeds.type_values().empty());
  speeds.add_type("vgg16", 1, "k80", Rate(200'000));
  speeds.add_type("lstm", 1, "k80", Rate(400'000));
  speeds.add_type("lstm", 1, "a100", Rate(1'500'000));
  EXPECT_EQ(speeds.type_values(),
            (std::map<std::string, std::int64_t>{{"a100", 1000}, {"k80", 200}}));
}

TEST_F(Speed, IsTheTablesFigure) {
  for (const auto& [count, step] : {std::pair(1, 100), {2, 60}, {4, 40}}) {
    state_.speeds.scaling().add("vgg16", count, 0, step);
  }
  state_.speeds.add_type("vgg16", 0, "k80", Rate(500'000));
  state_.speeds.add_spread("vgg16", 2, 2, Rate(700'000));
  const JobId id = add("vgg16");
  EXPECT_EQ(speed(id, {.gpus = 4, .nodes = 2}), Rate(1'500'000));
  EXPECT_EQ(speed(id, {.gpus = 1, .type = 1}), Rate(300'000));
  EXPECT_EQ(speed(id, {.gpus = 2, .nodes = 2}), Rate(700'000));
  state_.speeds.set_unmeasured_spread(Rate(800'000));
  const JobId other = add("other");
  EXPECT_EQ(speed(other, {.gpus = 2, .nodes = 2}), Rate(800'000));
  EXPECT_EQ(speed(other, {.gpus = 4, .nodes = 2}), kFullSpeed) << "as few nodes as hold them";
}

TEST_F(Speed, BesideOthersIsThePairsFigureElseWhatWasLearned) {
  state_.speeds.add_pair("vgg16", 0, "lstm", Rate(600'000));
  const JobId id = add("vgg16");
  const JobId lstm = add("lstm");
  const JobId unknown = add("");
  EXPECT_EQ(speed(id, {.gpus = 2, .beside = {id, lstm}}), Rate(600'000));
  state_.speeds.add_pair("vgg16", 0, Speeds::neighbour_on("lstm", "k80"), Rate(250'000));
  EXPECT_EQ(speed(id, {.gpus = 2, .type = 1, .beside = {lstm}}), Rate(250'000));
  EXPECT_EQ(speed(id, {.gpus = 2, .beside = {lstm}}), Rate(600'000)) << "on other types";
  EXPECT_EQ(speed(id, {.gpus = 2, .beside = {unknown}}), kFullSpeed);
  state_.company.identify(id, Fingerprint(1));
  state_.company.identify(unknown, Fingerprint(2));
  for (std::uint64_t run = 0; run < 4; ++run) {  // alone 100 s, beside it 200 s
    const JobId alone(100 + run);
    const JobId together(200 + run);
    state_.company.identify(alone, Fingerprint(1));
    state_.company.learn(alone, seconds(100));
    state_.company.identify(together, Fingerprint(1));
    state_.company.pass(together, unknown, Instant(), Instant(seconds(200)));
    state_.company.learn(together, seconds(200));
    state_.company.part(together);
  }
  EXPECT_EQ(speed(id, {.gpus = 2, .beside = {unknown}}), Rate(500'000));
  EXPECT_EQ(view().speed_beside(view().job(id), unknown, 0), Rate(500'000));
  EXPECT_EQ(view().mean_beside(view().job(id)), Rate(425'000)) << "the table's, where it has any";
  const JobId other = add("other");
  EXPECT_EQ(view().mean_beside(view().job(other)), std::nullopt);
  state_.company.identify(other, Fingerprint(1));
  EXPECT_EQ(view().mean_beside(view().job(other)), Rate(500'000));
}

TEST_F(Speed, OfAPlacementIsThatOfItsSlowestGpu) {
  state_.speeds.add_type("", 0, "k80", Rate(250'000));
  state_.speeds.add_pair("vgg16", 0, "lstm", Rate(600'000));
  const JobId id = add("vgg16");
  state_.tenants[0] = {add("lstm")};
  const auto at = [&](std::vector<GpuId> gpus) {
    return view().speed(view().job(id), Placement{std::move(gpus), NodeId(0)});
  };
  EXPECT_EQ(at({GpuId(2), GpuId(3)}), kFullSpeed);
  EXPECT_EQ(at({GpuId(0), GpuId(1)}), Rate(600'000));
  EXPECT_EQ(at({GpuId(2), GpuId(4)}), Rate(250'000));
}

TEST(Speeds, AreWrittenAndReadWhole) {
  Speeds speeds;
  speeds.add_spread("a", 2, 3, Rate(500'000));
  speeds.add_type("a", 2, "k80", Rate(400'000));
  speeds.rule_out("a", 2, "t4");
  speeds.add_pair("a", 0, "b", Rate(300'000));
  speeds.add_utilisation("a", Rate(200'000));
  speeds.set_start("a", seconds(3));
  speeds.scaling().add("a", 4, 0, 17);
  speeds.set_unmeasured_spread(Rate(900'000));
  ByteWriter out;
  codec::put(out, speeds);
  ByteReader in(out.bytes());
  Speeds read;
  codec::get(in, read);
  EXPECT_TRUE(in.at_end() && !in.failed());
  EXPECT_EQ(read, speeds);
  EXPECT_TRUE(read.is_sane());
  const Speeds halved = speeds.changed([](Rate rate) { return rate * Rate(500'000); });
  EXPECT_EQ(halved.on_type("a", 2, "k80"), Rate(200'000));
  EXPECT_EQ(halved.scaling().speed("a", 0, 4, 4), kFullSpeed);
}

TEST(Speeds, SayHowFastAModelIsBesideOthersOnAverage) {
  Speeds speeds;
  EXPECT_EQ(speeds.mean_beside("x"), std::nullopt);
  speeds.add_pair("x", 0, "y", Rate(900'000));
  speeds.add_pair("x", 0, "y", Rate(700'000));
  speeds.add_pair("x", 2, "z", Rate(600'000));
  speeds.add_pair("xx", 0, "y", Rate(100'000));
  EXPECT_EQ(speeds.mean_beside("x"), Rate(700'000)) << "0.8 and 0.6";
  EXPECT_EQ(speeds.mean_beside("y"), std::nullopt) << "what others feel of it is theirs";
}

}  // namespace
}  // namespace berth
