// Goal: the agent of a Slurm node tells what Slurm's jobs and others hold, of whom no job can pass
// itself off as another, in words that are read as they were meant, and not more often than a
// controller can bear. Method: a fake driver, cgroups and titles as Slurm 22.05 has them, a process
// tree below a slurmstepd of ours; and the real agent on an emulated GPU with a scontrol that
// writes down what it is told.
#include "node/agent.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "fake/gpu_port.hpp"
#include "node/jobs.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"

namespace berth::node {
namespace {

using namespace literals;
using test::FakeGpuPort;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- The line of text --------------------------------------------------------------------------

NodeReport a_report() {
  return {.at = 1764087000,
          .every = seconds(30),
          .gpus = {{.index = 0,
                    .usable = 80_GiB,
                    .used = 31_GiB,
                    .other = 1_GiB,
                    .jobs = {{.job = 23, .now = 10_GiB, .most = 12_GiB, .processes = 1},
                             {.job = 24, .now = 20_GiB, .most = 20_GiB, .processes = 4}}},
                   {.index = 1, .problem = "GPU is lost", .is_lost = true}}};
}

TEST(NodeReport, IsReadAsItWasWritten) {
  EXPECT_EQ(to_text(a_report()),
            "berth-agent at=1764087000 every=30 gpu=0 usable=81920 used=31744 other=1024 "
            "job=23:10240:12288:1 job=24:20480:20480:4 gpu=1 problem=GPU_is_lost lost");
  const auto read = parse_node_report(to_text(a_report()));
  ASSERT_TRUE(read && *read);
  EXPECT_EQ(**read, a_report());
}

TEST(NodeReport, OfSomebodyElseIsNone) {
  for (const char* text : {"", "rack 4", "berth-agents at=1", "{\"racks\": 4}"}) {
    const auto read = parse_node_report(text);
    ASSERT_TRUE(read) << text;
    EXPECT_FALSE(*read) << text;
  }
}

TEST(NodeReport, WordsOfALaterAgentAreLeftOut) {
  const auto read = parse_node_report("berth-agent at=1 gpu=0 watts=300 used=1 host");
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->gpus.at(0).used, 1_MiB);
}

TEST(NodeReport, ThatIsWrongNamesTheWord) {
  for (const char* word :
       {"at=x", "at=-1", "every=1h", "gpu=5000", "used=1", "job=1:2:3:4",
        "gpu=0 used=99999999999999999999", "gpu=0 job=1:2:3", "gpu=0 problem="}) {
    const auto read = parse_node_report("berth-agent " + std::string(word));
    ASSERT_FALSE(read) << word;
    const std::string last = std::string(word).substr(std::string(word).rfind(' ') + 1);
    EXPECT_THAT(read.error().message, HasSubstr("'" + last + "'"));
  }
}

// ---- Whose a process is ------------------------------------------------------------------------

TEST(SlurmJobs, AreKnownByTheirCgroups) {
  EXPECT_EQ(
      slurm_job_of_cgroups("0::/system.slice/slurmstepd.scope/job_42/step_batch/user/task_0\n"),
      42U);
  EXPECT_EQ(slurm_job_of_cgroups("0::/system.slice/n1_slurmstepd.scope/job_7/step_0/user\n"), 7U);
  EXPECT_EQ(
      slurm_job_of_cgroups("11:memory:/slurm/uid_1000/job_42/step_0/task_0\n1:name=systemd:/\n"),
      42U);
  EXPECT_EQ(slurm_job_of_cgroups("3:cpuset:/\n4:freezer:/slurm_n2/uid_0/job_9\n"), 9U);
}

TEST(SlurmJobs, AreNotWhatAUserCallsHisOwnCgroups) {
  for (const char* text :
       {"", "0::/\n", "0::/system.slice/ssh.service\n", "0::/system.slice/slurmd.service\n",
        "0::/user.slice/user-1000.slice/user@1000.service/slurm/uid_0/job_42\n",
        "0::/user.slice/user-1000.slice/user@1000.service/system.slice/slurmstepd.scope/job_42\n",
        "0::/system.slice/docker-1.scope/slurmstepd.scope/job_42\n", "0::/slurm/job_0\n",
        "0::/slurm/uid_1000/jobs\n"}) {
    EXPECT_EQ(slurm_job_of_cgroups(text), std::nullopt) << text;
  }
}

TEST(SlurmJobs, AreNamedInTheTitlesOfSteps) {
  EXPECT_EQ(slurm_job_of_title("slurmstepd: [42.batch]"), 42U);
  EXPECT_EQ(slurm_job_of_title(std::string("slurmstepd: [7.0]\0\0", 19)), 7U);
  EXPECT_EQ(slurm_job_of_title("/usr/sbin/slurmstepd infinity"), std::nullopt);
  EXPECT_EQ(slurm_job_of_title("sh -c 'slurmstepd: [42.batch]'"), std::nullopt);
}

/// A shell by another name, with a child of its own.
class Step {
 public:
  Step(const std::string& program, const std::string& title) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], 1);
      ::execl(program.c_str(), title.c_str(), "-c", "sleep 1000 & echo $!; wait", nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    std::array<char, 32> text{};
    EXPECT_GT(::read(ends[0], text.data(), text.size() - 1), 0);
    ::close(ends[0]);
    child_ = std::atoi(text.data());
  }
  ~Step() {
    ::kill(child_, SIGKILL);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  pid_t child() const { return child_; }

 private:
  pid_t pid_ = 0;
  pid_t child_ = 0;
};

TEST(SlurmJobs, HaveTheProcessesBelowTheirSteps) {
  const test::ScratchFolder folder;
  const std::string program = folder / "slurmstepd";
  std::filesystem::copy_file("/bin/sh", program);
  const Step step(program, "slurmstepd: [42.batch]");
  const Step pretender("/bin/sh", "slurmstepd: [43.batch]");
  SlurmJobs jobs;
  const Owner owner = jobs.of(step.child());
  ASSERT_TRUE(std::holds_alternative<OfJob>(owner));
  EXPECT_EQ(std::get<OfJob>(owner).job, JobId(42));
  EXPECT_TRUE(std::holds_alternative<OfStranger>(jobs.of(pretender.child())));
}

// ---- What is there -----------------------------------------------------------------------------

/// pid 10n to 10n + 9 are job n's, from 900 on they are not there, the others are strangers'.
OwnerOf owners() {
  return [](pid_t pid) -> Owner {
    if (pid >= 900) return OfNobody{};
    if (pid >= 100) return OfStranger{};
    return OfJob{JobId(static_cast<std::uint64_t>(pid) / 10)};
  };
}

std::vector<NodeGpu> observed(FakeGpuPort& port) { return observe(port, *port.devices(), owners); }

TEST(Observe, JobsAndOthersApart) {
  FakeGpuPort port({80_GiB});
  port.hold(0, 20, 8_GiB);
  port.hold(0, 21, 2_GiB);
  port.hold(0, 30, 5_GiB);
  port.hold(0, 100, 1_GiB);
  const auto gpus = observed(port);
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].usable, 80_GiB);
  EXPECT_EQ(gpus[0].used, 16_GiB);
  EXPECT_EQ(gpus[0].other, 1_GiB);
  EXPECT_THAT(gpus[0].jobs,
              ElementsAre(NodeHolding{.job = 2, .now = 10_GiB, .most = 10_GiB, .processes = 2},
                          NodeHolding{.job = 3, .now = 5_GiB, .most = 5_GiB, .processes = 1}));
}

TEST(Observe, MemoryWithoutAProcessIsOthers) {
  FakeGpuPort port({80_GiB});
  port.set(0, Sample{.total = 80_GiB,
                     .used = 9_GiB,
                     .processes = std::vector<GpuProcess>{{.pid = 20, .bytes = 8_GiB}}});
  EXPECT_EQ(observed(port)[0].other, 1_GiB);
}

TEST(Observe, AJobOfWhichTheDriverDoesNotTellAllIsLeftOut) {
  FakeGpuPort port({80_GiB});
  port.set(0, Sample{.total = 80_GiB,
                     .used = 9_GiB,
                     .processes = std::vector<GpuProcess>{{.pid = 20, .bytes = std::nullopt}}});
  EXPECT_THAT(observed(port)[0].jobs, IsEmpty());
  EXPECT_EQ(observed(port)[0].other, 0_GiB);
}

TEST(Observe, AGpuThatIsLostIsTold) {
  FakeGpuPort port({80_GiB, 80_GiB});
  port.set(1, fail(ErrorCode::Lost, "GPU is lost"));
  const auto gpus = observed(port);
  EXPECT_EQ(gpus.at(0).problem, "");
  EXPECT_EQ(gpus.at(1).problem, "GPU is lost");
  EXPECT_TRUE(gpus.at(1).is_lost);
  port.set(1, fail(ErrorCode::Io, "Timeout"));
  EXPECT_FALSE(observed(port).at(1).is_lost);
}

TEST(Observe, GpusHaveTheNumbersOfTheirDeviceFiles) {
  FakeGpuPort port({80_GiB, 40_GiB});
  Devices devices = *port.devices();
  devices.list[0].minor = 1;
  devices.list[1].minor = 0;
  const auto gpus = observe(port, devices, owners);
  EXPECT_EQ(gpus.at(0).usable, 40_GiB);
  devices.list[0].minor = 0;  // two instances of one GPU
  EXPECT_EQ(observe(port, devices, owners).at(0).usable, 80_GiB);
}

// ---- When it is told ---------------------------------------------------------------------------

class Pace : public testing::Test {
 protected:
  Pace() {
    port_.hold(0, 20, 10_GiB);
    told_ = observed(port_);
  }
  /// Whether it is told after so many seconds that the GPU's processes hold this.
  bool tells(std::int64_t after, const std::vector<GpuProcess>& processes) {
    Sample sample{.total = 80_GiB, .processes = processes};
    for (const GpuProcess& process : processes) sample.used += *process.bytes;
    port_.set(0, sample);
    return is_worth_telling(told_, observed(port_), seconds(after), {});
  }

  FakeGpuPort port_{{80_GiB}};
  std::vector<NodeGpu> told_;
};

TEST_F(Pace, NothingNewIsToldEveryHalfMinute) {
  EXPECT_FALSE(tells(29, {{.pid = 20, .bytes = 10_GiB}}));
  EXPECT_TRUE(tells(30, {{.pid = 20, .bytes = 10_GiB}}));
}

TEST_F(Pace, WhatMayHurtSomebodyIsToldAtOnce) {
  EXPECT_TRUE(tells(1, {{.pid = 20, .bytes = 11_GiB}}));
  EXPECT_TRUE(tells(1, {{.pid = 20, .bytes = 10_GiB}, {.pid = 30, .bytes = 1_MiB}}));
  EXPECT_TRUE(tells(1, {{.pid = 20, .bytes = 10_GiB}, {.pid = 100, .bytes = 1_GiB}}));
  EXPECT_TRUE(tells(1, {}));
  EXPECT_FALSE(tells(0, {}));
}

TEST_F(Pace, SmallChangesWait) {
  EXPECT_FALSE(tells(4, {{.pid = 20, .bytes = 9_GiB}}));
  EXPECT_TRUE(tells(5, {{.pid = 20, .bytes = 9_GiB}}));
  EXPECT_FALSE(tells(4, {{.pid = 20, .bytes = 10_GiB + 100_MiB}}));
  EXPECT_FALSE(tells(29, {{.pid = 20, .bytes = 10_GiB + 10_MiB}}));
}

TEST_F(Pace, WhatDidNotArriveIsNotRepeatedAtOnce) {
  told_.clear();
  EXPECT_FALSE(tells(4, {}));
  EXPECT_TRUE(tells(5, {}));
}

TEST_F(Pace, APeakBetweenTwoReportsIsKept) {
  auto now = told_;
  auto before = told_;
  before[0].jobs[0].most = 40_GiB;
  keep_most(now, before);
  EXPECT_EQ(now[0].jobs[0].most, 40_GiB);
  EXPECT_EQ(now[0].jobs[0].now, 10_GiB);
  EXPECT_TRUE(is_worth_telling(told_, now, seconds(1), {}));
}

// ---- Slurm's program ---------------------------------------------------------------------------

TEST(ProgramFor, SaysWhatItPrinted) {
  const auto said = run_program_for({"sh", "-c", "echo one; echo two"}, minutes(1));
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(*said, "one\ntwo\n");
}

TEST(ProgramFor, FailsWithItsLastWords) {
  const auto said =
      run_program_for({"sh", "-c", "echo first; echo 'no such node' >&2; exit 1"}, minutes(1));
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().message, "sh: no such node");
  EXPECT_FALSE(run_program_for({"berth-no-such-program"}, minutes(1)));
}

TEST(ProgramFor, DoesNotWaitForever) {
  const auto said = run_program_for({"sleep", "1000"}, Duration(1));
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().message, "sleep: no answer in time");
}

/// The bound is for what never comes.
void wait_until(const std::function<bool()>& holds) {
  for (int tries = 0; tries < 6000 && !holds(); ++tries) ::usleep(10'000);
  EXPECT_TRUE(holds());
}

/// The agent with a scontrol of ours, which says of a node what `shown` says.
class AgentOnNode : public testing::Test {
 protected:
  void start(const std::string& shown) {
    ::mkdir((folder_ / "bin").c_str(), 0755);
    folder_.write("shown", shown);
    ::chmod(folder_
                .write("bin/scontrol", "#!/bin/sh\n[ \"$1\" = show ] && exec cat '" +
                                           (folder_ / "shown") + "'\necho \"$*\" >>'" +
                                           (folder_ / "told") + "'\n")
                .c_str(),
            0755);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setenv("PATH", ((folder_ / "bin") + ":/usr/bin:/bin").c_str(), 1);
    const std::string errors = folder_ / "errors";
    ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 2);
    const std::string program = test::program("berthd").string();
    const std::string config = folder_.write("berth.toml", "");
    const std::string state = folder_ / "state";
    ::execl(program.c_str(), "berthd", "--agent", "--node", "n7", "--emulate", "2x24GiB", "--state",
            state.c_str(), "--config", config.c_str(), nullptr);
    ::_exit(127);
  }
  int end() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string read(const std::string& name) {
    const std::string path = folder_ / name;
    return ::access(path.c_str(), F_OK) == 0 ? test::read_file(path) : "";
  }
  ~AgentOnNode() override {
    if (pid_ > 0) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
  }

  const test::ScratchFolder folder_;
  pid_t pid_ = 0;
};

TEST_F(AgentOnNode, TellsSlurmUntilItIsToldToEnd) {
  start("NodeName=n7 State=IDLE\n   OS=Linux\n");
  wait_until([&] { return read("told").find('\n') != std::string::npos; });
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(end(), 0) << read("errors");
  const std::string told = read("told");
  EXPECT_THAT(told, testing::StartsWith("update nodename=n7 extra=berth-agent at="));
  const auto report = parse_node_report(
      told.substr(told.find("berth-agent"), told.find('\n') - told.find("berth-agent")));
  ASSERT_TRUE(report && *report) << told;
  ASSERT_EQ((*report)->gpus.size(), 2U);
  EXPECT_GE((*report)->gpus[1].usable, 23_GiB);
}

TEST_F(AgentOnNode, LeavesAFieldThatIsInUse) {
  start("NodeName=n7 State=IDLE\n   Extra=rack 4\n");
  EXPECT_NE(end(), 0);
  EXPECT_THAT(read("errors"), HasSubstr("node n7: its Extra field is in use: rack 4"));
  EXPECT_EQ(read("told"), "");
}

TEST_F(AgentOnNode, OverwritesWhatAnAgentSaid) {
  start("NodeName=n7 State=IDLE\n   Extra=berth-agent at=1 every=30\n");
  wait_until([&] { return !read("told").empty(); });
}

}  // namespace
}  // namespace berth::node
