// Goal: the owner of a job that cannot be started sees why at once. Method: a real berthd whose
// folder of attempts is away, or the job's, on a file system without its server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "daemon/rig.hpp"
#include "support/unanswered.hpp"

namespace berth::daemon {
namespace {

using test::eventually;
using test::Json;
using test::Rig;
using testing::AllOf;
using testing::HasSubstr;

/// Jobs that cannot be started, as the folder of attempts is away.
class NoStarts : public testing::Test {
 protected:
  void SetUp() override {
    rig_.start();
    std::filesystem::rename(attempts(), attempts() + ".away");
  }
  void bring_back() { std::filesystem::rename(attempts() + ".away", attempts()); }
  std::string attempts() const { return rig_.state() + "/attempts"; }

  Rig rig_;
};

TEST_F(NoStarts, SayWhyInListsAndAnswers) {
  const int id = rig_.submit("exit 3");
  const std::string path = "/v1/jobs/" + std::to_string(id);
  const auto why = AllOf(HasSubstr("could not be started: "), HasSubstr("/attempts/"),
                         HasSubstr("No such file or directory (try "), HasSubstr(" of 24"));
  eventually("it was tried", [&] { return !std::string(rig_.job(id)["reason"]).empty(); });
  EXPECT_THAT(std::string(rig_.job(id)["reason"]), why);
  EXPECT_THAT(std::string(rig_.request("GET", "/v1/jobs").body["jobs"][0]["reason"]), why);
  EXPECT_THAT(std::string(rig_.request("GET", path + "/why").body["reason"]), why);
  EXPECT_EQ(rig_.job(id)["state"], "starting");
  bring_back();
  EXPECT_EQ(rig_.wait_end(id)["exit_code"], 3);
  EXPECT_EQ(rig_.job(id)["attempts"][0]["note"], "was not started");
}

TEST_F(NoStarts, AreCancelledAtOnce) {
  const int id = rig_.submit("true");
  eventually("it was tried twice", [&] { return rig_.job(id)["attempts"].size() > 1; });
  rig_.request("POST", "/v1/jobs/" + std::to_string(id) + "/cancel");
  EXPECT_EQ(rig_.wait_end(id)["state"], "cancelled");
  bring_back();
}

TEST(NoFolder, IsWaitedForWhereItsFileSystemIsAway) {
  if (!test::Unanswered::has_own_mounts()) GTEST_SKIP() << "may not mount";
  Rig rig;
  rig.start();
  const std::string folder = rig.folder() / "away";
  std::filesystem::create_directory(folder);
  std::optional<test::Unanswered> away(folder);
  if (!away->is_there()) GTEST_SKIP() << "no FUSE";
  away->die();
  const int id = rig.submit("exit 3", {{"directory", folder}});
  eventually("it was tried twice", [&] { return rig.job(id)["attempts"].size() > 1; });
  EXPECT_THAT(std::string(rig.job(id)["reason"]),
              AllOf(HasSubstr("could not be started: directory '" + folder),
                    HasSubstr("Transport endpoint is not connected (try ")));
  away.reset();
  EXPECT_EQ(rig.wait_end(id)["exit_code"], 3);
}

}  // namespace
}  // namespace berth::daemon
