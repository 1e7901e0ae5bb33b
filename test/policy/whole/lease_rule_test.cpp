// Goal: leases go to users by quota and by what they got lately, and among a user's jobs by rank;
// what a pass ends, takes back and starts is what the rule says, in its order.
// Method: passes over a few jobs on GPUs that only have a number, worked out by hand.
#include "policy/whole/lease_rule.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "policy/whole/leases.hpp"

namespace berth {
namespace {

using Form = LeaseRules::Form;

Instant after(std::int64_t time) { return kStart + seconds(time); }

/// Two users of two GPUs each, unless said otherwise; leases of 100 s.
class Passes : public LeaseRoom {
 public:
  explicit Passes(LeaseRules rules) : leases_(rules) {}

  static LeaseRules rules() {
    return {.period = seconds(10),
            .lease = seconds(100),
            .starvation = seconds(5000),
            .rank = by_submission};
  }

  void come(std::uint64_t id, std::uint32_t user, std::int64_t gpus) {
    arrivals_.push_back(
        {.id = JobId(id), .user = UserId(user), .gpus = GpuCount(gpus), .left = hours(1)});
  }
  LeasePass at(std::int64_t time) {
    leases_.for_each_job([&](LeasedJob& job) {
      if (job.has_lease) job.executed = before_[job.id] + job.in_lease(after(time));
      job.fate = ended_.contains(job.id) ? LeasedJob::Fate::Ended : LeasedJob::Fate::GoesOn;
    });
    for (LeasedJob& job : arrivals_) job.submitted = job.since = after(time);
    LeasePass pass = leases_.pass(after(time), quotas_, arrivals_, *this);
    arrivals_.clear();
    for (const JobId id : pass.lapsed) before_[id] = executed(id);
    return pass;
  }
  void end(std::uint64_t id) { ended_.insert(JobId(id)); }
  void has_no_place_for(std::uint64_t id) { homeless_.insert(JobId(id)); }

  GpuCount free() override { return free_; }
  bool take(const LeasedJob& job) override {
    if (homeless_.contains(job.id) || job.gpus > free_) return false;
    free_ -= job.gpus;
    return true;
  }
  void release(const LeasedJob& job) override { free_ += job.gpus; }

 private:
  Duration executed(JobId id) {
    Duration found{0};
    leases_.for_each_job([&](const LeasedJob& job) {
      if (job.id == id) found = job.executed;
    });
    return found;
  }

  Leases leases_;
  std::map<UserId, GpuCount> quotas_ = {{UserId(1), GpuCount(2)}, {UserId(2), GpuCount(2)}};
  GpuCount free_{4};
  std::vector<LeasedJob> arrivals_;
  std::map<JobId, Duration> before_;
  std::set<JobId> ended_;
  std::set<JobId> homeless_;
};

std::vector<JobId> ids(std::initializer_list<std::uint64_t> numbers) {
  std::vector<JobId> ids;
  for (const auto number : numbers) ids.emplace_back(number);
  return ids;
}

TEST(Leases, LendIdleGpusAndTakeThemForTheOtherUserWhenLeasesAreOver) {
  Passes passes(Passes::rules());
  for (std::uint64_t id = 1; id <= 4; ++id) passes.come(id, 1, 1);
  EXPECT_EQ(passes.at(0).started, ids({1, 2, 3, 4}));
  for (std::uint64_t id = 5; id <= 7; ++id) passes.come(id, 2, 1);
  EXPECT_TRUE(passes.at(10).started.empty());
  const LeasePass pass = passes.at(100);
  EXPECT_EQ(pass.lapsed, ids({1, 2, 3, 4}));
  EXPECT_EQ(pass.started, ids({1, 2, 5, 6}));
}

TEST(Leases, GoToTheUserWhoGotLeastInTheLastHours) {
  Passes passes(Passes::rules());
  passes.come(1, 1, 4);
  passes.at(0);
  for (std::int64_t time = 100; time < 3600; time += 100) passes.at(time);
  passes.end(1);
  for (std::uint64_t id = 2; id <= 5; ++id) passes.come(id, 1, 1);
  for (std::uint64_t id = 6; id <= 9; ++id) passes.come(id, 2, 1);
  // The hour counts: each gets one by its quota, then user 2 what is left.
  EXPECT_EQ(passes.at(3600).started, ids({2, 6, 7, 8}));
}

TEST(Leases, AreTakenBackForAJobThatNeverRan) {
  LeaseRules rules = Passes::rules();
  rules.quotas = LeaseRules::Quotas::Lent;
  rules.lease = seconds(1000);
  rules.young = seconds(300);
  rules.tried = seconds(120);
  Passes passes(rules);
  passes.come(1, 1, 3);
  passes.come(2, 2, 1);
  passes.at(0);
  passes.come(3, 1, 2);
  EXPECT_TRUE(passes.at(110).taken_back.empty()) << "not tried yet";
  const LeasePass pass = passes.at(120);
  EXPECT_EQ(pass.taken_back, ids({1}));
  EXPECT_EQ(pass.started, ids({3}));
}

TEST(Leases, AreTakenBackInVainByTheArtifactAlone) {
  for (const Form form : {Form::Own, Form::Artifact}) {
    LeaseRules rules = Passes::rules();
    rules.lease = seconds(1000);
    rules.young = seconds(300);
    rules.form = form;
    Passes passes(rules);
    passes.come(1, 1, 1);
    passes.come(2, 2, 3);
    passes.at(0);
    passes.come(3, 1, 2);
    const LeasePass pass = passes.at(10);
    EXPECT_TRUE(pass.started.empty());
    EXPECT_EQ(pass.taken_back, form == Form::Own ? ids({}) : ids({1}));
  }
}

TEST(Leases, OfTheJobBehindOneThatEndedAreSeenLateByTheArtifactAlone) {
  for (const Form form : {Form::Own, Form::Artifact}) {
    LeaseRules rules = Passes::rules();
    rules.form = form;
    Passes passes(rules);
    for (std::uint64_t id = 1; id <= 3; ++id) passes.come(id, 1, 1);
    passes.at(0);
    passes.end(1);
    passes.end(2);
    EXPECT_EQ(passes.at(50).ended.size(), form == Form::Own ? 2U : 1U);
    EXPECT_EQ(passes.at(60).ended.size(), form == Form::Own ? 0U : 1U);
  }
}

TEST(Leases, AJobWithoutAPlaceLeavesItsGpusToOthers) {
  Passes passes(Passes::rules());
  passes.come(1, 1, 4);
  passes.come(2, 2, 1);
  passes.has_no_place_for(1);
  EXPECT_EQ(passes.at(0).started, ids({2}));
}

TEST(Leases, NobodyOfItsUserPassesAJobThatStarves) {
  LeaseRules rules = Passes::rules();
  rules.starvation = seconds(50);
  Passes passes(rules);
  passes.come(1, 1, 3);
  passes.at(0);
  passes.come(2, 1, 2);
  passes.at(10);
  passes.come(3, 1, 1);
  EXPECT_TRUE(passes.at(60).started.empty());
  passes.end(1);
  EXPECT_EQ(passes.at(70).started, ids({2, 3}));
}

TEST(Leases, MayPassABigJobThatDoesNotStarve) {
  Passes passes(Passes::rules());
  passes.come(1, 1, 3);
  passes.at(0);
  passes.come(2, 1, 2);
  passes.come(3, 1, 1);
  EXPECT_EQ(passes.at(10).started, ids({3}));
}

TEST(Leases, FixedQuotasLendNothing) {
  LeaseRules rules = Passes::rules();
  rules.quotas = LeaseRules::Quotas::Fixed;
  Passes passes(rules);
  for (std::uint64_t id = 1; id <= 4; ++id) passes.come(id, 1, 1);
  EXPECT_EQ(passes.at(0).started, ids({1, 2}));
}

TEST(Leases, ClassesOfFairnessAreThoseOfThePaper) {
  // h = -ln f / sqrt(1 + ln^2 f) in fifths of [-1, 1], the largest h first.
  const std::map<double, std::int64_t> classes = {{0, 0},     {0.01, 1},  {0.472, 1}, {0.473, 2},
                                                  {0.815, 2}, {0.816, 3}, {1, 3},     {1.226, 3},
                                                  {1.227, 4}, {2.116, 4}, {2.118, 5}, {100, 5}};
  for (const auto& [fairness, expected] : classes) {
    const auto ratio = static_cast<std::int64_t>(fairness * static_cast<double>(kWholeRatio));
    EXPECT_EQ(fairness_class(ratio), expected) << fairness;
  }
}

}  // namespace
}  // namespace berth
