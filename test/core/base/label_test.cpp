#include "core/base/label.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "core/base/codec.hpp"

namespace berth {
namespace {

TEST(Label, IsATextOfItsOwn) {
  const Label sweep = std::string("sweep");
  Label copy = sweep;
  EXPECT_EQ(copy, sweep);
  EXPECT_EQ(copy.text(), "sweep");
  copy = Label("other");
  EXPECT_EQ(sweep.text(), "sweep");
  const Label moved = std::move(copy);
  EXPECT_EQ(moved.text(), "other");
}

TEST(Label, TakesNoRoomWhereItIsEmpty) {
  EXPECT_EQ(Label(), Label(""));
  EXPECT_TRUE(Label("").empty());
  EXPECT_EQ(Label().text(), "");
  EXPECT_EQ(sizeof(Label), sizeof(void*));
}

TEST(Label, IsReadAsItWasWritten) {
  for (const char* const text : {"", "resnet-50"}) {
    ByteWriter out;
    codec::put(out, Label(text));
    const std::string bytes = out.take();
    ByteReader in(bytes);
    Label read = "before";
    codec::get(in, read);
    EXPECT_TRUE(in.at_end());
    EXPECT_EQ(read.text(), text);
  }
}

}  // namespace
}  // namespace berth
