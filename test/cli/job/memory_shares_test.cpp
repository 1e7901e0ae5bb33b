// Goal: a script that takes more of the card than its job asks for is told the part that fits; one
// that fits is not. Method: submissions and lists of GPUs as berthd sends them.
#include "cli/job/memory_shares.hpp"

#include <gmock/gmock.h>

namespace berth::cli {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

std::vector<std::string> told(const Json& body, double part) {
  Submission made{.body = body, .warnings = {}};
  made.shares = {{.where = "v.py:3: ", .written = "gpu_memory_utilization", .part = part}};
  const Json gpus = {{"gpus", {{{"total_bytes", 80 * kGiB}}, {{"total_bytes", 24 * kGiB}}}}};
  return warnings_of_shares(made, gpus);
}

TEST(MemoryShares, AreComparedWithTheSmallestCardThatFits) {
  EXPECT_THAT(told({{"vram_bytes", 10 * kGiB}}, 0.9),
              testing::ElementsAre("v.py:3: gpu_memory_utilization takes 21.6 GiB of a card of 24 "
                                   "GiB, while the job asks for 10 GiB; write 0.41"));
  EXPECT_THAT(told({{"vram_bytes", 40 * kGiB}}, 0.9),
              testing::ElementsAre(testing::HasSubstr("of a card of 80 GiB")));
  for (const Json& body :
       {Json{{"vram_bytes", 22 * kGiB}}, Json::object(), Json{{"vram_bytes", 90 * kGiB}},
        Json{{"vram_bytes", 10 * kGiB}, {"exclusive", true}}}) {
    EXPECT_THAT(told(body, 0.9), testing::IsEmpty()) << body;
  }
  EXPECT_THAT(told({{"vram_bytes", 10 * kGiB}}, 0.41), testing::IsEmpty());
}

}  // namespace
}  // namespace berth::cli
