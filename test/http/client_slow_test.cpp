// Goal: the client gives up on a silent server, and not on a stream that takes its time.
// Method: a stream whose second piece comes later than the client waits for a first one.
#include "http/rig.hpp"

namespace berth::http::test {
namespace {

TEST_F(Http, AStreamMayTakeItsTimeOnceItHasBegun) {
  Held held;
  serve(held.handler());
  std::thread server([&] {
    const auto stream = held.take()->stream("text/plain");
    stream->write("begins");
    std::this_thread::sleep_for(std::chrono::milliseconds(1300));
    stream->write(" and goes on");
  });
  auto impatient = Client::open(path_, seconds(1));
  std::string got;
  const auto answer = impatient->stream("GET", "/", [&](std::string_view piece) {
    got += piece;
    return true;
  });
  server.join();
  EXPECT_TRUE(answer);
  EXPECT_EQ(got, "begins and goes on");
}

}  // namespace
}  // namespace berth::http::test
