// Goal: an attempt file says what its shim did, at whatever byte its writers died.
// Method: lines that are written are read back, whole, torn and damaged.
#include "shim/record.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "shim/proc.hpp"

namespace berth::shim {
namespace {

const Process kShim{.pid = 100, .start = 5'000'000'000};
const Process kJob{.pid = 101, .start = 5'000'000'001};

std::string head() { return header_lines(JobId(42), Attempt(3), 1000); }

/// Each line with its sum, so that only its words can be wrong.
std::string with_sums(std::string_view lines) {
  std::string text;
  for (std::size_t end; (end = lines.find('\n')) != lines.npos; lines.remove_prefix(end + 1)) {
    text += with_sum(std::string(lines.substr(0, end)));
  }
  return text;
}

Record bare() { return {.job = JobId(42), .attempt = Attempt(3), .user = 1000}; }

TEST(AttemptFile, IsReadBackAtEveryStage) {
  Record expected = bare();
  std::string text = head();
  EXPECT_EQ(parse_record(text).value(), expected);
  text += shim_line(kShim);
  expected.shim = kShim;
  EXPECT_EQ(parse_record(text).value(), expected);
  text += go_line(kJob);
  expected.go = kJob;
  EXPECT_EQ(parse_record(text).value(), expected);
  expected.exit = Exit{.kind = Exit::Kind::Signal, .number = 9, .at = instant_from_micros(77)};
  text += exit_line(*expected.exit);
  EXPECT_EQ(parse_record(text).value(), expected);
}

TEST(AttemptFile, HasEveryKindOfExit) {
  const std::pair<Exit, std::string> cases[] = {
      {{Exit::Kind::Code, 7, instant_from_micros(1)}, "exit code 7 at 1 "},
      {{Exit::Kind::Signal, 15, instant_from_micros(2)}, "exit signal 15 at 2 "},
      {{Exit::Kind::Exec, ENOENT, instant_from_micros(3)}, "exit exec 2 at 3 "},
      {{Exit::Kind::Setup, EPERM, instant_from_micros(4)}, "exit setup 1 at 4 "},
  };
  for (const auto& [exit, line] : cases) {
    EXPECT_TRUE(exit_line(exit).starts_with(line)) << exit_line(exit);
    EXPECT_EQ(parse_record(head() + shim_line(kShim) + exit_line(exit)).value().exit, exit);
  }
}

TEST(AttemptFile, LosesAtMostItsTornLine) {
  const std::string whole =
      head() + shim_line(kShim) + go_line(kJob) + exit_line({.number = 1, .at = kStart});
  for (std::size_t size = head().size(); size < whole.size(); ++size) {
    const auto record = parse_record(std::string_view(whole).substr(0, size));
    ASSERT_TRUE(record) << size;
    EXPECT_FALSE(record->exit) << size;
    EXPECT_EQ(record->go.has_value(), size >= whole.find("exit")) << size;
    EXPECT_EQ(record->shim.has_value(), size >= whole.find("go")) << size;
  }
  for (std::size_t size = 0; size < head().size(); ++size) {
    EXPECT_FALSE(parse_record(std::string_view(whole).substr(0, size))) << size;
  }
}

TEST(AttemptFile, IsRefusedWhereNoShimWroteIt) {
  const std::string lines[] = {
      "shim 100\n",
      "shim 100 \n",
      "shim 0 5\n",
      "shim -4 5\n",
      "shim 100 5 6\n",
      "shim x 5\n",
      "shim 100 -5\n",
      "shim 99999999999 5\n",
      "shim 100 5\nshim 100 5\n",
      "go 100 5\n",
      "\n",
      "exit code 0 at 0\n",
      "shim 1 1\nexit code 256 at 0\n",
      "shim 1 1\nexit code 0\n",
      "shim 1 1\nexit code -1 at 0\n",
      "shim 1 1\nexit signal 0 at 0\n",
      "shim 1 1\nexit signal 65 at 0\n",
      "shim 1 1\nexit exec 0 at 0\n",
      "shim 1 1\nexit gone 0 at 0\n",
      "shim 1 1\nexit code 0 at 0 \n",
      "shim 1 1\nexit code 0 at 0\ngo 2 2\n",
      "shim 1 1\nexit code 0 at 0\nexit code 0 at 0\n",
  };
  for (const std::string& line : lines) {
    EXPECT_FALSE(parse_record(head() + line)) << line;
    const auto record = parse_record(head() + with_sums(line));
    ASSERT_FALSE(record) << line;
    EXPECT_EQ(record.error().code, ErrorCode::BadData);
    EXPECT_NE(record.error().message.find("line "), std::string::npos);
  }
}

/// At most it ends before what is changed, as if its writer had died there.
TEST(AttemptFile, WithAChangedByteIsNeverAnother) {
  const std::string whole =
      head() + shim_line(kShim) + go_line(kJob) + exit_line({.number = 1, .at = kStart});
  const Record last = parse_record(whole).value();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int change = 1; change < 256; ++change) {
      std::string text = whole;
      text[at] = static_cast<char>(text[at] ^ change);
      const auto record = parse_record(text);
      if (!record) continue;
      EXPECT_EQ(at, whole.size() - 1) << change;
      EXPECT_FALSE(record->exit) << change;
      EXPECT_EQ(record->go, last.go) << change;
    }
  }
}

TEST(AttemptFile, IsRefusedFromANewerBerth) {
  const auto record = parse_record("berth-attempt 2\nwhatever comes then\n");
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().message, "attempt file: format 2, the newest known is 1");
  EXPECT_FALSE(parse_record("berth-attempt 0\njob 1 attempt 1 user 0\n"));
  EXPECT_FALSE(parse_record("job 1 attempt 1 user 0\n"));
  EXPECT_FALSE(parse_record("berth-attempt 1\n" + with_sum("job 1 attempt 1 user -1")));
  EXPECT_TRUE(parse_record("berth-attempt 1\n" + with_sum("job 1 attempt 1 user 1")));
}

TEST(StartTime, IsThatOfALiveProcess) {
  const auto first = start_of(getpid());
  ASSERT_TRUE(first);
  EXPECT_GT(*first, 0U);
  EXPECT_EQ(start_of(getpid()), first);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(start_of(child)) << "a zombie is not alive";
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(start_of(child));
}

TEST(StartTime, IsFoundBehindAnyName) {
  const std::string rest =
      " S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 12345 6 7 8 9 10 11 12 13 14 15 16 17 18 19 "
      "20 "
      "17 1";
  const auto stat = parse_stat("77 (a) Z (b)" + rest);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 77);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->group, 8);
  EXPECT_EQ(stat->session, 9);
  EXPECT_EQ(stat->flags, 4194304U);
  EXPECT_EQ(stat->threads, 3U);
  EXPECT_EQ(stat->start, 12345U);
  EXPECT_EQ(stat->exit_signal, SIGCHLD);
  for (const char* text : {"", "77", "77 (a", "77 (a) ", "x (a) S 1 2", "77 (a) S 7 8 9"}) {
    EXPECT_FALSE(parse_stat(text)) << text;
  }
}

TEST(ShellCode, IsTheOneThatShellsUse) {
  const auto code = [](Exit::Kind kind, int number) {
    return shell_code({.kind = kind, .number = number, .at = kStart});
  };
  EXPECT_EQ(code(Exit::Kind::Code, 7), 7);
  EXPECT_EQ(code(Exit::Kind::Signal, 9), 137);
  EXPECT_EQ(code(Exit::Kind::Exec, ENOENT), 127);
  EXPECT_EQ(code(Exit::Kind::Exec, EACCES), 126);
  EXPECT_EQ(code(Exit::Kind::Exec, ENOEXEC), 126);
  EXPECT_EQ(code(Exit::Kind::Setup, ENOENT), 125);
}

}  // namespace
}  // namespace berth::shim
