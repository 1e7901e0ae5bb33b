// Goal: the pure parts of the CUDA library: visible devices, PTX, device addresses, kept bytes.
// Method: tables of cases as CUDA documents them.
#include <gtest/gtest.h>

#include <numeric>

#include "emu/cuda/address_space.hpp"
#include "emu/cuda/ptx.hpp"
#include "emu/cuda/sparse_bytes.hpp"
#include "emu/cuda/visible.hpp"
#include "emu/spin.hpp"

namespace berth::emu {
namespace {

using Indices = std::vector<std::uint32_t>;

const std::vector<Candidate> kMachine{
    {"GPU-aa11", 24}, {"GPU-ab22", 80}, {"GPU-cc33", 24}, {"GPU-dd44", 80}};

TEST(Visible, AllInTheOrderAskedFor) {
  EXPECT_EQ(visible_gpus(kMachine, {}, DeviceOrder::PciBusId), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(visible_gpus(kMachine, {}, DeviceOrder::FastestFirst), (Indices{1, 3, 0, 2}));
}

TEST(Visible, OrdinalsCountInThatOrder) {
  EXPECT_EQ(visible_gpus(kMachine, "2,0", DeviceOrder::PciBusId), (Indices{2, 0}));
  EXPECT_EQ(visible_gpus(kMachine, "2,0", DeviceOrder::FastestFirst), (Indices{0, 1}));
  EXPECT_EQ(visible_gpus(kMachine, " 1 , 3 ", DeviceOrder::PciBusId), (Indices{1, 3}));
}

TEST(Visible, UuidPrefixesMustFitOne) {
  EXPECT_EQ(visible_gpus(kMachine, "GPU-c,GPU-ab22", DeviceOrder::PciBusId), (Indices{2, 1}));
  EXPECT_EQ(visible_gpus(kMachine, "GPU-a,0", DeviceOrder::PciBusId), Indices{});
}

TEST(Visible, FirstBadEntryEndsTheList) {
  EXPECT_EQ(visible_gpus(kMachine, "1,9,2", DeviceOrder::PciBusId), Indices{1});
  EXPECT_EQ(visible_gpus(kMachine, "1,-1,2", DeviceOrder::PciBusId), Indices{1});
  for (const char* none : {"", "-1", "none", "0x1", "MIG-aa11", "0,0", "1,GPU-ab22"}) {
    EXPECT_EQ(visible_gpus(kMachine, none, DeviceOrder::PciBusId), Indices{}) << none;
  }
}

TEST(Visible, OrderNeedsTheExactWord) {
  EXPECT_EQ(parse_order("PCI_BUS_ID"), DeviceOrder::PciBusId);
  EXPECT_EQ(parse_order("PCI_BUS_I"), DeviceOrder::FastestFirst);
  EXPECT_EQ(parse_order({}), DeviceOrder::FastestFirst);
}

TEST(Ptx, FindsEntriesAndParameters) {
  const auto entries = parse_ptx(
      "// made by hand\n.version 7.0 /* .entry no */\n.target sm_50\n.address_size 64\n"
      ".func helper() { ret; }\n"
      ".visible .entry _Z1kPfi(.param .u64 a, .param .u32 b, .param .align 8 .b8 c[16]) { ret; }\n"
      ".entry bare { ret; }\n.weak .entry none ( ) { ret; }");
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].name, "_Z1kPfi");
  EXPECT_EQ((*entries)[0].parameter_bytes, (std::vector<std::size_t>{8, 4, 16}));
  EXPECT_EQ((*entries)[1].name, "bare");
  EXPECT_TRUE((*entries)[2].parameter_bytes.empty());
}

TEST(Ptx, OurOwnKernelIsRead) {
  const auto entries = parse_ptx(kSpinPtx);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ(entries->front().name, kSpinEntry);
  EXPECT_EQ(entries->front().parameter_bytes, (std::vector<std::size_t>{8, 8}));
  EXPECT_EQ(entries->back().name, kTrapEntry);
  EXPECT_TRUE(entries->back().parameter_bytes.empty());
}

TEST(Ptx, RefusesOtherThings) {
  for (const char* text : {"", "hello", "// only a comment", "/* open", "int main() {}"}) {
    EXPECT_EQ(parse_ptx(text).error(), CudaResult::InvalidImage) << text;
  }
  for (const char* text : {".version 7.0", ".version 7.0 .target sm_50 .entry",
                           ".version 7.0 .target sm_50 .entry k(.param .u64 a",
                           ".version 7.0 .target sm_50 .entry k(.reg .u64 a) {}",
                           ".version 7.0 .target sm_50 .entry k(.param .u64) {}"}) {
    EXPECT_EQ(parse_ptx(text).error(), CudaResult::InvalidPtx) << text;
  }
  EXPECT_TRUE(
      is_binary_image("\x7f"
                      "ELF"));
  EXPECT_TRUE(is_binary_image("\x50\xed\x55\xba"));
  EXPECT_FALSE(is_binary_image(""));
  EXPECT_FALSE(is_binary_image(kSpinPtx));
}

TEST(AddressSpace, RangesAreAlignedAndApart) {
  AddressSpace space(0x1000, 0x100000);
  const auto first = space.reserve({100, nullptr}, 512);
  const auto second = space.reserve({5000, nullptr}, 0x1000);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*second % 0x1000, 0U);
  EXPECT_EQ(space.find(*first + 99)->base, *first);
  EXPECT_FALSE(space.find(*first + 100));
  EXPECT_FALSE(space.find(*first - 1));
  EXPECT_EQ(space.find(*second + 4999)->allocation.bytes, 5000U);
}

TEST(AddressSpace, WrapsAroundWhatLives) {
  AddressSpace space(0, 1000);
  const auto kept = space.reserve({300, nullptr}, 1);
  for (int round = 0; round < 50; ++round) {
    const auto other = space.reserve({400, nullptr}, 7);
    ASSERT_TRUE(other);
    EXPECT_GE(*other, *kept + 300);
    space.release(*other);
  }
  EXPECT_FALSE(space.reserve({701, nullptr}, 1));
}

TEST(SparseBytes, KeepsWhatIsWritten) {
  SparseBytes bytes;
  std::vector<unsigned char> written(10000);
  std::iota(written.begin(), written.end(), 1);
  bytes.write(4000, written.data(), written.size());
  std::vector<unsigned char> read(written.size() + 2, 9);
  bytes.read(3999, read.data(), read.size());
  EXPECT_EQ(read.front(), 0);
  EXPECT_EQ(read.back(), 0);
  EXPECT_TRUE(std::equal(written.begin(), written.end(), read.begin() + 1));
}

TEST(SparseBytes, FillsCopiesAndForgets) {
  SparseBytes bytes;
  const std::uint32_t pattern = 0x01020304;
  bytes.fill(8192, &pattern, sizeof pattern, 8000);
  bytes.copy(100004, 8192, 8000);
  std::uint32_t value = 0;
  bytes.read(100004 + 7996, &value, sizeof value);
  EXPECT_EQ(value, pattern);
  bytes.erase(100004, 7998);
  bytes.read(100004 + 7996, &value, sizeof value);
  EXPECT_EQ(value, 0x01020000U);
}

TEST(SparseBytes, StaysWithinItsBudget) {
  SparseBytes bytes;
  const unsigned char one = 1;
  bytes.fill(0, &one, 1, 80ULL << 30);  // would not return in a lifetime if it were all kept
  unsigned char value = 0;
  bytes.read(SparseBytes::kBudgetBytes - 1, &value, 1);
  EXPECT_EQ(value, 1);
  bytes.read(SparseBytes::kBudgetBytes, &value, 1);
  EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace berth::emu
