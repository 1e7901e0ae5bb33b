// Goal: a state file is made whole or not at all, read only by the driver that understands it, and
// replaced only when no process uses it.
// Method: files that are missing, damaged, of another version, and in use.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "emu/state/process.hpp"
#include "emu/state/region.hpp"
#include "emu/support.hpp"

namespace berth::emu {
namespace {

Spec two_gpus() { return {.gpu_bytes = {kGibibyte, 2 * kGibibyte}}; }

void overwrite(const std::string& path, off_t offset, std::uint32_t value) {
  const int file = ::open(path.c_str(), O_WRONLY);
  ASSERT_EQ(::pwrite(file, &value, sizeof value, offset), static_cast<ssize_t>(sizeof value));
  ::close(file);
}

TEST(Create, MakesWhatWasAskedFor) {
  const test::Machine machine(two_gpus());
  const auto gpus = report(machine.state());
  ASSERT_TRUE(gpus);
  ASSERT_EQ(gpus->size(), 2U);
  EXPECT_EQ((*gpus)[1].total_bytes, 2 * kGibibyte);
  EXPECT_EQ((*gpus)[1].reserved_bytes, 32 * kMebibyte);
  EXPECT_EQ((*gpus)[0].used_bytes, 0U);
  EXPECT_EQ((*gpus)[0].model, "Berth Emulated GPU");
  EXPECT_EQ((*gpus)[0].bus_id, "00000000:0B:00.0");
}

TEST(Create, TakesNoHostMemoryForDeviceMemory) {
  const test::Machine machine({.gpu_bytes = std::vector<std::uint64_t>(16, 80 * kGibibyte)});
  struct stat status{};
  ASSERT_EQ(::stat(machine.state().c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 16 << 20);  // the table of processes, whole: see fill_file()
}

TEST(Create, RefusesAPathThatExists) {
  const test::Machine machine(two_gpus());
  const auto again = create(machine.state(), two_gpus());
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().find(machine.state()), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(machine.folder()), {}), 1);
}

TEST(Create, NamesTheLimitThatIsBroken) {
  const test::Machine machine;
  const auto path = machine.folder() + "/other";
  EXPECT_EQ(create(path, {}).error(), "gpus: none given, smallest number is 1");
  EXPECT_EQ(create(path, {.gpu_bytes = std::vector<std::uint64_t>(17, kGibibyte)}).error(),
            "gpus: 17, largest number is 16");
  EXPECT_EQ(create(path, {.gpu_bytes = {kMebibyte}}).error(),
            "GPU 0: memory 1 MiB, smallest is 64 MiB");
  EXPECT_EQ(
      create(path, {.gpu_bytes = {kGibibyte}, .models = {{.name = "a"}, {.name = "b"}}}).error(),
      "models: of 2 GPUs, there are 1");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Create, UuidsAreStableAndDiffer) {
  const test::Machine one(two_gpus());
  const test::Machine other(two_gpus());
  Spec seeded = two_gpus();
  seeded.seed = 1;
  const test::Machine third(seeded);
  EXPECT_EQ(one.gpu(0).uuid, other.gpu(0).uuid);
  EXPECT_EQ(std::set({one.gpu(0).uuid, one.gpu(1).uuid, third.gpu(0).uuid}).size(), 3U);
}

TEST(OpenOrCreate, KeepsAFileOfTheSameSpecAndItsTenants) {
  const test::Machine machine(two_gpus());
  const auto region = Region::open(machine.state());
  claim_slot(region->layout(), *key_of(::getpid()));
  ASSERT_TRUE(open_or_create(machine.state(), two_gpus()));
  const auto reopened = Region::open(machine.state());
  EXPECT_NE(reopened->layout().owners[0].load(), 0U);
}

TEST(OpenOrCreate, ReplacesAnotherSpecOnlyWhenNobodyUsesIt) {
  const test::Machine machine(two_gpus());
  const Spec other{.gpu_bytes = {3 * kGibibyte}};
  {
    const auto region = Region::open(machine.state());
    claim_slot(region->layout(), *key_of(::getpid()));
    const auto kept = open_or_create(machine.state(), other);
    ASSERT_TRUE(kept) << kept.error();
    EXPECT_EQ(*kept, "process " + std::to_string(::getpid()) + " uses those that are there");
    EXPECT_EQ(Region::open(machine.state())->gpu_count(), 2U);
    region->layout().owners[0].store(0);
  }
  ASSERT_TRUE(open_or_create(machine.state(), other));
  EXPECT_EQ(machine.gpu(0).total_bytes, 3 * kGibibyte);
}

TEST(OpenOrCreate, ReplacesAnotherInterference) {
  const test::Machine machine(two_gpus());
  Spec other = two_gpus();
  other.interference_percent = 20;
  ASSERT_TRUE(open_or_create(machine.state(), other));
  EXPECT_EQ(Region::open(machine.state())->layout().gpus[1].config.interference_percent, 20U);
}

TEST(OpenOrCreate, LeavesAForeignFileAlone) {
  const test::Machine machine;
  const auto path = machine.folder() + "/notes";
  std::ofstream(path) << "something of the user's, long enough to be read as a header";
  EXPECT_FALSE(open_or_create(path, two_gpus()));
  EXPECT_GT(std::filesystem::file_size(path), 0U);
}

TEST(Open, SaysWhyNot) {
  const test::Machine machine;
  EXPECT_EQ(Region::open(machine.folder() + "/none").error().failure, OpenFailure::Missing);
  const auto path = machine.state();
  overwrite(path, offsetof(Header, version), kLayoutVersion + 1);
  const auto other = Region::open(path);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().failure, OpenFailure::OtherVersion);
  const auto words = "layout version " + std::to_string(kLayoutVersion + 1) +
                     ", this driver reads " + std::to_string(kLayoutVersion);
  EXPECT_NE(other.error().message.find(words), std::string::npos) << other.error().message;
  overwrite(path, 0, 0);
  EXPECT_EQ(Region::open(path).error().failure, OpenFailure::NotAState);
}

TEST(Open, RefusesDamageAndEarlierBoots) {
  const test::Machine damaged;
  overwrite(damaged.state(), offsetof(Header, gpu_count), 17);
  EXPECT_EQ(Region::open(damaged.state()).error().failure, OpenFailure::NotAState);
  const test::Machine cut;
  std::filesystem::resize_file(cut.state(), 4096);
  EXPECT_EQ(Region::open(cut.state()).error().failure, OpenFailure::NotAState);
  const test::Machine old;
  overwrite(old.state(), offsetof(Header, boot_id), 0x41414141);
  EXPECT_EQ(Region::open(old.state()).error().failure, OpenFailure::EarlierBoot);
  ASSERT_TRUE(open_or_create(old.state(), two_gpus()));
}

TEST(Environment, FileJoinsAShell) {
  const test::Machine machine;
  const auto file = write_environment(machine.state(), "/some where/it's");
  ASSERT_TRUE(file);
  EXPECT_EQ(*file, machine.folder() + "/emu.env");
  const auto shown = test::run({"/bin/sh", "-c",
                                ". '" + *file +
                                    "'; printf '%s|%s' \"$BERTH_EMU_STATE\" "
                                    "\"$LD_LIBRARY_PATH\""},
                               {{"LD_LIBRARY_PATH", "/before"}});
  EXPECT_EQ(shown.output, machine.state() + "|/some where/it's:/before");
}

}  // namespace
}  // namespace berth::emu
