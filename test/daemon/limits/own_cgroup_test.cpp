// Goal: berthd finds the cgroup in which it may make those of its jobs, under every systemd, and
// takes no group that other programs are in.
//
// Method: the kernel's text for where a process is, as the releases of systemd write it. That
// systemd begins the scope, and starts berthd beside jobs, is tried by tools/kernel-check
// --systemd.
#include "daemon/limits/own_cgroup.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace berth::daemon {
namespace {

TEST(OwnCgroup, IsTheUnifiedOneWithoutOurGroup) {
  const auto folder = [](const char* text) {
    return own_cgroup(text, CgroupManager::Nobody).value_or(OwnCgroup{}).folder;
  };
  EXPECT_EQ(folder("0::/my/group\n"), "/sys/fs/cgroup/my/group");
  EXPECT_EQ(folder("4:memory:/x\n0::/my/group/berthd\n"), "/sys/fs/cgroup/my/group");
  for (const char* none : {"", "4:memory:/x\n", "0::/\n", "0::/berthd\n"}) {
    EXPECT_FALSE(own_cgroup(none, CgroupManager::Nobody)) << none;
    EXPECT_FALSE(own_cgroup(none, CgroupManager::Systemd)) << none;
  }
}

TEST(OwnCgroup, IsTheUnitsWhereSystemdStartsBerthdBelowIt) {
  EXPECT_EQ(own_cgroup("0::/system.slice/berth.service/berthd\n", CgroupManager::Systemd),
            (OwnCgroup{.folder = "/sys/fs/cgroup/system.slice/berth.service", .scope = ""}));
}

TEST(OwnCgroup, IsAScopeBesideAUnitInWhichSystemdStartsBerthd) {
  EXPECT_EQ(own_cgroup("0::/system.slice/berth.service\n", CgroupManager::Systemd),
            (OwnCgroup{.folder = "/sys/fs/cgroup/system.slice/berth-jobs.scope",
                       .scope = "berth-jobs.scope"}));
  EXPECT_EQ(own_cgroup("0::/gpu.slice/berth@a.service\n", CgroupManager::Systemd),
            (OwnCgroup{.folder = "/sys/fs/cgroup/gpu.slice/berth-a-jobs.scope",
                       .scope = "berth-a-jobs.scope"}));
  const auto of_user =
      own_cgroup("0::/user.slice/user-1000.slice/user@1000.service/app.slice/berth.service\n",
                 CgroupManager::Systemd);
  ASSERT_TRUE(of_user);
  EXPECT_TRUE(of_user->is_of_a_user);
  EXPECT_EQ(of_user->folder,
            "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/"
            "berth-jobs.scope");
}

TEST(OwnCgroup, IsNoneOfAProgramThatSystemdDidNotStart) {
  ::unsetenv("INVOCATION_ID");
  EXPECT_EQ(folder_of_own_cgroup(CgroupAsked::Nothing), "");
  ::setenv("INVOCATION_ID", "of a service in which a shell runs us", 1);
  ::setenv("SYSTEMD_EXEC_PID", "1", 1);
  EXPECT_EQ(folder_of_own_cgroup(CgroupAsked::Nothing), "");
  ::unsetenv("INVOCATION_ID");
  ::unsetenv("SYSTEMD_EXEC_PID");
}

}  // namespace
}  // namespace berth::daemon
