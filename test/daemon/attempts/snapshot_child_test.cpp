// Goal: the copy of a state is the state when the copy began, whatever the engine does meanwhile;
// one that failed says so. Method: the real child, with an engine that goes on.
#include "daemon/attempts/snapshot_child.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "policy/registry.hpp"

namespace berth::daemon {
namespace {

using Progress = live::StateCopy::Progress;

Engine engine_with_a_job() {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.gpus = 1, .vram = Bytes(std::int64_t{24} << 30)});
  Engine engine(cluster, {}, *make_policy("fifo", "first-fit"));
  engine.step(kStart, std::vector<Input>{Submitted{JobId(1), {.user = UserId(1)}, true}});
  return engine;
}

Progress wait_for(live::StateCopy& copy) {
  auto progress = copy.look();
  while (progress == Progress::Busy) progress = copy.look();
  return progress;
}

TEST(SnapshotChildTest, CopiesTheStateAsItWas) {
  Engine engine = engine_with_a_job();
  const std::string then = engine.save();
  const auto copy = SnapshotChild::begin(engine);
  ASSERT_TRUE(copy) << copy.error().message;
  engine.step(kStart, std::vector<Input>{CancelAsked{JobId(1)}});
  ASSERT_NE(engine.save(), then);
  ASSERT_EQ(wait_for(**copy), Progress::Done);
  ASSERT_EQ((*copy)->size(), std::ssize(then));
  std::string read;
  while (std::ssize(read) < std::ssize(then)) {
    const auto part = (*copy)->read(std::ssize(read), 10);
    ASSERT_TRUE(part) << part.error().message;
    read += *part;
  }
  EXPECT_EQ(read, then);
}

TEST(SnapshotChildTest, SaysThatItFailed) {
  const Engine engine = engine_with_a_job();
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 8, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto copy = SnapshotChild::begin(engine);
  ASSERT_TRUE(copy) << copy.error().message;
  const auto progress = wait_for(**copy);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(progress, Progress::Failed);
}

}  // namespace
}  // namespace berth::daemon
