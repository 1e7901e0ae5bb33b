// Goal: every node that holds a job is as likely as any other, and the same run draws the same.
// Method: counts over many seeds; two runs of one seed; a draw before and after a change of the
// books.
#include <gtest/gtest.h>

#include <array>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

using test::Scene;

std::unique_ptr<Placer> make_random() {
  return (*std::ranges::find(placers(), "random", &PlacerEntry::name)).make();
}

Placement draw(Scene& scene, const JobSpec& spec, std::uint64_t seed) {
  scene.state().seed = seed;
  const auto placer = make_random();
  placer->prepare(scene.view(), {});
  Ask ask{.request = spec.request};
  const auto placed = placer->place(ask, JobId(1), scene.view().trial());
  EXPECT_TRUE(placed);
  return *placed;
}

TEST(Random, ChoosesEveryNodeThatHoldsTheJobAsOften) {
  Scene scene(test::uniform(5, 2));
  scene.run(test::whole(1, hours(1)), {2});  // n1 has no room for two
  std::array<int, 5> chosen{};
  constexpr int kDraws = 8000;
  for (int seed = 0; seed < kDraws; ++seed) {
    const Placement placed =
        draw(scene, test::whole(2, hours(1)), static_cast<std::uint64_t>(seed));
    ++chosen[placed.host.value()];
  }
  EXPECT_EQ(chosen[1], 0);
  for (const int n : {0, 2, 3, 4}) {  // 2,000 expected; a standard deviation is 39
    EXPECT_NEAR(chosen[static_cast<std::size_t>(n)], kDraws / 4, 160) << "node " << n;
  }
}

TEST(Random, ChoosesEveryHostForAJobWithoutGpus) {
  Scene scene(test::uniform(4, 1));
  std::array<int, 4> chosen{};
  for (std::uint64_t seed = 0; seed < 4000; ++seed) ++chosen[draw(scene, {}, seed).host.value()];
  for (const int count : chosen) EXPECT_NEAR(count, 1000, 110);
}

TEST(Random, DrawsTheSameForTheSameBooksAndAnewForOthers) {
  Scene scene(test::uniform(64, 1));
  const JobSpec one = test::whole(1, hours(1));
  const Placement first = draw(scene, one, 7);
  EXPECT_EQ(draw(scene, one, 7), first);
  int same = 0;
  std::uint32_t gpu = 0;
  for (int n = 0; n < 16; ++n) {
    const Placement before = draw(scene, one, 7);
    while (gpu == before.gpus.front().value() || scene.view().use().gpu(GpuId(gpu)).tenants > 0) {
      ++gpu;
    }
    scene.run(one, {gpu});
    if (draw(scene, one, 7) == before) ++same;
  }
  EXPECT_LE(same, 2);
}

}  // namespace
}  // namespace berth
