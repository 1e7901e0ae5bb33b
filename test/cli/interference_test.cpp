// Goal: `interference` says who slows whom, and says so in words while nothing is known.
// Method: the real program against a daemon of canned answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/fake_daemon.hpp"
#include "cli/program.hpp"

namespace berth::cli {
namespace {

using testing::HasSubstr;

class InterferenceVerb : public testing::Test {
 protected:
  test::Ran berth(std::vector<std::string> arguments) const {
    return test::berth(std::move(arguments), {.environment = {"BERTH_SOCKET=" + daemon_.socket()}});
  }
  test::FakeDaemon daemon_;
};

TEST_F(InterferenceVerb, ListsPairsAndWhatCountsForOthers) {
  daemon_.answer("GET /v1/interference", R"({"programs":2,"pairs":[
      {"program":"probe","job":7,"user_name":"bob","beside":"train-7b","beside_job":5,
       "beside_user_name":"ann","speed":1.0,"spread":null,"runs":1,"counts":false},
      {"program":"train-7b","job":5,"user_name":"ann","beside":"probe","beside_job":7,
       "beside_user_name":"bob","speed":0.704,"spread":0.05,"runs":12,"counts":true}],
      "by_busy":[{"busy_percent":75,"beside_percent":100,"speed":0.5,"spread":0.1,"runs":4,
                  "counts":true}]})");
  EXPECT_EQ(berth({"interference"}).out,
            "PROGRAM   BESIDE    SPEED    +-  RUNS  NOTE\n"
            "probe     train-7b   1.00     -     1  too few runs\n"
            "train-7b  probe      0.70  0.05    12\n"
            "\n"
            "BUSY  BESIDE  SPEED    +-  RUNS  NOTE\n"
            "75 %  100 %    0.50  0.10     4\n");
  EXPECT_THAT(berth({"interference", "--json"}).out, HasSubstr("\"spread\""));
}

TEST_F(InterferenceVerb, SaysThatNothingIsKnown) {
  daemon_.answer("GET /v1/interference", R"({"programs":1,"pairs":[],"by_busy":[]})");
  EXPECT_THAT(berth({"interference"}).out, HasSubstr("Nothing is known yet"));
  EXPECT_THAT(berth({"interference"}).out, HasSubstr("known of 1 program."));
}

}  // namespace
}  // namespace berth::cli
