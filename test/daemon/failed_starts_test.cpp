// Goal: a start that fails is tried again ever later, and its owner sees why at once.
// Method: the bookkeeping with made-up times; a real berthd without its folder of attempts.
#include "daemon/failed_starts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon/rig.hpp"

namespace berth::daemon {
namespace {

using test::eventually;
using test::Json;
using test::Rig;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(WaitAfter, DoublesUpToHalfAMinute) {
  std::vector<std::int64_t> waits;
  for (std::int32_t failed = 1; failed <= 7; ++failed) {
    waits.push_back(wait_after(failed) / seconds(1));
  }
  EXPECT_THAT(waits, ElementsAre(1, 2, 4, 8, 16, 30, 30));
  Duration all{0};
  for (std::int32_t failed = 1; failed < kMostFailedStarts; ++failed) all += wait_after(failed);
  EXPECT_GE(all, minutes(9));
  EXPECT_LE(all, minutes(11));
}

TEST(FailedStart, SaysWhyWhichTryAndWhenTheNextIs) {
  EXPECT_EQ(failed_start_text("/x: No space left on device", 3, seconds(4)),
            "could not be started: /x: No space left on device (try 3 of 24, the next 4 s later)");
  EXPECT_EQ(failed_start_text("/x: gone", kMostFailedStarts, seconds(30)),
            "could not be started: /x: gone (try 24 of 24)");
}

TEST(FailedStartsWait, UntilTheyAreDue) {
  FailedStarts starts;
  EXPECT_EQ(starts.next(), std::nullopt);
  starts.add(JobId(1), Attempt(4), kStart + seconds(9));
  starts.add(JobId(2), Attempt(1), kStart + seconds(5));
  EXPECT_EQ(starts.next(), kStart + seconds(5));
  EXPECT_THAT(starts.take_due(kStart + seconds(4)), IsEmpty());
  EXPECT_THAT(starts.take_due(kStart + seconds(5)), ElementsAre(Pair(JobId(2), Attempt(1))));
  EXPECT_EQ(starts.take(JobId(2)), std::nullopt);
  EXPECT_EQ(starts.take(JobId(1)), Attempt(4));
  EXPECT_EQ(starts.next(), std::nullopt);
}

/// Jobs that cannot be started, as the folder of attempts is away.
class NoStarts : public testing::Test {
 protected:
  void SetUp() override {
    rig_.start();
    std::filesystem::rename(attempts(), attempts() + ".away");
  }
  void bring_back() { std::filesystem::rename(attempts() + ".away", attempts()); }
  std::string attempts() const { return rig_.state() + "/attempts"; }

  Rig rig_;
};

TEST_F(NoStarts, SayWhyInListsAndAnswers) {
  const int id = rig_.submit("exit 3");
  const std::string path = "/v1/jobs/" + std::to_string(id);
  const auto why = AllOf(HasSubstr("could not be started: "), HasSubstr("/attempts/"),
                         HasSubstr("No such file or directory (try "), HasSubstr(" of 24"));
  eventually("it was tried", [&] { return !std::string(rig_.job(id)["reason"]).empty(); });
  EXPECT_THAT(std::string(rig_.job(id)["reason"]), why);
  EXPECT_THAT(std::string(rig_.request("GET", "/v1/jobs").body["jobs"][0]["reason"]), why);
  EXPECT_THAT(std::string(rig_.request("GET", path + "/why").body["reason"]), why);
  EXPECT_EQ(rig_.job(id)["state"], "starting");
  bring_back();
  EXPECT_EQ(rig_.wait_end(id)["exit_code"], 3);
}

TEST_F(NoStarts, AreCancelledAtOnce) {
  const int id = rig_.submit("true");
  eventually("it was tried twice", [&] { return rig_.job(id)["attempts"].size() > 1; });
  rig_.request("POST", "/v1/jobs/" + std::to_string(id) + "/cancel");
  EXPECT_EQ(rig_.wait_end(id)["state"], "cancelled");
  bring_back();
}

}  // namespace
}  // namespace berth::daemon
