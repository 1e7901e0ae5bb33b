// Goal: the words and codes users rely on are those of doc/openapi.yaml. Method: each outcome and
// state with its word and code. What jobs and GPUs look like as a whole is in api_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/text/words.hpp"
#include "daemon/answers/listing.hpp"
#include "daemon/loop/json_text.hpp"
#include "live/host.hpp"
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
  EXPECT_EQ(user_word(Outcome::Done), "done");
  EXPECT_EQ(user_word(Outcome::Failed), "failed");
  EXPECT_EQ(user_word(Outcome::Oom), "oom");
  EXPECT_EQ(user_word(Outcome::Cancelled), "cancelled");
  EXPECT_EQ(user_word(Outcome::Timeout), "timeout");
  EXPECT_EQ(user_word(Outcome::Lost), "lost");
  EXPECT_EQ(user_word(Outcome::Rejected), "failed");
}

TEST(Present, StatesHaveTheirWordsEachItsOwn) {
  std::set<std::string_view> words;
  for (const JobState state : {JobState::Queued, JobState::Held, JobState::Starting,
                               JobState::Running, JobState::Suspended, JobState::Stopping}) {
    words.insert(word_for(state));
  }
  EXPECT_EQ(words, (std::set<std::string_view>{"queued", "held", "starting", "running", "suspended",
                                               "stopping"}));
}

live::Submission held_job(std::uint32_t user) {
  live::Submission job{.held = true};
  job.spec.user = UserId(user);
  job.command.arguments = {"true"};
  job.command.directory = "/";
  return job;
}

/// Two jobs of a user, the first and the last of more than one page looks at.
TEST(Present, PagesOfFewOfManyGoOnUntilAllAreFound) {
  const test::ScratchFolder folder;
  test::Host host;
  Machine machine;
  machine.cluster.add_switch();
  machine.cluster.add_node({.name = "n"});
  auto keeper = live::Keeper::open(host, {.path = folder / "journal.db"}, machine.cluster, {});
  ASSERT_TRUE(keeper) << keeper.error().message;
  live::Batch batch{.submissions = {held_job(1)}};
  for (int i = 0; i < 20'010; ++i) batch.submissions.push_back(held_job(2));
  batch.submissions.push_back(held_job(1));
  ASSERT_TRUE(keeper->step(kStart, batch));
  const live::Watcher watcher(0, seconds(1));
  Presenter presenter(*keeper, machine, watcher);
  for (const auto order : {Page::Order::NewestFirst, Page::Order::OldestFirst}) {
    Page page{.user = UserId(1), .order = order};
    std::vector<std::uint64_t> found;
    int pages = 0;
    for (bool more = true; more && pages < 10; ++pages) {
      Listing listing(*keeper, presenter, page, {});
      ASSERT_EQ(listing.advance([] { return true; }), false);
      const Json json = Json::parse(listing.take());
      for (const Json& job : json.at("jobs")) found.push_back(job.at("id"));
      const Json next = json.value("next_before", json.value("next_after", Json()));
      more = !next.is_null();
      if (more) page.beyond = JobId(next.get<std::uint64_t>());
    }
    if (order == Page::Order::NewestFirst) std::ranges::reverse(found);
    EXPECT_EQ(found, (std::vector<std::uint64_t>{1, 20'012}));
    EXPECT_EQ(pages, 2);
  }
}

/// A journal in which users' jobs wait, and some have ended.
class ListingTest : public testing::Test {
 protected:
  void SetUp() override {
    machine_.cluster.add_switch();
    machine_.cluster.add_node({.name = "n"});
    auto keeper = live::Keeper::open(host_, {.path = folder_ / "journal.db"}, machine_.cluster, {});
    ASSERT_TRUE(keeper) << keeper.error().message;
    keeper_.emplace(std::move(*keeper));
    presenter_.emplace(*keeper_, machine_, watcher_);
  }

  void submit(int jobs) {
    live::Batch batch;
    for (int i = 0; i < jobs; ++i) batch.submissions.push_back(held_job(1));
    ASSERT_TRUE(keeper_->step(kStart, batch));
  }
  void cancel(std::vector<std::uint64_t> jobs) {
    live::Batch batch;
    for (const std::uint64_t job : jobs) batch.inputs.emplace_back(CancelAsked{JobId(job)});
    ASSERT_TRUE(keeper_->step(kStart, batch));
  }
  static std::vector<std::uint64_t> ids_of(const Json& page) {
    std::vector<std::uint64_t> ids;
    for (const Json& job : page.at("jobs")) ids.push_back(job.at("id"));
    return ids;
  }
  /// Makes a page with so many rows in a slice, and does something after the first.
  Json page(const Page& wanted, int rows, const std::function<void()>& after_first) {
    Listing listing(*keeper_, *presenter_, wanted, {});
    int slices = 0;
    for (bool more = true; more; ++slices) {
      int left = rows;
      const auto advanced = listing.advance([&] { return --left > 0; });
      EXPECT_TRUE(advanced);
      more = advanced && *advanced;
      if (slices == 0) after_first();
    }
    return Json::parse(listing.take());
  }

  const test::ScratchFolder folder_;
  test::Host host_;
  Machine machine_;
  live::Watcher watcher_{0, seconds(1)};
  std::optional<live::Keeper> keeper_;
  std::optional<Presenter> presenter_;
};

using Ids = std::vector<std::uint64_t>;

TEST_F(ListingTest, JobsThatEndBetweenTwoSlicesAreInThePageOnce) {
  submit(10);
  cancel({2, 7});
  const Page all{.which = Page::Which::All, .order = Page::Order::OldestFirst};
  const Json made = page(all, 4, [&] { cancel({3, 5, 9}); });
  EXPECT_EQ(ids_of(made), (Ids{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(made["jobs"][2]["state"], "held") << "as it was when its row was written";
}

TEST_F(ListingTest, JobsThatEndBetweenTwoSlicesAreNotAmongTheLiving) {
  submit(10);
  const Json made = page({.order = Page::Order::NewestFirst}, 3, [&] { cancel({7, 2}); });
  EXPECT_EQ(ids_of(made), (Ids{10, 9, 8, 6, 5, 4, 3, 1}));
}

TEST_F(ListingTest, APageThatIsFullSaysWhereTheNextBegins) {
  submit(6);
  cancel({2, 5});
  for (const int rows : {1, 2, 100}) {
    const auto nothing = [] {};
    const Page wanted{.which = Page::Which::All, .order = Page::Order::OldestFirst, .most = 3};
    const Json first = page(wanted, rows, nothing);
    EXPECT_EQ(ids_of(first), (Ids{1, 2, 3}));
    EXPECT_EQ(first["next_after"], 3);
    Page rest = wanted;
    rest.beyond = JobId(3);
    const Json second = page(rest, rows, nothing);
    EXPECT_EQ(ids_of(second), (Ids{4, 5, 6}));
    EXPECT_TRUE(second["next_after"].is_null()) << "nothing follows";
  }
}

TEST_F(ListingTest, TheHistoryIsReadOnFromWhereASliceEnded) {
  submit(200);
  Ids ended;
  for (std::uint64_t id = 1; id <= 200; id += 2) ended.push_back(id);
  cancel(ended);
  const Page wanted{.which = Page::Which::Ended, .order = Page::Order::OldestFirst, .most = 1000};
  EXPECT_EQ(ids_of(page(wanted, 7, [&] { cancel({2, 100}); })).size(), 101U) << "2 had passed";
  EXPECT_EQ(ids_of(page(wanted, 1000, [] {})).size(), 102U);
}

TEST_F(ListingTest, ANameThatIsNoUtf8IsReplacedAndEscaped) {
  live::Submission job = held_job(1);
  job.name = "\"\x01\xff";
  ASSERT_TRUE(keeper_->step(kStart, {.inputs = {}, .submissions = {job}}));
  EXPECT_EQ(Json::parse(*presenter_->job(JobId(1), {}))["name"], "\"\x01\xef\xbf\xbd");
}

TEST(JsonText, SecondsAreExact) {
  const auto text = [](std::int64_t value) {
    std::string out;
    append_millionths(out, value);
    return out;
  };
  EXPECT_EQ(text(0), "0.0");
  EXPECT_EQ(text(1'500'000), "1.5");
  EXPECT_EQ(text(-1), "-0.000001");
  EXPECT_EQ(text(1'763'828'617'123'456), "1763828617.123456");
  EXPECT_EQ(text(std::numeric_limits<std::int64_t>::min()), "-9223372036854.775808");
}

TEST(Present, ABodyIsAlwaysUtf8) {
  EXPECT_EQ(to_body({{"a", "ä"}}), "{\"a\":\"ä\"}");
  EXPECT_EQ(to_body(Json("\xff")), "\"\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace berth::daemon
