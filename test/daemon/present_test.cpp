// Goal: the words and codes users rely on are those of doc/openapi.yaml. Method: each outcome and
// state with its word and code. What jobs and GPUs look like as a whole is in api_test.cpp.
#include "daemon/present.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace berth::daemon {
namespace {

TEST(Present, AnEndedJobHasTheCodeThatShellsExpect) {
  EXPECT_EQ(exit_code(Outcome::Done, 0), 0);
  EXPECT_EQ(exit_code(Outcome::Failed, 3), 3);
  EXPECT_EQ(exit_code(Outcome::Failed, 128 + 9), 137);
  EXPECT_EQ(exit_code(Outcome::Failed, 127), 127);
  EXPECT_EQ(exit_code(Outcome::Failed, 0), 125);  // never started: no code of its own
  EXPECT_EQ(exit_code(Outcome::Oom, 1), 77);
  EXPECT_EQ(exit_code(Outcome::Cancelled, 143), 137);
  EXPECT_EQ(exit_code(Outcome::Timeout, 143), 124);
  EXPECT_EQ(exit_code(Outcome::Lost, 0), 125);
  EXPECT_EQ(exit_code(Outcome::Rejected, 0), 125);
}

TEST(Present, OutcomesHaveTheirWords) {
  EXPECT_EQ(state_word(Outcome::Done), "done");
  EXPECT_EQ(state_word(Outcome::Failed), "failed");
  EXPECT_EQ(state_word(Outcome::Oom), "oom");
  EXPECT_EQ(state_word(Outcome::Cancelled), "cancelled");
  EXPECT_EQ(state_word(Outcome::Timeout), "timeout");
  EXPECT_EQ(state_word(Outcome::Lost), "lost");
  EXPECT_EQ(state_word(Outcome::Rejected), "failed");
}

TEST(Present, StatesHaveTheirWordsEachItsOwn) {
  std::set<std::string_view> words;
  for (const JobState state : {JobState::Queued, JobState::Held, JobState::Starting,
                               JobState::Running, JobState::Suspended, JobState::Stopping}) {
    words.insert(state_word(state));
  }
  EXPECT_EQ(words, (std::set<std::string_view>{"queued", "held", "starting", "running", "suspended",
                                               "stopping"}));
}

TEST(Present, ABodyIsAlwaysUtf8) {
  EXPECT_EQ(to_body({{"a", "ä"}}), "{\"a\":\"ä\"}");
  EXPECT_EQ(to_body(Json("\xff")), "\"\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace berth::daemon
