// Goal: under the gate `mps` every start says that it is to share by MPS, whatever backfill made
// it; without it none does.
#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "policy/scene.hpp"

namespace berth::test {
namespace {

/// How the jobs that a fresh policy starts on an empty node are to share.
std::vector<ShareMode> shares_under(std::string_view policy) {
  Scene scene{uniform(1, 2)};
  for (int i = 0; i < 2; ++i) scene.wait(whole(1, minutes(5)));
  const auto made = *make_policy(policy, "first-fit");
  std::vector<ShareMode> shares;
  for (const Decision& decision : made->decide(scene.view(), {}).list) {
    if (const auto* const start = std::get_if<Start>(&decision)) shares.push_back(start->share);
  }
  return shares;
}

TEST(MpsGate, EveryStartSaysSo) {
  const std::vector mps(2, ShareMode::Mps);
  for (const char* const policy :
       {"fifo+mps", "sjf+easy+mps", "las+mps", "fifo+conservative+mps", "headroom+mps", "carma"}) {
    EXPECT_EQ(shares_under(policy), mps) << policy;
  }
  EXPECT_EQ(shares_under("fifo"), std::vector(2, ShareMode::TimeSlice));
}

}  // namespace
}  // namespace berth::test
