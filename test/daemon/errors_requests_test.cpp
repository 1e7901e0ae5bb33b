// Goal: what cannot be run is refused with thing, value and limit and takes no number; what turns
// out not to run says why, and lets the next one run. Method: the real command line and requests by
// hand against a real berthd on two emulated GPUs of 24 GiB.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/rig.hpp"
#include "support/paths.hpp"

namespace berth {
namespace {

using test::Json;
using test::kFailed;
using test::kGiB;
using test::path;
using test::Ran;
using test::Rig;
using test::Wish;
using testing::HasSubstr;

class ErrorsRequests : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Longer than any command here takes: a job that is deaf to SIGTERM is there until a test ends
    // it.
    rig_ =
        std::make_unique<Rig>(test::RigOptions{.config = "probe = \"100ms\"\ngrace = \"1min\"\n"});
    rig_->start();
  }
  static void TearDownTestSuite() { rig_.reset(); }

  static Ran berth(const std::string& verb, std::vector<std::string> words) {
    words.insert(words.begin(), {verb, "--socket", rig_->socket()});
    return test::run_program("berth", words);
  }
  /// `berth submit` is refused with this, and nothing is there that was not.
  static void expect_refused(std::vector<std::string> words, const std::string& message) {
    const Json before = rig_->request("GET", "/v1/jobs?all=true").body;
    words.emplace_back("true");
    const Ran ran = berth("submit", words);
    EXPECT_EQ(ran.exit_code, kFailed);
    EXPECT_EQ(ran.err, "berth: " + message + "\n");
    EXPECT_EQ(rig_->request("GET", "/v1/jobs?all=true").body, before);
  }
  /// A job that is taken in and then cannot run.
  static void expect_ended(const Wish& wish, int code, const std::string& note) {
    const int id = rig_->submit(wish);
    const Json job = rig_->wait_end(id);
    EXPECT_EQ(job["state"], "failed") << job;
    EXPECT_EQ(job["exit_code"], code);
    EXPECT_EQ(job["note"], note);
    EXPECT_EQ(rig_->log(id), "berth: " + note + "\n");
  }

  static std::unique_ptr<Rig> rig_;
};

std::unique_ptr<Rig> ErrorsRequests::rig_;

TEST_F(ErrorsRequests, MoreThanAnyGpuHasIsNamedWithTheLargest) {
  expect_refused({"--vram", "25G"},
                 "asks 25 GiB per GPU, the most a GPU here can give is 23.3 GiB");
  expect_refused({"--vram", "1024T", "--gpus", "2"},
                 "asks 1 PiB per GPU, the most a GPU here can give is 23.3 GiB");
}

TEST_F(ErrorsRequests, MoreThanThereIsIsNamedWithWhatThereIs) {
  expect_refused({"--gpus", "3"}, "asks 3 GPUs, the cluster has 2");
  expect_refused({"--gpus", "4096", "--vram", "1G"}, "asks 4096 GPUs, the cluster has 2");
  const std::string cores = std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
  expect_refused({"--cpus", "100000"}, "asks 100000 cores, the limit is " + cores);
  const Ran ran = berth("submit", {"--mem", "1000T", "true"});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_THAT(ran.err, HasSubstr("berth: asks 1000 TiB of host memory, the limit is "));
}

/// The command line refuses it by its options' names before it asks (test/cli/errors_test.cpp).
TEST_F(ErrorsRequests, MemoryWithoutAGpuIsNamedByItsKey) {
  const Json before = rig_->request("GET", "/v1/jobs?all=true").body;
  const Json body = {{"command", {"true"}},
                     {"directory", "/"},
                     {"environment", Json::array()},
                     {"gpus", 0},
                     {"vram_bytes", kGiB}};
  const auto refused = rig_->request("POST", "/v1/jobs", body);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body["error"], "vram_bytes: 1073741824 with 0 GPUs, must be absent");
  EXPECT_EQ(rig_->request("GET", "/v1/jobs?all=true").body, before);
}

TEST_F(ErrorsRequests, ADryRunIsRefusedAlike) {
  expect_refused({"--dry-run", "--gpus", "3"}, "asks 3 GPUs, the cluster has 2");
}

TEST_F(ErrorsRequests, ACommandThatIsNoneIsNamed) {
  Ran ran = berth("submit", {"--", ""});
  EXPECT_EQ(ran.exit_code, kFailed);
  EXPECT_EQ(ran.err, "berth: the command: is empty, must name a program\n");
  expect_refused({"--name", std::string(257, 'n')}, "--name: 257 bytes, the most is 256");
}

TEST_F(ErrorsRequests, ACommandThatCannotBeRunSaysWhy) {
  const std::string plain = rig_->folder().write("plain", "echo no\n");
  const std::string script = rig_->folder().write("script", "#!/no/such/interpreter\n");
  const std::string broken = rig_->folder().write("broken",
                                                  "\x7f"
                                                  "ELF and no more");
  for (const std::string& file : {script, broken}) ASSERT_EQ(::chmod(file.c_str(), 0755), 0);
  expect_ended({{"/no/such"}}, 127, "cannot run '/no/such': No such file or directory");
  expect_ended({{"no-such-program"}}, 127,
               "cannot run 'no-such-program': No such file or directory");
  expect_ended({{plain}}, 126, "cannot run '" + plain + "': Permission denied");
  expect_ended({{"/tmp"}}, 126, "cannot run '/tmp': Permission denied");
  expect_ended({{script}}, 127, "cannot run '" + script + "': No such file or directory");
  expect_ended({{broken}}, 126, "cannot run '" + broken + "': Exec format error");
  EXPECT_EQ(rig_->wait_end(rig_->submit("true"))["state"], "done");
}

TEST_F(ErrorsRequests, ADirectoryThatIsGoneSaysSo) {
  const std::string gone = rig_->folder() / "gone";
  std::filesystem::create_directory(gone);
  const int held = rig_->submit(Wish{{"true"}, {{"directory", gone}, {"held", true}}});
  std::filesystem::remove(gone);
  EXPECT_EQ(rig_->request("POST", path(held, "/release")).status, 200);
  const Json job = rig_->wait_end(held);
  EXPECT_EQ(job["exit_code"], kFailed);
  EXPECT_EQ(job["note"], "directory '" + gone + "': No such file or directory");
  expect_ended({{"true"}, {{"directory", "/dev/null"}}}, kFailed,
               "directory '/dev/null': Not a directory");
}

TEST_F(ErrorsRequests, TwoMegabytesOfEnvironmentArriveAndMoreIsRefused) {
  Json environment = Json::array({std::string("PATH=") + std::getenv("PATH")});
  for (int i = 0; i < 20; ++i) {
    environment.push_back("V" + std::to_string(i) + "=" + std::string(100'000, 'x'));
  }
  const int id = rig_->submit(Wish{{"sh", "-c", "env | wc -c"}, {{"environment", environment}}});
  EXPECT_EQ(rig_->wait_end(id)["state"], "done");
  EXPECT_GT(std::stoi(rig_->log(id)), 2'000'000);
  // The longest that is taken in can be run, too.
  environment.push_back("L=" + std::string(80'000, 'y'));
  EXPECT_EQ(rig_->wait_end(rig_->submit(Wish{{"true"}, {{"environment", environment}}}))["state"],
            "done");
  environment.push_back("M=" + std::string(1000, 'y'));
  const Json body = {{"command", {"true"}}, {"directory", "/"}, {"environment", environment}};
  const auto refused = rig_->request("POST", "/v1/jobs", body);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body["error"].get<std::string>(), HasSubstr("the most is 2080768"));
}

TEST_F(ErrorsRequests, UnknownAndEndedJobsAreNamed) {
  const int ended = rig_->submit("true");
  rig_->wait_end(ended);
  const std::string name = std::to_string(ended);
  for (const char* verb : {"cancel", "hold", "release"}) {
    EXPECT_EQ(berth(verb, {name}).err, "berth: job " + name + ": has ended already\n");
    EXPECT_EQ(berth(verb, {name}).exit_code, kFailed);
  }
  for (const char* verb : {"show", "logs", "why", "wait", "cancel", "hold", "release"}) {
    const Ran ran = berth(verb, {"999999"});
    EXPECT_EQ(ran.exit_code, kFailed) << verb;
    EXPECT_EQ(ran.err, "berth: job 999999: no such job\n");
  }
  EXPECT_EQ(berth("show", {"1099511627777"}).err,
            "berth: 1099511627777: is not a job number, which is from 1 to 1099511627776\n");
}

TEST_F(ErrorsRequests, ACancelIsTakenOnce) {
  const std::string gone = rig_->folder() / "gone";
  const int id =
      rig_->submit("trap '' TERM; echo deaf; while [ ! -e " + gone + " ]; do sleep 0.01; done");
  const std::string name = std::to_string(id);
  test::eventually("the job is deaf", [&] { return berth("logs", {name}).out == "deaf\n"; });
  EXPECT_EQ(berth("cancel", {name}).exit_code, 0);
  const Ran again = berth("cancel", {name});
  EXPECT_EQ(again.exit_code, kFailed);
  EXPECT_EQ(again.err, "berth: job " + name + ": is ending already\n");
  std::ofstream(gone) << "and ends";
  EXPECT_EQ(rig_->wait_end(id)["state"], "cancelled");
}

}  // namespace
}  // namespace berth
