// Goal: a job displaces others only if host memory is left to suspend it too.
// Method: suspended jobs of a crafted scene with so much room.
#include "policy/kit/host_room.hpp"

#include <gtest/gtest.h>

#include "policy/scene.hpp"

namespace berth {
namespace {

using test::uniform;
using test::whole;
using Then = HostRoom::Then;

class HostRoomTest : public testing::Test {
 protected:
  HostRoomTest() { scene_.state().settings.suspend_room = gibibytes(100); }

  static Bytes gibibytes(std::int64_t count) { return Bytes(count << 30); }
  static JobSpec sharing(std::int64_t gpus, std::int64_t gib) {
    JobSpec spec = whole(gpus, kForever);
    spec.request.gpu.vram = gibibytes(gib);
    return spec;
  }
  JobId suspended(std::int64_t gpus, std::int64_t gib) {
    const JobId id = scene_.wait(sharing(gpus, gib));
    scene_.job(id).state = JobState::Suspended;
    scene_.job(id).in_host = gibibytes(gib) * gpus;
    return id;
  }
  bool admits(JobId newcomer, std::vector<JobId> victims = {}, Then then = Then::GivesWay) {
    HostRoom room;
    room.follow(scene_.view(), {}, true);
    return room.admits(scene_.look(newcomer), then, scene_.view(), {}, victims);
  }

  test::Scene scene_{uniform(1, 8)};
};

TEST_F(HostRoomTest, HoldsSuspendedJobsVictimsAndTheNewcomer) {
  suspended(2, 20);
  const JobId victim = scene_.run(sharing(1, 30), {0});
  const Bytes taken = gibibytes(40) + scene_.job(victim).grant.shares.front().charge;
  EXPECT_GE(taken, gibibytes(70));
  const JobId fits = scene_.wait(sharing(1, 29));
  const JobId too_large = scene_.wait(sharing(1, 31));
  EXPECT_TRUE(admits(fits, {victim}));
  EXPECT_FALSE(admits(too_large, {victim}));
  EXPECT_TRUE(admits(too_large, {victim}, Then::Stays)) << "only the victim is suspended";
  EXPECT_TRUE(admits(too_large)) << "nobody is";
  EXPECT_FALSE(admits(scene_.wait(sharing(8, 8)))) << "all its GPUs count";
}

TEST_F(HostRoomTest, AVictimHoldsWhatWasMeasuredIfThatIsLess) {
  const JobId victim = scene_.run(whole(1, kForever), {0});
  const JobId newcomer = scene_.wait(sharing(1, 80));
  const Bytes charge = scene_.job(victim).grant.shares.front().charge;
  scene_.state().settings.suspend_room = gibibytes(80) + charge;
  EXPECT_TRUE(admits(newcomer, {victim}));
  scene_.state().settings.suspend_room = gibibytes(85);
  EXPECT_FALSE(admits(newcomer, {victim}));
  GpuUse use = scene_.view().use().gpu(GpuId(0));
  use.used = gibibytes(5);
  scene_.state().ledger.set_gpu(scene_.state().cluster, GpuId(0), use);
  EXPECT_TRUE(admits(newcomer, {victim}));
}

TEST_F(HostRoomTest, WhoGoesOnGivesBackWhatItHolds) {
  const JobId large = suspended(1, 60);
  EXPECT_TRUE(admits(large));
  suspended(1, 41);
  EXPECT_FALSE(admits(large));
}

TEST_F(HostRoomTest, WhoIsNotSuspendedNeedsNone) {
  JobSpec spec = sharing(1, 200);
  EXPECT_FALSE(admits(scene_.wait(spec)));
  spec.suspending = Suspending::No;
  EXPECT_TRUE(admits(scene_.wait(spec)));
  spec.suspending = Suspending::Unsaid;
  spec.conditions.edit().on_preempt.signal = 15;
  EXPECT_TRUE(admits(scene_.wait(spec)));
}

TEST_F(HostRoomTest, IsThatOfAnAverageNode) {
  test::Scene four{uniform(4, 8)};
  four.state().settings.suspend_room = gibibytes(100);
  HostRoom room;
  room.follow(four.view(), {}, true);
  EXPECT_TRUE(room.has_room_for(four.look(four.wait(sharing(1, 25))), four.view()));
  EXPECT_FALSE(room.has_room_for(four.look(four.wait(sharing(1, 26))), four.view()));
}

TEST_F(HostRoomTest, FollowsWhatHappens) {
  HostRoom room;
  room.follow(scene_.view(), {}, true);
  const JobId newcomer = scene_.wait(sharing(1, 60));
  const JobId other = suspended(1, 60);
  const auto has_room = [&] { return room.has_room_for(scene_.look(newcomer), scene_.view()); };
  const std::vector<Event> events{{.kind = EventKind::Requeued, .job = other}};
  EXPECT_TRUE(has_room());
  room.follow(scene_.view(), events, false);
  EXPECT_FALSE(has_room());
  scene_.job(other).state = JobState::Running;
  room.follow(scene_.view(), events, false);
  EXPECT_TRUE(has_room());
  scene_.job(other).state = JobState::Held;
  scene_.job(other).after_stop = JobState::Suspended;
  room.follow(scene_.view(), events, false);
  EXPECT_FALSE(has_room()) << "its user suspended it";
  scene_.state().settings.suspend_room.reset();
  room.follow(scene_.view(), {}, false);
  EXPECT_TRUE(has_room()) << "no bound";
  scene_.state().settings.suspend_room = gibibytes(100);
  room.follow(scene_.view(), {}, false);
  EXPECT_FALSE(has_room());
}

}  // namespace
}  // namespace berth
