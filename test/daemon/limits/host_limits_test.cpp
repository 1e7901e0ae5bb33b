// Goal: a job is kept to the host memory, cores and processes it asked for, and what the kernel did
// to it for that is told as its end; where the kernel cannot, berthd says so and jobs run.
//
// Method: a folder with the kernel's files in it stands for a cgroup, so that every word written
// and read is seen on any machine; and a real cgroup v2 where there is one with controllers.
#include "daemon/limits/host_limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/units.hpp"
#include "daemon/cgroup.hpp"
#include "daemon/rig.hpp"
#include "support/process.hpp"

namespace berth::daemon {
namespace {

namespace fs = std::filesystem;
using namespace berth::literals;
using test::Json;
using test::Rig;
using test::slurp;
using testing::HasSubstr;

const std::vector<HostLimit> kAll = {HostLimit::Memory, HostLimit::Cores, HostLimit::Processes};

void make(const std::string& path, const std::string& text = "") {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

/// As the kernel would have a group.
void make_group(const std::string& group) {
  for (const char* file : {"cgroup.procs", "memory.max", "memory.swap.max", "memory.oom.group",
                           "memory.events", "cpu.max", "pids.max", "pids.events"}) {
    make(group + "/" + file);
  }
}

class HostLimitsTest : public testing::Test {
 protected:
  HostLimitsTest() {
    make(top() + "/cgroup.subtree_control");
    make(top() + "/cgroup.procs");
    make_group(group());
  }
  std::string top() const { return folder_ / "cgroup"; }
  std::string group() const { return top() + "/berth-1.1"; }
  std::string in(const char* file) const { return slurp(group() + "/" + file); }

  test::ScratchFolder folder_;
};

TEST_F(HostLimitsTest, WritesWhatWasAskedAsTheKernelReadsIt) {
  const HostLimits limits(top(), kAll);
  EXPECT_EQ(limits.why_not(), "");
  EXPECT_EQ(limits.limited(), "memory, cores, processes");
  ASSERT_TRUE(limits.set(group(), {.memory = 8_GiB, .cores = CpuMilli(2500), .processes = 100}));
  EXPECT_EQ(in("memory.max"), "8589934592");
  EXPECT_EQ(in("memory.swap.max"), "0");
  EXPECT_EQ(in("memory.oom.group"), "1");
  EXPECT_EQ(in("cpu.max"), "250000 100000");
  EXPECT_EQ(in("pids.max"), "100");
  EXPECT_EQ(host_limits_text(group()), "memory 8 GiB, 2.5 cores, 100 processes");
}

TEST_F(HostLimitsTest, LeavesWhatWasNotAskedAlone) {
  const HostLimits limits(top(), kAll);
  ASSERT_TRUE(limits.set(group(), {.cores = CpuMilli(1)}));
  EXPECT_EQ(in("memory.max") + in("pids.max") + in("memory.oom.group"), "");
  EXPECT_EQ(in("cpu.max"), "1000 100000") << "the kernel takes no less";
  make(group() + "/memory.max", "max\n");
  make(group() + "/pids.max", "max\n");
  make(group() + "/cpu.max", "max 100000\n");
  EXPECT_EQ(host_limits_text(group()), "");
}

TEST_F(HostLimitsTest, LimitsOnlyWhatTheConfigurationAllows) {
  const HostLimits limits(top(), {HostLimit::Memory});
  EXPECT_EQ(limits.limited(), "memory");
  EXPECT_THAT(limits.why_not(), HasSubstr("cores: `host_limits` in berth.toml leaves it out"));
  ASSERT_TRUE(limits.set(group(), {.memory = 1_GiB, .cores = CpuMilli(1000), .processes = 5}));
  EXPECT_EQ(in("cpu.max") + in("pids.max"), "");
}

TEST_F(HostLimitsTest, SaysWhyNothingCanBeLimited) {
  EXPECT_EQ(HostLimits("", kAll).why_not(), "`cgroup` is not set in berth.toml");
  const HostLimits gone(folder_ / "none", kAll);
  EXPECT_EQ(gone.limited(), "");
  EXPECT_THAT(gone.why_not(), HasSubstr("cgroup.subtree_control: No such file or directory"));
}

TEST_F(HostLimitsTest, NamesTheFileThatCannotBeWrittenAndSetsTheOthers) {
  const HostLimits limits(top(), kAll);
  fs::remove(group() + "/memory.max");
  const auto done = limits.set(group(), {.memory = 1_GiB, .processes = 5});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("berth-1.1/memory.max: No such file"));
  EXPECT_EQ(in("pids.max"), "5");
}

TEST_F(HostLimitsTest, TellsWhatTheKernelDid) {
  EXPECT_EQ(host_limits_told(group()), "");
  make(group() + "/memory.events", "low 0\nhigh 0\nmax 7\noom 0\noom_kill 0\noom_group_kill 0\n");
  EXPECT_EQ(host_limits_told(group()), "") << "at its limit, and no process was ended";
  make(group() + "/memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\noom_group_kill 1\n");
  make(group() + "/memory.max", "8589934592\n");
  EXPECT_EQ(host_limits_told(group()), "its host memory passed 8 GiB (--mem)");
  make(group() + "/pids.events", "max 4\n");
  make(group() + "/pids.max", "100\n");
  EXPECT_THAT(host_limits_told(group()),
              HasSubstr("; it was refused more processes than 100 (--pids)"));
  EXPECT_EQ(host_limits_told(""), "");
}

TEST_F(HostLimitsTest, MovesProcessesOfTheFolderBelowIt) {
  make(top() + "/cgroup.procs", std::to_string(::getpid()) + "\n");
  make(top() + "/berthd/cgroup.procs");
  const HostLimits limits(top(), kAll);
  EXPECT_EQ(slurp(top() + "/berthd/cgroup.procs"), std::to_string(::getpid()));
}

/// The kernel's answer to a read of a group that was just removed.
TEST(HostLimitsText, OfAFileThatCannotBeReadIsNone) {
  test::ScratchFolder folder;
  for (const char* file : {"memory.max", "memory.events", "cpu.max", "pids.max", "pids.events"}) {
    fs::create_directory(folder / file);  // it opens, and a read of it fails
  }
  EXPECT_EQ(host_limits_text(folder.path().string()), "");
  EXPECT_EQ(host_limits_told(folder.path().string()), "");
}

// ---- With berthd -----------------------------------------------------------------------------

TEST(HostLimits, OfAJobAreSetBeforeItAndToldAtItsEnd) {
  test::ScratchFolder folder;
  const std::string top = folder / "cgroup";
  make(top + "/cgroup.subtree_control");
  make(top + "/cgroup.procs");
  const std::string group = top + "/berth-1.1";
  make_group(group);
  Rig rig({.config = "probe = \"100ms\"\ncgroup = \"" + top + "\"\n"});
  rig.start();
  // It does to its group what the kernel would.
  const int id = rig.submit(
      "cat " + group + "/memory.max; echo; echo oom_kill 1 >" + group +
          "/memory.events; while [ ! -e go ]; do sleep 0.01; done; kill -9 $$",
      {{"gpus", 0}, {"vram_bytes", nullptr}, {"cpus", 0.5}, {"mem_bytes", 64 << 20}, {"pids", 20}});
  ASSERT_EQ(id, 1);
  rig.wait_for(id, "running");
  test::eventually("it has read its limit", [&] { return rig.log(id).ends_with("\n"); });
  EXPECT_EQ(rig.log(id), "67108864\n");
  const Json job = rig.request("GET", test::path(id)).body;
  EXPECT_EQ(job["host_limits"], "memory 64 MiB, 0.5 cores, 20 processes");
  EXPECT_EQ(job["pids"], 20);
  rig.kill();  // what the kernel did is known to the next daemon too
  rig.start();
  make(rig.folder() / "go");
  const Json ended = rig.wait_end(id);
  EXPECT_EQ(ended["state"], "failed");
  EXPECT_EQ(ended["exit_code"], 137);
  EXPECT_THAT(ended["note"].get<std::string>(), HasSubstr("its host memory passed 64 MiB (--mem)"));
  const std::string doctor = rig.text("/v1/doctor");
  EXPECT_THAT(doctor, HasSubstr("keeps jobs to what they asked for: memory, cores, processes"));
}

TEST(HostLimits, ThatCannotBeSetAreSaidByTheDoctor) {
  Rig rig;
  rig.start();
  EXPECT_THAT(rig.text("/v1/doctor"),
              HasSubstr("counted, not limited: `cgroup` is not set in berth.toml"));
}

TEST(HostLimits, OfAKernelEndAJobThatTakesMore) {
  const test::Cgroup cgroup;
  if (cgroup.path().empty()) GTEST_SKIP() << "no cgroup v2 can be made here";
  const HostLimits trial(cgroup.path(), kAll);
  if (trial.limited() != "memory, cores, processes") {
    GTEST_SKIP() << "no controllers of cgroup v2 here: " << trial.why_not();
  }
  Rig rig({.config = "probe = \"100ms\"\ncgroup = \"" + cgroup.path() + "\"\n"});
  rig.start();
  const int id =
      rig.submit("head -c 300m /dev/zero | tail -c 300m >/dev/null",
                 {{"gpus", 0}, {"vram_bytes", nullptr}, {"cpus", 0.5}, {"mem_bytes", 64 << 20}});
  const Json job = rig.wait_end(id);
  EXPECT_EQ(job["exit_code"], 137) << job;
  EXPECT_THAT(job["note"].get<std::string>(), HasSubstr("its host memory passed 64 MiB (--mem)"));
  const int forks = rig.submit("for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait",
                               {{"gpus", 0}, {"vram_bytes", nullptr}, {"cpus", 0.5}, {"pids", 4}});
  EXPECT_THAT(rig.wait_end(forks)["note"].get<std::string>(),
              HasSubstr("it was refused more processes than 4 (--pids)"));
}

}  // namespace
}  // namespace berth::daemon
