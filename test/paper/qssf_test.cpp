// `qssf` against Helios (Hu et al., SC 2021), section 4.2 and its artefact: priority is GPUs times
// expected run time; history is of the program and size, then of the user, then of all; the
// artefact's blend is 1/10 history and 9/10 model.
//
// Method: one user's programs run for known times on an engine that answers at once; then the order
// of starts of jobs without estimates must be that of an oracle that knows the times. Ranks are
// compared, never pinned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "policy/order_named.hpp"
#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {

namespace {

using test::Scene;
using test::uniform;
using test::whole;

constexpr UserId kAda(1);
constexpr UserId kBob(2);
constexpr UserId kNew(3);

JobSpec qssf_job(UserId user, std::int64_t gpus, Duration estimate = kForever) {
  JobSpec spec = whole(gpus, estimate);
  spec.user = user;
  return spec;
}

class History : public testing::Test {
 protected:
  /// Lets a job run for so long, alone, and end.
  void ran(const JobSpec& spec, Duration time, std::uint64_t program = 0) {
    const JobId id =
        spec.request.gpu.count == GpuCount(2) ? scene_.run(spec, {0, 1}) : scene_.run(spec, {0});
    if (program != 0) scene_.state().company.identify(id, Fingerprint(program));
    order_->prepare(scene_.view(), {});
    now_ += time;
    scene_.at(now_);
    scene_.end(id, time);
    order_->prepare(scene_.view(), {});
  }

  /// GPU-seconds it is taken to need.
  std::int64_t service(const JobSpec& spec, std::uint64_t program = 0) {
    const JobId id = scene_.wait(spec);
    if (program != 0) scene_.state().company.identify(id, Fingerprint(program));
    const std::int64_t major = order_->rank(scene_.look(id), scene_.view()).rank.major;
    return major / 1'000'000;
  }

  Scene scene_{uniform(1, 4)};
  std::unique_ptr<Order> order_ = test::order_named("qssf");
  Instant now_ = kStart;
};

TEST_F(History, TellsByProgramThenUserThenEverybody) {
  ran(qssf_job(kAda, 1), seconds(100), 7);
  ran(qssf_job(kAda, 1), seconds(300), 8);
  ran(qssf_job(kBob, 2), seconds(800), 9);
  EXPECT_EQ(service(qssf_job(kAda, 1), 7), 100);
  EXPECT_EQ(service(qssf_job(kAda, 2), 7), 2 * 100) << "the program counts more than the size";
  EXPECT_EQ(service(qssf_job(kAda, 1), 6), 200) << "a program of hers that never ran";
  EXPECT_EQ(service(qssf_job(kNew, 2)), 2 * 800) << "others with as many GPUs";
  EXPECT_EQ(service(qssf_job(kNew, 3)), 3 * 400) << "all that ran";
}

TEST_F(History, BlendsAnEstimateAsTheArtefactDoesAModel) {
  ran(qssf_job(kAda, 1), seconds(100));
  EXPECT_EQ(service(qssf_job(kAda, 1, seconds(1000))), 910);
  EXPECT_EQ(service(qssf_job(kAda, 1)), 100);
}

TEST_F(History, PutsTheUnknownFirst) {
  EXPECT_EQ(service(qssf_job(kAda, 1)), 0);
  EXPECT_GT(service(qssf_job(kAda, 1, seconds(1))), 0);
}

TEST_F(History, ExpectsWhatWasKnownAtTheSubmission) {
  ran(qssf_job(kAda, 1), seconds(100));
  const JobId early = scene_.wait(qssf_job(kAda, 1));
  const std::array submitted = {Event{EventKind::Submitted, early}};
  order_->prepare(scene_.view(), submitted);
  ran(qssf_job(kAda, 1), seconds(300));
  EXPECT_EQ(order_->rank(scene_.look(early), scene_.view()).rank.major, 100'000'000);
  EXPECT_EQ(service(qssf_job(kAda, 1)), 200);
}

TEST_F(History, SurvivesASaveInTheMiddleOfARun) {
  ran(qssf_job(kAda, 1), seconds(100));
  const JobId running = scene_.run(qssf_job(kAda, 1), {0});
  order_->prepare(scene_.view(), {});
  auto restored = test::order_named("qssf");
  ASSERT_TRUE(restored->restore(order_->save()));
  order_ = std::move(restored);
  scene_.at(now_ + seconds(300));
  scene_.end(running, seconds(300));
  order_->prepare(scene_.view(), {});
  EXPECT_EQ(service(qssf_job(kAda, 1)), 200);
}

TEST_F(History, RefusesWhatIsNoSnapshot) { EXPECT_FALSE(order_->restore("not a state")); }

}  // namespace
}  // namespace berth
