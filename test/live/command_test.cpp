// Goal: what a job runs comes out of its blob as it went in, whatever it holds, bytes of another
// origin never do, and a list shows a command as a shell would take it. Method: round trips, every
// prefix of good bytes, and texts with their expected line.
#include "live/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/rng.hpp"

namespace berth::live {
namespace {

using testing::HasSubstr;

Command full() {
  Command command;
  command.arguments = {"python", "", "a b", "\xff\xfe", std::string(100'000, 'x')};
  command.directory = "/people/ada/träume";
  command.umask = 077;
  command.owner = {1000, 100, {100, 27, 4294967294U}};
  command.environment = BlobId(9);
  command.attach = shim::Attach{.socket = "/tmp/s", .terminal = true, .rows = 1, .columns = 65535};
  return command;
}

TEST(Command, ComesBackAsItWas) {
  for (const Command& command : {Command(), full()}) {
    const auto decoded = decode_command(encode(command));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_TRUE(*decoded == command);
    EXPECT_EQ(decoded->owner, command.owner);
    EXPECT_EQ(decoded->arguments, command.arguments);
    EXPECT_EQ(decoded->attach.has_value(), command.attach.has_value());
  }
  EXPECT_EQ(decode_command(encode(full()))->attach->columns, 65535);
  Command apart = full();
  apart.attach->errors_apart = true;
  EXPECT_TRUE(decode_command(encode(apart))->attach->errors_apart);
  EXPECT_FALSE(apart == full());
}

Command of(uid_t user, std::vector<std::string> arguments) {
  Command command;
  command.arguments = std::move(arguments);
  command.owner.user = user;
  return command;
}

TEST(Fingerprint, IsTheSameForRunsOfOneProgram) {
  const Fingerprint one = fingerprint_of(of(1, {"python", "train.py", "--lr=1e-3", "--seed", "7"}));
  EXPECT_NE(one, Fingerprint(0));
  EXPECT_EQ(one,
            fingerprint_of(of(1, {"/usr/bin/python", "train.py", "--lr=1e-3", "--seed", "12"})));
}

TEST(Fingerprint, DiffersByUserProgramAndWords) {
  const Fingerprint one = fingerprint_of(of(1, {"python", "train.py", "--model", "bert"}));
  EXPECT_NE(one, fingerprint_of(of(2, {"python", "train.py", "--model", "bert"})));
  EXPECT_NE(one, fingerprint_of(of(1, {"python", "eval.py", "--model", "bert"})));
  EXPECT_NE(one, fingerprint_of(of(1, {"python", "train.py", "--model", "vit"})));
  EXPECT_NE(one, fingerprint_of(of(1, {"python", "train.py", "--modelbert"})));
  EXPECT_NE(one, fingerprint_of(of(1, {"python", "train.py", "--model", "bert", "--batch", "8"})));
}

TEST(Command, ADifferenceAnywhereIsOne) {
  Command other = full();
  other.owner.groups.pop_back();
  EXPECT_FALSE(other == full());
  other = full();
  other.attach.reset();
  EXPECT_FALSE(other == full());
}

TEST(Command, EqualCommandsAreEqualBytes) { EXPECT_EQ(encode(full()), encode(full())); }

TEST(Command, AnEnvironmentComesBackAsItWas) {
  for (const std::vector<std::string>& variables :
       {std::vector<std::string>(), std::vector<std::string>{"A=1", "", "B=\xff\n"}}) {
    const auto decoded = decode_environment(encode_environment(variables));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, variables);
  }
}

TEST(Command, SaysWhatFewJobsAskForOnlyWhereTheyDo) {
  Command command = full();
  const std::string plain = encode(command);
  command.processes = 100;
  const std::string bytes = encode(command);
  EXPECT_GT(bytes.size(), plain.size());
  for (const std::string& output : {std::string(), std::string("out-%j")}) {
    command.output = output;
    const auto decoded = decode_command(encode(command));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(decoded->processes, 100);
    EXPECT_EQ(decoded->output, output);
  }
  for (std::size_t cut = plain.size() + 1; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(decode_command(bytes.substr(0, cut))) << cut;
  }
  EXPECT_FALSE(decode_command(bytes + bytes.substr(plain.size() + 1))) << "each thing once";
}

TEST(Command, KeepsTheProcessThatItAdopts) {
  Command command = full();
  command.adopted = shim::Process{.pid = 4242, .start = std::uint64_t{1} << 40};
  const auto decoded = decode_command(encode(command));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->adopted, command.adopted);
}

TEST(Command, KeepsItsWarningAndItsNotice) {
  Command command = full();
  command.warning = Warning{.signal = 10, .before = seconds(60)};
  command.notice = Notice{.to = "a@b", .on = {Occasion::Start, Occasion::Fail}};
  const auto decoded = decode_command(encode(command));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->warning, command.warning);
  EXPECT_EQ(decoded->notice, command.notice);
  EXPECT_EQ(*parse_occasions("fail,start"), command.notice->on);
  for (const char* wrong : {"", "end,", "end,end", "never"}) {
    EXPECT_FALSE(parse_occasions(wrong)) << wrong;
  }
}

TEST(CommandLine, ShowsTheProgramAloneWhereArgumentsAreHidden) {
  for (const auto& [words, expected] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"/opt/bin/python", "train.py", "--key=secret"}, "python …"},
           {{"true"}, "true"},
           {{"/bin/true"}, "true"},
           {{"my program", "x"}, "my …"},
           {{"./run's.sh", "x"}, "run …"},
           {{"sh", "-c", "echo secret"}, "sh …"},
           {{""}, ""}}) {
    EXPECT_EQ(program_alone(command_line(words)), expected);
  }
}

TEST(Command, AnOutputFileStandsBehindTheRest) {
  Command command = full();
  const std::string before = encode(command);
  command.output = "out-%j";
  EXPECT_TRUE(encode(command).starts_with(before));
  const auto decoded = decode_command(encode(command));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->output, "out-%j");
}

TEST(Command, BytesOfAnotherOriginAreRefused) {
  Command small = full();
  small.arguments.pop_back();  // the long one
  const std::string good = encode(small);
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto decoded = decode_command(std::string_view(good).substr(0, size));
    ASSERT_FALSE(decoded) << size << " of " << good.size() << " bytes";
    EXPECT_EQ(decoded.error().code, ErrorCode::BadData);
    EXPECT_THAT(decoded.error().message, HasSubstr(std::to_string(size) + " bytes"));
  }
  EXPECT_FALSE(decode_command(good + '\0'));
  EXPECT_FALSE(decode_environment(good));
  EXPECT_FALSE(decode_environment(std::string(8, '\xff')));
}

TEST(Command, DamageNeverDoesMoreThanFail) {
  const std::string good = encode(full()).substr(0, 80);
  Rng rng(1, 0);
  for (int round = 0; round < 10'000; ++round) {
    std::string bytes = good;
    for (std::int64_t turns = rng.between(1, 8); turns > 0; --turns) {
      const auto at = static_cast<std::size_t>(rng.between(0, std::ssize(bytes) - 1));
      bytes[at] = static_cast<char>(rng.between(0, 255));
    }
    (void)decode_command(bytes);
    (void)decode_environment(bytes);
  }
}

TEST(CommandLine, PlainWordsStandAsTheyAre) {
  EXPECT_EQ(command_line({"python", "-m", "a.b", "--lr=1e-3", "x@y:z,%+", "träume"}),
            "python -m a.b --lr=1e-3 x@y:z,%+ träume");
}

TEST(CommandLine, OthersAreQuotedForAShell) {
  EXPECT_EQ(command_line({"sh", "-c", "echo $HOME; rm *"}), "sh -c 'echo $HOME; rm *'");
  EXPECT_EQ(command_line({"echo", ""}), "echo ''");
  EXPECT_EQ(command_line({"echo", "it's"}), "echo 'it'\\''s'");
  EXPECT_EQ(command_line({"~", "!", "#", "\\"}), "'~' '!' '#' '\\'");
}

TEST(CommandLine, StaysOneLineOnATerminal) {
  EXPECT_EQ(command_line({"echo", "a\nb\tc\x1b[31m\x7f"}), "echo 'a b c [31m '");
}

TEST(CommandLine, IsCutAfterTheMost) {
  const std::string line = command_line({"echo", std::string(1'000'000, 'x')}, 10);
  EXPECT_EQ(line, "echo xxxxx…");
  EXPECT_EQ(command_line({"1234567890"}, 10), "1234567890");
  EXPECT_EQ(command_line({"1234567890", "1"}, 10), "1234567890…");
  EXPECT_EQ(command_line(std::vector<std::string>(100'000, "word"), 12), "word word wo…");
}

TEST(CommandLine, IsNotCutWithinACharacter) {
  EXPECT_EQ(command_line({"ab", "äöü"}, 4), "ab …");  // 'ä' has two bytes
  EXPECT_EQ(command_line({"ab", "äöü"}, 5), "ab ä…");
  EXPECT_EQ(command_line({"\x80\x80\x80\x80"}, 2), "…");  // only continuations: nothing to keep
}

TEST(CommandLine, OfNothingIsNothing) { EXPECT_EQ(command_line({}), ""); }

}  // namespace
}  // namespace berth::live
