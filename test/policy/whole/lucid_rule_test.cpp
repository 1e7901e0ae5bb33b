// Goal: the rule of Lucid sorts, packs and passes over as its page says.
// Method: a few jobs whose company is worked out by hand; the whole of it is compared with Lucid's
// simulator in test/paper/lucid_test.cpp.
#include "policy/whole/lucid_rule.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

constexpr Bytes kRuleGpu{1000};

/// What a pass begins: `2@free`, `0@1` for the job at 0 beside the one at 1.
class LucidPass {
 public:
  explicit LucidPass(std::size_t free, LucidRules rules = {}) : free_(free), rules_(rules) {}

  std::string of(std::vector<LucidJob> waiting, std::vector<LucidRunning> running) {
    std::string begun;
    lucid_pass(waiting, running, rules_,
               [&](std::size_t at, std::optional<std::size_t> host) -> std::optional<Bytes> {
                 if (!host && free_ == 0) return std::nullopt;
                 if (!host) --free_;
                 begun += (begun.empty() ? "" : " ") + std::to_string(at) + "@" +
                          (host ? std::to_string(*host) : "free");
                 return kRuleGpu;
               });
    return begun;
  }

 private:
  std::size_t free_;  ///< Of places, whatever their size.
  LucidRules rules_;
};

LucidJob of_key(std::int64_t key) {
  return {.gpus = 1, .memory = Bytes(400), .label = 1, .key = key};
}
LucidRunning runs(LucidJob job) { return {.job = job, .gpu_memory = kRuleGpu}; }

TEST(LucidRule, LabelsAModelByItsMeanBesideOthers) {
  EXPECT_EQ(lucid_label(Rate(950'000)), 0);
  EXPECT_EQ(lucid_label(Rate(949'999)), 1);
  EXPECT_EQ(lucid_label(Rate(850'000)), 1);
  EXPECT_EQ(lucid_label(Rate(849'999)), 2);
  EXPECT_EQ(lucid_label(std::nullopt), 2);
}

TEST(LucidRule, RanksByTimeOfAllGpus) {
  EXPECT_EQ(lucid_key(seconds(3), 4), 12'000'000);
  EXPECT_EQ(lucid_key(seconds(-3), 4), 4'000'000'000);
  EXPECT_EQ(lucid_key(kForever, 8), lucid_key(kForever, 2)) << "no more than there is";
  EXPECT_GT(lucid_key(kForever, 2), lucid_key(hours(24 * 365), 1024));
}

TEST(LucidRule, JoinsWhereBothHaveRoomAndNeitherIsMuchShorter) {
  const LucidRunning host = runs(of_key(100));
  EXPECT_TRUE(lucid_may_join(of_key(200), host));
  EXPECT_FALSE(lucid_may_join(of_key(201), host));
  const auto with = [](auto change) {
    LucidJob job = of_key(100);
    change(job);
    return job;
  };
  EXPECT_FALSE(lucid_may_join(with([](LucidJob& job) { job.gpus = 2; }), host));
  EXPECT_TRUE(lucid_may_join(with([](LucidJob& job) { job.memory = Bytes(599); }), host));
  EXPECT_FALSE(lucid_may_join(with([](LucidJob& job) { job.memory = Bytes(600); }), host));
  EXPECT_FALSE(lucid_may_join(with([](LucidJob& job) { job.label = 2; }), host));
  LucidRunning packed = host;
  packed.is_packed = true;
  EXPECT_FALSE(lucid_may_join(of_key(100), packed));
}

TEST(LucidRule, TakesTheFirstPartnerElseAFreePlaceElseThePassGoesOn) {
  // Job 1 is first by its key and joins the first that it may. Job 0 asks for two GPUs, which none
  // of those has, and finds no place; job 2 passes it, and joins the first that is left for it.
  LucidJob wide = of_key(20);
  wide.gpus = 2;
  EXPECT_EQ(LucidPass(0).of({wide, of_key(10), of_key(30)},
                            {runs(of_key(4)), runs(of_key(50)), runs(of_key(15))}),
            "1@1 2@2");
  EXPECT_EQ(LucidPass(2).of({of_key(10), of_key(10)}, {}), "0@free 1@0") << "of this pass";
  EXPECT_EQ(LucidPass(2, {.most_gpus = 0}).of({of_key(10), of_key(10)}, {}), "0@free 1@free");
}

TEST(LucidRule, WithoutPackingAJobBlocksThoseBehindIt) {
  const LucidRules calm{.packs = false};
  EXPECT_EQ(LucidPass(1, calm).of({of_key(2), of_key(1), of_key(3)}, {runs(of_key(9))}), "1@free");
  EXPECT_EQ(LucidPass(1).of({of_key(2), of_key(1), of_key(3)}, {runs(of_key(9))}),
            "1@0 0@free 2@2");
}

}  // namespace
}  // namespace berth
