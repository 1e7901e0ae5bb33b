// A job that ran when a repacking policy (tiresias/...) took over, and came back to wait, was never
// asked whether the new placement could place it: it neither started nor was rejected.
#include <gtest/gtest.h>

#include "engine/rig.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

/// Two GPUs under two switches: `count` does not mind, `yarn` wants one.
TEST(Issue005, WhatCannotBePlacedAnyMoreIsRejected) {
  Cluster cluster;
  for (const char* const name : {"a", "b"}) {
    cluster.add_switch();
    cluster.add_node({.name = name, .gpus = 1, .vram = Bytes(1) * (std::int64_t{24} << 30)});
  }
  Engine engine(cluster, {}, *make_policy("fifo", "count"));
  engine.step(kStart, std::vector<Input>{Submitted{JobId(1), whole(2)}});
  ASSERT_EQ(engine.view().running().size(), 1U);
  engine.set_policy(*make_policy("tiresias/sjf", "yarn"));
  const Effects& effects =
      engine.step(kStart + seconds(1), std::vector<Input>{StartFailed{JobId(1), Attempt(1)}});
  ASSERT_NE(only<Finished>(effects), nullptr);
  EXPECT_EQ(only<Finished>(effects)->outcome, Outcome::Rejected);
}

}  // namespace
}  // namespace berth::test
