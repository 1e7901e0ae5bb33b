// Goal: a process is a client of an MPS server exactly where a control daemon has its folder, holds
// no more than its environment says, and falls with the other clients of its server and with
// nobody else. Method: the emulated control daemon, and berth-load as the client.
#include "emu/state/mps.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "emu/support.hpp"

namespace berth::emu {
namespace {

bool has_part(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A server in a folder of the machine, for as long as this lives.
class Server {
 public:
  Server(const test::Machine& machine, const std::string& name, test::Variables more = {})
      : folder_(machine.folder() + "/" + name), variables_(joining(machine, std::move(more))) {
    variables_["CUDA_MPS_PIPE_DIRECTORY"] = folder_;
    const auto started = test::run({EMU_MPS, "-d"}, variables_);
    EXPECT_EQ(started.code, 0) << started.output;
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() { EXPECT_EQ(tell("quit").code, 0); }

  test::Ended tell(const std::string& command) const {
    return test::run({"/bin/sh", "-c", "echo " + command + " | " + EMU_MPS}, variables_);
  }
  test::Variables client(test::Variables more = {}) const {
    more.insert(variables_.begin(), variables_.end());
    return more;
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  test::Variables variables_;
};

TEST(Mps, AClientHoldsNoMoreThanItsLimit) {
  const test::Machine machine;
  const Server server(machine, "pipes");
  const auto limited = server.client({{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=400M"}});
  EXPECT_EQ(test::run({EMU_LOAD, "--vram=300M", "--steps=1"}, limited).code, 0);
  const auto ended = test::run({EMU_LOAD, "--vram=400M", "--steps=1"}, limited);
  EXPECT_EQ(ended.code, 77) << "its context counts: " << ended.output;
  EXPECT_EQ(test::run({EMU_LOAD, "--vram=400M", "--steps=1"}, server.client()).code, 0);
}

TEST(Mps, AnEntryForADeviceThatIsNotThereVoidsAllLimits) {
  EXPECT_EQ(parse_pinned_limits("0=1G,1=512MB", 2),
            (std::vector<std::uint64_t>{kGibibyte, 512 * kMebibyte}));
  EXPECT_TRUE(parse_pinned_limits("0=1G,2=1G", 2).empty());
  EXPECT_TRUE(parse_pinned_limits("0=", 2).empty());
  EXPECT_TRUE(parse_pinned_limits("GPU-1=1G", 2).empty());
  EXPECT_EQ(parse_pinned_limits("", 1), std::vector<std::uint64_t>{0});
}

TEST(Mps, ALimitIsOfEachOfItsGpus) {
  const test::Machine machine;
  const Server server(machine, "pipes");
  const auto limited = server.client({{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=400M,1=200M"}});
  const auto with = [&](const std::string& vram) {
    return test::run({EMU_LOAD, "--gpus=2", "--steps=1", vram}, limited);
  };
  EXPECT_EQ(with("--vram=100M").code, 0);
  const auto ended = with("--vram=200M");
  EXPECT_EQ(ended.code, 77);
  EXPECT_TRUE(has_part(ended.output, "GPU 1: cuMemAlloc_v2")) << ended.output;
}

TEST(Mps, AClientSeesTheGpusOfItsServerAlone) {
  const test::Machine machine;
  const Server server(machine, "pipes", {{"CUDA_VISIBLE_DEVICES", "1"}});
  const auto number = [&](const std::string& devices) {
    return server.client({{"CUDA_VISIBLE_DEVICES", devices}});
  };
  const auto two = test::run({EMU_LOAD, "--gpus=2", "--steps=1"}, number("0,1"));
  EXPECT_TRUE(has_part(two.output, "--gpus 2: 1 visible")) << two.output;
  EXPECT_EQ(test::run({EMU_LOAD, "--steps=1"}, number("1")).code, 1) << "the server has one";
  EXPECT_EQ(test::run({EMU_LOAD, "--steps=1"}, number(machine.gpu(0).uuid)).code, 1);
  test::Process first({EMU_LOAD, "--vram=100M", "--steps=0", "--report=1"}, number("0"));
  EXPECT_TRUE(first.read_line().starts_with("step 1"));
  EXPECT_EQ(machine.gpu(0).used_bytes, 0U);
  EXPECT_GT(machine.gpu(1).used_bytes, 100 * kMebibyte);
}

TEST(Mps, WithoutAControlDaemonThereIsNoLimit) {
  const test::Machine machine;
  const auto ended = test::run({EMU_LOAD, "--vram=400M", "--steps=1"},
                               joining(machine, {{"CUDA_MPS_PIPE_DIRECTORY", machine.folder()},
                                                 {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=100M"}}));
  EXPECT_EQ(ended.code, 0) << ended.output;
}

TEST(Mps, AFatalFaultEndsTheClientsOfItsServerAndNobodyElse) {
  const test::Machine machine;
  const Server server(machine, "one");
  const Server other(machine, "two");
  const std::vector<std::string> forever{EMU_LOAD, "--vram=10M", "--steps=0", "--report=1"};
  test::Process neighbour(forever, server.client());
  test::Process apart(forever, other.client());
  test::Process alone(forever, joining(machine));
  for (auto* process : {&neighbour, &apart, &alone}) {
    EXPECT_TRUE(process->read_line().starts_with("step 1"));
  }
  EXPECT_TRUE(has_part(server.tell("get_client_list 1").output, std::to_string(neighbour.pid())));
  const auto faulty = test::run({EMU_LOAD, "--fault-at=2", "--steps=3"}, server.client());
  EXPECT_EQ(faulty.code, 1);
  EXPECT_TRUE(has_part(faulty.output, "CUDA_ERROR_LAUNCH_FAILED")) << faulty.output;
  const auto fell = neighbour.wait();
  EXPECT_EQ(fell.code, 1);
  EXPECT_TRUE(has_part(fell.output, "CUDA_ERROR_LAUNCH_FAILED")) << fell.output;
  for (auto* process : {&apart, &alone}) {
    EXPECT_TRUE(process->read_line().starts_with("step ")) << "it runs on";
  }
}

TEST(Mps, AFatalFaultWithoutMpsIsItsProcesssOwn) {
  const test::Machine machine;
  test::Process other({EMU_LOAD, "--steps=0", "--report=1"}, joining(machine));
  EXPECT_TRUE(other.read_line().starts_with("step 1"));
  EXPECT_EQ(test::run({EMU_LOAD, "--fault-at=1", "--steps=3"}, joining(machine)).code, 1);
  EXPECT_TRUE(other.read_line().starts_with("step "));
}

TEST(Mps, FewerThreadsTakeLonger) {
  const test::Machine machine;
  const Server server(machine, "pipes");
  const auto ended = test::run({EMU_LOAD, "--steps=5", "--step-ms=10", "--duty=1"},
                               server.client({{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "20"}}));
  const auto at = ended.output.find("steps in ");
  ASSERT_NE(at, std::string::npos) << ended.output;
  EXPECT_GE(std::stod(ended.output.substr(at + 9)), 0.24) << "five steps of 10 ms on a fifth";
}

TEST(Mps, OneControlDaemonHasAFolder) {
  const test::Machine machine;
  const Server server(machine, "pipes");
  const auto second = test::run({EMU_MPS, "-d"}, server.client());
  EXPECT_NE(second.code, 0);
  EXPECT_TRUE(has_part(second.output, "already running")) << second.output;
}

}  // namespace
}  // namespace berth::emu
