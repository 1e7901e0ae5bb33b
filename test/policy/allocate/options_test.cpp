// Goal: where a suspended job goes on only on the type of GPU on which it began, each job is
// planned for one type, and jobs alike are spread so that each gets as much. Method: seven jobs on
// three GPUs, of which each is half as fast as the one before; worked by hand.
#include "policy/allocate/options.hpp"

#include <gtest/gtest.h>

#include "policy/scene.hpp"

namespace berth {
namespace {

class OptionsOfBoundJobs : public testing::Test {
 protected:
  OptionsOfBoundJobs() {
    scene_.state().speeds.add_type("net", 0, "half", Rate(500'000));
    scene_.state().speeds.add_type("net", 0, "quarter", Rate(250'000));
    for (int i = 0; i < 7; ++i) jobs_.push_back(scene_.wait(net()));
  }
  static Cluster cluster() {
    Cluster cluster;
    cluster.add_switch();
    for (const char* type : {"full", "half", "quarter"}) {
      cluster.add_node({.name = type, .gpus = 1, .vram = Bytes(24LL << 30), .type = type});
    }
    return cluster;
  }
  static Settings settings() {
    Settings settings;
    settings.suspends_on_type = true;
    return settings;
  }
  static JobSpec net() {
    JobSpec spec = test::whole(1, kForever);
    spec.model = "net";
    return spec;
  }
  Options options() const { return {scene_.view(), jobs_, Speed::Measured}; }
  /// How many of the jobs have each type for their only one.
  std::vector<int> planned() const {
    const Options found = options();
    std::vector<int> jobs(3);
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (found.of(i).size() == 1) ++jobs[found.of(i).front().option.type];
    }
    return jobs;
  }

  test::Scene scene_{cluster(), settings()};
  std::vector<JobId> jobs_;
};

TEST_F(OptionsOfBoundJobs, AreOneEachSuchThatAllGetAsMuch) {
  EXPECT_EQ(planned(), (std::vector{4, 2, 1})) << "a quarter of the fastest GPU to each";
}

TEST_F(OptionsOfBoundJobs, AreThoseOfWhereTheyBegan) {
  scene_.job(jobs_[0]).bound = GpuTypes{1} << 2;
  EXPECT_EQ(options().of(0).front().option.type, 2);
  EXPECT_EQ(planned(), (std::vector{4, 2, 1}));
  EXPECT_EQ(options().even_speed(0), options().even_speed(1)) << "it is owed no less for that";
}

TEST_F(OptionsOfBoundJobs, AreAllOfAJobThatSavesItself) {
  scene_.job(jobs_[0]).spec.conditions.edit().on_preempt.signal = 15;
  EXPECT_EQ(options().of(0).size(), 3U);
  EXPECT_EQ(options().of(1).size(), 1U);
}

TEST_F(OptionsOfBoundJobs, AreAllWhereJobsGoOnAnywhere) {
  scene_.state().settings.suspends_on_type = false;
  EXPECT_EQ(planned(), (std::vector{0, 0, 0}));
  EXPECT_EQ(options().of(0).size(), 3U);
}

}  // namespace
}  // namespace berth
