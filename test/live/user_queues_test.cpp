// Goal: one user's jobs are counted, and only theirs. Method: two users and made-up instants.
#include "live/user_queues.hpp"

#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "policy/registry.hpp"

namespace berth::live {
namespace {

TEST(UserQueues, CountAnewAtMostOnceASecond) {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.gpus = 1, .vram = Bytes(std::int64_t{24} << 30)});
  Engine engine(cluster, {}, *make_policy("fifo", "first-fit"));
  UserQueues queues(2);
  const Instant start = kStart + hours(1);
  const auto takes = [&](std::uint32_t user, Instant now) {
    if (queues.may_have_fewer(UserId(user), now)) {
      UserQueues::Count count{.user = UserId(user), .began = now};
      while (queues.count(count, engine.view(), [] { return false; })) {
      }
    }
    return queues.take(UserId(user), now).has_value();
  };
  EXPECT_TRUE(takes(1, start));
  EXPECT_TRUE(takes(1, start));
  EXPECT_FALSE(takes(1, start + Duration(999'999))) << "what was taken may not be there yet";
  EXPECT_TRUE(takes(2, start));
  EXPECT_TRUE(takes(1, start + seconds(1))) << "counted: none was submitted";
  EXPECT_TRUE(takes(1, start + seconds(1)));
  EXPECT_FALSE(takes(1, start + Duration(1'999'999)));
  EXPECT_TRUE(takes(1, start + seconds(2)));
  engine.step(start, std::vector<Input>{Submitted{JobId(1), {.user = UserId(1)}, true},
                                        Submitted{JobId(2), {.user = UserId(1)}, true}});
  EXPECT_TRUE(takes(1, start + seconds(2)));
  EXPECT_FALSE(takes(1, start + seconds(9)));
  EXPECT_TRUE(takes(2, start + seconds(9)));
}

}  // namespace
}  // namespace berth::live
