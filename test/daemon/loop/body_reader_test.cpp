// Goal: a user's large bodies hold up no other's for longer than one of them takes. Method: work
// that stands for reading; the first waits until the rest is there.
#include "daemon/loop/body_reader.hpp"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace berth::daemon {
namespace {

TEST(BodyReader, TakesUsersInTurnAndKeepsTheOrderOfEach) {
  std::promise<void> has_begun;
  std::promise<void> all_are_there;
  std::promise<std::string> done;
  std::string order;
  BodyReader reader;
  reader.read_for(1, [&] {
    has_begun.set_value();
    all_are_there.get_future().wait();
  });
  has_begun.get_future().wait();
  for (const char* const text : {"a", "b", "c"}) {
    reader.read_for(1, [&, text] { order += text; });
  }
  reader.read_for(2, [&] { order += "2"; });
  reader.read_for(1, [&] { done.set_value(order); });
  all_are_there.set_value();
  EXPECT_EQ(done.get_future().get(), "a2bc");
}

}  // namespace
}  // namespace berth::daemon
