// Goal: a job's energy is what its GPUs took while it held a place there, in equal parts with those
// beside it; what cannot be known is not told; a daemon goes on where the one before was.
// Method: jobs put on GPUs by hand, readings given.
#include "live/energy.hpp"

#include <gtest/gtest.h>

#include "policy/scene.hpp"

namespace berth::live {
namespace {

class Energy : public testing::Test {
 protected:
  void at(std::int64_t second) {
    now_ = kStart + seconds(second);
    scene_.at(now_);
    meter_.settle(scene_.view(), now_);
  }
  void read(std::uint32_t gpu, std::optional<std::int64_t> millijoules) {
    meter_.on_reading(GpuId(gpu), now_, millijoules);
  }
  JobId run(std::initializer_list<std::uint32_t> gpus) {
    JobSpec spec;
    spec.request.gpu = {.count = GpuCount(static_cast<std::int64_t>(gpus.size())),
                        .vram = Bytes(1 << 20)};
    const JobId id = scene_.run(spec, gpus);
    meter_.settle(scene_.view(), now_);
    return id;
  }

  test::Scene scene_{test::uniform(1, 2)};
  EnergyMeter meter_{2};
  Instant now_ = kStart;
};

TEST_F(Energy, IsWhatTheGpuTookWhileTheJobWasThere) {
  at(0);
  read(0, 1000);
  at(10);
  const JobId job = run({0});
  read(0, 3000);
  at(20);
  read(0, 9000);
  EXPECT_EQ(meter_.of(job), 6000) << "what it took idle is nobody's";
  at(30);
  scene_.end(job, seconds(20));
  EXPECT_EQ(meter_.take(job), 6000);
  meter_.settle(scene_.view(), now_);
  read(0, 99000);
  EXPECT_EQ(meter_.of(job), std::nullopt);
}

TEST_F(Energy, IsDividedByTimeBetweenTwoReadings) {
  at(0);
  read(0, 0);
  const JobId one = run({0});
  at(10);
  const JobId two = run({0});  // no reading there: the power is even until the next
  at(20);
  read(0, 20000);
  EXPECT_EQ(meter_.of(one), 15000);
  EXPECT_EQ(meter_.of(two), 5000);
}

TEST_F(Energy, OfAGangIsThatOfAllItsGpusOrUnknown) {
  at(0);
  read(0, 0);
  const JobId job = run({0, 1});
  at(10);
  read(0, 500);
  read(1, std::nullopt);
  EXPECT_EQ(meter_.of(job), std::nullopt);
  read(1, 7000);
  at(20);
  read(0, 1000);
  read(1, 7400);
  EXPECT_EQ(meter_.of(job), 1400) << "of the second what is known, from its first reading on";
}

TEST_F(Energy, ACounterThatWentBackIsNotGuessed) {
  at(0);
  read(0, 5000);
  const JobId job = run({0});
  at(10);
  read(0, 10);
  EXPECT_EQ(meter_.of(job), std::nullopt);
  EXPECT_EQ(meter_.take(job), std::nullopt);
}

TEST_F(Energy, GoesOnInTheNextDaemon) {
  const std::vector<std::string> names = {"GPU-a", "GPU-b"};
  at(0);
  read(0, 0);
  const JobId job = run({0});
  at(10);
  read(0, 1000);
  const std::string kept = meter_.save(names);
  at(100);
  EnergyMeter next(2);
  next.restore(kept, names, scene_.view(), now_);
  EXPECT_EQ(next.of(job), 1000);
  next.on_reading(GpuId(0), now_, 4000);
  EXPECT_EQ(next.of(job), 4000) << "what it took while no daemon ran is its own";

  EnergyMeter elsewhere(2);
  const std::vector<std::string> others = {"GPU-c", "GPU-b"};
  elsewhere.restore(kept, others, scene_.view(), now_);
  EXPECT_EQ(elsewhere.of(job), std::nullopt) << "another card";
  EnergyMeter plain(2);
  for (const char* text : {"gpu", "gpu GPU-a x", "job 1", "job 1.0 -5 1", "job x.y 1 1",
                           "gpu GPU-a 5 9223372036854775807", "\n\n"}) {
    plain.restore(text, names, scene_.view(), now_);
  }
  EXPECT_EQ(plain.of(job), std::nullopt);
}

}  // namespace
}  // namespace berth::live
