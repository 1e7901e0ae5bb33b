// Goal: a daemon and the command line agree on a socket without a setting. Method: the pure rule.
#include "http/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::http {
namespace {

using testing::ElementsAre;

TEST(Sockets, OfRootAreTheMachines) {
  EXPECT_THAT(socket_candidates(0, "/run/user/0", "/r"), ElementsAre("/run/berth.sock"));
  EXPECT_EQ(default_socket(0, "/run/user/0", "/r"), "/run/berth.sock");
}

TEST(Sockets, OfAUserAreTheirOwnFirst) {
  EXPECT_THAT(socket_candidates(7, "/run/user/7", "/h/ann"),
              ElementsAre("/run/user/7/berth.sock", "/h/ann/.local/state/berth/berth.sock",
                          "/run/berth.sock"));
  EXPECT_EQ(default_socket(7, "/run/user/7", "/h/ann"), "/run/user/7/berth.sock");
  EXPECT_EQ(default_socket(7, "", "/h/ann"), "/h/ann/.local/state/berth/berth.sock");
}

TEST(Sockets, ComeFromAbsoluteFoldersOnly) {
  EXPECT_THAT(socket_candidates(7, "run", "ann"), ElementsAre("/run/berth.sock"));
  EXPECT_THAT(socket_candidates(7, "", ""), ElementsAre("/run/berth.sock"));
}

}  // namespace
}  // namespace berth::http
