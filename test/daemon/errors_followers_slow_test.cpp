// Goal: a follower that stops reading uses no memory and delays no other. Method: a raw peer that
// asks for events and takes none, while enough happens to fill its backlog.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rig.hpp"
#include "http/rig.hpp"

namespace berth {
namespace {

using http::test::RawPeer;
using test::Json;
using test::Rig;

/// Events cannot be read again: a reader too far behind is cut off, and can see it.
TEST(ErrorsFollowers, OneOfEventsThatStopsReadingIsCutOff) {
  Rig rig;
  rig.start();
  RawPeer deaf(rig.socket());
  deaf.send("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
  deaf.receive_until("listening");
  const Json many = {{"held", true}, {"name", std::string(256, 'n')}};
  std::size_t told = 0;
  while (told < (std::size_t{2} << 20)) {  // the backlog and what the kernel takes
    const int id = rig.submit("true", many);
    told += 2 * rig.request("GET", "/v1/jobs?limit=1").body.dump().size();
    rig.request("POST", "/v1/jobs/" + std::to_string(id) + "/cancel");
  }
  EXPECT_EQ(rig.wait_end(rig.submit("true"))["state"], "done");
  const std::string got = deaf.receive_all();  // its end, though the stream was not closed
  EXPECT_LT(got.size(), told);
  EXPECT_THAT(got, testing::Not(testing::EndsWith("0\r\n\r\n")));
}

}  // namespace
}  // namespace berth
