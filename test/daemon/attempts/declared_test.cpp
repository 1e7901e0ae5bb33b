// Goal: a process outside every job's tree counts for the job whose key it has, for no other, and
// no user can make berthd wait by an environment that cannot be read.
// Method: real processes whose environments are their own, or files and pipes that stand for them;
// a real berthd on emulated GPUs with berth-load started outside its jobs, as a container engine
// starts what it is asked to.
#include "daemon/attempts/declared.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "daemon/rig.hpp"

namespace berth::daemon {
namespace {

using test::eventually;
using test::Json;
using test::kGiB;
using test::load;
using test::path;
using test::Rig;
using test::slurp;
using testing::HasSubstr;

/// A process of the test's that does nothing; killed at the end.
class Idler {
 public:
  Idler() : Idler(std::vector<std::string>()) {}
  explicit Idler(const std::vector<std::string>& environment) {
    std::vector<const char*> variables;
    for (const std::string& variable : environment) variables.push_back(variable.c_str());
    variables.push_back(nullptr);
    int ready[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execle("/bin/sleep", "sleep", "1000", nullptr, variables.data());
      ::_exit(127);
    }
    ::close(ready[1]);
    char none = 0;
    EXPECT_EQ(::read(ready[0], &none, 1), 0);  // the exec closes it
    ::close(ready[0]);
  }
  ~Idler() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

const JobKeys kKeys("secret");

std::string key_variable(std::uint64_t job) { return "BERTH_JOB_KEY=" + kKeys.key_of(JobId(job)); }

/// The reader may not get its turn at once.
void eventually_of(Declarations& declared, pid_t pid, JobId job) {
  eventually("it is read", [&] { return declared.job_of(pid) == job; });
}

TEST(Declarations, AreTheKeyInTheEnvironment) {
  Declarations declared(kKeys);
  const Idler first({"A=1", key_variable(4), "B=2"});
  const Idler second({key_variable(5)});
  eventually_of(declared, first.pid(), JobId(4));
  eventually_of(declared, second.pid(), JobId(5));
  EXPECT_EQ(declared.job_of(first.pid()), JobId(4)) << "also later";
}

TEST(Declarations, AnythingElseIsNone) {
  Declarations declared(kKeys);
  const std::string wrong = "BERTH_JOB_KEY=4-0123456789abcdef0123456789abcdef";
  const Idler processes[] = {Idler(), Idler({wrong}), Idler({"X" + key_variable(4)}),
                             Idler({"A=" + key_variable(4)}), Idler({"BERTH_JOB_ID=4"})};
  const Idler last({key_variable(4)});
  for (const Idler& process : processes) EXPECT_EQ(declared.job_of(process.pid()), std::nullopt);
  eventually_of(declared, last.pid(), JobId(4));
  for (const Idler& process : processes) EXPECT_EQ(declared.job_of(process.pid()), std::nullopt);
  EXPECT_EQ(declared.job_of(0), std::nullopt);
}

/// Environments that are pipes: one that nobody writes cannot be read.
class Unreadable : public testing::Test {
 protected:
  void put(pid_t pid) {
    const std::string folder = folder_ / std::to_string(pid);
    ASSERT_EQ(::mkdir(folder.c_str(), 0755), 0);
    ASSERT_EQ(::mkfifo((folder + "/environ").c_str(), 0644), 0);
  }
  /// Returns: whether a reader waited for it.
  bool write(pid_t pid, const std::string& text) {
    const std::string file = folder_ / (std::to_string(pid) + "/environ");
    const int pipe = ::open(file.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe < 0) return false;
    EXPECT_EQ(::write(pipe, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(pipe);
    return true;
  }
  void write_once_read(pid_t pid, const std::string& text) {
    eventually("it is being read", [&] { return write(pid, text); });
  }

  test::ScratchFolder folder_;
  Declarations declared_{kKeys, folder_ / ""};
};

TEST_F(Unreadable, SaysNothingUntilItIsRead) {
  const Idler process;
  put(process.pid());
  EXPECT_EQ(declared_.job_of(process.pid()), std::nullopt);
  EXPECT_EQ(declared_.job_of(process.pid()), std::nullopt);
  write_once_read(process.pid(), key_variable(4));
  eventually_of(declared_, process.pid(), JobId(4));
}

TEST_F(Unreadable, ThirdOfAUserWaitsForTheOthers) {
  const Idler processes[3] = {};
  for (const Idler& process : processes) {
    put(process.pid());
    EXPECT_EQ(declared_.job_of(process.pid()), std::nullopt);
  }
  EXPECT_FALSE(write(processes[2].pid(), "")) << "nobody reads it";
  for (int i : {0, 1}) write_once_read(processes[i].pid(), "A=1");
  bool is_written = false;  // once: what is written twice is another text
  eventually("it is being read", [&] {
    for (const Idler& process : processes) declared_.job_of(process.pid());
    is_written = is_written || write(processes[2].pid(), key_variable(6));
    return is_written;
  });
  eventually_of(declared_, processes[2].pid(), JobId(6));
}

// ---- In a daemon -------------------------------------------------------------------------------

/// berth-load outside every job, with a key in its environment.
class Outside {
 public:
  Outside(const Rig& rig, const std::string& key, const std::string& arguments) {
    std::string script = "BERTH_JOB_KEY='" + key + "'; export BERTH_JOB_KEY\n";
    for (const std::string& line : rig.outside_environment()) script += line + "\n";
    script += "exec " + load(arguments) + " >/dev/null 2>&1";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
      ::_exit(127);
    }
  }
  ~Outside() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

class Declared : public testing::Test {
 protected:
  void start(const std::string& more = "") {
    rig_ = std::make_unique<Rig>(test::RigOptions{
        .gpus = "1x24GiB",
        .config = "policy = \"fifo-skip\"\nprobe = \"100ms\"\ngrace = \"500ms\"\n" + more});
    rig_->start();
  }
  /// A job that waits and has told its key.
  int submit(std::int64_t gib) {
    const int id = rig_->submit("echo $BERTH_JOB_KEY; " + std::string(test::kUntilGo),
                                {{"vram_bytes", gib * kGiB}});
    eventually("it has a key", [&] { return rig_->log(id).ends_with("\n"); });
    return id;
  }
  std::string key_of(int id) {
    std::string key = rig_->log(id);
    key.pop_back();
    return key;
  }
  Json gpu() { return rig_->request("GET", "/v1/gpus").body["gpus"][0]; }
  /// What the first tenant is seen to hold.
  std::int64_t used() {
    const Json seen = gpu();
    if (seen["tenants"].empty() || seen["tenants"][0]["used_bytes"].is_null()) return 0;
    return seen["tenants"][0]["used_bytes"];
  }

  std::unique_ptr<Rig> rig_;
};

constexpr const char* kHold3 = "--vram 3G --steps 100000 --step-ms 50 --duty 0.1";

TEST_F(Declared, MemoryIsTheJobsWithItsKeyAndForeignAfterItsEnd) {
  start();
  const int job = submit(4);
  const Outside outside(*rig_, key_of(job), kHold3);
  eventually("it counts for the job", [&] {
    const Json seen = gpu();
    return used() >= 3 * kGiB && seen["foreign_bytes"] == 0 && seen["foreign"].empty();
  });
  rig_->folder().write("go", "");
  const Json ended = rig_->wait_end(job);
  EXPECT_EQ(ended["exit_code"], 3) << ended;
  EXPECT_GE(ended["peak_bytes"], 3 * kGiB) << ended;
  eventually("it is foreign", [&] {
    const Json seen = gpu();
    return seen["foreign_bytes"] >= 3 * kGiB && seen["tenants"].empty() &&
           seen["foreign"].size() == 1 && seen["foreign"][0]["pid"] == outside.pid();
  });
}

TEST_F(Declared, MemoryIsForeignWithAnotherKey) {
  start();
  const int job = submit(4);
  std::string key = key_of(job);
  key.back() = key.back() == '0' ? '1' : '0';
  const Outside outside(*rig_, key, kHold3);
  eventually("it is foreign", [&] {
    const Json seen = gpu();
    return seen["foreign_bytes"] >= 3 * kGiB && seen["foreign"].size() == 1;
  });
  EXPECT_EQ(used(), 0);
}

TEST_F(Declared, MemoryIsTheJobsUnderTheNextDaemon) {
  start();
  const int job = submit(4);
  const Outside outside(*rig_, key_of(job), kHold3);
  eventually("it counts for the job", [&] { return used() >= 3 * kGiB; });
  rig_->kill();
  rig_->start();
  eventually("it counts again", [&] { return used() >= 3 * kGiB && gpu()["foreign_bytes"] == 0; });
}

TEST_F(Declared, MemoryBeyondTheGrantEndsTheJobThatItCollidesFor) {
  start();
  const int job = submit(4);
  const int neighbour = rig_->submit(load("--vram 10G --steps 0"), {{"vram_bytes", 18 * kGiB}});
  rig_->wait_for(neighbour, "running");
  const Outside outside(*rig_, key_of(job), "--vram 8G --steps 100000 --step-ms 50 --duty 0.1");
  const Json ended = rig_->wait_end(job);
  EXPECT_EQ(ended["state"], "oom") << ended;
  EXPECT_THAT(ended["note"].get<std::string>(), HasSubstr("was granted 4."));
  EXPECT_EQ(rig_->job(neighbour)["state"], "running");
}

TEST_F(Declared, AJobIsNotSuspendedThenBecauseTheMemoryWouldStay) {
  start();
  const int job = submit(4);
  const Outside outside(*rig_, key_of(job), kHold3);
  eventually("it counts for the job", [&] { return used() >= 3 * kGiB; });
  rig_->request("POST", path(job, "/suspend"));
  eventually("it is told", [&] {
    const Json now = rig_->job(job);
    return now["state"] == "running" && now.dump().find("outside its tree") != std::string::npos;
  });
  EXPECT_GE(used(), 3 * kGiB);
}

}  // namespace
}  // namespace berth::daemon
