// Goal: whatever is typed wrong is named with its value and what is allowed, in one line on
// standard error, with exit code 2, before anybody is asked. Method: the real program, where no
// daemon is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "cli/ask/daemon.hpp"
#include "cli/program.hpp"
#include "http/server.hpp"

namespace berth {
namespace {

using test::kBadUsage;
using test::kFailed;
using test::Ran;
using test::ScratchFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Ran berth(std::vector<std::string> arguments) {
  return test::berth(std::move(arguments), {.environment = {"BERTH_SOCKET=/no/such/socket"}});
}

/// `berth submit WORDS... true` is refused with exactly this.
void expect_refused(std::vector<std::string> words, const std::string& message) {
  words.insert(words.begin(), "submit");
  words.emplace_back("true");
  const Ran ran = berth(words);
  EXPECT_EQ(ran.exit_code, kBadUsage) << ran.err;
  EXPECT_EQ(ran.err, "berth: " + message + "\n");
  EXPECT_EQ(ran.out, "");
}

TEST(CliErrors, AnUnknownVerbIsNamedWithThoseThereAre) {
  for (const auto& [words, begin] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"frob"}, "berth: frob: no such verb; valid verbs: run, submit, attach, adopt, ls, "},
           {{"sumbit"}, "berth: sumbit: no such verb; did you mean submit? berth help lists all"},
           {{"bjobs"}, "berth: bjobs: no such verb; did you mean ls? berth help lists all"},
           {{"oarsub"}, "berth: oarsub: no such verb; did you mean submit? berth help lists all"},
           {{"ts"}, "berth: ts: no such verb; did you mean compat ts? berth help lists all"},
           {{"python3", "a.py"},
            "berth: python3: no such verb; to run a program say berth run -- python3; berth help "},
           {{"torchrun", "a.py"},
            "berth: torchrun: no such verb; to run a program say berth run -- torchrun; "},
           {{"./a.sh"}, "berth: ./a.sh: no such verb; to run a program say berth run -- ./a.sh; "},
           {{"help", "lss"}, "berth: lss: no such verb; did you mean ls? berth help lists all"},
           {{""}, "berth: : no such verb; valid verbs: run, "},
           {{"--frob", "ls"},
            "berth: --frob: options stand behind the verb, as in berth ls --frob; berth help lists "
            "the verbs"}}) {
    const Ran ran = berth(words);
    EXPECT_EQ(ran.exit_code, kBadUsage);
    EXPECT_THAT(ran.err, StartsWith(begin));
  }
}

TEST(Help, FitsTheTerminalAndBreaksNoWord) {
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"help", "submit"},
                                             {"help", "run"},
                                             {"help", "ls"},
                                             {"policies"},
                                             {"policies", "fifo"}}) {
    const auto words_of = [](const std::string& text) {
      std::istringstream in(text);
      std::vector<std::string> words;
      for (std::string word; in >> word;) words.push_back(word);
      return words;
    };
    test::Program shown(line, {.environment = {}, .screen = test::Screen::Terminal});
    const std::string text = shown.wait().out;
    std::istringstream lines(text);
    for (std::string one; std::getline(lines, one);) {
      if (one.ends_with('\r')) one.pop_back();
      EXPECT_LE(one.size(), 80U) << one;
    }
    EXPECT_EQ(words_of(text), words_of(test::berth(line, {}).out)) << line.back();
  }
}

TEST(Help, PutsTheOptionsOfSubmitInGroups) {
  const std::string help = test::berth({"help", "submit"}, {}).out;
  std::size_t at = 0;
  for (const char* const one :
       {"What it needs:", "--vram", "When it starts, and for how long:", "--time",
        "What it runs with:", "--env", "Before it ends, and after a failure:", "--retries",
        "What you see of it:", "--name", "For some policies:", "--model"}) {
    const std::size_t found = help.find(one, at);
    ASSERT_NE(found, std::string::npos) << one << " after " << help.substr(0, at);
    at = found;
  }
}

TEST(CliErrors, HelpAndTheVersionAreThereUnderTheirUsualNames) {
  const Ran bare = berth({});
  EXPECT_EQ(bare.exit_code, 0);
  EXPECT_THAT(bare.out, HasSubstr("berth ls  "));
  EXPECT_EQ(berth({"help"}).out, berth({"--help"}).out);
  EXPECT_THAT(berth({"help"}).out, HasSubstr("cancel"));
  EXPECT_EQ(berth({"help", "ls"}).out, berth({"ls", "--help"}).out);
  EXPECT_THAT(berth({"run", "--help"}).out,
              AllOf(HasSubstr("Usage: berth run [OPTIONS] -- COMMAND [ARGUMENT...]\n"),
                    HasSubstr("Examples:\n  # "), HasSubstr("  berth run --vram 10G -- python")));
  EXPECT_THAT(berth({"submit", "--help"}).out,
              AllOf(HasSubstr("  --snapshot[=VALUE] "), HasSubstr("  --vram-shrink yes|no ")));
  EXPECT_THAT(berth({"ls", "--help"}).out,
              AllOf(HasSubstr("  JOB ... "), HasSubstr("  -u,--user VALUE ... "),
                    Not(HasSubstr("Excludes"))));
  EXPECT_EQ(berth({"help", "compat"}).exit_code, 0);
  EXPECT_THAT(berth({"compat", "--help"}).out, HasSubstr("Usage: berth compat tsp|ts|gbatch"));
  EXPECT_THAT(berth({"--version"}).out, StartsWith("berth "));
  EXPECT_EQ(berth({"--version"}).exit_code, 0);
}

TEST(CliErrors, AnUnknownOptionIsNamedWithItsVerb) {
  EXPECT_EQ(berth({"ls", "--frob", "7"}).err,
            "berth: --frob: berth ls has no such option; see berth ls --help\n");
  EXPECT_EQ(berth({"ls", "--usr", "ann"}).err,
            "berth: --usr: berth ls has no such option; did you mean --user?; see berth ls "
            "--help\n");
  EXPECT_EQ(berth({"cancel", "-a"}).err,
            "berth: -a: berth cancel has no such option; did you mean --all?; see berth cancel "
            "--help\n");
  EXPECT_EQ(berth({"ls", "-l"}).err,
            "berth: -l: berth ls has no such option; see berth ls --help\n");
  EXPECT_EQ(berth({"update", "7", "--", "echo"}).err,
            "berth: echo: one word too many for berth update; see berth update --help\n");
  EXPECT_EQ(berth({"run", "--param", "x=1,2", "--", "true"}).err,
            "berth: --param: is an option of berth submit alone\n");
  // What another queue has too is not answered with itself.
  EXPECT_EQ(berth({"run", "--hold", "--", "true"}).err,
            "berth: --hold: is an option of berth submit alone\n");
  EXPECT_EQ(berth({"gpus", "extra"}).err,
            "berth: extra: one word too many for berth gpus; see berth gpus --help\n");
  EXPECT_EQ(berth({"sim", "jobs.csv"}).err,
            "berth: jobs.csv: one word too many for berth sim; a trace is named by --trace "
            "jobs.csv; see berth sim --help\n");
  EXPECT_EQ(berth({"show"}).err,
            "berth: no job is named; give a number, a range, a name such as 'train-*', or "
            "-u USER for all of theirs\n");
  EXPECT_EQ(berth({"submit", "--vram"}).err,
            "berth: --vram: needs a value: SIZE; see berth submit --help\n");
  for (const char* verb : {"run", "submit"}) {
    const Ran ran = berth({verb, "--frob", "true"});
    EXPECT_EQ(ran.exit_code, kBadUsage);
    EXPECT_EQ(ran.err, "berth: --frob: no such option\n");
  }
  EXPECT_EQ(berth({"ls", "--frob"}).exit_code, kBadUsage);
}

TEST(CliErrors, ASizeThatIsNoneIsNamedWithTheLimits) {
  for (const char* size : {"0", "0G", "-1", "-5G", "1e99G", "99999999999999999999G", "1025T", "G",
                           "1.5", "ten", "", "nan", "0x10", "1G ", "MAX"}) {
    for (const char* option : {"--vram", "--mem"}) {
      expect_refused({option, size},
                     std::string(option) + " " + size +
                         ": is not a size such as 10G, 10GiB, 512M or 1.5G, from 1 byte to 1024T");
    }
  }
}

TEST(CliErrors, ANumberThatIsNoneIsNamedWithItsLimits) {
  for (const char* count : {"-1", "4097", "two", "", "99999999999999999999"}) {
    expect_refused({"--gpus", count},
                   "--gpus " + std::string(count) + ": is not a whole number from 0 to 4096");
  }
  for (const char* part : {"0.5", "1.5", ".25"}) {
    expect_refused({"--gpus", part}, "--gpus " + std::string(part) +
                                         ": is not a whole number from 0 to 4096; for a part of a "
                                         "GPU say --vram SIZE");
  }
  expect_refused({"--retries", "101"}, "--retries 101: is not a whole number from 0 to 100");
  for (const char* cores : {"0", "-1", "1e9", "100001", "many"}) {
    expect_refused({"--cpus", cores},
                   "--cpus " + std::string(cores) +
                       ": is not a number of cores such as 0.5 or 16, from 0.001 to 100000");
  }
  for (const char* time : {"0", "-1h", "3651d", "1e9", "1:99:00", "soon"}) {
    expect_refused({"--time", time},
                   "--time " + std::string(time) +
                       ": is not a duration such as 90s, 30min, 1h30m, 2d, 1:30:00 or 1-12:00:00,"
                       " above 0 and up to 3650d");
  }
}

TEST(CliErrors, MemoryWithoutAGpuIsNamedByItsOptions) {
  expect_refused({"--gpus", "0", "--vram", "1G"},
                 "--vram 1G: with --gpus 0: a job without GPUs has no GPU memory");
}

TEST(CliErrors, AWordThatIsNoneIsNamedWithThoseThereAre) {
  expect_refused({"--class", "huge"}, "--class huge: is none of short, medium, long, service");
}

TEST(CliErrors, ACommandIsNeeded) {
  for (const char* verb : {"run", "submit"}) {
    for (const auto& words :
         {std::vector<std::string>{verb}, {verb, "--"}, {verb, "--gpus", "1", "--"}}) {
      const Ran ran = berth(words);
      EXPECT_EQ(ran.exit_code, kBadUsage);
      EXPECT_EQ(ran.err, "berth: no command; give it after --\n");
    }
  }
}

TEST(CliErrors, AVariableThatIsNoneIsNamed) {
  expect_refused({"--env", "=x"}, "--env =x: has no name before its =");
  expect_refused({"--env", "A=1", "--env", "B"},
                 "--env B: is not set here; give it a value as NAME=VALUE");
  expect_refused({"--env", "A=\xFF"}, "--env A: is not UTF-8");
}

/// The word behind it is the command's, not a second variable.
TEST(CliErrors, AVariableIsOneWord) {
  const Ran ran = berth({"submit", "--env", "A=b", "true"});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_THAT(ran.err, StartsWith("berth: no berthd answers at /no/such/socket; start one with: "));
}

TEST(CliErrors, AFolderThatIsNoneIsNamed) {
  expect_refused({"--cwd", "/no/such"}, "--cwd /no/such: No such file or directory");
  expect_refused({"--cwd", "/dev/null"}, "--cwd /dev/null: is not a folder");
  expect_refused({"--cwd", ""}, "--cwd '': is not a folder");
}

TEST(CliErrors, AWorkingDirectoryThatIsGoneIsNamed) {
  const ScratchFolder scratch;
  const auto before = std::filesystem::current_path();
  const std::string gone = scratch / "gone";
  std::filesystem::create_directory(gone);
  std::filesystem::current_path(gone);
  std::filesystem::remove(gone);
  const Ran ran = berth({"submit", "true"});
  const Ran near = berth({"submit", "--cwd", ".", "true"});
  const Ran elsewhere = berth({"submit", "--cwd", "/", "true"});
  const Ran drain = berth({"drain", "0", "--until", "+2h"});
  std::filesystem::current_path(before);
  EXPECT_EQ(ran.exit_code, kBadUsage);
  EXPECT_EQ(
      ran.err,
      "berth: the working directory is not there any more; say --cwd with an absolute path\n");
  EXPECT_EQ(near.err, ran.err);
  EXPECT_THAT(elsewhere.err, HasSubstr("no berthd answers")) << "it goes as far as to ask";
  EXPECT_THAT(drain.err, HasSubstr("no berthd answers"));
}

TEST(CliErrors, BytesThatAreNoUtf8AreRefusedButInTheEnvironmentLeftOut) {
  Ran ran = berth({"submit", "echo", "\xFF"});
  EXPECT_EQ(ran.exit_code, kBadUsage);
  EXPECT_EQ(ran.err, "berth: argument 2 of the command is not UTF-8\n");
  expect_refused({"--name", "\xC3"}, "--name \xC3: is not UTF-8");
  ran = test::berth({"submit", "true"},
                    {.environment = {"BERTH_SOCKET=/no/such/socket", "X=\xFE", "\xFE=x"}});
  EXPECT_THAT(ran.err, HasSubstr("berth: the variable X is left out: its value is not UTF-8\n"));
  EXPECT_THAT(ran.err, HasSubstr("berth: a variable whose name is not UTF-8 is left out\n"));
}

TEST(CliErrors, AJobIsANumber) {
  for (const char* verb : {"show", "logs", "why", "wait", "cancel", "hold", "release"}) {
    for (const char* job : {"0", "99999999999999999999"}) {
      const Ran ran = berth({verb, job});
      EXPECT_EQ(ran.exit_code, kBadUsage) << verb;
      EXPECT_EQ(ran.err, "berth: " + std::string(job) +
                             ": is not a job number, which is from 1 to 1099511627776\n");
    }
    EXPECT_EQ(berth({verb, ""}).err, "berth: '': names no job\n");
  }
}

TEST(CliErrors, ASocketThatIsNoneIsNamed) {
  for (const char* path : {"/no/such/socket", "/dev/null"}) {
    const Ran ran = berth({"ls", "--socket", path});
    EXPECT_EQ(ran.exit_code, kFailed);
    EXPECT_EQ(ran.err, "berth: no berthd answers at " + std::string(path) +
                           "; start one with: berthd --emulate 2x24GiB (without GPUs) or berthd\n");
  }
}

TEST(CliErrors, ThatOfBerthSlurmIsUsedWhereTheBackendIsSlurm) {
  if (std::filesystem::exists("/run/berth-slurm.sock")) GTEST_SKIP() << "a berth-slurm is here";
  const Ran ran =
      test::berth({"cancel", "7"}, {.environment = {"BERTH_BACKEND=slurm", "BERTH_SOCKET="}});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err,
            "berth: no berth-slurm answers at /run/berth-slurm.sock; without it Slurm schedules, "
            "and sbatch, scancel and scontrol do this\n");
}

/// Root is never refused, so the client becomes another user.
TEST(CliErrors, ASocketOfAnotherIsNamed) {
  const ScratchFolder folder;
  const std::string path = folder.path() / "s";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const auto server =
      http::Server::open({.path = path, .mode = 0}, [](const std::shared_ptr<http::Exchange>&) {});
  ASSERT_TRUE(server) << server.error().message;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    const auto daemon = cli::Daemon::open(path);
    ::_exit(!daemon && daemon.error().message == path + ": Permission denied" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

/// What people write who know other tools.
TEST(CliErrors, TimesThatAreWrittenOtherwiseAreToldHow) {
  const auto err = [](const char* option, const char* value) {
    return test::run_program("berth", {"submit", option, value, "--", "true"}).err;
  };
  for (const auto& [typed, told] : std::vector<std::pair<const char*, const char*>>{
           {"1,5h", "; a point stands before the fraction, as in 1.5h"},
           {"1h30", "; the last number needs a unit, as in 1h30m"},
           {"30m1h", "; the larger unit comes first, as in 1h30m"},
           {"1:90", "; minutes and seconds behind a colon go up to 59"},
           {"1y", "; 'y' is no unit: ms, s, min, h, d or w"}}) {
    EXPECT_THAT(err("--time", typed), HasSubstr(told));
  }
  EXPECT_THAT(err("--begin", "24.11.2026"), HasSubstr("; a day is written year first, as 2026-11"));
  EXPECT_THAT(err("--begin", "22.00"), HasSubstr("and a time with a colon, as 22:00"));
  EXPECT_THAT(err("--begin", "10pm"), HasSubstr("; hours go up to 23: 10pm is 22:00"));
  EXPECT_THAT(err("--begin", "tomorrow"), HasSubstr("; say +1d"));
}

}  // namespace
}  // namespace berth
