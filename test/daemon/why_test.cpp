// Goal: `why` names the holders and predicts the start, a dry run changes nothing, and neither
// is done on the engine's thread. Method: a real berthd on emulated GPUs with jobs that sleep; the
// queue of questions by itself, held up by an exchange that does not take its answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <future>

#include "daemon/answers/forecaster.hpp"
#include "daemon/rig.hpp"
#include "policy/registry.hpp"

namespace berth::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Why : public testing::Test {
 protected:
  Why() { rig_.start(); }

  Json wish(const Json& more = Json::object()) const {
    Json body = {{"command", {"true"}},
                 {"directory", "/"},
                 {"environment", Json::array()},
                 {"vram_bytes", 20 * kGiB}};
    body.update(more);
    return body;
  }
  Rig::Answer dry_run(const Json& more = Json::object()) {
    return rig_.request("POST", "/v1/jobs?dry_run=true", wish(more));
  }
  double granted_at(int id) { return rig_.job(id)["attempts"][0]["granted_at"]; }

  Rig rig_{{.gpus = "1x24GiB", .flags = {"--policy", "easy"}}};
};

TEST_F(Why, NamesTheHoldersAndPredictsTheStart) {
  const int first =
      rig_.submit("sleep 60", {{"vram_bytes", 20 * kGiB}, {"time_limit_seconds", 60}});
  const int second = rig_.submit("true", {{"vram_bytes", 20 * kGiB}});
  const auto answer = rig_.request("GET", "/v1/jobs/" + std::to_string(second) + "/why");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json& why = answer.body;
  EXPECT_EQ(why["id"], second);
  EXPECT_EQ(why["state"], "queued");
  EXPECT_EQ(why["why"], "capacity");
  EXPECT_EQ(why["lacking"][0]["name"], "GPU 0");
  EXPECT_GT(why["lacking"][0]["lacking_bytes"], 16 * kGiB);
  EXPECT_EQ(why["lacking"][0]["holders"][0]["job"], first);
  EXPECT_EQ(why["must_end"], Json::array({first}));
  EXPECT_EQ(why["start_gpus"], Json::array({0}));
  EXPECT_EQ(why["reservation"]["gpus"], Json::array({0}));
  EXPECT_THAT(std::string(why["passing"]), StartsWith("other jobs may start before it where"));
  EXPECT_EQ(why["confidence"], "bound");
  EXPECT_NEAR(why["predicted_start_at"], granted_at(first) + 60, 1e-3);
  EXPECT_TRUE(why["predicted_by_at"].is_null()) << "a bound stays one";
  EXPECT_EQ(why["before"][0]["event"], "ends");
  EXPECT_EQ(why["before"][0]["by"], "time limit");
  rig_.wait_for(first, "running");
  const Json running = rig_.request("GET", "/v1/jobs/" + std::to_string(first) + "/why").body;
  EXPECT_EQ(running["reason"], "it runs");
  EXPECT_TRUE(running["predicted_start_at"].is_null());
}

/// The other GPU lacks less, and when the job on it ends is not known.
TEST(WhyOfTwoGpus, InFewWordsSpeaksOfTheGpuWhereTheJobWillStart) {
  Rig rig({.gpus = "2x24GiB", .flags = {"--policy", "fifo-skip"}});
  rig.start();
  const int limited = rig.submit(
      "sleep 60", {{"vram_bytes", 20 * kGiB}, {"time_limit_seconds", 60}, {"gpu_indices", {0}}});
  rig.submit("sleep 60", {{"vram_bytes", 18 * kGiB}, {"class", "long"}, {"gpu_indices", {1}}});
  const int waits = rig.submit("true", {{"vram_bytes", 8 * kGiB}});
  const Json why = rig.request("GET", test::path(waits, "/why")).body;
  EXPECT_EQ(why["start_gpus"], Json::array({0})) << why;
  EXPECT_EQ(why["must_end"], Json::array({limited}));
  EXPECT_EQ(why["lacking"][0]["gpu"], 1);
  EXPECT_THAT(std::string(why["reason_brief"]),
              testing::EndsWith(" more on GPU 0 (job " + std::to_string(limited) + ")"));
}

TEST_F(Why, CallsTasksOfArraysByTheirHandles) {
  const auto array = rig_.request("POST", "/v1/jobs",
                                  wish({{"command", {"sleep", "60"}},
                                        {"array", "1-2"},
                                        {"vram_bytes", 10 * kGiB},
                                        {"time_limit_seconds", 60}}));
  ASSERT_EQ(array.status, 201) << array.body;
  const int first = array.body["id"];
  const std::string task = std::to_string(first) + "_1";
  const int waits = rig_.submit("true", {{"vram_bytes", 20 * kGiB}});
  const Json why = rig_.request("GET", test::path(waits, "/why")).body;
  EXPECT_THAT(why["must_end"], testing::Contains(first)) << why;
  EXPECT_EQ(why["handles"][std::to_string(first)], task);
  EXPECT_THAT(std::string(why["reason"]), HasSubstr("(held by jobs " + task + ", "));
  EXPECT_THAT(std::string(why["reason_brief"]), HasSubstr("(jobs " + task + ", "));
  EXPECT_EQ(rig_.request("GET", "/v1/gpus").body["gpus"][0]["tenants"][0]["handle"], task);
}

TEST_F(Why, ADryRunSaysWhenAndChangesNothing) {
  const auto now = dry_run();
  ASSERT_EQ(now.status, 200) << now.body;
  EXPECT_EQ(now.body["admitted_now"], true);
  EXPECT_EQ(now.body["gpus"], Json::array({0}));
  EXPECT_EQ(now.body["reason"], "");
  const int first = rig_.submit("sleep 60", {{"vram_bytes", 20 * kGiB}, {"class", "long"}});
  const auto later = dry_run();
  EXPECT_EQ(later.body["admitted_now"], false);
  EXPECT_THAT(std::string(later.body["reason"]), HasSubstr("the only GPU has no room for it"));
  EXPECT_EQ(later.body["confidence"], "unknown");
  EXPECT_EQ(later.body["no_known_end"], Json::array({first}));
  EXPECT_TRUE(later.body["predicted_start_at"].is_null());
  EXPECT_EQ(rig_.request("GET", "/v1/jobs?all=true").body["jobs"].size(), 1U);
  EXPECT_EQ(rig_.submit("true"), first + 1);
}

TEST_F(Why, ADeadlineStandsBesideTheExpectedEnd) {
  rig_.submit("sleep 60", {{"vram_bytes", 20 * kGiB}, {"time_limit_seconds", 60}});
  const double deadline = 1 + static_cast<double>(std::time(nullptr));
  const Json late = dry_run({{"deadline_at", deadline}, {"estimate_seconds", 30}}).body;
  EXPECT_EQ(late["deadline_at"], deadline);
  EXPECT_NEAR(late["expected_end_at"], late["predicted_start_at"].get<double>() + 30, 1e-3);
  EXPECT_TRUE(dry_run({{"deadline_at", deadline}}).body["expected_end_at"].is_null());
  EXPECT_TRUE(dry_run({{"estimate_seconds", 30}}).body["deadline_at"].is_null());
}

TEST_F(Why, APredictionRestsOnWhatWasLearned) {
  const auto run = [&](const std::string& seed, const Json& more = Json::object()) {
    return rig_.submit("read s <length; exec sleep $s # --seed " + seed, more);
  };
  rig_.folder().write("length", "0.3");
  for (int seed = 1; seed <= 5; ++seed) rig_.wait_end(run(std::to_string(seed)));
  rig_.folder().write("length", "60");
  const int running = run("6", {{"vram_bytes", 20 * kGiB}});
  const Json job = rig_.wait_for(running, "running");
  ASSERT_EQ(job["estimate_learned_from"], 5);
  EXPECT_GT(job["estimate_seconds"], 0.2);
  const auto later = dry_run();
  EXPECT_EQ(later.body["admitted_now"], false);
  EXPECT_EQ(later.body["confidence"], "estimate");
  EXPECT_THAT(std::string(later.body["before"][0]["by"]),
              testing::AnyOf("learned run times", "as long again"));
  EXPECT_EQ(later.body["predicted_from"], "prior");
  EXPECT_GT(later.body["predicted_by_at"], later.body["predicted_start_at"]);
}

TEST_F(Why, AHintStartsTheJobWhenItIsFollowed) {
  rig_.submit("sleep 60", {{"vram_bytes", 14 * kGiB}, {"time_limit_seconds", 600}});
  const int waits =
      rig_.submit("sleep 60", {{"vram_bytes", 12 * kGiB}, {"time_limit_seconds", 600}});
  const Json why = rig_.request("GET", test::path(waits, "/why")).body;
  ASSERT_FALSE(why["hints"].empty()) << why;
  const Json hint = why["hints"][0];
  const std::int64_t most = hint["change"]["vram_bytes"];
  EXPECT_GE(most, 8 * kGiB);
  EXPECT_LT(most, 10 * kGiB);
  const Json more = {{"vram_bytes", most + kGiB / 2}, {"time_limit_seconds", 600}};
  EXPECT_EQ(dry_run(more).body["admitted_now"], false);
  EXPECT_EQ(hint["gpus"], Json::array({0}));
  const Json starts = rig_.request("GET", "/v1/starts").body;
  ASSERT_EQ(starts["hints"].size(), 1U) << starts;
  EXPECT_EQ(starts["hints"][0]["job"], waits);
  EXPECT_EQ(starts["hints"][0]["change"], hint["change"]);
  const Json dry = dry_run({{"vram_bytes", 12 * kGiB}, {"time_limit_seconds", 600}}).body;
  ASSERT_FALSE(dry["hints"].empty()) << dry;
  EXPECT_EQ(dry["hints"][0]["change"], hint["change"]);
  EXPECT_EQ(rig_.request("POST", test::path(waits, "/update"), hint["change"]).status, 200);
  rig_.wait_for(waits, "running");
}

TEST_F(Why, AHintIsForThoseWhoMayChangeTheJob) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be several users";
  std::filesystem::permissions(rig_.folder().path(), std::filesystem::perms(0711));
  rig_.submit("sleep 60", {{"vram_bytes", 14 * kGiB}});
  const int waits = rig_.submit("true", {{"vram_bytes", 12 * kGiB}});
  const auto asked_by = [&](uid_t user) {
    return test::request_as(rig_, user, "GET", test::path(waits, "/why")).body;
  };
  EXPECT_FALSE(asked_by(0)["hints"].empty());
  const Json other = asked_by(kNobody);
  EXPECT_EQ(other["why"], "capacity") << other;
  EXPECT_TRUE(other["hints"].empty()) << other;
}

TEST_F(Why, WhatAHintMayChangeCanBeUpdated) {
  rig_.submit("sleep 60", {{"vram_bytes", 20 * kGiB}});
  const int waits = rig_.submit("true", {{"vram_bytes", 20 * kGiB}});
  const auto update = [&](const Json& change) {
    return rig_.request("POST", test::path(waits, "/update"), change);
  };
  EXPECT_EQ(update({{"gpus", 1}, {"gpu_indices", {0}}}).status, 200);
  EXPECT_EQ(rig_.job(waits)["gpu_indices"], Json::array({0}));
  EXPECT_EQ(update({{"gpus", 2}}).status, 422) << "more than there are";
  EXPECT_THAT(update({{"gpus", 0}}).body.dump(),
              HasSubstr("gpus: a job with GPUs and one without cannot be made of each other"));
  EXPECT_THAT(update({{"gpu_types", {"k80"}}}).body.dump(), HasSubstr("gpu_types: 'k80' is not"));
  EXPECT_EQ(update({{"cpus", 2}, {"mem_bytes", kGiB}}).status, 200);
  EXPECT_EQ(rig_.job(waits)["cpus"], 2);
  EXPECT_EQ(rig_.job(waits)["mem_bytes"], kGiB);
  EXPECT_THAT(update({{"cpus", 100000}}).body.dump(), HasSubstr("asks 100000 cores, the limit is"));
  EXPECT_THAT(update({{"retries", 2}}).body.dump(),
              HasSubstr("retries: cannot be changed; valid keys"));
}

/// The GPU has room; the cores have none.
TEST(WhyOfCores, NamesThemTheirHoldersAndWhatToAskForInstead) {
  Rig rig({.gpus = "1x24GiB", .config = "cores = 8\n", .flags = {"--policy", "easy"}});
  rig.start();
  const int holder = rig.submit("sleep 60", {{"vram_bytes", kGiB}, {"cpus", 5}});
  const int waits = rig.submit("sleep 60", {{"vram_bytes", kGiB}, {"cpus", 4}});
  const Json why = rig.request("GET", test::path(waits, "/why")).body;
  EXPECT_EQ(why["why"], "capacity") << why;
  EXPECT_EQ(why["fitting_gpus"], 1);
  EXPECT_THAT(std::string(why["reason_brief"]),
              StartsWith("needs 4 of 8 cores, 3 are free (held by job 1); "));
  EXPECT_EQ(why["must_end"], Json::array({holder}));
  EXPECT_EQ(why["hints"][0]["change"], Json({{"cpus", 3}})) << why["hints"];
  const auto taken = rig.request("POST", test::path(waits, "/update"), why["hints"][0]["change"]);
  EXPECT_EQ(taken.status, 200) << taken.body;
  rig.wait_for(waits, "running");
}

/// A client that is not there any more: the job would not start, or end at once.
TEST_F(Why, AJobIsLeftInTheQueue) {
  const int blocker = rig_.submit(test::kUntilGo, {{"vram_bytes", 20 * kGiB}});
  const Json attended = {{"vram_bytes", 20 * kGiB},
                         {"attach", {{"socket", "/no/such/socket"}, {"terminal", false}}}};
  const int left = rig_.submit("echo ran", attended);
  const int stayed = rig_.submit("echo ran", attended);
  EXPECT_EQ(rig_.request("POST", test::path(left, "/leave")).status, 200);
  const auto runs = rig_.request("POST", test::path(blocker, "/leave"));
  EXPECT_EQ(runs.status, 409);
  EXPECT_THAT(runs.body.dump(), HasSubstr("only a job that waits can be left so"));
  rig_.kill();
  rig_.start();
  rig_.folder().write("go", "");
  EXPECT_EQ(rig_.wait_end(left)["state"], "done");
  EXPECT_NE(rig_.wait_end(stayed)["state"], "done");
}

TEST_F(Why, RefusesWhatMakesNoSense) {
  EXPECT_EQ(rig_.request("GET", "/v1/jobs/9/why").status, 404);
  EXPECT_EQ(rig_.request("POST", "/v1/jobs/9/why").status, 405);
  EXPECT_EQ(rig_.request("POST", "/v1/jobs?dry_run=perhaps", wish()).status, 400);
  const auto impossible = dry_run({{"gpus", 2}});
  EXPECT_EQ(impossible.status, 422);
  EXPECT_EQ(impossible.body["error"], "asks 2 GPUs, the cluster has 1");
}

TEST_F(Why, AJobThatHasEndedWaitsForNothing) {
  const int id = rig_.submit("true");
  rig_.wait_end(id);
  const auto why = rig_.request("GET", "/v1/jobs/" + std::to_string(id) + "/why");
  EXPECT_EQ(why.status, 200);
  EXPECT_EQ(why.body["reason"], "it has ended as done");
}

TEST_F(Why, AJobThatNeverStartedSaysWhy) {
  // It has not ended while the second is submitted: such a condition would be refused.
  const int first = rig_.submit(test::kUntilGo);  // ends with 3
  const int second =
      rig_.submit("true", {{"after", Json::array({{{"job", first}, {"when", "after-ok"}}})}});
  rig_.folder().write("go", "");
  rig_.wait_end(second);
  const auto why = rig_.request("GET", "/v1/jobs/" + std::to_string(second) + "/why");
  EXPECT_THAT(why.body["reason"].get<std::string>(),
              AllOf(StartsWith("it has ended as cancelled: "), HasSubstr(std::to_string(first))));
}

// ---- The queue of questions ------------------------------------------------------------------

class FakeExchange : public http::Exchange {
 public:
  /// `may_answer`: respond() waits for it.
  explicit FakeExchange(uid_t user = 1001, std::shared_future<void> may_answer = {})
      : may_answer_(std::move(may_answer)) {
    request_.peer.user = user;
  }

  std::string take_body() override { return {}; }
  const http::Request& request() const override { return request_; }
  void respond(http::Response response) override {
    place = ++answered;
    asked_.set_value();
    if (may_answer_.valid()) may_answer_.wait();
    status = response.status;
    body = response.body;
    done_.set_value();
  }
  std::shared_ptr<http::Stream> stream(const std::string&) override { return nullptr; }
  void wait_until_asked() { asked_.get_future().wait(); }
  Json answer() {
    done_.get_future().wait();
    return Json::parse(body);
  }

  int status = 0;
  std::string body;
  int place = 0;  ///< The how-many-eth answer of all.
  static inline std::atomic<int> answered = 0;

 private:
  http::Request request_;
  std::promise<void> asked_;
  std::promise<void> done_;
  std::shared_future<void> may_answer_;
};

Engine small_engine() {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 1, .vram = Bytes(24 * kGiB)});
  return Engine(cluster, {}, *make_policy("fifo", "first-fit"));
}

daemon::Question question(const std::shared_ptr<FakeExchange>& exchange) {
  return {.about = daemon::Wish{}, .now = kStart, .exchange = exchange};
}

TEST(ForecasterQueue, IsBoundedAndNobodyIsLeftWithoutAnAnswer) {
  const Engine engine = small_engine();
  std::promise<void> may_answer;
  const auto slow = std::make_shared<FakeExchange>(1001, may_answer.get_future().share());
  std::vector<std::shared_ptr<FakeExchange>> rest;
  {
    daemon::Forecaster forecaster("fifo", "first-fit");
    ASSERT_TRUE(forecaster.ask(engine, question(slow)));
    slow->wait_until_asked();
    for (std::size_t i = 0; i < daemon::Forecaster::kMostWaiting; ++i) {
      rest.push_back(std::make_shared<FakeExchange>());
      ASSERT_TRUE(forecaster.ask(engine, question(rest.back())));
    }
    const auto refused = forecaster.ask(engine, question(std::make_shared<FakeExchange>()));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "berthd looks ahead for 8 other requests of uid 1001 already; ask again in a moment");
    may_answer.set_value();
  }
  EXPECT_EQ(slow->status, 200);
  for (const auto& exchange : rest) EXPECT_TRUE(exchange->status == 200 || exchange->status == 503);
}

// ---- What past predictions tell ---------------------------------------------------------------

/// One GPU, and jobs that take it whole and are said to run for 100 s.
class PastPredictions : public testing::Test {
 protected:
  JobId submit() {
    JobSpec spec{.user = UserId(1), .estimate = seconds(100)};
    spec.request.gpu.count = GpuCount(1);
    spec.request.gpu.sharing = Sharing::Alone;
    const JobId id(++last_);
    step({Submitted{id, spec}});
    return id;
  }
  void end(JobId job) {
    const Attempt attempt = engine_.view().find(job)->attempt;
    step({Exited{.job = job, .attempt = attempt}, Released{job, attempt}});
  }
  Json ask(const daemon::Subject& about) {
    const auto exchange = std::make_shared<FakeExchange>();
    EXPECT_TRUE(forecaster_.ask(engine_, {.about = about, .now = now_, .exchange = exchange}));
    return exchange->answer();
  }
  /// A job runs for 150 s, another waits for it, of which the start is asked for.
  void go_through(daemon::Subject (*about)(JobId)) {
    const JobId first = submit();
    const JobId second = submit();
    ask(about(second));
    now_ += seconds(150);
    end(first);
    end(second);
    now_ += seconds(1000);
  }
  double from_now(const Json& at) const {
    return at.get<double>() - static_cast<double>(micros(now_)) / 1e6;
  }

  Engine engine_ = small_engine();
  daemon::Forecaster forecaster_{"fifo", "first-fit"};
  Instant now_ = kStart + seconds(1);

 private:
  void step(std::vector<Input> inputs) {
    std::vector<JobId> touched;
    while (!inputs.empty()) {
      const Effects& effects = engine_.step(now_, inputs);
      inputs.clear();
      for (const Effect& effect : effects.list) {
        const auto* const launch = std::get_if<Launch>(&effect);
        if (launch != nullptr) inputs.emplace_back(Started{launch->job, launch->attempt});
      }
      for (std::uint64_t id = 1; id <= last_; ++id) touched.emplace_back(id);
      forecaster_.on_changed(engine_.view(), touched);
    }
  }

  std::uint64_t last_ = 0;
};

TEST_F(PastPredictions, MoveTheStartThatIsTold) {
  const auto about = [](JobId job) { return daemon::Subject(job); };
  for (int i = 0; i < 20; ++i) go_through(about);
  submit();
  const JobId waits = submit();
  const Json why = ask(waits);
  EXPECT_EQ(why["predicted_from"], "past predictions") << why;
  EXPECT_NEAR(from_now(why["predicted_start_at"]), 150, 1e-3);
  EXPECT_NEAR(from_now(why["predicted_by_at"]), 150, 1e-3);
  EXPECT_NEAR(from_now(why["before"][0]["at"]), 100, 1e-3) << "the forecast is as it was";
  EXPECT_NEAR(from_now(why["foreseen_start_at"]), 100, 1e-3);
  for (const Json& hint : why["hints"]) {
    EXPECT_LE(hint["starts_at"], why["predicted_start_at"]) << "told as the start is: " << hint;
  }
  const Json starts = ask(daemon::EachStart{})["starts"];
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0]["at"], why["predicted_start_at"]);
  EXPECT_EQ(starts[0]["by_at"], why["predicted_by_at"]);
  EXPECT_EQ(starts[0]["from"], "past predictions");
}

TEST_F(PastPredictions, TellNothingWhileTheyAreFew) {
  const auto about = [](JobId) { return daemon::Subject(daemon::EachStart{}); };
  for (int i = 0; i < 19; ++i) go_through(about);
  submit();
  const Json prior = ask(submit());
  EXPECT_EQ(prior["predicted_from"], "prior") << prior;
  EXPECT_NEAR(from_now(prior["predicted_start_at"]), 100, 1e-3);
  EXPECT_NEAR(from_now(prior["predicted_by_at"]), 250, 1e-3);
}

TEST_F(PastPredictions, OfAListTeachAsWell) {
  const auto about = [](JobId) { return daemon::Subject(daemon::EachStart{}); };
  for (int i = 0; i < 20; ++i) go_through(about);
  submit();
  EXPECT_EQ(ask(submit())["predicted_from"], "past predictions");
}

TEST(ForecasterQueue, OneWhoAsksALotTakesNobodysPlaceAndTurn) {
  const Engine engine = small_engine();
  std::promise<void> may_answer;
  const auto slow = std::make_shared<FakeExchange>(1001, may_answer.get_future().share());
  const auto others = std::make_shared<FakeExchange>(1002);
  daemon::Forecaster forecaster("fifo", "first-fit");
  ASSERT_TRUE(forecaster.ask(engine, question(slow)));
  slow->wait_until_asked();
  for (std::size_t i = 0; i < daemon::Forecaster::kMostWaiting; ++i) {
    ASSERT_TRUE(forecaster.ask(engine, question(std::make_shared<FakeExchange>(1001))));
  }
  EXPECT_FALSE(forecaster.ask(engine, question(std::make_shared<FakeExchange>(1001))));
  ASSERT_TRUE(forecaster.ask(engine, question(others)));
  may_answer.set_value();
  others->wait_until_asked();
  EXPECT_EQ(others->place, slow->place + 2) << "behind one of the other's, not behind all";
}

}  // namespace
}  // namespace berth::test
