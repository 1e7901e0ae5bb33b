// Goal: a program that reads another script or configuration than before, or was given another
// variable, is told from the one before; what its runs write tells nothing.
// Method: files in a folder of the test, edited between two looks.
#include "cli/job/program_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/process.hpp"

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class ProgramWords : public testing::Test {
 protected:
  std::vector<std::string> of(std::vector<std::string> command,
                              std::vector<std::string> variables = {}) const {
    return program_words({.command = std::move(command),
                          .directory = folder_.path().string(),
                          .variables = std::move(variables)});
  }
  /// True if other words are told after an edit of this file.
  bool counts(const std::string& file, const std::vector<std::string>& command) const {
    folder_.write(file, "#!/bin/bash\nmodel: 7b\n");
    const auto before = of(command);
    folder_.write(file, "#!/bin/bash\nmodel: 70b\n");
    return of(command) != before;
  }

  test::ScratchFolder folder_;
};

TEST_F(ProgramWords, AreOfFilesThatTheCommandNames) {
  EXPECT_TRUE(counts("run.sh", {"./run.sh"}));
  EXPECT_TRUE(counts("run", {"./run"})) << "a script by its first line";
  EXPECT_TRUE(counts("run", {"/bin/bash", "./run"}));
  EXPECT_TRUE(counts("run.sh", {"bash", "-x", "run.sh"}));
  EXPECT_TRUE(counts("c.yaml", {"python3", "train.py", "--config", "c.yaml"}));
  EXPECT_TRUE(counts("c.json", {"python3", "train.py", "--config=c.json"}));
  EXPECT_TRUE(counts("c.toml", {"python3", "train.py", "config=c.toml"}));
  EXPECT_TRUE(counts("c.yaml", {"bash", "-c", "python3 train.py --config 'c.yaml'; true"}));
  EXPECT_TRUE(counts("c.yaml", {"python3", "train.py", folder_ / "c.yaml"}));
  EXPECT_TRUE(counts("c.yaml", {"python3", "train.py", "--layout", "c.yaml"}));
  EXPECT_TRUE(counts("Makefile", {"make", "train"}));
}

TEST_F(ProgramWords, AreNotOfOthers) {
  EXPECT_FALSE(counts("train.py", {"python3", "train.py"})) << "code changes all the time";
  EXPECT_FALSE(counts("train.py", {"./train.py"}));
  EXPECT_FALSE(counts("out.json", {"python3", "train.py", "--output", "out.json"}));
  EXPECT_FALSE(counts("m.json", {"python3", "train.py", "--metrics_file=m.json"}));
  EXPECT_FALSE(counts("other.yaml", {"python3", "train.py", "--config", "c.yaml"}));
  EXPECT_THAT(of({"python3", "train.py", "--config", "nowhere.yaml"}), IsEmpty());
  folder_.write("large.json", std::string(300'000, 'x'));
  EXPECT_THAT(of({"python3", "train.py", "large.json"}), IsEmpty());
  ASSERT_EQ(::mkfifo((folder_ / "pipe.yaml").c_str(), 0600), 0);
  EXPECT_THAT(of({"python3", "train.py", "pipe.yaml"}), IsEmpty()) << "and nobody waits for it";
  EXPECT_THAT(of({}), IsEmpty());
}

TEST_F(ProgramWords, CommentsDoNotCount) {
  folder_.write("run.sh", "#!/bin/bash\n#BERTH --time 2h\npython3 train.py\n");
  const auto before = of({"./run.sh"});
  EXPECT_THAT(before, ElementsAre(StartsWith("sha256:")));
  folder_.write("run.sh", "#!/bin/bash\n\n#BERTH --time 4h\n  # longer\npython3 train.py\n");
  EXPECT_EQ(of({"./run.sh"}), before);
}

TEST_F(ProgramWords, AreOfVariablesInAnyOrder) {
  EXPECT_THAT(of({"true"}, {"B=2", "A=1"}), ElementsAre("A=1", "B=2"));
}

TEST_F(ProgramWords, AreFewWhateverThereIs) {
  std::vector<std::string> command = {"cat"};
  for (int i = 0; i < 40; ++i) {
    command.push_back("c" + std::to_string(i) + ".yaml");
    folder_.write(command.back(), std::to_string(i));
  }
  EXPECT_THAT(of(command), SizeIs(16));
  const auto large = of({"true"}, {"A=" + std::string(20'000, 'x')});
  EXPECT_THAT(large, ElementsAre(StartsWith("sha256:")));
  EXPECT_NE(large, of({"true"}, {"A=" + std::string(20'001, 'x')}));
}

}  // namespace
}  // namespace berth::cli
