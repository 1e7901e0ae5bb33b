#include "daemon/suspend_rig.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

namespace berth::test {

using emu::CheckpointCall;
using emu::CheckpointFault;

SuspendRig::SuspendRig(const SuspendRigOptions& options)
    : Rig({.gpus = options.gpus, .config = options.config}) {
  start();
}

int SuspendRig::submit_load(std::int64_t gib, int all_steps, int time_limit) {
  const int id = submit(
      "exec " + test::load("--vram " + std::to_string(gib) + "G --step-ms 10 --report 10 --steps " +
                           std::to_string(all_steps)),
      vram(gib + 1, time_limit));
  wait_for(id, "running");
  eventually("it makes steps", [&] { return log(id).find("step 10/") != std::string::npos; });
  return id;
}

int SuspendRig::submit_suspended(std::int64_t gib, int all_steps) {
  const int id = submit_load(gib, all_steps);
  suspend(id);
  wait_for(id, "suspended");
  return id;
}

Rig::Answer SuspendRig::ask(int id, const std::string& verb) {
  return request("POST", test::path(id, "/" + verb));
}

void SuspendRig::suspend(int id) {
  const auto answer = ask(id, "suspend");
  EXPECT_EQ(answer.status, 200) << answer.body;
}

void SuspendRig::resume(int id) {
  const auto answer = ask(id, "resume");
  EXPECT_EQ(answer.status, 200) << answer.body;
}

void SuspendRig::expect_complete(int id, int all_steps) {
  const Json job = wait_end(id);
  EXPECT_EQ(job["state"], "done") << job;
  std::vector<std::string> steps;
  std::istringstream lines(log(id));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("step ")) steps.push_back(line.substr(5, line.find(' ', 5) - 5));
  }
  std::vector<std::string> expected;
  const std::string of_all = "/" + std::to_string(all_steps);
  for (int step = 10; step <= all_steps; step += 10) {
    expected.push_back(std::to_string(step) + of_all);
  }
  EXPECT_EQ(steps, expected);
  EXPECT_TRUE(std::filesystem::is_empty(state() + "/suspended"));
}

std::string SuspendRig::wait_until_put_back(int id) {
  Json found;
  eventually("it runs on", [&] {
    found = job(id);
    return found["state"] == "running" && found["reason"] != "";
  });
  return found["reason"].get<std::string>();
}

std::int64_t SuspendRig::used(int gpu) {
  return request("GET", "/v1/gpus")
      .body["gpus"][static_cast<std::size_t>(gpu)]["used_bytes"]
      .get<std::int64_t>();
}

void SuspendRig::wait_until_free() {
  eventually("its memory is gone", [&] { return used() == 0; });
}

void SuspendRig::inject(const CheckpointFault& fault) {
  const auto done = emu::inject_checkpoint_fault(state() + "/emulated-gpus", fault);
  ASSERT_TRUE(done) << done.error();
}

void SuspendRig::make_slow() {
  constexpr std::uint32_t kSlow = 40;
  for (const auto call : {CheckpointCall::State, CheckpointCall::Lock, CheckpointCall::Checkpoint,
                          CheckpointCall::Restore, CheckpointCall::Unlock}) {
    inject({.call = call, .delay_millis = kSlow, .times = CheckpointFault::kAlways});
  }
}

}  // namespace berth::test
