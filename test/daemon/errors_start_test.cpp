// Goal: a berthd that cannot start says in one line why - the flag, file, value and limit - and
// leaves everything as it was. Method: the real program with what is wrong; 2 is for what was typed
// or written, 125 for what was found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "daemon/rig.hpp"

namespace berth {
namespace {

using test::kFailed;
using test::Ran;
using test::Rig;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kBadUsage = 2;

/// What berthd says to these flags, without its name.
void expect_refused(const std::vector<std::string>& flags, int code, const std::string& message) {
  Rig rig({.gpus = ""});
  const Ran ran = rig.start_refused(flags);
  EXPECT_EQ(ran.exit_code, code) << message;
  EXPECT_THAT(ran.err, StartsWith("berthd: " + message));
  EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  const bool is_left_alone = code != kBadUsage || !std::filesystem::exists(rig.state());
  EXPECT_TRUE(is_left_alone) << message;
}

TEST(ErrorsStart, AFlagThatIsNoneIsNamed) {
  expect_refused({"--frob"}, kBadUsage, "--frob: no such option; see berthd --help\n");
  expect_refused({"--port", "80"}, kBadUsage, "--port: no such option; see berthd --help\n");
  expect_refused({"start"}, kBadUsage,
                 "start: berthd takes no words, and serves once it is started; see berthd "
                 "--help\n");
  expect_refused({"--policy"}, kBadUsage, "--policy: 1 required TEXT missing; see berthd --help\n");
  expect_refused({"--policy", "luck"}, kBadUsage,
                 "policy 'luck' is unknown; valid names: headroom, turns, fifo, fifo-skip, ");
  expect_refused({"--place", "luck"}, kBadUsage,
                 "placement 'luck' is unknown; valid names: count, ");
  expect_refused(
      {"--admission", "maybe"}, kBadUsage,
      "admission 'maybe' is unknown; valid values: guarantee, declared, free-memory, none\n");
  expect_refused({"--admission", "none"}, kBadUsage,
                 "admission 'none' lets jobs on real GPUs run out of memory; say --unsafe if that "
                 "is wanted\n");
}

TEST(ErrorsStart, FewOpenFilesAreNamedWithTheLimit) {
  const test::ScratchFolder folder;
  const Ran ran = test::run_program(
      "/bin/bash", {"-c", "ulimit -n 64; exec \"$@\"", "bash", test::program("berthd").string(),
                    "--emulate", "1x4GiB", "--state", folder / "state", "--socket", folder / "s"});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err,
            "berthd: the limit of open files is 64 (ulimit -n, LimitNOFILE= of a unit), berthd "
            "needs more than 500\n");
}

TEST(ErrorsStart, EmulatedGpusThatAreNoneAreNamed) {
  const std::string shape = " is not a number from 1 to 16, an x and a size, as in 2x24GiB\n";
  expect_refused({"--emulate", "2x"}, kFailed, "--emulate 2x: '' does not begin with a number\n");
  expect_refused({"--emulate", "two"}, kFailed, "--emulate two: 'two'" + shape);
  expect_refused({"--emulate", "0x1GiB"}, kFailed, "--emulate 0x1GiB: '0x1GiB'" + shape);
  expect_refused({"--emulate", "17x1GiB"}, kFailed, "--emulate 17x1GiB: '17x1GiB'" + shape);
  expect_refused({"--emulate", "1x1MiB"}, kFailed,
                 "--emulate 1x1MiB: GPU 0: memory 1 MiB, smallest is 64 MiB\n");
  expect_refused({"--emulate", "1x2TiB"}, kFailed,
                 "--emulate 1x2TiB: GPU 0: memory 2048 GiB, largest is 1024 GiB\n");
}

TEST(ErrorsStart, AConfigurationThatIsNotThereOrWrongIsNamed) {
  const test::ScratchFolder folder;
  expect_refused({"--config", "/no/such.toml"}, kBadUsage,
                 "/no/such.toml: No such file or directory\n");
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"polcy = 'x'", ":1:9: polcy: unknown key; did you mean policy?"},
           {"\npolicy = ", ":2:10: Error while parsing key-value pair: "},
           {"policy = 'fiffo'", ":1:10: policy 'fiffo' is unknown; "},
           {"# a\nplace = \"luck\"", ":2:9: placement 'luck' is unknown; "},
           {"slots = 0", ":1:9: slots: must be a number from 1 to "},
           {"probe = '0s'", ":1:9: probe: '0s' is not a duration such as 90s, 30min, 1h30m, "},
           {"grace = 5", ":1:9: grace: must be a duration such as \"10s\"\n"},
           {"log_cap = '9QiB'", ":1:11: log_cap: '9QiB' is not a size such as 10G, "},
           {"log_cap = '2000TiB'", ":1:11: log_cap: '2000TiB' is not a size such as 10G, "}}) {
    const std::string file = folder.write("berth.toml", text);
    expect_refused({"--config", file}, kBadUsage, file + message);
  }
  const std::string file = folder.write("berth.toml", "policy = 'headroom:short_bound=9h'\n");
  expect_refused(
      {"--config", file}, kBadUsage,
      file +
          ":1:10: policy headroom: short_bound=32400s: must be at most medium_bound, which is "
          "14400s\n");
}

TEST(ErrorsStart, AConfigurationThatOthersMayWriteIsNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, whose commands it may hold";
  const test::ScratchFolder folder;
  const std::string file = folder.write("berth.toml", "slots = 2\n");
  ::chmod(file.c_str(), 0666);
  expect_refused({"--config", file}, kBadUsage, file + ": every user may write there\n");
  ::chmod(file.c_str(), 0600);
  ASSERT_EQ(::chown(file.c_str(), 65534, 0), 0);
  expect_refused({"--config", file}, kBadUsage, file + ": belongs to uid 65534, must be uid 0's\n");
  ASSERT_EQ(::chown(file.c_str(), 0, 65534), 0);
  ::chmod(file.c_str(), 0660);
  expect_refused({"--config", file}, kBadUsage, file + ": group 65534 may write there\n");
}

TEST(ErrorsStart, AConfigurationThatIsAPipeIsNotWaitedFor) {
  const test::ScratchFolder folder;
  const std::string pipe = folder / "berth.toml";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refused({"--config", pipe}, kBadUsage, pipe + ": is a pipe\n");
}

TEST(ErrorsStart, NoConfigurationIsDevNull) {
  const auto shown =
      test::run_program(test::program("berthd"), {"--config", "/dev/null", "--show-config"});
  EXPECT_EQ(shown.err, "");
  EXPECT_THAT(shown.out, HasSubstr("policy"));
}

TEST(ErrorsStart, AStateThatCannotBeIsNamed) {
  expect_refused({"--state", "/dev/null"}, kFailed, "/dev/null: Not a directory\n");
  expect_refused({"--state", "/proc/no/such"}, kFailed, "/proc/no/such: ");
}

TEST(ErrorsStart, ASocketThatCannotBeIsNamed) {
  const test::ScratchFolder folder;
  expect_refused({"--socket", "/no/such/s"}, kFailed,
                 "/no/such/s.report: No such file or directory\n");
  const std::string file = folder.write("file", "mine");
  expect_refused({"--socket", file}, kFailed,
                 file + ": exists and is not a socket; it is left as it is\n");
  const std::string longest = folder / std::string(110, 's');
  expect_refused({"--socket", longest}, kFailed,
                 longest + ".report: " + std::to_string(longest.size() + 7) +
                     " bytes, the most for a socket is 107\n");
}

}  // namespace
}  // namespace berth
