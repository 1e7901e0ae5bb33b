// Goal: a job opens the device files of its own GPUs and of no others, whatever it does, also after
// a restart of berthd, while it is suspended, and when it goes on on another GPU; all other devices
// stay open to it; where the kernel cannot, berthd says so and jobs run.
//
// Method: nodes of /dev/full, /dev/zero and the like, made under NVIDIA's names, stand for the
// files of emulated GPUs; a real cgroup v2 and the kernel's own programs. Skipped where berthd may
// not load them.
#include "daemon/limits/device_files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "daemon/cgroup.hpp"
#include "daemon/rig.hpp"
#include "support/process.hpp"

namespace berth::daemon {
namespace {

namespace fs = std::filesystem;
using test::Cgroup;
using test::eventually;
using test::Json;
using test::kGiB;
using test::load;
using test::Rig;
using test::slurp;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t kMemory = 1;              // the major number of /dev/null and the like
constexpr std::uint32_t kStandIns[] = {5, 7, 8};  // zero, full, random: for GPUs 0, 1 and 2

bool make_node(const std::string& path, DeviceNumber number) {
  return ::mknod(path.c_str(), S_IFCHR | 0666, gnu_dev_makedev(number.major, number.minor)) == 0;
}

// ---- Which files there are -------------------------------------------------------------------

Device device(std::uint32_t index, std::uint32_t minor) {
  Device made;
  made.index = index;
  made.minor = minor;
  return made;
}

TEST(DeviceFiles, AreThoseOfTheDriversNumbers) {
  const std::vector<Device> devices = {device(0, 1), device(1, 0), Device{.index = 2}};
  const auto files = find_device_files(devices, {.nodes = "/nowhere", .capabilities = "/nowhere"});
  EXPECT_THAT(files,
              ElementsAre(DeviceFile{{195, 0}, {GpuId(1)}}, DeviceFile{{195, 1}, {GpuId(0)}}))
      << "by minor numbers, which need not be indices; one that is unknown has no file";
  const std::vector<GpuId> granted = {GpuId(0)};
  EXPECT_THAT(denied_to(files, granted), ElementsAre(DeviceNumber{195, 0}));
  EXPECT_THAT(denied_to(files, {}), ElementsAre(DeviceNumber{195, 0}, DeviceNumber{195, 1}));
}

TEST(DeviceFiles, OfInstancesAreTheirGpusAndTheirOwnCapabilities) {
  const test::ScratchFolder folder;
  const std::string caps = folder / "capabilities";
  const std::string nodes = folder / "nvidia-caps";
  fs::create_directories(nodes);
  std::vector<Device> devices;
  for (std::uint32_t i = 0; i < 2; ++i) {
    Device instance = device(i, 0);
    instance.mig_profile = "3g.40gb";
    instance.gpu_instance = i + 1;
    instance.compute_instance = 0;
    const std::string gi = caps + "/gpu0/mig/gi" + std::to_string(i + 1);
    fs::create_directories(gi + "/ci0");
    std::ofstream(gi + "/access") << "DeviceFileMinor: " << 10 + i << "\nDeviceFileMode: 256\n";
    std::ofstream(gi + "/ci0/access") << "DeviceFileMinor: " << 20 + i << "\n";
    for (const std::uint32_t minor : {10 + i, 20 + i}) {
      if (!make_node(nodes + "/nvidia-cap" + std::to_string(minor), {kMemory, minor})) {
        GTEST_SKIP() << "only root makes nodes";
      }
    }
    devices.push_back(instance);
  }
  const auto files =
      find_device_files(devices, {.nodes = folder.path().string(), .capabilities = caps});
  const std::vector<GpuId> second = {GpuId(1)};
  EXPECT_THAT(denied_to(files, second),
              ElementsAre(DeviceNumber{kMemory, 10}, DeviceNumber{kMemory, 20}))
      << "not the GPU's, which both need";
  EXPECT_THAT(denied_to(files, {}), testing::SizeIs(5)) << "a job without GPUs needs none of them";
}

TEST(DeviceRules, SayWhatTheyLack) {
  const std::vector<Device> devices = {device(0, 0)};
  EXPECT_THAT(DeviceRules(devices, {.cgroup = "", .folders = {}}).why_not(),
              HasSubstr("`cgroup` is not set"));
  EXPECT_THAT(DeviceRules(devices, {.cgroup = "/x", .is_wanted = false, .folders = {}}).why_not(),
              HasSubstr("`device_rules` in berth.toml is false"));
  if (::geteuid() != 0) GTEST_SKIP() << "the rest is root's";
  EXPECT_THAT(DeviceRules(devices, {.cgroup = "/nowhere", .folders = {}}).why_not(),
              HasSubstr("/nowhere/berth-device-trial-"));
  EXPECT_THAT(DeviceRules({}, {.cgroup = "/x", .folders = {}}).why_not(),
              HasSubstr("no device file of a GPU is known"));
}

// ---- A group of processes --------------------------------------------------------------------

/// Runs a script of the shell to its end.
test::Ran shell(const std::string& script) {
  test::Ran ran;
  FILE* const pipe = ::popen(script.c_str(), "r");
  if (pipe == nullptr) return ran;
  for (int next = 0; (next = std::fgetc(pipe)) != EOF;) ran.out += static_cast<char>(next);
  ran.exit_code = ::pclose(pipe);
  return ran;
}

class DevicesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cgroup_.path().empty()) GTEST_SKIP() << "no cgroup v2 can be made here";
    for (std::uint32_t g = 0; g < std::size(kStandIns); ++g) {
      if (!make_node(node(g), {kMemory, kStandIns[g]})) GTEST_SKIP() << "only root makes nodes";
    }
    const int file = ::open(node(0).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) GTEST_SKIP() << "the folder of the test has no device files";
    ::close(file);
    const std::string trial = cgroup_.path() + "/trial";
    ::mkdir(trial.c_str(), 0755);
    const auto done = deny_devices(trial, {{kMemory, 7}});
    ::rmdir(trial.c_str());
    if (!done) GTEST_SKIP() << done.error().message;
  }
  std::string node(std::uint32_t gpu) const { return folder_ / ("nvidia" + std::to_string(gpu)); }
  /// Which of the stand-ins a process in this group can open, `01`; `-` for /dev/null if it cannot.
  std::string opened_in(const std::string& group) const {
    return shell("echo $$ >" + group + "/cgroup.procs; " + tries()).out;
  }
  std::string tries() const {
    std::string script = "(: </dev/null) 2>/dev/null || printf -- -; ";
    for (std::uint32_t g = 0; g < std::size(kStandIns); ++g) {
      script += "(: <" + node(g) + ") 2>/dev/null && printf " + std::to_string(g) + "; ";
    }
    return script + "true";
  }

  test::ScratchFolder folder_;
  Cgroup cgroup_;
};

TEST_F(DevicesTest, AreDeniedToAGroupAndAnotherSetReplacesThem) {
  const std::string group = cgroup_.path() + "/some";
  ASSERT_EQ(::mkdir(group.c_str(), 0755), 0);
  EXPECT_EQ(opened_in(group), "012");
  EXPECT_FALSE(has_device_program(group));
  ASSERT_TRUE(deny_devices(group, {{kMemory, 5}, {kMemory, 8}}));
  EXPECT_TRUE(has_device_program(group));
  EXPECT_EQ(opened_in(group), "1");
  ASSERT_TRUE(deny_devices(group, {{kMemory, 7}}));
  EXPECT_EQ(opened_in(group), "02");
  const std::string another = folder_ / "mine";
  const auto made = shell("echo $$ >" + group + "/cgroup.procs; mknod " + another + " c 1 7 2>&1");
  EXPECT_NE(made.exit_code, 0) << "nor can a node be made";
  ASSERT_TRUE(deny_devices(group, {}));
  EXPECT_FALSE(has_device_program(group));
  EXPECT_EQ(opened_in(group), "012");
  EXPECT_FALSE(deny_devices(cgroup_.path() + "/none", {}));
}

// ---- Jobs ------------------------------------------------------------------------------------

class DeviceJobs : public DevicesTest {
 protected:
  Rig rig(const std::string& more = "") const {
    return Rig({.gpus = "3x24GiB",
                .config = "probe = \"100ms\"\ngrace = \"500ms\"\ncgroup = \"" + cgroup_.path() +
                          "\"\ndevice_folder = \"" + folder_.path().string() + "\"\n" + more});
  }
  /// Says which it can open whenever there is a new file `ask`, until there is a file `go`.
  std::string asks() const {
    return "while [ ! -e go ]; do if [ -e ask ]; then rm -f ask; echo opens $( " + tries() +
           "); fi; sleep 0.01; done";
  }
  static std::string opens(const Json& gpu) { return "opens " + gpu.dump() + "\n"; }
  /// The answer of a job that runs asks().
  static std::string opened_by(Rig& rig, int job) {
    const std::string before = rig.log(job);
    rig.folder().write("ask", "");
    std::string after = before;
    eventually("it says what it opens", [&] {
      after = rig.log(job);
      return after.size() > before.size() && after.ends_with("\n");
    });
    return after.substr(before.size());
  }
};

TEST_F(DeviceJobs, OpenTheFilesOfTheirOwnGpusAlsoAfterARestart) {
  Rig rig = this->rig();
  rig.start();
  EXPECT_THAT(rig.request("GET", "/v1/doctor").body.dump(),
              HasSubstr("a job can open those of its own GPUs only (3 known)"));
  const int two = rig.submit(asks(), {{"gpus", 2}, {"exclusive", true}});
  rig.wait_for(two, "running");
  EXPECT_EQ(rig.job(two)["gpus"], Json::array({0, 1}));
  EXPECT_EQ(opened_by(rig, two), "opens 01\n");
  EXPECT_THAT(rig.job(two)["device_files"].get<std::string>(),
              HasSubstr("those of its GPUs can be opened"));
  rig.kill();
  const int none = (rig.start(), rig.submit(tries() + "; echo ' of none'", test::kNoGpus));
  rig.wait_end(none);
  EXPECT_EQ(rig.log(none), " of none\n") << "without a GPU there is nothing to open";
  EXPECT_EQ(opened_by(rig, two), "opens 01\n");
  rig.folder().write("go", "");
  rig.wait_end(two);
  eventually("its cgroup is gone", [&] { return cgroup_.groups().empty(); });
}

TEST_F(DeviceJobs, ARestartWithoutRulesTakesThemAway) {
  Rig rig = this->rig();
  rig.start();
  const int job = rig.submit(asks(), {{"vram_bytes", 8 * kGiB}});
  rig.wait_for(job, "running");
  EXPECT_EQ(opened_by(rig, job), opens(rig.job(job)["gpus"][0]));
  rig.kill();
  rig.folder().write("without.toml", "probe = \"100ms\"\ncgroup = \"" + cgroup_.path() +
                                         "\"\ndevice_rules = false\ndevice_folder = \"" +
                                         folder_.path().string() + "\"\n");
  rig.start({"--config", rig.folder() / "without.toml"});
  EXPECT_EQ(opened_by(rig, job), "opens 012\n");
  EXPECT_EQ(rig.job(job)["device_files"], "");
  rig.folder().write("go", "");
  rig.wait_end(job);
}

/// The process is the same; what it may open is not.
TEST_F(DeviceJobs, OneThatGoesOnElsewhereOpensTheFilesThere) {
  Rig rig = this->rig("suspend_host_memory = \"64G\"\n");
  rig.start();
  // Its own process holds the memory: it starts no other program on a GPU, so it may go elsewhere.
  const int job = rig.submit(
      "(" + asks() + ") & exec " + load("--vram 8G --steps 0 --step-ms 5") + " >progress",
      {{"vram_bytes", 20 * kGiB}});
  rig.wait_for(job, "running");
  eventually("it holds memory", [&] { return slurp(rig.folder() / "progress").contains("step"); });
  const Json before = rig.job(job)["gpus"];
  EXPECT_EQ(opened_by(rig, job), opens(before[0]));
  ASSERT_LT(rig.request("POST", test::path(job, "/suspend")).status, 300);
  rig.wait_for(job, "suspended");
  const int other = rig.submit("while [ ! -e over ]; do sleep 0.01; done", {{"exclusive", true}});
  rig.wait_for(other, "running");
  EXPECT_EQ(rig.job(other)["gpus"], before);
  ASSERT_LT(rig.request("POST", test::path(job, "/resume")).status, 300);
  rig.wait_for(job, "running");
  const Json after = rig.job(job)["gpus"];
  EXPECT_NE(after, before);
  EXPECT_EQ(opened_by(rig, job), opens(after[0]));
  rig.folder().write("over", "");
  rig.folder().write("go", "");
  ASSERT_LT(rig.request("POST", test::path(job, "/cancel")).status, 300);
  rig.wait_end(job);
  rig.wait_end(other);
}

// ---- Groups ----------------------------------------------------------------------------------

TEST(DeviceGroups, JobsOnGpusHaveThemAndOthersDoNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives jobs groups";
  Rig rig({.config = "probe = \"100ms\"\njob_groups = [\"games\", \"no-such-group\"]\n"});
  rig.start();
  const int on_gpu = rig.submit("id -Gn", {{"vram_bytes", kGiB}});
  const int without = rig.submit("id -Gn", test::kNoGpus);
  rig.wait_end(on_gpu);
  rig.wait_end(without);
  EXPECT_THAT(rig.log(on_gpu), HasSubstr("games"));
  EXPECT_THAT(rig.log(without), testing::Not(HasSubstr("games")));
}

}  // namespace
}  // namespace berth::daemon
