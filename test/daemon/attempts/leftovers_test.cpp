// Goal: what a helper is told and what it answers arrives as it was meant, whole or torn. Method:
// both written and read back here; the helper itself is at work in restart_test and users_test.
#include "daemon/attempts/leftovers.hpp"

#include <gtest/gtest.h>

namespace berth::daemon {
namespace {

Leftover left_of(std::uint64_t job, const std::string& cgroup) {
  return {.record = {.job = JobId(job),
                     .attempt = Attempt(2),
                     .user = 1000,
                     .shim = std::nullopt,
                     .go = shim::Process{77, 123456},
                     .exit = std::nullopt},
          .cgroup = cgroup};
}

TEST(LeftoversTask, ArrivesAsItWas) {
  Search search{.mark = "BERTH_REPORT=/run/a b.report",
                .left = {left_of(7, ""), left_of(8, "/a b/c")}};
  search.left[0].record.go.reset();
  const auto read = decode_search(encode(search));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->mark, search.mark);
  ASSERT_EQ(read->left.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->left[i].record, search.left[i].record);
    EXPECT_EQ(read->left[i].cgroup, search.left[i].cgroup);
  }
}

TEST(LeftoversTask, ThatIsNoneIsRefused) {
  const auto read = decode_search("MARK=1\nnonsense\n");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "leftovers: 'nonsense' names no attempt");
}

TEST(LeftoversReport, CountsUpToWhereItWasTorn) {
  const Report torn = decode_report("at work\nended 7 2 3 0 0\nended 8 2 0 1 4\nended 9 1 1");
  ASSERT_EQ(torn.ended.size(), 2U);
  EXPECT_EQ(torn.ended.at({JobId(7), Attempt(2)}), (Ended{.processes = 3}));
  EXPECT_EQ(torn.ended.at({JobId(8), Attempt(2)}), (Ended{.by_cgroup = true, .hanging = 4}));
  EXPECT_FALSE(torn.saw_all);
}

TEST(LeftoversReport, TheLatestOfAnAttemptCounts) {
  const Report whole = decode_report("ended 7 2 3 0 0\nended 7 2 5 0 0\nsaw all\n");
  EXPECT_EQ(whole.ended.at({JobId(7), Attempt(2)}).processes, 5);
  EXPECT_TRUE(whole.saw_all);
}

}  // namespace
}  // namespace berth::daemon
