// Goal: tools/release makes no other release than the one that was asked for.
// Method: it is run in a small tree with a git of its own, where nothing is to be built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::test {
namespace {

using testing::HasSubstr;

constexpr const char* kGit = "/usr/bin/git";

class Release : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(kGit, X_OK) != 0) GTEST_SKIP() << "no git";
    const std::filesystem::path tools = tree_.path() / "tools";
    std::filesystem::create_directory(tools);
    std::filesystem::copy(source_dir() / "tools/release", tools);
    tree_.write("CMakeLists.txt", "project(berth VERSION 1.2.3 LANGUAGES C)\n");
    tree_.write(".gitignore", "build/\n");
    git({"init", "--quiet"});
    git({"add", "."});
    git({"-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "a"});
  }

  void git(std::vector<std::string> words) {
    words.insert(words.begin(), {"-C", tree_.path().string()});
    const Ran ran = run_program(kGit, words);
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
  }

  void expect_refusal(const std::vector<std::string>& arguments, int code,
                      const std::string& words) {
    const Ran ran = run_program(tree_ / "tools/release", arguments);
    EXPECT_EQ(ran.exit_code, code);
    EXPECT_THAT(ran.err, HasSubstr(words));
  }

  ScratchFolder tree_;
};

TEST_F(Release, RefusesAVersionThatIsNotTheTrees) {
  expect_refusal({"1.2.4"}, 1, "release: version '1.2.4': CMakeLists.txt says 1.2.3\n");
  expect_refusal({}, 2, "usage: tools/release VERSION [--sign KEY]\n");
  expect_refusal({"1.2.3", "--sign"}, 2, "usage: ");
}

TEST_F(Release, RefusesChangesThatAreNotCommitted) {
  tree_.write("new.cpp", "");
  expect_refusal({"1.2.3"}, 1, "release: the tree has changes that are not committed");
}

TEST_F(Release, LeavesAnEarlierOneAsItIs) {
  std::filesystem::create_directories(tree_.path() / "build/release-1.2.3");
  expect_refusal({"1.2.3"}, 1, "/build/release-1.2.3 is there already\n");
  EXPECT_TRUE(std::filesystem::is_empty(tree_.path() / "build/release-1.2.3"));
}

}  // namespace
}  // namespace berth::test
