// Goal: `adopt` says which process is meant, by its number and the time of its start, with its
// words; what is no number is refused before anything is asked. Method: the real program against a
// daemon of canned answers, and the process of the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/fake_daemon.hpp"
#include "cli/program.hpp"
#include "shim/proc.hpp"

namespace berth {
namespace {

using test::FakeDaemon;
using test::kBadUsage;
using test::Ran;
using testing::HasSubstr;
using Json = nlohmann::json;

class AdoptVerb : public testing::Test {
 protected:
  Ran berth(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "adopt");
    return test::berth(std::move(arguments),
                       {.environment = {"BERTH_SOCKET=" + daemon_.socket()}, .directory = "/tmp"});
  }
  FakeDaemon daemon_;
};

TEST_F(AdoptVerb, NamesTheProcessSoThatItIsNoOther) {
  daemon_.answer("POST /v1/adopt", R"({"id":7,"state":"starting","charges":[
    {"gpu":0,"held_bytes":8589934592,"charge_bytes":10737418240},
    {"gpu":1,"held_bytes":1073741824,"charge_bytes":1610612736}]})");
  const Ran ran =
      berth({"--vram", "10G", "--time", "8h", "--name", "night", std::to_string(::getpid())});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "job 7 adopted: 10 GiB of GPU 0 charged, 8 GiB held; 1.5 GiB of GPU 1 charged, 1 GiB "
            "held\n");
  const Json asked = Json::parse(daemon_.take("POST /v1/adopt").body);
  EXPECT_EQ(asked["pid"], ::getpid());
  EXPECT_EQ(asked["start"], shim::stat_of(::getpid())->start);
  EXPECT_THAT(asked["command"][0].get<std::string>(), HasSubstr("cli_test"));
  EXPECT_EQ(asked["vram_bytes"], std::int64_t{10} << 30);
  EXPECT_EQ(asked["time_limit_seconds"], 8 * 3600);
  EXPECT_EQ(asked["name"], "night");
}

TEST_F(AdoptVerb, WhatIsNoNumberIsBadUsage) {
  for (const char* const word : {"python", "0", "-1x", "99999999"}) {
    const Ran ran = berth({"--", word});
    EXPECT_EQ(ran.exit_code, kBadUsage) << word;
    EXPECT_THAT(ran.err, HasSubstr(std::string(word) + ": is no process number, as 4242"));
  }
}

}  // namespace
}  // namespace berth
