// Goal: frames come out of a stream as they went in, however it is cut, and nothing else does.
// Method: frames are read byte by byte and at once; then invalid heads.
#include "shim/attach.hpp"

#include <gtest/gtest.h>

namespace berth::shim {
namespace {

TEST(Frames, ComeOutAsTheyWentIn) {
  const std::string large(kLargestFrame, 'x');
  const std::string stream =
      encode_frame(FrameKind::Input, "abc") + encode_frame(FrameKind::InputEnd, "") +
      encode_frame(FrameKind::Exit, std::string(1, '\0')) + encode_frame(FrameKind::Output, large);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    FrameReader reader;
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      reader.add(std::string_view(stream).substr(at, step));
      for (auto frame = reader.next(); frame.value(); frame = reader.next()) {
        frames.push_back(**frame);
      }
    }
    ASSERT_EQ(frames.size(), 4U) << step;
    EXPECT_EQ(frames[0].kind, FrameKind::Input);
    EXPECT_EQ(frames[0].bytes, "abc");
    EXPECT_EQ(frames[1].kind, FrameKind::InputEnd);
    EXPECT_EQ(frames[1].bytes, "");
    EXPECT_EQ(frames[2].bytes, std::string(1, '\0'));
    EXPECT_EQ(frames[3].kind, FrameKind::Output);
    EXPECT_EQ(frames[3].bytes, large);
  }
}

TEST(Frames, OfAnUnknownKindAreRefusedAtTheirFirstByte) {
  for (const char kind : {'\0', '\x0b', '\xff'}) {
    FrameReader reader;
    reader.add(std::string(1, kind));
    EXPECT_FALSE(reader.next()) << int{kind};
  }
}

TEST(Frames, ThatAreTooLargeAreRefusedBeforeTheyCome) {
  FrameReader reader;
  reader.add(encode_frame(FrameKind::Input, std::string(kLargestFrame + 1, 'x')).substr(0, 5));
  const auto frame = reader.next();
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().message, "frame of 65537 bytes, the most is 65536");
  FrameReader other;
  other.add(std::string("\x01\xff\xff\xff\xff", 5));
  EXPECT_FALSE(other.next());
}

}  // namespace
}  // namespace berth::shim
