// Goal: GPUs are reserved for users by an operator, jobs of others keep off them and are told why,
// and the reservation outlives berthd and ends at its time.
// Method: a real berthd on emulated GPUs, requests and `berth` itself; where root is, three
// accounts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "daemon/accounts.hpp"
#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::Json;
using test::Ran;
using test::Rig;
using test::slurp;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// A user who is not the one that the tests run as.
constexpr const char* kOther = "4242";

TEST(Reserve, KeepsJobsOfOthersOffAndSaysWhyAcrossARestart) {
  Rig rig({.gpus = "1x24GiB"});
  rig.start();
  const int there = rig.submit(test::kUntilGo);
  rig.wait_for(there, "running");
  const Json wish = {
      {"gpus", {0}}, {"users", {kOther}}, {"until_at", now() + 7200}, {"reason", "deadline"}};
  const Rig::Answer made = rig.request("POST", "/v1/reserve", wish);
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(made.body["id"], 1);
  EXPECT_EQ(made.body["in_the_way"][0]["job"], there);
  EXPECT_EQ(made.body["in_the_way"][0]["ends_by_at"], Json());
  EXPECT_EQ(made.body["reservations"][0]["in_force"], true);
  EXPECT_EQ(made.body["reservations"][0]["reason"], "deadline");
  const int waits = rig.submit("true");
  const auto says_why = [&] {
    const Json job = rig.job(waits);
    EXPECT_EQ(job["state"], "queued");
    EXPECT_THAT(job["reason"].get<std::string>(),
                ContainsRegex("GPU 0 is reserved for 4242 until [0-9-]+ [0-9:]+ [-+][0-9]+"));
    EXPECT_THAT(job["reason_brief"].get<std::string>(), HasSubstr("GPU 0 is reserved for 4242"));
    const Rig::Answer gpus = rig.request("GET", "/v1/gpus");
    EXPECT_EQ(gpus.body["gpus"][0]["reserved"][0]["users"], Json::array({kOther}));
  };
  says_why();
  rig.kill();
  rig.start();
  EXPECT_EQ(rig.job(there)["state"], "running");
  rig.folder().write("go", "");
  rig.wait_end(there);
  says_why();
  const Rig::Answer ended = rig.request("POST", "/v1/unreserve", {{"reservations", {1}}});
  EXPECT_EQ(ended.status, 200) << ended.body;
  EXPECT_EQ(ended.body["reservations"], Json::array());
  EXPECT_EQ(rig.wait_end(waits)["state"], "done");
}

TEST(Reserve, BeforeItBeginsTheTimeLimitDecidesAndThenItEnds) {
  Rig rig({.gpus = "1x24GiB"});
  rig.start();
  const double begins = now() + 3600;
  const Json wish = {
      {"gpus", "all"}, {"users", {kOther}}, {"from_at", begins}, {"until_at", begins + 60}};
  ASSERT_EQ(rig.request("POST", "/v1/reserve", wish).status, 200);
  const int endless = rig.submit("true");
  const int brief = rig.submit("true", {{"vram_bytes", 1 << 30}, {"time_limit_seconds", 600}});
  EXPECT_EQ(rig.wait_end(brief)["state"], "done");
  EXPECT_EQ(rig.job(endless)["state"], "queued");
  const Json why = rig.request("GET", "/v1/jobs/" + std::to_string(endless) + "/why").body;
  EXPECT_EQ(why["lacking"][0]["why"], "reservation");
  EXPECT_NEAR(why["lacking"][0]["reserved"]["from_at"].get<double>(), begins, 0.001);
  EXPECT_NEAR(why["predicted_start_at"].get<double>(), begins + 60, 1);
  ASSERT_EQ(rig.request("POST", "/v1/unreserve", {{"reservations", {1}}}).status, 200);
  const double ends = now() + 1;
  const Json soon = {{"gpus", "all"}, {"users", {kOther}}, {"until_at", ends}};
  EXPECT_EQ(rig.wait_end(endless)["state"], "done");
  ASSERT_EQ(rig.request("POST", "/v1/reserve", soon).status, 200);
  const Json late = rig.wait_end(rig.submit("true"));
  EXPECT_GE(late["started_at"].get<double>(), ends);
  EXPECT_EQ(rig.request("GET", "/v1/reservations").body["reservations"], Json::array());
}

TEST(Reserve, RefusesWhatCannotBe) {
  Rig rig;
  rig.start();
  const double until = now() + 100;
  for (const auto& [body, message] : std::vector<std::pair<Json, std::string>>{
           {{{"gpus", {2}}, {"users", {"0"}}, {"until_at", until}},
            "gpus: GPU 2: this machine has 2"},
           {{{"gpus", "all"}, {"until_at", until}}, "users: is missing"},
           {{{"gpus", "all"}, {"users", {"nobody-at-all"}}, {"until_at", until}},
            "users: 'nobody-at-all': no such user on this machine"},
           {{{"gpus", "all"}, {"users", {"@no-such-group"}}, {"until_at", until}},
            "users: '@no-such-group': no such group on this machine"},
           {{{"gpus", "all"}, {"users", {"0"}}, {"until_at", 1}},
            "until_at: is not after it begins"},
           {{{"gpus", "all"}, {"users", {"0"}}, {"until_at", until}, {"why", 1}},
            "why: unknown key; valid keys: gpus, users, from_at, until_at, reason"}}) {
    const Rig::Answer answer = rig.request("POST", "/v1/reserve", body);
    EXPECT_EQ(answer.status, 400);
    EXPECT_EQ(answer.body["error"], message);
  }
  const Json first = {{"gpus", {0}}, {"users", {kOther}}, {"until_at", until}};
  ASSERT_EQ(rig.request("POST", "/v1/reserve", first).status, 200);
  const Rig::Answer second = rig.request(
      "POST", "/v1/reserve", {{"gpus", "all"}, {"users", {"4243"}}, {"until_at", until}});
  EXPECT_EQ(second.status, 409);
  EXPECT_THAT(second.body["error"].get<std::string>(),
              ContainsRegex("GPU 0: is reserved for 4242 until .* .reservation 1."));
  EXPECT_EQ(rig.request("POST", "/v1/unreserve", {{"reservations", {7}}}).status, 404);
}

class ReserveByRole : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
    for (const auto* account : {&alice_, &bob_, &olga_}) {
      if (!account->is_there()) GTEST_SKIP() << "no accounts can be made here";
    }
  }
  test::Account alice_{"alice"};
  test::Account bob_{"bob"};
  test::Account olga_{"olga"};
};

TEST_F(ReserveByRole, AnOperatorReservesAndTheUserStarts) {
  Rig rig(
      {.gpus = "1x24GiB",
       .config = "probe = \"100ms\"\ngrace = \"500ms\"\noperators = [\"" + olga_.name() + "\"]\n"});
  test::Users users(rig);
  rig.start();
  const std::string ask = "berth reserve --gpu 0 --user " + alice_.name() + " --for 2h";
  const Ran denied = users.run(bob_, ask);
  EXPECT_NE(denied.exit_code, 0);
  EXPECT_THAT(denied.err, HasSubstr("only an operator may do that"));
  const Ran made = users.run(olga_, ask + " --reason deadline");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr(alice_.name()));
  EXPECT_THAT(made.out, HasSubstr("deadline"));
  const int other = users.submit(bob_, "true", "--vram 1G");
  const int own = users.submit(alice_, "true", "--vram 1G");
  EXPECT_EQ(rig.wait_end(own)["state"], "done");
  EXPECT_THAT(users.run(bob_, "berth why " + std::to_string(other)).out,
              HasSubstr("is reserved for " + alice_.name() + " until "));
  EXPECT_THAT(users.run(bob_, "berth gpus").out, HasSubstr("reserved for " + alice_.name()));
  EXPECT_EQ(users.run(bob_, "berth reserve").out, made.out);
  EXPECT_NE(users.run(bob_, "berth unreserve 1").exit_code, 0);
  EXPECT_EQ(users.run(olga_, "berth unreserve 1").out, "no GPU is reserved\n");
  EXPECT_EQ(rig.wait_end(other)["state"], "done");
  EXPECT_THAT(made.out, Not(HasSubstr("until then")));
  EXPECT_THAT(
      users.run(olga_, ask + " --from +24h").out,
      HasSubstr("until then jobs of others start there if their time limit ends them before"));
  const std::string audit = slurp(rig.state() + "/audit.jsonl");
  EXPECT_THAT(audit, HasSubstr("\"user\":\"" + olga_.name() + "\",\"what\":\"reserve\""));
  EXPECT_THAT(audit, HasSubstr("\"user\":\"" + olga_.name() + "\",\"what\":\"unreserve\""));
}

}  // namespace
}  // namespace berth
