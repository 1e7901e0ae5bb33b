// Goal: on a machine of several users each acts on their own jobs only, an operator on all, an
// administrator on berthd; the arguments of others' commands are hidden everywhere where that is
// configured; limits are each user's own; and every attempt is in the audit log.
//
// Method: a berthd of root's on emulated GPUs, three accounts made for the test, and `berth` as
// they would type it. Skipped where no root is.
#include "daemon/settings/roles.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

#include "daemon/accounts.hpp"
#include "daemon/cgroup.hpp"
#include "daemon/limits/host_limits.hpp"
#include "daemon/rig.hpp"

namespace berth::daemon {
namespace {

using test::eventually;
using test::Json;
using test::quoted;
using test::Ran;
using test::Rig;
using test::slurp;
using testing::HasSubstr;
using testing::Not;

TEST(Rights, AreThoseOfUsersAndOfTheGroupsThatThePeerHas) {
  const Roles roles{.operators = {.users = {1001}, .groups = {50}},
                    .admins = {.users = {}, .groups = {60}}};
  const auto rights = [&](uid_t user, gid_t group, std::vector<gid_t> groups) {
    return rights_of({.user = user, .group = group, .groups = std::move(groups)}, roles);
  };
  EXPECT_EQ(rights(0, 1, {}), Rights::Admin);
  EXPECT_EQ(rights(::geteuid(), 1, {}), Rights::Admin);
  EXPECT_EQ(rights(1002, 1002, {}), Rights::User);
  EXPECT_EQ(rights(1001, 1001, {}), Rights::Operator);
  EXPECT_EQ(rights(1002, 50, {}), Rights::Operator);
  EXPECT_EQ(rights(1002, 1002, {4, 50}), Rights::Operator);
  EXPECT_EQ(rights(1001, 1001, {60}), Rights::Admin);
}

class ThreeUsers : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be several users";
    for (const auto* account : {&alice_, &bob_, &olga_}) {
      if (!account->is_there()) GTEST_SKIP() << "no accounts can be made here";
    }
  }
  void start(const std::string& more) {
    rig_.emplace(test::RigOptions{.config = "probe = \"100ms\"\ngrace = \"500ms\"\n" + more});
    users_.emplace(*rig_);
    rig_->start();
  }
  Ran as(const test::Account& account, const std::string& script) {
    return users_->run(account, script);
  }

  test::AccountGroup lab_{"lab"};
  test::Account alice_{"alice", &lab_};
  test::Account bob_{"bob", &lab_};
  test::Account olga_{"olga"};
  std::optional<Rig> rig_;
  std::optional<test::Users> users_;
};

TEST_F(ThreeUsers, ActAsTheirRolesAllow) {
  start("operators = [\"" + olga_.name() + "\"]\n");
  const std::string id = std::to_string(users_->submit(alice_, "sleep 1000", "--gpus 0 --hold"));
  for (const char* verb : {"cancel", "release", "update --priority 3", "suspend"}) {
    const Ran denied = as(bob_, std::string("berth ") + verb + " " + id);
    EXPECT_NE(denied.exit_code, 0) << verb;
    EXPECT_THAT(denied.err, HasSubstr("job " + id + ": belongs to " + alice_.name() + " (uid " +
                                      std::to_string(alice_.user()) + "), you are " + bob_.name()))
        << verb;
    EXPECT_THAT(denied.err, HasSubstr("others' jobs are for operators")) << verb;
  }
  EXPECT_NE(as(bob_, "berth cancel --user " + alice_.name()).exit_code, 0);
  EXPECT_EQ(rig_->job(std::stoi(id))["state"], "held");
  // An operator acts on others' jobs and on GPUs, and is no administrator.
  EXPECT_EQ(as(olga_, "berth update --priority 7 " + id).exit_code, 0);
  EXPECT_EQ(as(olga_, "berth drain 0 --reason dust").exit_code, 0);
  EXPECT_EQ(as(olga_, "berth undrain 0").exit_code, 0);
  EXPECT_EQ(as(olga_, "berth cancel " + id).exit_code, 0);
  const Json cancelled = rig_->wait_end(std::stoi(id));
  EXPECT_EQ(cancelled["state"], "cancelled");
  EXPECT_EQ(cancelled["note"], "cancelled, because " + olga_.name() + " (uid " +
                                   std::to_string(olga_.user()) + ") asked for that");
  EXPECT_EQ(cancelled["cancelled_by"], olga_.user());
  EXPECT_EQ(cancelled["cancelled_by_name"], olga_.name());
  // Who holds a job is said, if that is not its owner.
  const int later = users_->submit(alice_, "true", "--gpus 0 --begin +1h");
  EXPECT_EQ(as(olga_, "berth hold " + std::to_string(later)).exit_code, 0);
  EXPECT_THAT(rig_->job(later)["reason"].get<std::string>(),
              testing::StartsWith("held because " + olga_.name() + " (uid "));
  EXPECT_EQ(as(alice_, "berth release " + std::to_string(later)).exit_code, 0);
  EXPECT_EQ(as(alice_, "berth hold " + std::to_string(later)).exit_code, 0);
  EXPECT_EQ(rig_->job(later)["reason"], "held by its owner");
  EXPECT_THAT(as(olga_, "berth config reload").err, HasSubstr("only an administrator may do that"));
  EXPECT_THAT(as(olga_, "berth logs " + id).err,
              HasSubstr("others' logs are for administrators (`admins` in berth.toml)"));
  EXPECT_THAT(as(bob_, "berth drain 0").err, HasSubstr("only an operator may do that"));
  // A role is given and taken by reloading, at once.
  rig_->folder().write("berth.toml", "admins = [\"@" + bob_.name() + "\"]\n");
  ASSERT_EQ(rig_->request("POST", "/v1/reload").status, 200);
  EXPECT_EQ(as(bob_, "berth config reload").exit_code, 0);
  EXPECT_EQ(as(bob_, "berth logs " + id).exit_code, 0);
  EXPECT_NE(as(olga_, "berth drain 0").exit_code, 0);
  // All of it is written down, with whose job it was.
  const std::string audit = slurp(rig_->state() + "/audit.jsonl");
  EXPECT_THAT(audit, HasSubstr("\"outcome\":\"refused\",\"owner\":\"" + alice_.name()));
  EXPECT_THAT(audit, HasSubstr("\"user\":\"" + olga_.name() + "\",\"what\":\"drain\""));
}

/// Others wait by the time that a job said it would take.
TEST_F(ThreeUsers, MakeTheLimitOfAJobThatRunsShorterAndAnOperatorLonger) {
  start("operators = [\"" + olga_.name() + "\"]\n");
  const int job = users_->submit(alice_, "exec sleep 1000", "--gpus 0 --time 1h");
  const std::string id = std::to_string(job);
  rig_->wait_for(job, "running");
  const auto limit = [&] { return rig_->job(job)["time_limit_seconds"]; };
  EXPECT_EQ(as(alice_, "berth update --time 30min " + id).exit_code, 0);
  EXPECT_EQ(limit(), 1800);
  EXPECT_THAT(
      as(alice_, "berth update --time 2h " + id).err,
      HasSubstr("is running, and others wait by its time limit: only an operator makes that "
                "longer (`operators` in berth.toml)"));
  EXPECT_EQ(limit(), 1800);
  EXPECT_EQ(as(olga_, "berth update --time 2h " + id).exit_code, 0);
  EXPECT_EQ(limit(), 7200);
  EXPECT_EQ(as(alice_, "berth cancel " + id).exit_code, 0);
  rig_->wait_end(job);
}

TEST_F(ThreeUsers, AreNamedInTheRowOfTheArrayThatTheyHoldAndCancel) {
  start("operators = [\"" + olga_.name() + "\"]\n");
  const int array = users_->submit(alice_, "exec sleep 1000", "--gpus 0 --array 3-4");
  const std::string number = std::to_string(array);
  const std::string asked =
      "because " + olga_.name() + " (uid " + std::to_string(olga_.user()) + ") asked for that";
  const auto row = [&] { return rig_->request("GET", "/v1/jobs/" + number).body; };
  eventually("both run", [&] { return row()["tasks"].value("running", 0) == 2; });
  const int later = users_->submit(alice_, "true", "--gpus 0 --begin +1h --array 1-3");
  EXPECT_EQ(as(olga_, "berth hold " + std::to_string(later) + "_2-3").exit_code, 0);
  EXPECT_EQ(rig_->request("GET", test::path(later)).body["tasks_note"], "2 tasks: held " + asked);
  EXPECT_EQ(as(olga_, "berth cancel " + number).exit_code, 0);
  eventually("both end", [&] { return row()["state"] == "cancelled"; });
  EXPECT_EQ(row()["note"], "cancelled, " + asked);
  EXPECT_EQ(row()["cancelled_by"], olga_.user());
  const Json task = rig_->request("GET", "/v1/jobs/" + number + "_3").body;
  EXPECT_EQ(task["cancelled_by"], olga_.user());
  EXPECT_EQ(task["attempts"][0]["outcome"], "cancelled");
  EXPECT_THAT(as(alice_, "berth ls --all").out, HasSubstr("0 of 2 done, 2 cancelled; " + asked));
}

TEST_F(ThreeUsers, DoNotSeeOneAnothersArgumentsWhereTheyAreHidden) {
  start("hide_arguments = true\noperators = [\"" + olga_.name() + "\"]\n");
  const int id = users_->submit(alice_, "echo key=hunter2; exec sleep 1000", "--vram 1G");
  const std::string number = std::to_string(id);
  rig_->wait_for(id, "running");
  const int over = users_->submit(alice_, ": key=hunter2", "--gpus 0 --unique key-hunter2");
  rig_->wait_end(over);
  const int held =
      users_->submit(alice_, "true", "--gpus 0 --hold --unique held-hunter2 -o out-hunter2");
  const Json failing = {{"command", {"/no/hunter2/program"}},
                        {"directory", "/tmp"},
                        {"environment", {"PATH=/bin"}},
                        {"gpus", 0},
                        {"cpus", 0.01}};
  const auto failed = test::request_as(*rig_, alice_.user(), "POST", "/v1/jobs", failing);
  ASSERT_EQ(failed.status, 201) << failed.body;
  const Json failed_end = rig_->wait_end(failed.body["id"]);
  EXPECT_THAT(failed_end["note"].get<std::string>(), HasSubstr("hunter2")) << "root sees it";
  const std::vector<std::string> looks = {
      "berth ls --all",
      "berth ls --all --json",
      "berth ls --wide",
      "berth show " + number + " " + std::to_string(over),
      "berth show --json " + number,
      "berth show --json " + std::to_string(held) + " " + failed.body["id"].dump(),
      "berth why " + std::to_string(held),
      "berth history --json",
      "berth gpus --json",
      "berth why " + number,
      "berth usage --json",
  };
  const auto everything = [&](const test::Account& account) {
    std::string all;
    for (const std::string& look : looks) {
      const Ran ran = as(account, look);
      EXPECT_EQ(ran.exit_code, 0) << look << ran.err;
      all += ran.out;
    }
    for (const std::string& target :
         {std::string("/metrics"), "/v1/jobs/" + number, std::string("/v1/jobs?state=all"),
          std::string("/v1/gpus"), std::string("/v1/starts")}) {
      const auto answer = test::request_as(*rig_, account.user(), "GET", target);
      all += answer.body.is_string() ? answer.body.get<std::string>() : answer.body.dump();
    }
    return all;
  };
  for (const auto* other : {&bob_, &olga_}) {
    const std::string seen = everything(*other);
    EXPECT_THAT(seen, Not(HasSubstr("hunter2"))) << other->name();
    EXPECT_THAT(seen, HasSubstr("sh …")) << "the program is shown";
  }
  EXPECT_THAT(everything(alice_), HasSubstr("hunter2"));
  EXPECT_THAT(rig_->text("/v1/jobs?state=all"), HasSubstr("hunter2")) << "root sees all";
  // Events of a job that changes, as another user hears them.
  const Ran heard = as(bob_, "berth wait " + number + " & sleep 0.1; kill $!; wait");
  EXPECT_THAT(heard.out + heard.err, Not(HasSubstr("hunter2")));
  EXPECT_EQ(as(alice_, "berth cancel " + number + " " + std::to_string(held)).exit_code, 0);
  rig_->wait_end(id);
}

TEST_F(ThreeUsers, HaveTheirOwnIdentityLimitsAndCgroups) {
  const test::Cgroup cgroup;
  const bool has_cgroup = !cgroup.path().empty();
  start("[users." + alice_.name() + "]\njobs = 1\n");
  if (has_cgroup) {
    rig_.reset();
    start("cgroup = \"" + cgroup.path() + "\"\n[users." + alice_.name() + "]\njobs = 1\n");
  }
  const std::string says = "id -u; id -g; id -G; grep 0:: /proc/self/cgroup; sleep 1000";
  const std::string flags = "--gpus 0 --cpus 0.1 --mem 64M --pids 50";
  const int of_alice = users_->submit(alice_, says, flags);
  const int next = users_->submit(alice_, "true", flags);
  const int of_bob = users_->submit(bob_, says, flags);
  const int of_olga = users_->submit(olga_, says, flags);
  for (const auto& [account, id] :
       {std::pair(&alice_, of_alice), {&bob_, of_bob}, {&olga_, of_olga}}) {
    eventually("it has spoken",
               [&, job = id] { return std::ranges::count(rig_->log(job), '\n') >= 4; });
    const std::string log = rig_->log(id);
    std::istringstream said(log);
    uid_t uid = 0;
    gid_t gid = 0;
    std::string line;
    ASSERT_TRUE(said >> uid >> gid && std::getline(said >> std::ws, line)) << log;
    std::istringstream list(line);
    std::vector<gid_t> groups{std::istream_iterator<gid_t>(list), {}};
    std::ranges::sort(groups);
    EXPECT_EQ(uid, account->user()) << account->name();
    EXPECT_EQ(gid, account->group()) << account->name();
    EXPECT_EQ(groups, account->groups()) << account->name();
    EXPECT_EQ(std::ranges::count(groups, lab_.number()) > 0, account != &olga_) << account->name();
    if (!has_cgroup) continue;
    EXPECT_THAT(log, HasSubstr("/berth-" + std::to_string(id) + ".1\n"));
    if (HostLimits(cgroup.path(), {HostLimit::Memory}).limited().empty()) continue;
    EXPECT_EQ(slurp(cgroup.path() + "/berth-" + std::to_string(id) + ".1/memory.max"),
              "67108864\n");
  }
  EXPECT_THAT(rig_->job(next)["reason"].get<std::string>(),
              HasSubstr("limit of its user: 1 of 1 running jobs"));
  EXPECT_NE(as(bob_, "berth cancel " + std::to_string(of_alice)).exit_code, 0);
  EXPECT_EQ(as(alice_, "berth cancel " + std::to_string(of_alice)).exit_code, 0);
  EXPECT_EQ(rig_->wait_end(next)["state"], "done");
  rig_.reset();
}

}  // namespace
}  // namespace berth::daemon
