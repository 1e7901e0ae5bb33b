// Goal: the words and codes users rely on are those of doc/openapi.yaml. Method: each outcome and
// state with its word and code. What jobs and GPUs look like as a whole is in api_test.cpp.
#include "daemon/present.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "support/process.hpp"

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

Submission held_job(std::uint32_t user) {
  Submission job{.held = true};
  job.spec.user = UserId(user);
  job.command.arguments = {"true"};
  job.command.directory = "/";
  return job;
}

/// Two jobs of a user, the first and the last of more than one page looks at.
TEST(Present, PagesOfFewOfManyGoOnUntilAllAreFound) {
  const test::ScratchFolder folder;
  Machine machine;
  machine.cluster.add_switch();
  machine.cluster.add_node({.name = "n"});
  auto keeper = Keeper::open(folder / "journal.db", machine.cluster, {});
  ASSERT_TRUE(keeper) << keeper.error().message;
  Batch batch{.submissions = {held_job(1)}};
  for (int i = 0; i < 20'010; ++i) batch.submissions.push_back(held_job(2));
  batch.submissions.push_back(held_job(1));
  ASSERT_TRUE(keeper->step(kStart, batch));
  const Watcher watcher(0, seconds(1));
  Presenter presenter(*keeper, machine, watcher);
  for (const auto order : {Presenter::Order::NewestFirst, Presenter::Order::OldestFirst}) {
    Presenter::Page page{.user = UserId(1), .order = order};
    std::vector<std::uint64_t> found;
    int pages = 0;
    for (bool more = true; more && pages < 10; ++pages) {
      const auto json = presenter.jobs(page);
      ASSERT_TRUE(json);
      for (const Json& job : json->at("jobs")) found.push_back(job.at("id"));
      const Json next = json->value("next_before", json->value("next_after", Json()));
      more = !next.is_null();
      if (more) page.beyond = JobId(next.get<std::uint64_t>());
    }
    if (order == Presenter::Order::NewestFirst) std::ranges::reverse(found);
    EXPECT_EQ(found, (std::vector<std::uint64_t>{1, 20'012}));
    EXPECT_EQ(pages, 2);
  }
}

TEST(Present, ABodyIsAlwaysUtf8) {
  EXPECT_EQ(to_body({{"a", "ä"}}), "{\"a\":\"ä\"}");
  EXPECT_EQ(to_body(Json("\xff")), "\"\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace berth::daemon
