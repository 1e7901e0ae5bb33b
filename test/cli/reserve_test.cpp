// Goal: `reserve` asks for what was typed and lists what is reserved; wrong times and names are
// refused before anything is asked. Method: the real program against a daemon of canned answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/fake_daemon.hpp"
#include "cli/program.hpp"

namespace berth {
namespace {

using test::FakeDaemon;
using test::kBadUsage;
using test::Ran;
using testing::HasSubstr;
using Json = nlohmann::json;

const auto kAnswer = R"({"id":3,"reservations":[{"id":3,"gpus":[0,1],"users":["alice"],
  "text":"alice from 22:00 until 06:00","from_at":1700000000,"until_at":1700028800,"by":"root",
  "reason":"deadline","in_force":false}],
  "in_the_way":[{"job":12,"user":"bob","gpus":[0],"ends_by_at":null}]})";

class ReserveVerb : public testing::Test {
 protected:
  Ran berth(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "reserve");
    return test::berth(
        std::move(arguments),
        {.environment = {"BERTH_SOCKET=" + daemon_.socket(), "TZ=UTC"}, .directory = "/tmp"});
  }
  FakeDaemon daemon_;
};

TEST_F(ReserveVerb, AsksForWhatWasTypedAndNamesJobsThatGoOn) {
  daemon_.answer("POST /v1/reserve", kAnswer);
  const Ran ran = berth({"--gpu", "0,1", "--user", "alice,@lab", "--from", "2100-01-01T22:00",
                         "--until", "06:00", "--reason", "deadline"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const Json asked = Json::parse(daemon_.take("POST /v1/reserve").body);
  EXPECT_EQ(asked["gpus"], Json({0, 1}));
  EXPECT_EQ(asked["users"], Json({"alice", "@lab"}));
  EXPECT_EQ(asked["from_at"], 4102524000.0);  // 2100-01-01T22:00Z
  EXPECT_EQ(asked["until_at"], 4102524000.0 + 8 * 3600);
  EXPECT_EQ(asked["reason"], "deadline");
  EXPECT_EQ(ran.out,
            "ID  ON         FOR    FROM                 UNTIL                BY    REASON\n"
            " 3  GPUs 0, 1  alice  2023-11-14 22:13:20  2023-11-15 06:13:20  root  deadline\n"
            "job 12 of bob is on GPU 0 and goes on: it has no time limit\n"
            "until then jobs of others start there if their time limit ends them before; those "
            "without --time wait (longest_time in berth.toml gives each job a limit)\n");
}

TEST_F(ReserveVerb, ForIsCountedFromWhenItBegins) {
  daemon_.answer("POST /v1/reserve", kAnswer);
  EXPECT_EQ(berth({"--gpu", "all", "--user", "alice", "--from", "2100-01-01T22:00", "--for", "8h"})
                .exit_code,
            0);
  const Json asked = Json::parse(daemon_.take("POST /v1/reserve").body);
  EXPECT_EQ(asked["gpus"], "all");
  EXPECT_EQ(asked["until_at"], 4102524000.0 + 8 * 3600);
}

TEST_F(ReserveVerb, WithoutOptionsLists) {
  daemon_.answer("GET /v1/reservations", R"({"reservations":[]})");
  EXPECT_EQ(berth({}).out, "no GPU is reserved\n");
}

TEST_F(ReserveVerb, WhatCannotBeIsBadUsage) {
  for (const auto& [words, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--gpu", "0", "--for", "8h"}, "no user is named; give --user NAME or --user @GROUP"},
           {{"--user", "alice", "--for", "8h"}, "no GPU is named"},
           {{"--gpu", "x", "--user", "alice", "--for", "8h"}, "x: is not `all` or a GPU's index"},
           {{"--gpu", "0", "--user", "alice"}, "give --until TIME or --for DURATION"},
           {{"--gpu", "0", "--user", "a", "--until", "2001-01-01"},
            "--until 2001-01-01: is not after it begins"},
           {{"--gpu", "0", "--user", "a", "--from", "soon", "--for", "8h"},
            "--from soon: is not a"},
           {{"--gpu", "0", "--user", "a", "--for", "ever"}, "--for ever: is not a"}}) {
    const Ran ran = berth(words);
    EXPECT_EQ(ran.exit_code, kBadUsage) << message;
    EXPECT_THAT(ran.err, HasSubstr(message));
  }
}

}  // namespace
}  // namespace berth
