// Goal: what berth reads from Slurm is what Slurm says, and what it asks is what was granted.
// Method: texts as Slurm 22.05 prints them, and texts that are none.
#include "slurm/texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::slurm {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::Pair;

TEST(Shards, AreReadAsSlurmPrintsThem) {
  EXPECT_THAT(parse_shards("gpu:g0:1,shard:g0:80,gpu:g1:1,shard:g1:80").per,
              ElementsAre(Pair(0, 80), Pair(1, 80)));
  EXPECT_THAT(parse_shards("shard:g5:20(IDX:5),shard:g7:30(IDX:7)").per,
              ElementsAre(Pair(5, 20), Pair(7, 30)));
  EXPECT_THAT(parse_shards("gres:shard:a100_3:7").per, ElementsAre(Pair(3, 7)));
  EXPECT_EQ(parse_shards("gres:shard:a100_3:7").stem, "a100_");
  EXPECT_THAT(parse_shards("gpu:g0:2(IDX:0,1),shard:g1:3(IDX:1)").per, ElementsAre(Pair(1, 3)));
}

TEST(Shards, WithoutAnIndexAreNone) {
  for (const char* text : {"", "shard:80", "gpu:a100:8", "shard:big:80", "shard:g0:", "shard:g0:x",
                           "shard:g0:-1", "((((", "shard:g99999999999:1"}) {
    EXPECT_TRUE(parse_shards(text).per.empty()) << text;
  }
}

TEST(Shards, AreAskedForByType) {
  EXPECT_EQ(shard_request({.stem = "g", .per = {{0, 40}, {1, 40}}}),
            "gres:shard:g0:40,gres:shard:g1:40");
}

TEST(Tasks, AreReadAsSlurmTellsThem) {
  EXPECT_THAT(*parse_tasks("7"), ElementsAre(7));
  EXPECT_THAT(*parse_tasks("0-2,7,9-9%4"), ElementsAre(0, 1, 2, 7, 9));
  EXPECT_THAT(*parse_tasks("1-8:3,4294967294-4294967295"),
              ElementsAre(1, 4, 7, 4294967294U, 4294967295U));
  EXPECT_EQ(parse_tasks("0-9999")->size(), 10'000U);
  EXPECT_EQ(parse_tasks("1-1000000")->size(), 1'000'000U);
}

TEST(Tasks, ThatAreNoneAreRefused) {
  for (const char* text : {"", "x", "1-", "-3", "5-2", "1,,2", "1-9:0", "1-9:x", "1...", "%4",
                           "1-1000001", "0-9,0-999999", "99999999999"}) {
    const auto tasks = parse_tasks(text);
    ASSERT_FALSE(tasks) << text;
    EXPECT_EQ(tasks.error().code, ErrorCode::BadData);
  }
}

TEST(Script, RunsTheWordsAsTheyAre) {
  EXPECT_EQ(script_for({"echo", "it's", "$HOME"}), "#!/bin/sh\nexec 'echo' 'it'\\''s' '$HOME'\n");
}

}  // namespace
}  // namespace berth::slurm
