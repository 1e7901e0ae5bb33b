// Goal: a job that was to have a GPU of one type for itself and began on another is not waited for
// there. Method: the policy is asked and answered by hand, on three GPUs of three types.
#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth {
namespace {

class AlloxOfBoundJobs : public testing::Test {
 protected:
  AlloxOfBoundJobs() {
    scene_.state().speeds.add_type("net", 0, "half", Rate(600'000));
    scene_.state().speeds.add_type("net", 0, "quarter", Rate(300'000));
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
  JobId wait() {
    JobSpec spec = test::whole(1, hours(1));
    spec.model = "net";
    return scene_.wait(spec);
  }
  /// An hour later, when a round is over. Returns: the columns of its question, 0 if it has none.
  std::size_t asks() {
    scene_.at(scene_.view().now() + hours(1));
    const Decisions decisions = policy_->decide(scene_.view(), {});
    number_ = decisions.question ? decisions.question->number() : 0;
    return decisions.question ? decisions.question->columns() : 0;
  }
  /// The last place of the queue of its GPU to each job, of so many that it asks for.
  void answer(std::size_t jobs) {
    Answer answer{.number = number_, .values = {}};
    for (std::size_t column = 0; column < jobs * jobs; ++column) {
      answer.values.push_back(column % jobs == 0 ? Rate::kWhole : 0);
    }
    scene_.answer(answer);
    policy_->decide(scene_.view(), {});
    scene_.answer(std::nullopt);
  }

  test::Scene scene_{cluster(), settings()};
  std::unique_ptr<Policy> policy_ = *make_policy("gavel/allox", "count");
  std::uint64_t number_ = 0;
};

TEST_F(AlloxOfBoundJobs, AsksAgainForOneThatBeganOnAnotherType) {
  const JobId first = wait();
  wait();
  ASSERT_EQ(asks(), 4U) << "two jobs, a type each, two places";
  answer(2);
  wait();
  EXPECT_EQ(asks(), 0U) << "it is planned for the fastest, which is the first's";
  scene_.job(first).bound = GpuTypes{1} << 2;
  EXPECT_EQ(asks(), 4U) << "it, and one for the GPU that it gives back";
}

}  // namespace
}  // namespace berth
