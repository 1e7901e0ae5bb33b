// Goal: a snapshot has the code as it was, cheaply and within its bounds, and leads to the rest.
// Method: real folders, with git and without; the real program and a daemon of canned answers.
#include "cli/job/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/fake_daemon.hpp"
#include "cli/program.hpp"
#include "support/process.hpp"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SnapshotTest : public testing::Test {
 protected:
  SnapshotTest() {
    fs::create_directories(code("src"));
    fs::create_directories(code("data"));
    fs::create_directories(parent());
    scratch_.write("code/src/train.py", "print(1)\n");
    scratch_.write("code/data/big", std::string(5000, 'x'));
  }
  std::string code(const std::string& below = "") const {
    return (scratch_ / "code") + (below.empty() ? "" : "/" + below);
  }
  std::string parent() const { return scratch_ / "home/.local/state/berth/snapshots"; }
  SnapshotRules rules(std::vector<std::string> exclude = {}, Bytes limit = kSnapshotLimit) const {
    return {.exclude = std::move(exclude), .limit = limit, .parent = parent()};
  }
  Snapshot take(const SnapshotRules& rules) const {
    auto made = take_snapshot(code(), rules);
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : Snapshot();
  }
  bool has_git() const {
    return test::run_program("/bin/sh", {"-c", "command -v git"}).exit_code == 0;
  }
  void make_repository() const {
    const auto made = test::run_program(
        "/bin/sh",
        {"-c", "cd " + code() +
                   " && git init -q . && git add src && printf 'data\n*.pt\n' >.gitignore"
                   " && mkdir -p src/__pycache__ && echo x >src/__pycache__/a.pyc"
                   " && echo __pycache__ >>.gitignore"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }

  test::ScratchFolder scratch_;
};

TEST_F(SnapshotTest, IsTheCodeAsItWas) {
  chmod(code("src/train.py").c_str(), 0750);
  const Snapshot made = take(rules());
  EXPECT_THAT(made.path, HasSubstr("/berth/snapshots/code-"));
  scratch_.write("code/src/train.py", "print(2)\n");
  EXPECT_EQ(test::read_file(made.path + "/src/train.py"), "print(1)\n");
  struct stat status{};
  ASSERT_EQ(stat((made.path + "/src/train.py").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0750U);
  EXPECT_EQ(status.st_nlink, 1U) << "an edit in place would show through a hard link";
  ASSERT_EQ(stat(made.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(SnapshotTest, LinksToWhatIsLeftOut) {
  const Snapshot made = take(rules({"data"}));
  EXPECT_THAT(made.left_out, ElementsAre("data"));
  EXPECT_EQ(fs::read_symlink(made.path + "/data"), code("data"));
  EXPECT_EQ(take(rules({"*.py"})).left_out, std::vector<std::string>{"src/train.py"});
}

TEST_F(SnapshotTest, OfAGitWorkTreeHasWhatGitKnowsOrWouldAdd) {
  if (!has_git()) GTEST_SKIP() << "needs git";
  make_repository();
  scratch_.write("code/new.py", "new\n");
  scratch_.write("code/src/model.pt", "weights\n");
  const Snapshot made = take(rules());
  EXPECT_THAT(made.left_out, ElementsAre("data", "src/__pycache__", "src/model.pt"));
  EXPECT_EQ(test::read_file(made.path + "/new.py"), "new\n");
  EXPECT_TRUE(fs::is_symlink(made.path + "/data"));
  EXPECT_TRUE(fs::is_symlink(made.path + "/src/model.pt"));
  EXPECT_FALSE(fs::exists(made.path + "/src/__pycache__")) << "it is made again";
  EXPECT_FALSE(fs::exists(made.path + "/.git"));
  EXPECT_EQ(snapshot_source(code("src")), code());
}

TEST_F(SnapshotTest, KeepsLinksAndTheirTargets) {
  fs::create_symlink("src/train.py", code("inner"));
  fs::create_symlink("../home", code("outer"));
  const Snapshot made = take(rules());
  EXPECT_EQ(fs::read_symlink(made.path + "/inner"), "src/train.py");
  EXPECT_EQ(fs::read_symlink(made.path + "/outer"), scratch_ / "home");
}

TEST_F(SnapshotTest, BeyondItsLimitIsRefusedAndLeavesNothing) {
  const auto made = take_snapshot(code(), rules({}, Bytes(4096)));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "--snapshot " + code() +
                ": more than 4 KiB, of which data has 4.88 KiB; leave it out with "
                "--snapshot-exclude PATTERNS (a link to the original takes its place), or say "
                "--snapshot-limit SIZE");
  EXPECT_TRUE(fs::is_empty(parent()));
  scratch_.write("code/secret", "x");
  if (geteuid() == 0) return;
  chmod(code("secret").c_str(), 0);
  EXPECT_FALSE(take_snapshot(code(), rules()));
  EXPECT_TRUE(fs::is_empty(parent()));
}

class Submitting : public SnapshotTest {
 protected:
  test::Ran submit(std::vector<std::string> options, const std::string& below = "src") {
    options.insert(options.begin(), "submit");
    return test::berth(options, {.environment = {"BERTH_SOCKET=" + daemon_.socket(),
                                                 "HOME=" + (scratch_ / "home"), "PWD=/wrong"},
                                 .directory = code(below)});
  }

  test::FakeDaemon daemon_;
};

TEST_F(Submitting, LetsTheJobRunInTheCopy) {
  daemon_.answer("POST /v1/jobs", {{.status = 201, .body = R"({"id":42,"state":"queued"})"}});
  const auto ran =
      submit({"--snapshot=..", "--snapshot-exclude", "data", "--", "python", code("src/train.py")});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("names the original, not the copy; name it from " + code("src")));
  const Json body = Json::parse(daemon_.take("POST /v1/jobs").body);
  const std::string copy = body.at("snapshot");
  EXPECT_EQ(body.at("directory"), copy + "/src");
  EXPECT_EQ(test::read_file(copy + "/src/train.py"), "print(1)\n");
  const auto environment = body.at("environment").get<std::vector<std::string>>();
  EXPECT_THAT(environment,
              testing::IsSupersetOf({"PWD=" + copy + "/src", "BERTH_SUBMIT_DIR=" + code("src"),
                                     "BERTH_SNAPSHOT=" + copy}));
  EXPECT_THAT(environment, testing::Not(testing::Contains("PWD=/wrong")));
}

TEST_F(Submitting, LeavesNoCopyOfAJobThatIsNotTaken) {
  daemon_.answer("POST /v1/jobs", {{.status = 422, .body = http::error_body("asks 9 GPUs")}});
  const auto ran = submit({"--snapshot", "--", "true"});
  EXPECT_EQ(ran.exit_code, test::kFailed);
  EXPECT_TRUE(fs::is_empty(parent()));
  daemon_.answer("POST /v1/jobs", R"({"start":null})");
  submit({"--snapshot", "--dry-run", "--", "true"});
  EXPECT_TRUE(fs::is_empty(parent()));
}

TEST_F(Submitting, RefusesWhatMakesNoSense) {
  EXPECT_THAT(submit({"--snapshot=../data", "--", "true"}).err,
              HasSubstr("does not have the job's directory in it"));
  EXPECT_THAT(submit({"--snapshot=/no/such", "--", "true"}).err,
              HasSubstr("--snapshot=/no/such: No such file or directory"));
  EXPECT_THAT(submit({"--snapshot-exclude", "data", "--", "true"}).err,
              HasSubstr("without --snapshot"));
  EXPECT_THAT(submit({"--snapshot", "--snapshot-limit", "tiny", "--", "true"}).err,
              HasSubstr("--snapshot-limit tiny: "));
}

}  // namespace
}  // namespace berth::cli
