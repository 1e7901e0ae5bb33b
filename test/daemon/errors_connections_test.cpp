// Goal: clients that come in masses, wait for ever, stop reading or never finish a request harm
// no other client. Method: raw peers at the socket of a real berthd, beside one that behaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <list>

#include "daemon/rig.hpp"
#include "http/rig.hpp"

namespace berth {
namespace {

using http::test::RawPeer;
using test::eventually;
using test::Json;
using test::Rig;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t kCrowd = 1000;

std::string get(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

/// A job from its submission to its end, all of its output and all of its events.
void expect_served(Rig& rig) {
  const int id = rig.submit("echo out");
  EXPECT_EQ(rig.wait_end(id)["state"], "done");
  EXPECT_EQ(rig.log(id), "out\n");
  EXPECT_THAT(rig.text("/v1/events?job=" + std::to_string(id)), HasSubstr("\"state\":\"done\""));
}

/// Both ends of each connection may be ours to count.
void allow_many_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 2 * kCrowd) GTEST_SKIP() << "may open " << limit.rlim_cur << " files only";
}

class ErrorsConnections : public testing::Test {
 protected:
  void SetUp() override {
    allow_many_files();
    rig_.start();
  }

  Rig rig_;
};

/// The rig looks for the longest turn of the engine's thread at its end.
TEST_F(ErrorsConnections, OneUserFollowsAllJobsABoundedNumberOfTimes) {
  constexpr std::size_t kMost = 64;
  std::list<RawPeer> crowd;
  for (std::size_t i = 0; i < kMost; ++i) {
    crowd.emplace_back(rig_.socket());
    crowd.back().send(get("/v1/events"));
    crowd.back().receive_until("listening");
  }
  const auto refused = rig_.request("GET", "/v1/events");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body["error"].get<std::string>(),
              HasSubstr("follows all jobs 64 times already, which is the limit for one user"));
  const int first = rig_.submit("true", {{"held", true}, {"array", "1-300"}});
  const std::string last = "\"id\":" + std::to_string(first + 299) + ",";
  for (RawPeer& one : crowd) EXPECT_THAT(one.receive_until(last), HasSubstr(last));
  EXPECT_EQ(rig_.wait_end(rig_.submit("true"))["state"], "done");  // one job is followed
  crowd.pop_front();
  eventually("there is room for another", [&] {
    RawPeer one(rig_.socket());
    one.send(get("/v1/events"));
    return one.receive_until("\r\n\r\n").starts_with("HTTP/1.1 200 ");
  });
}

TEST_F(ErrorsConnections, AThousandIdleOnesHarmNobody) {
  std::list<RawPeer> crowd;
  for (std::size_t i = 0; i < kCrowd; ++i) crowd.emplace_back(rig_.socket());
  expect_served(rig_);
  crowd.back().send(get("/v1/version"));  // and each is served when it asks
  EXPECT_THAT(crowd.back().receive_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(ErrorsConnections, AThousandFollowersHarmNobody) {
  const int id = rig_.submit("true", {{"held", true}});
  std::list<RawPeer> crowd;
  for (std::size_t i = 0; i < kCrowd; ++i) {
    crowd.emplace_back(rig_.socket());
    crowd.back().send(get("/v1/events?job=" + std::to_string(id)));
  }
  EXPECT_THAT(crowd.back().receive_until("\"held\""), StartsWith("HTTP/1.1 200 OK"));
  expect_served(rig_);
  EXPECT_EQ(rig_.request("POST", test::path(id, "/release")).status, 200);
  EXPECT_THAT(crowd.back().receive_until("\"done\""), HasSubstr("\"state\":\"done\""));
  EXPECT_THAT(crowd.front().receive_until("\"done\""), HasSubstr("\"state\":\"done\""));
}

TEST_F(ErrorsConnections, MoreThanOneUserMayHaveAreRefused) {
  std::list<RawPeer> crowd;
  for (int i = 0; i < 1025; ++i) {
    crowd.emplace_back(rig_.socket());
    if (i == 1024) break;
    crowd.back().send(get("/v1/version"));
    crowd.back().receive_until("\r\n\r\n");  // so that it is taken in
  }
  const std::string refused = crowd.back().receive_all();
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(refused, HasSubstr("uid " + std::to_string(getuid()) +
                                 " has 1024 connections, which is the limit for one user"));
  crowd.clear();
  eventually("they are gone", [&] {
    auto client = http::Client::open(rig_.socket());
    return client && client->request("GET", "/v1/version")->status == 200;
  });
}

TEST_F(ErrorsConnections, HalvesOfRequestsHarmNobody) {
  std::list<RawPeer> crowd;
  for (int i = 0; i < 200; ++i) {
    crowd.emplace_back(rig_.socket());
    crowd.back().send(
        i % 2 == 0 ? "GET /v1/ver"
                   : "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n{\"comm");
  }
  expect_served(rig_);
}

/// Its log is read from the disk as it takes it: nothing piles up, nothing of it is lost.
TEST_F(ErrorsConnections, AFollowerOfALogThatStopsReadingHarmsNobody) {
  constexpr std::size_t kSize = std::size_t{16} << 20;
  const int id = rig_.submit("head -c 16777216 /dev/zero; echo; echo end",
                             {{"gpus", 0}, {"vram_bytes", nullptr}});
  RawPeer deaf(rig_.socket());
  deaf.send(get("/v1/jobs/" + std::to_string(id) + "/log?follow=true"));
  rig_.wait_end(id);
  expect_served(rig_);
  EXPECT_GT(deaf.receive_until("0\r\n\r\n").size(), kSize);
}

TEST_F(ErrorsConnections, WhatIsNoProperRequestIsRefusedAndNothingElse) {
  for (const auto& [bytes, status] : std::vector<std::pair<std::string, std::string>>{
           {"\x16\x03\x01 hello\r\n\r\n", "400"},
           {"GET /v1/version HTTP/1.1\r\n\r\n", "400"},
           {"POST /v1/jobs HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
           {"GET /v1/jobs/%zz HTTP/1.1\r\nHost: x\r\n\r\n", "400"},
           {"GET /" + std::string(17'000, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n", "431"},
           {"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 8388609\r\n\r\n", "413"}}) {
    RawPeer peer(rig_.socket());
    peer.send(bytes);
    EXPECT_THAT(peer.receive_all(), StartsWith("HTTP/1.1 " + status + " ")) << bytes.substr(0, 60);
  }
  expect_served(rig_);
}

}  // namespace
}  // namespace berth
