// Goal: two long jobs on one GPU, which only one of them has at a time, end under every policy that
// berthd accepts, and none of their steps is made twice. Method: a real berthd for each policy,
// with hours as seconds and the shortest turns where a policy has any, so that it does preempt.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <memory>
#include <span>
#include <sstream>

#include "daemon/suspend_rig.hpp"
#include "policy/registry.hpp"

namespace berth {
namespace {

using test::eventually;
using test::kGiB;
using test::Rig;

/// And than a busy machine takes to submit another job.
constexpr int kLongerThanATurn = 400 * test::kSlowness;
constexpr int kSteps = 30;  ///< Where none gives way to the other.

/// Policies under which the first job gives way to the second, and what shortens their turns.
const std::map<std::string_view, std::string>& turns() {
  static const std::map<std::string_view, std::string> kTurns{
      {"srtf", ""},
      {"srsf", ""},
      {"las", ":quantum=1s"},
      {"turns", ":first_queue=1s:quantum=1s"},
      {"dlas", ":thresholds=1"},
      {"e-las", ":quantum=1s:thresholds=1"},
      {"e-las/rate", ":quantum=1s:thresholds=1"},
      {"gittins-learned", ":quantum=1s"},
      {"gandiva", ":quantum=1s"},
      {"afs", ""},
      {"afs-p", ":turn=1s"},
      {"muri/s", ""},
      {"muri/l", ""},
      {"muri/l-unmatched", ""},
      {"max-min", ":round=1s"},
      {"gandiva-fair", ":round=1s"},
      {"astraea", ":lease=1s:period=1s"},
      {"themis", ":lease=1s:period=1s"},
      {"astraea/fairness", ":lease=1s:period=1s"},
      {"astraea/disc-fairness", ":lease=1s:period=1s"},
      {"astraea/job-reward", ":lease=1s:period=1s"},
      {"astraea/themis", ":lease=1s:period=1s"},
      {"astraea/2das", ":lease=1s:period=1s"},
      {"astraea/shortest-remain-first", ":lease=1s:period=1s"},
      {"gavel/isolated", ":round=1s:plan_lasts=0s"},
      {"gavel/max-min", ":round=1s:plan_lasts=0s"},
      {"gavel/max-min-perf", ":round=1s:plan_lasts=0s"},
      {"gavel/max-min-packed", ":round=1s:plan_lasts=0s"},
      {"gavel/gandiva", ":round=1s:plan_lasts=0s"},
      {"gavel/finish-time-fairness", ":round=1s:plan_lasts=0s"},
      {"gavel/finish-time-fairness-perf", ":round=1s:plan_lasts=0s"},
      {"gavel/makespan", ":round=1s:plan_lasts=0s"},
      {"tiresias/shortest", ""},
      {"tiresias/shortest-gpu", ""},
      {"tiresias/dlas", ":thresholds=1"},
      {"tiresias/dlas-gpu", ":thresholds=1"},
      {"tiresias/dlas-gpu+fixjump", ":thresholds=1"},
      {"tiresias/dlas-gpu-gittins", ":thresholds=1"},
      {"pollux/tiresias", ":round=1s:thresholds=1"}};
  return kTurns;
}

/// A berthd with two jobs.
class Pair {
 public:
  explicit Pair(const std::string& policy)
      : name_(policy),
        takes_turns_(turns().contains(policy)),
        rig_({.gpus = "1x24GiB",
              .flags = {"--policy", policy + (takes_turns_ ? turns().at(policy) : "")}}) {
    rig_.start();
    submit(3600);
    eventually("it makes steps", [&] { return steps_of(ids_[0]) > 0; });
    submit(3000);  // first where the shorter one is
  }

  void expect_complete() {
    SCOPED_TRACE(name_);
    std::size_t attempts = 0;
    for (const int id : ids_) {
      const auto job = rig_.wait_end(id);
      EXPECT_EQ(job["state"], "done") << job;
      attempts += job["attempts"].size();
      EXPECT_EQ(steps_of(id), steps()) << "of job " << id;
    }
    EXPECT_EQ(attempts > ids_.size(), takes_turns_) << attempts;
  }

 private:
  int steps() const { return takes_turns_ ? kLongerThanATurn : kSteps; }
  void submit(int time_limit) {
    ids_.push_back(rig_.submit(
        test::load("--vram 19G --step-ms 10 --report 1 --steps " + std::to_string(steps())),
        {{"vram_bytes", 20 * kGiB}, {"time_limit_seconds", time_limit}}));
  }
  int steps_of(int id) {
    int made = 0;
    std::istringstream lines(rig_.log(id));
    for (std::string line; std::getline(lines, line);) made += line.starts_with("step ") ? 1 : 0;
    return made;
  }

  std::string name_;
  bool takes_turns_;
  Rig rig_;
  std::vector<int> ids_;
};

/// Some at a time: their jobs wait more than they work.
constexpr std::size_t kAtATime = 7;

class EveryPolicy : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryPolicy, EndsTwoLongJobsOnOneGpu) {
  std::vector<std::unique_ptr<Pair>> pairs;
  for (const PolicyEntry& entry : policies().subspan(GetParam())) {
    if (pairs.size() < kAtATime) pairs.push_back(std::make_unique<Pair>(std::string(entry.name)));
  }
  for (const auto& pair : pairs) pair->expect_complete();
}

INSTANTIATE_TEST_SUITE_P(From, EveryPolicy,
                         testing::Range(std::size_t{0}, policies().size(), kAtATime));

}  // namespace
}  // namespace berth
