// Goal: where the driver can limit cgroups, a job that takes more than it asked for fails at the
// call and hurts nobody; limits are there before the first process, follow charges, survive
// berthd, and are gone before their cgroup is; where the driver cannot, the next rung is in force
// and is named.
//
// Method: a real berthd on emulated GPUs of driver 615, with a real cgroup v2 folder; berth-load as
// jobs. Skipped where no cgroup can be made. The plan of limits is tested with an engine alone.
#include "daemon/limits/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include "core/text/text.hpp"
#include "daemon/cgroup.hpp"
#include "daemon/limits/measured.hpp"
#include "daemon/neighbours.hpp"
#include "daemon/rig.hpp"
#include "emu/emulator.hpp"
#include "engine/engine.hpp"
#include "policy/registry.hpp"
#include "support/process.hpp"

namespace berth::daemon {
namespace {

namespace fs = std::filesystem;
using namespace berth::literals;
using test::Cgroup;
using test::eventually;
using test::Json;
using test::kGiB;
using test::load;
using test::Rig;
using test::vram;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- The plan --------------------------------------------------------------------------------

class Plan : public testing::Test {
 protected:
  static Cluster one_gpu() {
    Cluster cluster;
    cluster.add_switch();
    cluster.add_node({.name = "n", .gpus = 1, .vram = 24_GiB});
    return cluster;
  }
  void submit(std::uint64_t id, Bytes vram, Sharing sharing = Sharing::Shared) {
    JobSpec spec;
    spec.request.gpu = {.count = GpuCount(1), .vram = vram, .sharing = sharing};
    engine_.step(kStart, {{Submitted{JobId(id), spec}}});
  }
  void measure(Bytes foreign, const std::vector<TenantUse>& tenants) {
    Measured seen{.gpu = GpuId(0), .foreign = foreign, .used = foreign, .tenants = tenants};
    for (const TenantUse& tenant : tenants) seen.used += tenant.bytes;
    engine_.step(kStart, {{seen}});
  }
  std::vector<MemoryLimits> plan() const {
    std::vector<MemoryLimits> limits;
    for (const PlannedLimit& each : plan_limits(engine_.view(), GpuId(0))) {
      limits.push_back(each.limits);
    }
    return limits;
  }
  Bytes sum_of_most() const {
    Bytes sum(0);
    for (const MemoryLimits& limits : plan()) sum += limits.most.value_or(Bytes(0));
    return sum;
  }

  Engine engine_{one_gpu(), {}, *make_policy("fifo", "first-fit")};
};

TEST_F(Plan, GuaranteesTheChargeAndAllowsAPartOfTheGuardBand) {
  submit(1, 4_GiB);
  submit(2, 8_GiB);
  // The guard band is 512 MiB, for four slots.
  EXPECT_THAT(plan(), testing::ElementsAre(MemoryLimits{4_GiB, 4_GiB + 128_MiB},
                                           MemoryLimits{8_GiB, 8_GiB + 128_MiB}));
}

TEST_F(Plan, NeverAllowsMoreInAllThanThereIs) {
  submit(1, 10_GiB);
  submit(2, 8_GiB);
  submit(3, 5_GiB);
  ASSERT_EQ(plan().size(), 3U);
  for (const Bytes foreign : {0_MiB, 500_MiB, 900_MiB, 1000_MiB}) {
    measure(foreign, {});
    EXPECT_LE(sum_of_most() + foreign, 24_GiB) << to_text(foreign);
  }
  measure(2_GiB, {});  // more than there is: nobody gets a margin
  EXPECT_EQ(sum_of_most(), 23_GiB);
}

TEST_F(Plan, FollowsAChargeThatGrew) {
  submit(1, 4_GiB);
  measure(0_GiB, {{JobId(1), 4_GiB + 128_MiB}});
  EXPECT_THAT(plan(), testing::ElementsAre(MemoryLimits{4_GiB + 128_MiB, 4_GiB + 256_MiB}));
}

TEST_F(Plan, HasNoLimitForAJobThatIsAlone) {
  submit(1, 4_GiB, Sharing::Alone);
  EXPECT_THAT(plan(), testing::ElementsAre(MemoryLimits{}));
}

// ---- The thread ------------------------------------------------------------------------------

TEST(DriverThread, WaitsForWhatWasPostedAndNotForEver) {
  DriverThread thread;
  int done = 0;
  for (int i = 0; i < 100; ++i) thread.post([&] { ++done; });
  EXPECT_TRUE(thread.wait(seconds(20)));
  EXPECT_EQ(done, 100);
  auto gate = std::make_shared<std::atomic<bool>>(false);
  thread.post([gate] {
    while (!*gate) ::usleep(100);
  });
  EXPECT_FALSE(thread.wait(Duration(1000)));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(thread.wait(seconds(3600))) << "nobody waits again for what hangs";
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
  *gate = true;
  eventually("it is as before", [&] { return thread.wait(seconds(1)); });
}

// ---- A driver that hangs or refuses ----------------------------------------------------------

/// Sets limits as long as it is told to.
class WilfulPort : public GpuPort {
 public:
  enum class Mood { Obeys, Hangs, Refuses };

  Expected<Devices> devices() override { return Devices{}; }
  Expected<Sample> sample(std::uint32_t) override { return Sample{}; }
  Expected<std::optional<GpuEvent>> wait_event(Duration) override { return std::nullopt; }
  Expected<void> set_limits(std::uint32_t, const std::string&, const MemoryLimits&) override {
    while (mood == Mood::Hangs) ::usleep(100);
    if (mood == Mood::Refuses) return fail(ErrorCode::Io, "it refuses");
    return {};
  }
  Expected<LimitsInForce> limits(std::uint32_t, const std::string&) override {
    return LimitsInForce{};
  }

  std::atomic<Mood> mood = Mood::Obeys;
};

class WilfulLimits : public Plan {
 protected:
  void SetUp() override {
    if (::geteuid() != 0 || cgroup_.path().empty()) GTEST_SKIP() << "no cgroup can be made here";
    limits_.emplace(&port_, 1U,
                    LimitOptions{.cgroup = cgroup_.path(), .allowed = {Rung::Driver, Rung::Watch}});
    ASSERT_EQ(limits_->why_not(GpuId(0)), "");
    submit(1, 4_GiB);
    submit(2, 4_GiB);
  }
  void TearDown() override { port_.mood = WilfulPort::Mood::Obeys; }
  bool begin(std::uint64_t job) {
    limits_->begin(engine_.view(), JobId(job), Attempt(1), cgroup_.path());
    return limits_->is_limited(JobId(job));
  }

  Cgroup cgroup_;
  WilfulPort port_;
  std::optional<Limits> limits_;
};

TEST_F(WilfulLimits, AreWaitedForAWhileAndNotTwice) {
  EXPECT_TRUE(begin(1));
  port_.mood = WilfulPort::Mood::Hangs;
  EXPECT_FALSE(begin(2)) << "it starts, watched";
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(begin(2));
  EXPECT_LT(std::chrono::steady_clock::now() - before, Limits::kPatience * 500);
  port_.mood = WilfulPort::Mood::Obeys;
  eventually("the driver is believed again", [&] { return begin(2); });
}

TEST_F(WilfulLimits, ThatAreRefusedAreNotInForce) {
  EXPECT_TRUE(begin(1));
  port_.mood = WilfulPort::Mood::Refuses;
  EXPECT_FALSE(begin(2));
  measure(0_GiB, {{JobId(1), 4_GiB + 128_MiB}});
  limits_->follow(engine_.view());
  eventually("the one that could not be moved is watched",
             [&] { return !limits_->is_limited(JobId(1)); });
}

/// A process that only waits.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) ::pause();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  void move_to(const std::string& cgroup) const {
    std::ofstream(cgroup + "/cgroup.procs") << pid_ << std::flush;
  }

 private:
  pid_t pid_;
};

/// That job 1's process holds so much.
live::Look look_of(const Sleeper& process, std::int64_t mib) {
  live::Look seen{.gpu = GpuId(0)};
  seen.sample = Sample{.total = 24_GiB, .used = 24_GiB};
  seen.sample->processes = {{.pid = process.pid(), .bytes = Bytes(mib << 20)}};
  seen.owners[process.pid()] = OfJob{JobId(1)};
  return seen;
}

TEST_F(WilfulLimits, ThatDoNotHoldAreSaidAndTheJobIsWatched) {
  ASSERT_TRUE(begin(1));
  ASSERT_TRUE(begin(2));
  const Sleeper process;
  process.move_to(cgroup_.path());
  limits_->on_look(look_of(process, 4 * 1024));
  limits_->on_look(look_of(process, 4 * 1024 + 128));
  EXPECT_TRUE(limits_->is_limited(JobId(1))) << "within its limit";
  EXPECT_EQ(limits_->why_not(GpuId(0)), "");
  limits_->on_look(look_of(process, 9 * 1024));
  EXPECT_FALSE(limits_->is_limited(JobId(1)));
  EXPECT_TRUE(limits_->is_limited(JobId(2))) << "nothing is known against its limit";
  EXPECT_THAT(limits_->why_not(GpuId(0)),
              HasSubstr("the driver does not hold: job 1 holds 9 GiB where its limit is 4.12 GiB"));
}

/// Else any user could turn the limits of a GPU off.
TEST_F(WilfulLimits, OfAJobWhoseProcessHasLeftItsCgroupAreNoFaultOfTheDrivers) {
  ASSERT_TRUE(begin(1));
  const Sleeper process;
  for (const std::int64_t gib : {1, 9}) limits_->on_look(look_of(process, gib * 1024));
  EXPECT_FALSE(limits_->is_limited(JobId(1))) << "it is watched";
  EXPECT_EQ(limits_->why_not(GpuId(0)), "");
}

// ---- berthd ----------------------------------------------------------------------------------

class DriverLimits : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0 || cgroup_.path().empty()) GTEST_SKIP() << "no cgroup can be made here";
  }
  void start(const std::string& gpus = "1x24GiB,driver=615", const std::string& more = "") {
    rig_ = std::make_unique<Rig>(
        test::RigOptions{.gpus = gpus,
                         .config = "policy = \"fifo-skip\"\nprobe = \"100ms\"\ngrace = \"500ms\"\n"
                                   "again_after_overrun = false\ncgroup = \"" +
                                   cgroup_.path() + "\"\n" + more});
    rig_->start();
  }
  std::vector<emu::LimitReport> limits(std::size_t gpu = 0) const {
    return (*emu::report(rig_->state() + "/emulated-gpus"))[gpu].limits;
  }
  std::string enforcement() {
    const Json doctor = rig_->request("GET", "/v1/doctor").body;
    for (const Json& check : doctor["checks"]) {
      if (check["name"] != "memory enforcement") continue;
      return std::string(check["detail"]) + "; " + check.value("more", "");
    }
    return "";
  }

  Cgroup cgroup_;
  std::unique_ptr<Rig> rig_;
};

TEST_F(DriverLimits, StopAnAllocationAtTheCall) {
  start();
  const int honest = rig_->submit(load("--vram 12G --steps 0 --report 1"), vram(12));
  eventually("it holds all",
             [&] { return rig_->log(honest).find("holding 12 GiB") != std::string::npos; });
  const int greedy = rig_->submit(load("--vram 6G --steps 1"), vram(2));
  const Json end = rig_->wait_end(greedy);
  EXPECT_EQ(end["state"], "oom");
  EXPECT_EQ(end["note"], "ran out of GPU memory, asked 2 GiB") << "there was room on the GPU";
  EXPECT_EQ(rig_->job(honest)["memory_limit"], "driver");
  EXPECT_THAT(std::string(rig_->job(honest)["memory_limit_line"]),
              HasSubstr("beyond 12.4 GiB on GPU 0 fails; not caught: managed memory"));
  EXPECT_THAT(
      std::string(rig_->request("GET", test::path(honest, "/why")).body["memory_limit_line"]),
      HasSubstr("driver: "));
  EXPECT_THAT(enforcement(), HasSubstr("driver: "));
  EXPECT_THAT(enforcement(), HasSubstr(daemon::measured(daemon::Rung::Driver)));
}

TEST_F(DriverLimits, LetAJobHaveWhatItAskedForWithItsContext) {
  start();
  const int job = rig_->submit(load("--vram 2G --steps 1"), vram(2));
  EXPECT_EQ(rig_->wait_end(job)["state"], "done") << rig_->log(job);
}

TEST_F(DriverLimits, AreGoneWithTheJobAndSoIsItsCgroup) {
  start();
  const int job = rig_->submit(load("--vram 2G --steps 0"), vram(2));
  rig_->wait_for(job, "running");
  ASSERT_EQ(limits().size(), 1U);
  EXPECT_GE(limits()[0].soft_bytes, 2U << 30);
  rig_->request("POST", test::path(job, "/cancel"));
  rig_->wait_end(job);
  eventually("no limit is left", [&] { return limits().empty(); });
  eventually("no cgroup is left", [&] { return cgroup_.groups().empty(); });
}

TEST_F(DriverLimits, AreOnEveryGpuOfAGang) {
  start("2x24GiB,driver=615");
  Json asked = vram(2);
  asked["gpus"] = 2;
  const int job = rig_->submit(load("--vram 2G --gpus 2 --steps 0"), asked);
  rig_->wait_for(job, "running");
  EXPECT_EQ(limits(0).size(), 1U);
  EXPECT_EQ(limits(1).size(), 1U);
  EXPECT_THAT(std::string(rig_->job(job)["memory_limit_line"]), HasSubstr("on GPU 1"));
}

TEST_F(DriverLimits, FollowAChargeThatGrows) {
  start();
  const int job =
      rig_->submit(load("--vram 2G --grow 512M/s --on-oom keep --steps 0 --step-ms 2"), vram(2));
  rig_->wait_for(job, "running");
  const auto first = limits().at(0).hard_bytes;
  eventually("the margin became charge, and the limit followed",
             [&] { return limits().at(0).hard_bytes > first; });
  EXPECT_EQ(rig_->job(job)["memory_limit"], "driver");
}

TEST_F(DriverLimits, GoOnUnderTheNextBerthd) {
  start();
  const int job = rig_->submit(load("--vram 2G --steps 0"), vram(2));
  const int over = rig_->submit(load("--vram 1G --steps 0"), vram(1));
  rig_->wait_for(job, "running");
  rig_->wait_for(over, "running");
  rig_->kill();
  const std::string strange = cgroup_.path() + "/berth-999.1";
  ASSERT_EQ(::mkdir(strange.c_str(), 0755), 0);
  rig_->start();
  EXPECT_EQ(rig_->job(job)["memory_limit"], "driver");
  eventually("what no job has is gone", [&] { return !fs::exists(strange); });
  rig_->request("POST", test::path(over, "/cancel"));
  rig_->wait_end(over);
  eventually("the limit of one is left", [&] { return limits().size() == 1; });
}

TEST_F(DriverLimits, OfAnEarlierConfigurationAreTakenAway) {
  start();
  const int job = rig_->submit(load("--vram 2G --steps 0"), vram(2));
  rig_->wait_for(job, "running");
  EXPECT_EQ(limits().size(), 1U);
  rig_->stop();
  rig_->folder().write("berth.toml", "limits = [\"watch\"]\ncgroup = \"" + cgroup_.path() + "\"\n");
  rig_->start();
  EXPECT_EQ(rig_->job(job)["memory_limit"], "watch");
  eventually("it has no limit", [&] { return limits().empty(); });
  EXPECT_THAT(enforcement(), HasSubstr("`limits` in berth.toml leaves driver out"));
}

TEST(Rungs, AreNoneWhereJobsAreNotWatched) {
  Rig rig({.gpus = "1x24GiB"});
  rig.start({"--admission", "declared"});
  const int job = rig.submit(load("--vram 2G --steps 0"), vram(2));
  rig.wait_for(job, "running");
  EXPECT_EQ(rig.job(job)["memory_limit"], "none");
  EXPECT_FALSE(rig.job(rig.submit("true", test::kNoGpus)).contains("memory_limit"));
}

TEST_F(DriverLimits, AreNotThereUnderAnOldDriver) {
  start("1x24GiB,driver=610");
  const int job = rig_->submit(load("--vram 2G --steps 0"), vram(2));
  rig_->wait_for(job, "running");
  EXPECT_EQ(rig_->job(job)["memory_limit"], "watch");
  EXPECT_THAT(enforcement(), HasSubstr("nvmlDeviceGetMemoryLimits_v1 on GPU 0: Not Supported: "
                                       "drivers from r615 on have memory limits"));
}

/// A short pass of what Neighbours.NoneIsHurtWhereTheDriverLimits does at length.
TEST_F(DriverLimits, HurtNoNeighbour) {
  rig_ = std::make_unique<Rig>(test::options_for_mixes(
      4, "cgroup = \"" + cgroup_.path() + "\"\nprobe_fast = \"1h\"\n", ",driver=615"));
  rig_->start();
  const test::Harm all = test::play_mixes(*rig_, 4, {0}, 7);
  EXPECT_EQ(all.honest, 8);
  EXPECT_EQ(all.hurt, 0) << all.last_words << test::slurp(rig_->folder() / "daemon.log");
}

}  // namespace
}  // namespace berth::daemon
