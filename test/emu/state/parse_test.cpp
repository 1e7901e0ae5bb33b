// Goal: sizes, durations and GPU lists are read as written, and refused with a reason.
#include <gtest/gtest.h>

#include "emu/emulator.hpp"
#include "emu/state/identity.hpp"

namespace berth::emu {
namespace {

TEST(ParseBytes, KnowsThePowersOfTwo) {
  EXPECT_EQ(parse_bytes("6G"), 6 * kGibibyte);
  EXPECT_EQ(parse_bytes("512M"), 512 * kMebibyte);
  EXPECT_EQ(parse_bytes("1GiB"), kGibibyte);
  EXPECT_EQ(parse_bytes("1gb"), kGibibyte);
  EXPECT_EQ(parse_bytes("1.5g"), 1536 * kMebibyte);
  EXPECT_EQ(parse_bytes("2T"), 2048 * kGibibyte);
  EXPECT_EQ(parse_bytes("64K"), 65536U);
  EXPECT_EQ(parse_bytes("7"), 7U);
  EXPECT_EQ(parse_bytes("7B"), 7U);
}

TEST(ParseBytes, RefusesTheRest) {
  for (const char* text : {"", "G", "-1G", "1X", "1G2", "6 G", "nan", "1e30T", "99999999999T"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(ParseNanoseconds, KnowsUnits) {
  EXPECT_EQ(parse_nanoseconds("2s"), 2000000000U);
  EXPECT_EQ(parse_nanoseconds("500ms"), 500000000U);
  EXPECT_EQ(parse_nanoseconds("30us"), 30000U);
  EXPECT_EQ(parse_nanoseconds("9ns"), 9U);
  EXPECT_EQ(parse_nanoseconds("1.5m"), 90000000000U);
  EXPECT_EQ(parse_nanoseconds("1h"), 3600000000000U);
  EXPECT_EQ(parse_nanoseconds("3"), 3000000000U);
  for (const char* text : {"", "s", "1d", "-1s", "1s2"}) EXPECT_FALSE(parse_nanoseconds(text));
}

TEST(ParseGpus, KnowsGroups) {
  EXPECT_EQ(parse_gpus("2x24GiB"), (std::vector<std::uint64_t>{24 * kGibibyte, 24 * kGibibyte}));
  EXPECT_EQ(parse_gpus("1x1G,1x2G"), (std::vector<std::uint64_t>{kGibibyte, 2 * kGibibyte}));
  for (const char* text : {"", "24G", "0x1G", "17x1G", "2x", "x1G", "-1x1G", ",1x1G", "2 x 1G"}) {
    EXPECT_FALSE(parse_gpus(text)) << text;
  }
}

TEST(ParseMachine, KnowsGpusAndInterference) {
  EXPECT_EQ(parse_machine("2x24GiB")->gpu_bytes.size(), 2U);
  EXPECT_EQ(parse_machine("2x24GiB")->interference_percent, 0U);
  EXPECT_EQ(parse_machine("1x1G,1x2G,interference=20%")->gpu_bytes.size(), 2U);
  EXPECT_EQ(parse_machine("1x1G,interference=1000%")->interference_percent, 1000U);
  EXPECT_EQ(parse_machine("1x1G,interference=20").error(),
            "interference: '20' is not a whole percentage from 0% to 1000%");
  for (const char* text : {"", "interference=2%", "1x1G,interference=", "1x1G,interference=1001%",
                           "1x1G,interference=-1%", "1x1G,interference=2%,1x1G"}) {
    EXPECT_FALSE(parse_machine(text)) << text;
  }
}

TEST(Parse, ModelsOfEachGpu) {
  const auto models = parse_machine("3x1G,models=H100+2xRTX 3090:45%,driver=570")->models;
  EXPECT_EQ(models, (std::vector<GpuModel>{{.name = "H100"},
                                           {.name = "RTX 3090", .speed_percent = 45},
                                           {.name = "RTX 3090", .speed_percent = 45}}));
  EXPECT_EQ(parse_models("xK80")->front().name, "xK80");
  EXPECT_EQ(parse_models("2xA+").error(), "'' is not a name of 1 to 64 characters");
  EXPECT_EQ(parse_models("A:0%").error(), "a speed of 0%, the least is 1%");
  EXPECT_EQ(parse_models("A:fast").error(), "'fast' is not a whole percentage from 0% to 1000%");
  EXPECT_EQ(parse_models("9xA+8xB").error(), "17 models, the most is 16");
  EXPECT_FALSE(parse_models("0xA"));
}

TEST(ParseMachine, KnowsTheDriverAndWhetherMemoryIsTold) {
  EXPECT_EQ(parse_machine("1x1G")->driver, 580U);
  EXPECT_EQ(parse_machine("1x1G,driver=615,interference=2%")->driver, 615U);
  EXPECT_FALSE(parse_machine("1x1G")->hides_memory);
  EXPECT_TRUE(parse_machine("1x1G,memory=hidden")->hides_memory);
  EXPECT_EQ(parse_machine("1x1G,driver=1").error(), "driver: '1' is not a release from 450 to 999");
  EXPECT_EQ(parse_machine("1x1G,memory=").error(), "memory: '' is not shown or hidden");
  EXPECT_EQ(parse_machine("1x1G,drivers=615").error(),
            "unknown option 'drivers'; valid options: interference, driver, memory, models, mig, "
            "links, accounting, energy, checkpoints");
}

TEST(ParseMachine, KnowsNvlinks) {
  const auto pairs = parse_machine("4x1G,links=0-1+2-3x4,driver=615");
  ASSERT_TRUE(pairs) << pairs.error();
  ASSERT_EQ(pairs->links.size(), 2U);
  EXPECT_EQ(pairs->links[0].count, 1U);
  EXPECT_EQ(pairs->links[1].one, 2U);
  EXPECT_EQ(pairs->links[1].other, 3U);
  EXPECT_EQ(pairs->links[1].count, 4U);
  EXPECT_EQ(parse_machine("8x1G,links=switch")->switch_links, 18U);
  EXPECT_EQ(parse_machine("4x1G,links=0-1x12+0-2x8").error(),
            "links: GPU 0 has 20 NVLinks, the most is 18");
  for (const char* text : {"4x1G,links=", "4x1G,links=0", "4x1G,links=0-0", "4x1G,links=0-1x0",
                           "4x1G,links=0-1+", "4x1G,links=0-99", "4x1G,links=0-1x19"}) {
    EXPECT_FALSE(parse_machine(text)) << text;
  }
}

TEST(FormatBytes, PicksTheUnit) {
  EXPECT_EQ(format_bytes(24 * kGibibyte), "24 GiB");
  EXPECT_EQ(format_bytes(300 * kMebibyte), "300 MiB");
  EXPECT_EQ(format_bytes(1536 * kMebibyte), "1.50 GiB");
  EXPECT_EQ(format_bytes(0), "0 B");
}

TEST(BusId, IsReadInEveryForm) {
  for (const char* text : {"00000000:0B:00.0", "0000:0b:00.0", "0b:00.0"}) {
    EXPECT_EQ(parse_bus_id(text), 0x0bU) << text;
  }
  for (const char* text : {"", "0b", "0001:0b:00.0", "0000:0b:01.0", "0000:zz:00.0"}) {
    EXPECT_EQ(parse_bus_id(text), kNoBus) << text;
  }
}

}  // namespace
}  // namespace berth::emu
