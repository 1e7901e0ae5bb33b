// Goal: amounts read as people write them, and times read back exactly.
// Method: tables of values and their text.
#include "core/text/text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace berth {
namespace {

using namespace literals;

TEST(BytesText, HasThreeDigitsAtMost) {
  EXPECT_EQ(to_text(Bytes(0)), "0 B");
  EXPECT_EQ(to_text(Bytes(17)), "17 B");
  EXPECT_EQ(to_text(Bytes(1023)), "1023 B");
  EXPECT_EQ(to_text(Bytes(1024)), "1 KiB");
  EXPECT_EQ(to_text(300_MiB), "300 MiB");
  EXPECT_EQ(to_text(1536_MiB), "1.5 GiB");
  EXPECT_EQ(to_text(24_GiB), "24 GiB");
  EXPECT_EQ(to_text(1_GiB + 256_MiB), "1.25 GiB");
  EXPECT_EQ(to_text(1_GiB + 100_MiB), "1.09 GiB");
  EXPECT_EQ(to_text(10_GiB + 100_MiB), "10 GiB");
  EXPECT_EQ(to_text(4096_GiB), "4 TiB");
  EXPECT_EQ(to_text(Bytes(-1536) * 1024), "-1.5 MiB");
  EXPECT_EQ(to_text(Bytes(std::numeric_limits<std::int64_t>::max())), "8191 PiB");
}

TEST(CoresText, DropsTrailingZeros) {
  EXPECT_EQ(cores_text(CpuMilli(500)), "0.5");
  EXPECT_EQ(cores_text(CpuMilli(3000)), "3");
  EXPECT_EQ(cores_text(CpuMilli(1001)), "1.001");
  EXPECT_EQ(cores_text(CpuMilli(0)), "0");
}

TEST(RequestText, SaysWhatIsAsked) {
  Request request;
  EXPECT_EQ(to_text(request), "no GPU");
  request.gpu.count = 1_gpus;
  EXPECT_EQ(to_text(request), "1 whole GPU");
  request.gpu.vram = 10_GiB;
  EXPECT_EQ(to_text(request), "1 GPU of 10 GiB");
  request.gpu.count = 2_gpus;
  EXPECT_EQ(to_text(request), "2 GPUs of 10 GiB");
  request.gpu.sharing = Sharing::Alone;
  EXPECT_EQ(to_text(request), "2 whole GPUs of 10 GiB");
}

TEST(SecondsText, IsExactToTheMicrosecond) {
  EXPECT_EQ(seconds_text(Duration(0)), "0");
  EXPECT_EQ(seconds_text(seconds(12)), "12");
  EXPECT_EQ(seconds_text(Duration(12'500'000)), "12.5");
  EXPECT_EQ(seconds_text(Duration(1)), "0.000001");
  EXPECT_EQ(seconds_text(Duration(-3'000'000)), "-3");
  EXPECT_EQ(seconds_text(Duration(-1)), "-0.000001");
  EXPECT_EQ(seconds_text(kStart + minutes(1)), "60");
}

}  // namespace
}  // namespace berth
