// Goal: weights as people give them reach the users they name, and slips are found.
// Method: texts, good and bad; a trace of three users.
#include "sim/weights.hpp"

#include <gtest/gtest.h>

namespace berth::sim {
namespace {

TEST(Weights, AreReadFromAList) {
  EXPECT_EQ(parse_weights("alice=2,bob=0.5"), (NamedWeights{{"alice", 2000}, {"bob", 500}}));
  for (const char* bad :
       {"", "3", "alice", "alice=", "alice=0", "alice=-1", "=2", "alice=200000", "a=1,a=2"}) {
    const auto weights = parse_weights(bad);
    if (weights && weights->empty()) continue;  // nothing was said
    ASSERT_FALSE(weights) << bad;
    EXPECT_EQ(weights.error().message, "--weights: '" + std::string(bad) +
                                           "' is not USER=WEIGHT with commas, every user once, "
                                           "weights from 0.001 to 100000");
  }
}

TEST(GpuValuesOfARun, AreReadFromAList) {
  EXPECT_EQ(parse_gpu_values("v100=1,k80=0.3"), (GpuValues{{"v100", 1000}, {"k80", 300}}));
  for (const char* bad : {"2", "v100", "v100=0", "v100=2000", "v100=1,v100=2"}) {
    const auto values = parse_gpu_values(bad);
    ASSERT_FALSE(values) << bad;
    EXPECT_EQ(values.error().message,
              "--gpu-values: '" + std::string(bad) +
                  "' is not speeds, nor TYPE=VALUE with commas, every type once, values from 0.001 "
                  "to 1000");
  }
}

TEST(Weights, AreReadFromAFileWithAHeaderOrWithout) {
  const NamedWeights wanted{{"6214e9", 64'000}, {"7f04ca", 32'000}};
  EXPECT_EQ(read_weights("vc,node num\n6214e9,64\n7f04ca,32\n", "vc.csv"), wanted);
  EXPECT_EQ(read_weights("6214e9,64\n7f04ca,32\n", "vc.csv"), wanted);
  EXPECT_EQ(read_weights("a,1\nb,x\n", "vc.csv").error().message,
            "vc.csv:2: column 'weight': 'x', expected a weight from 0.001 to 100000 such as 2 or "
            "0.5");
  EXPECT_EQ(read_weights("a,-4\n", "vc.csv").error().message,
            "vc.csv:1: column 'weight': '-4', expected a weight from 0.001 to 100000 such as 2 or "
            "0.5");
  EXPECT_EQ(read_weights("a,1\na,2\n", "vc.csv").error().message,
            "vc.csv:2: column 'user': 'a', expected every user once");
}

TEST(Weights, AreOfTheUsersOfATrace) {
  trace::Trace trace;
  for (const auto& [user, number] : {std::pair("a", 1U), {"b", 2U}, {"a", 1U}, {"c", 3U}}) {
    trace::TraceJob job{.name = "j", .submit = kStart, .user = user};
    job.spec.user = UserId(number);
    trace.jobs.push_back(job);
  }
  const Weights weights = weights_of(trace, {{"a", 2000}, {"c", 500}, {"nobody", 1}});
  EXPECT_EQ(weights.by_user, (std::map<UserId, std::int64_t>{{UserId(1), 2000}, {UserId(3), 500}}));
  EXPECT_EQ(weights.strangers, std::vector<std::string>{"nobody"});
}

}  // namespace
}  // namespace berth::sim
