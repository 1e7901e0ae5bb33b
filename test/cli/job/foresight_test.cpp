// Goal: a job that cannot work because of its files is refused when it is submitted, one that may
// not work is warned of, and one that may is let be. Method: folders and files of the test's own.
#include "cli/job/foresight.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "support/process.hpp"

namespace berth::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Foresight : public testing::Test {
 protected:
  std::vector<std::string> warnings(const std::string& program, const std::string& output = "") {
    const auto told = look(program, output);
    EXPECT_TRUE(told) << told.error().message;
    return told.value_or(std::vector<std::string>());
  }
  std::string refusal(const std::string& program, const std::string& output = "") {
    const auto told = look(program, output);
    return told ? "accepted" : told.error().message;
  }
  std::string file(const std::string& name, const std::string& text, mode_t mode) const {
    const std::string path = folder_.write(name, text);
    chmod(path.c_str(), mode);
    return path;
  }

  test::ScratchFolder folder_;

 private:
  /// Between spaces.
  static std::vector<std::string> words_of(const std::string& line) {
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
  }
  Expected<std::vector<std::string>> look(const std::string& program, const std::string& output) {
    return look_ahead({.directory = folder_.path(),
                       .command = words_of(program),
                       .output = output,
                       .environment = {"PATH=/no/such:/usr/bin:/bin"}});
  }
};

TEST_F(Foresight, LetsBeWhatWorks) {
  file("run", "#!/bin/sh\n", 0755);
  file("out", "", 0644);
  std::filesystem::create_directory(folder_ / "logs");
  for (const std::string program : {"sh", "/bin/sh", "./run", "true"}) {
    for (const std::string output : {"", "out", "new", "logs/new", "logs/%j/out", "/dev/null"}) {
      EXPECT_THAT(warnings(program, output), IsEmpty()) << program << " " << output;
    }
  }
}

/// What bash makes of <(...): it is this process's alone.
TEST_F(Foresight, RefusesAFileThatOnlyThisProcessHasOpen) {
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string file = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_EQ(refusal("cat " + file),
            "'" + file +
                "' is open in this shell alone, as <(...) makes it: the job cannot read "
                "it; write a file, and name that");
  close(ends[0]);
  close(ends[1]);
  for (const std::string& other : {file, std::string("/dev/fd/0"), std::string("/dev/fd/x")}) {
    EXPECT_THAT(warnings("cat " + other), IsEmpty()) << other;
  }
}

TEST_F(Foresight, KnowsWhatReadsItsProgramFromItsInput) {
  using Words = std::vector<std::string>;
  for (const Words& command : {Words{"bash"},
                               {"/bin/bash", "-s", "x"},
                               {"python3", "-", "--lr"},
                               {"python", "/dev/stdin"}}) {
    EXPECT_TRUE(reads_program_from_input(command)) << command.back();
  }
  for (const Words& command :
       {Words{}, {"cat"}, {"python3", "t.py", "-"}, {"python3", "-s"}, {"bash", "-c", "cat"}}) {
    EXPECT_FALSE(reads_program_from_input(command)) << command.size();
  }
}

TEST_F(Foresight, RefusesAProgramThatIsNotExecutable) {
  file("train.py", "print(1)\n", 0644);
  file("job.sh", "#!/bin/sh\n", 0644);
  file("data", "1 2 3\n", 0644);
  EXPECT_EQ(refusal("./train.py"),
            "the command's './train.py' is not executable; say python3 ./train.py");
  EXPECT_EQ(refusal("./job.sh"),
            "the command's './job.sh' is not executable; say bash ./job.sh, or chmod +x ./job.sh");
  EXPECT_EQ(refusal("./data"), "the command's './data' is not executable");
  EXPECT_EQ(refusal("./"), "the command's './' is a folder");
}

TEST_F(Foresight, WarnsOfAProgramThatMayNotRun) {
  file("text", "echo\n", 0755);
  file("here", "#!/bin/sh\n", 0755);
  EXPECT_THAT(warnings("./text"), ElementsAre(HasSubstr("does not begin with #!")));
  EXPECT_THAT(warnings("./none"), ElementsAre(HasSubstr("is not there; the job fails if")));
  EXPECT_THAT(warnings("nonesuch"), ElementsAre(HasSubstr("is in no folder of PATH; the job")));
}

TEST_F(Foresight, RefusesANameThatOnlyTheJobsFolderHas) {
  file("here", "#!/bin/sh\n", 0755);
  file("t.py", "print(1)\n", 0644);
  EXPECT_EQ(refusal("here"),
            "'here' is in no folder of PATH; say ./here for the one in the job's directory");
  EXPECT_EQ(refusal("t.py"), "'t.py' is in no folder of PATH; say python3 t.py");
}

TEST_F(Foresight, RefusesAFirstLineThatNamesNoProgram) {
  file("dos.sh", "#!/bin/sh\r\necho hi\r\n", 0755);
  file("old", "#! /no/such/python -u\n", 0755);
  file("env", "#!/usr/bin/env no-such\n", 0755);
  EXPECT_EQ(refusal("./dos.sh"),
            "the command's './dos.sh' has the line ends of Windows, which its first line cannot "
            "have; say sed -i 's/\\r$//' ./dos.sh");
  EXPECT_EQ(refusal("./old"),
            "the command's './old' begins with #!/no/such/python, and there is no such program");
  EXPECT_THAT(warnings("./env"), IsEmpty());
}

/// As editors of Windows write it, and none shows.
TEST_F(Foresight, RefusesAByteOrderMarkBeforeTheFirstLine) {
  file("job.sh", "\xEF\xBB\xBF#!/bin/sh\n#BERTH --vram 2G\n", 0755);
  for (const std::string program : {"./job.sh", "job.sh"}) {
    EXPECT_THAT(refusal(program),
                HasSubstr("job.sh' begins with a byte order mark, which hides its first line; say "
                          "sed -i '1s/^\\xEF\\xBB\\xBF//' " +
                          program));
  }
}

TEST_F(Foresight, RefusesAFileForCondor) {
  file("a.sub", "# a\nuniverse = vanilla\nExecutable\t= train.sh\nqueue 4\n", 0644);
  for (const char* const word : {"a.sub", "./a.sub"}) {
    EXPECT_THAT(refusal(word), HasSubstr("is a file for condor_submit, which is not read")) << word;
  }
  file("job.sh", "#!/bin/sh\nexecutable = 7\n", 0755);
  file("other", "executables = 7\nexecutable 7\n", 0755);
  EXPECT_THAT(warnings("./job.sh"), IsEmpty());
  EXPECT_THAT(warnings("./other"), ElementsAre(HasSubstr("does not begin with #!")));
}

TEST_F(Foresight, RefusesOptionsOfAnyQueueWithoutAFirstLine) {
  for (const std::string mark : {"#BERTH", "#SBATCH", "#PBS", "#BSUB", "#$"}) {
    file("job.sh", mark + " -N a\necho\n", 0755);
    EXPECT_THAT(refusal("./job.sh"), HasSubstr("has " + mark + " lines, which count only in"));
  }
}

TEST_F(Foresight, SaysWhereTheLinesOfAScriptCount) {
  file("job.sh", "#!/bin/sh\n#BERTH --vram 2G\necho\n", 0755);
  EXPECT_THAT(warnings("bash job.sh"),
              ElementsAre("'job.sh' has #BERTH lines, which count in: berth submit job.sh"));
  EXPECT_THAT(warnings("./job.sh"), IsEmpty());
}

TEST_F(Foresight, SaysHowToSayWhatAShellWouldTake) {
  const auto expect = [&](const std::string& command, const std::string& way) {
    EXPECT_THAT(warnings(command), ElementsAre(HasSubstr("is in no folder of PATH; " + way)))
        << command;
  };
  expect("FOO=1 python t.py", "say --env FOO=1 before the command");
  expect("A_2= python t.py", "say --env A_2= before the command");
  expect("=1", "the job fails");
  expect("2A=1", "the job fails");
  expect("a-b=1", "the job fails");
  expect("cd /tmp", "it is a word of the shell: say -- bash -c 'cd ...'");
  expect("source v/bin/activate", "it is a word of the shell: say -- bash -c 'source ...'");
  expect("conda activate x", "it is a word of the shell: say -- bash -ic 'conda ...'");
}

TEST_F(Foresight, WarnsOfAScriptThatIsNotThere) {
  file("here.py", "", 0644);
  for (const std::string command :
       {"sh here.py", "sh -c x.sh", "sh -e here.py", "sh x", "env x.sh", "sh -m x.py", "sh"}) {
    EXPECT_THAT(warnings(command), IsEmpty()) << command;
  }
  for (const std::string command : {"sh x.sh", "/bin/sh -e -u x.sh 1", "bash no/x.sh"}) {
    EXPECT_THAT(warnings(command), ElementsAre(HasSubstr("x.sh' is not there in '"))) << command;
  }
}

TEST_F(Foresight, RefusesAnOutputThatCannotBe) {
  file("out", "", 0644);
  EXPECT_EQ(refusal("true", "."), "--output: '.' is a folder");
  EXPECT_EQ(refusal("true", "new/"), "--output: 'new/' is a folder");
  EXPECT_THAT(refusal("true", "$HOME/out"),
              HasSubstr("'$HOME/out' has a variable in it, and none"));
  EXPECT_EQ(refusal("true", "out/%j/x"),
            "--output: 'out/%j/x' lies in " + (folder_ / "out") + ", which is no folder");
}

TEST_F(Foresight, WarnsOfAnOutputWhoseFolderIsNotThere) {
  const bool may_make = access("/", W_OK) == 0;
  const std::string fate = may_make
                               ? "; if that is so 10 s after the job's start, the job makes it"
                               : " and which you may not make; the job fails if that is so 10 s";
  EXPECT_THAT(warnings("true", "/nowhere/x"),
              ElementsAre(HasSubstr("--output: '/nowhere/x' needs the folder '/nowhere', which is "
                                    "not there" +
                                    fate)));
  EXPECT_THAT(warnings("true", "late/%j/x"),
              ElementsAre(HasSubstr("', which is not there; if that is so 10 s after the job's "
                                    "start, the job makes it")));
  EXPECT_THAT(warnings("true", "/proc/none/%j"), ElementsAre(HasSubstr("/proc/none")));
}

}  // namespace
}  // namespace berth::cli
