// Goal: the driver's checkpoint calls do to another process what NVIDIA documents: every state and
// every refusal, memory off the GPU and back with its content, on other GPUs too, and faults as
// injected. Method: a process that counts its driver calls in shared memory, and one that calls.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "emu/cuda/abi.hpp"
#include "emu/spin.hpp"
#include "emu/support.hpp"

namespace berth::emu {
namespace checkpoint {

using test::eventually;
using test::Library;
using test::Process;

// Results, by number: they are NVIDIA's.
constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kNotInitialized = 3;
constexpr int kIllegalState = 401;
constexpr int kNotReady = 600;
constexpr int kNotSupported = 801;

constexpr std::uint64_t kContextBytes = 64 * kMebibyte;  // of the default test machine
constexpr std::uint64_t kHeld = 512 * kMebibyte;
constexpr auto kNoArgs = static_cast<void*>(nullptr);

/// What the process under test shows and is told.
struct Board {
  std::atomic<std::uint64_t> address;
  std::atomic<std::uint64_t> rounds;  // of driver calls
  std::atomic<int> worst;             // the last result that was no success
  std::atomic<bool> is_equal;
  std::atomic<bool> spins;  // asked for: one long kernel, waited for
  std::atomic<bool> spun;
  std::atomic<bool> stops;  // asked for: between two calls, where it holds no lock of the driver's
};

Board& new_board() {
  void* memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (memory) Board{.is_equal = true};
}

void note(Board& board, int result) {
  if (result != kSuccess) board.worst = result;
}

void spin(const Library& cuda, Board& board) {
  void* module = nullptr;
  void* function = nullptr;
  note(board, cuda.call("cuModuleLoadData", &module, static_cast<const void*>(kSpinPtx)));
  note(board, cuda.call("cuModuleGetFunction", &function, module, kSpinEntry));
  std::uint64_t nanoseconds = 300000000;
  std::uint64_t iterations = 0;
  void* parameters[] = {&nanoseconds, &iterations};
  note(board, cuda.call("cuLaunchKernel", function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, kNoArgs,
                        static_cast<void**>(parameters), static_cast<void**>(nullptr)));
  board.spins = false;
  note(board, cuda.call("cuCtxSynchronize"));
  board.spun = true;
}

/// Holds memory with a pattern at its end, and reads it again and again.
void work(Board& board) {
  const Library cuda("libcuda.so.1");
  void* context = nullptr;
  std::uint64_t address = 0;
  std::array<char, 64> pattern;
  pattern.fill('b');
  note(board, cuda.call("cuInit", 0U));
  note(board, cuda.call("cuCtxCreate_v2", &context, 0U, 0));
  note(board, cuda.call("cuMemAlloc_v2", &address, static_cast<std::size_t>(kHeld)));
  const auto place = address + kHeld - pattern.size();
  note(board, cuda.call("cuMemcpyHtoD_v2", place, static_cast<const void*>(pattern.data()),
                        pattern.size()));
  board.address = address;
  for (;;) {
    std::array<char, 64> read{};
    note(board, cuda.call("cuMemcpyDtoH_v2", static_cast<void*>(read.data()), place, read.size()));
    if (read != pattern) board.is_equal = false;
    if (board.spins) spin(cuda, board);
    ++board.rounds;
    if (board.stops.exchange(false)) ::raise(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// The caller, in a process of its own, with a worker beside it.
class Scene {
 public:
  explicit Scene(const test::Machine& machine)
      : board_(new_board()),
        worker_([this] { work(board_); }, joining(machine)),
        machine_(machine) {
    EXPECT_TRUE(eventually([&] { return board_.rounds > 0; }));
  }

  int lock(unsigned timeout = 5000) const {
    CudaLockArgs args{.timeout_millis = timeout, .reserved0 = 0, .reserved1 = {}};
    return cuda_.call("cuCheckpointProcessLock", worker_.pid(), &args);
  }
  int checkpoint() const { return cuda_.call("cuCheckpointProcessCheckpoint", pid(), kNoArgs); }
  int restore() const { return cuda_.call("cuCheckpointProcessRestore", pid(), kNoArgs); }
  int restore(CudaRestoreArgs args) const {
    return cuda_.call("cuCheckpointProcessRestore", pid(), &args);
  }
  int unlock() const { return cuda_.call("cuCheckpointProcessUnlock", pid(), kNoArgs); }
  int state() const {
    int state = -1;
    EXPECT_EQ(cuda_.call("cuCheckpointProcessGetState", pid(), &state), kSuccess);
    return state;
  }
  std::uint64_t used(std::size_t gpu = 0) const { return machine_.gpu(gpu).used_bytes; }
  CudaUuid uuid(int device) const {
    CudaUuid uuid{};
    EXPECT_EQ(cuda_.call("cuInit", 0U), kSuccess);
    EXPECT_EQ(cuda_.call("cuDeviceGetUuid", &uuid, device), kSuccess);
    return uuid;
  }

  bool goes_on() const {
    const auto before = board_.rounds.load();
    return eventually([&] { return board_.rounds >= before + 3; });
  }
  bool stands_still() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // one call may be at its end
    const auto before = board_.rounds.load();
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return board_.rounds == before;
  }
  void expect_well() const {
    EXPECT_TRUE(goes_on());
    EXPECT_EQ(state(), 0);
    EXPECT_EQ(board_.worst, kSuccess);
    EXPECT_TRUE(board_.is_equal);
  }

  test::Variables variables() const { return joining(machine_); }
  pid_t pid() const { return worker_.pid(); }
  Board& board() const { return board_; }
  const Process& worker() const { return worker_; }
  const Library& cuda() const { return cuda_; }

 private:
  Board& board_;
  Process worker_;
  const test::Machine& machine_;
  Library cuda_{"libcuda.so.1"};
};

void with_scene(const std::function<void(const Scene&)>& body, const test::Machine& machine) {
  test::in_child(joining(machine), [&] { body(Scene(machine)); });
}
void with_scene(const std::function<void(const Scene&)>& body) {
  const test::Machine machine;
  with_scene(body, machine);
}

TEST(Checkpoint, MemoryLeavesTheGpuAndComesBackAsItWas) {
  with_scene([](const Scene& scene) {
    EXPECT_EQ(scene.state(), 0);
    EXPECT_EQ(scene.used(), kHeld + kContextBytes);
    EXPECT_EQ(scene.lock(), kSuccess);
    EXPECT_EQ(scene.state(), 1);
    EXPECT_TRUE(scene.stands_still());
    EXPECT_EQ(scene.used(), kHeld + kContextBytes);
    EXPECT_EQ(scene.checkpoint(), kSuccess);
    EXPECT_EQ(scene.state(), 2);
    EXPECT_EQ(scene.used(), 0U);
    EXPECT_TRUE(scene.stands_still());
    EXPECT_EQ(scene.restore(), kSuccess);
    EXPECT_EQ(scene.state(), 1);
    EXPECT_EQ(scene.used(), kHeld + kContextBytes);
    EXPECT_TRUE(scene.stands_still());
    EXPECT_EQ(scene.unlock(), kSuccess);
    scene.expect_well();
  });
}

TEST(Checkpoint, EachCallIsRefusedInOtherStates) {
  with_scene([](const Scene& scene) {
    EXPECT_EQ(scene.checkpoint(), kIllegalState);
    EXPECT_EQ(scene.restore(), kIllegalState);
    EXPECT_EQ(scene.unlock(), kIllegalState);
    EXPECT_EQ(scene.lock(), kSuccess);
    EXPECT_EQ(scene.lock(), kIllegalState);
    EXPECT_EQ(scene.restore(), kIllegalState);
    EXPECT_EQ(scene.checkpoint(), kSuccess);
    EXPECT_EQ(scene.lock(), kIllegalState);
    EXPECT_EQ(scene.checkpoint(), kIllegalState);
    EXPECT_EQ(scene.unlock(), kIllegalState);
    EXPECT_EQ(scene.restore(), kSuccess);
    EXPECT_EQ(scene.unlock(), kSuccess);
    scene.expect_well();
  });
}

TEST(Checkpoint, ALockedProcessIsUnlockedAgain) {
  with_scene([](const Scene& scene) {
    EXPECT_EQ(scene.lock(), kSuccess);
    EXPECT_EQ(scene.unlock(), kSuccess);
    scene.expect_well();
  });
}

TEST(Checkpoint, RestoreWithoutRoomChangesNothing) {
  with_scene([](const Scene& scene) {
    EXPECT_EQ(scene.lock(), kSuccess);
    EXPECT_EQ(scene.checkpoint(), kSuccess);
    const Process other(
        [] {
          const Library cuda("libcuda.so.1");
          void* context = nullptr;
          std::uint64_t address = 0;
          EXPECT_EQ(cuda.call("cuInit", 0U), kSuccess);
          EXPECT_EQ(cuda.call("cuCtxCreate_v2", &context, 0U, 0), kSuccess);
          EXPECT_EQ(cuda.call("cuMemAlloc_v2", &address, static_cast<std::size_t>(800 * kMebibyte)),
                    kSuccess);
          for (;;) ::pause();
        },
        scene.variables());
    EXPECT_TRUE(eventually([&] { return scene.used() == 800 * kMebibyte + kContextBytes; }));
    EXPECT_EQ(scene.restore(), 2);
    EXPECT_EQ(scene.state(), 2);
    EXPECT_EQ(scene.used(), 800 * kMebibyte + kContextBytes);
    other.signal(SIGKILL);
    EXPECT_TRUE(eventually([&] { return scene.used() == 0; }));
    EXPECT_EQ(scene.restore(), kSuccess);
    EXPECT_EQ(scene.unlock(), kSuccess);
    scene.expect_well();
  });
}

TEST(Checkpoint, AProcessIsRestoredOnAnotherGpu) {
  with_scene([](const Scene& scene) {
    const std::array<CudaGpuPair, 1> there{{{scene.uuid(0), scene.uuid(1)}}};
    const std::array<CudaGpuPair, 1> back{{{scene.uuid(1), scene.uuid(0)}}};
    const auto args = [](const auto& pairs) {
      return CudaRestoreArgs{.gpu_pairs = pairs.data(), .gpu_pairs_count = 1, .reserved = {}};
    };
    scene.board().spins = true;  // so that there is a past on the first GPU's clock
    EXPECT_TRUE(eventually([&] { return scene.board().spun.load(); }));
    for (const auto& [pairs, here, away] :
         {std::tuple(&there, 1U, 0U), std::tuple(&back, 0U, 1U)}) {
      scene.board().spun = false;
      EXPECT_EQ(scene.lock(), kSuccess);
      EXPECT_EQ(scene.checkpoint(), kSuccess);
      EXPECT_EQ(scene.restore(args(*pairs)), kSuccess);
      EXPECT_EQ(scene.unlock(), kSuccess);
      scene.expect_well();
      EXPECT_EQ(scene.used(here), kHeld + kContextBytes);
      EXPECT_EQ(scene.used(away), 0U);
      scene.board().spins = true;
      EXPECT_TRUE(eventually([&] { return scene.board().spun.load(); }));
    }
    scene.expect_well();
  });
}

TEST(Checkpoint, MovesMustNameTheGpusOfTheProcess) {
  with_scene([](const Scene& scene) {
    EXPECT_EQ(scene.lock(), kSuccess);
    EXPECT_EQ(scene.checkpoint(), kSuccess);
    const std::array<CudaGpuPair, 1> other{{{scene.uuid(1), scene.uuid(0)}}};
    const std::array<CudaGpuPair, 1> strange{{{scene.uuid(0), CudaUuid{{'x'}}}}};
    for (const auto& pairs : {other, strange}) {
      EXPECT_EQ(scene.restore({.gpu_pairs = pairs.data(), .gpu_pairs_count = 1, .reserved = {}}),
                kInvalidValue);
    }
    EXPECT_EQ(scene.restore({.gpu_pairs = nullptr, .gpu_pairs_count = 0, .reserved = {1}}),
              kInvalidValue);
    EXPECT_EQ(scene.state(), 2);
    EXPECT_EQ(scene.restore(), kSuccess);
    EXPECT_EQ(scene.unlock(), kSuccess);
    scene.expect_well();
  });
}

TEST(Checkpoint, QueuedKernelsEndBeforeTheMemoryGoes) {
  with_scene([](const Scene& scene) {
    scene.board().spins = true;
    EXPECT_TRUE(eventually([&] { return !scene.board().spins.load(); }));
    EXPECT_EQ(scene.lock(), kSuccess);
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(scene.checkpoint(), kSuccess);
    EXPECT_GT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(50));
    EXPECT_FALSE(scene.board().spun);  // its wait is behind the lock
    EXPECT_EQ(scene.restore(), kSuccess);
    EXPECT_EQ(scene.unlock(), kSuccess);
    EXPECT_TRUE(eventually([&] { return scene.board().spun.load(); }));
    scene.expect_well();
  });
}

TEST(Checkpoint, AStoppedProcessCannotBeLockedInTime) {
  with_scene([](const Scene& scene) {
    scene.board().stops = true;
    EXPECT_TRUE(eventually([&] {
      const auto locked = scene.lock(50);
      if (locked == kSuccess) scene.unlock();  // it had not stopped yet
      return locked == kNotReady;
    }));
    EXPECT_EQ(scene.state(), 0);
    scene.worker().signal(SIGCONT);
    scene.expect_well();
  });
}

TEST(Checkpoint, AProcessThatEndsWhileItIsSuspendedLeavesNothing) {
  with_scene([](const Scene& scene) {
    EXPECT_EQ(scene.lock(), kSuccess);
    EXPECT_EQ(scene.checkpoint(), kSuccess);
    scene.worker().signal(SIGKILL);
    int state = 0;
    EXPECT_TRUE(eventually([&] {
      return scene.cuda().call("cuCheckpointProcessGetState", scene.pid(), &state) != kSuccess;
    }));
    EXPECT_EQ(scene.used(), 0U);
  });
}

TEST(Checkpoint, OnlyProcessesThatUseAGpuAreKnown) {
  with_scene([](const Scene& scene) {
    int state = 0;
    EXPECT_EQ(scene.cuda().call("cuCheckpointProcessGetState", ::getpid(), &state),
              kNotInitialized);
    EXPECT_EQ(scene.cuda().call("cuCheckpointProcessGetState", 0, &state), 1);
    int thread = 0;
    EXPECT_EQ(scene.cuda().call("cuCheckpointProcessGetRestoreThreadId", scene.pid(), &thread),
              kSuccess);
    EXPECT_EQ(thread, scene.pid());
  });
}

TEST(Checkpoint, ADriverWithoutThemSaysSo) {
  const test::Machine machine({.gpu_bytes = {kGibibyte},
                               .context_bytes = kContextBytes,
                               .reserved_bytes = 24 * kMebibyte,
                               .has_checkpoints = false});
  with_scene(
      [](const Scene& scene) {
        int state = 0;
        EXPECT_EQ(scene.cuda().call("cuCheckpointProcessGetState", scene.pid(), &state),
                  kNotSupported);
        EXPECT_EQ(scene.lock(), kNotSupported);
        EXPECT_TRUE(scene.goes_on());
      },
      machine);
}

// ---- Faults ----------------------------------------------------------------------------------

TEST(CheckpointFaults, EachCallFailsAsInjectedOnceAndChangesNothing) {
  constexpr std::uint16_t kError = 999;
  const test::Machine machine;
  with_scene(
      [&](const Scene& scene) {
        const auto fail_once = [&](CheckpointCall call) {
          EXPECT_TRUE(inject_checkpoint_fault(machine.state(), {.call = call, .error = kError}));
        };
        fail_once(CheckpointCall::Lock);
        EXPECT_EQ(scene.lock(), kError);
        EXPECT_EQ(scene.lock(), kSuccess);
        fail_once(CheckpointCall::Checkpoint);
        EXPECT_EQ(scene.checkpoint(), kError);
        EXPECT_EQ(scene.state(), 1);
        EXPECT_EQ(scene.checkpoint(), kSuccess);
        fail_once(CheckpointCall::Restore);
        EXPECT_EQ(scene.restore(), kError);
        EXPECT_EQ(scene.state(), 2);
        EXPECT_EQ(scene.restore(), kSuccess);
        fail_once(CheckpointCall::Unlock);
        EXPECT_EQ(scene.unlock(), kError);
        EXPECT_EQ(scene.unlock(), kSuccess);
        fail_once(CheckpointCall::State);
        int state = 0;
        EXPECT_EQ(scene.cuda().call("cuCheckpointProcessGetState", scene.pid(), &state), kError);
        scene.expect_well();
      },
      machine);
}

TEST(CheckpointFaults, ACallThatFailsAfterItsWorkLeavesAProcessThatFailed) {
  const test::Machine machine;
  with_scene(
      [&](const Scene& scene) {
        EXPECT_TRUE(inject_checkpoint_fault(
            machine.state(), {.call = CheckpointCall::Checkpoint, .error = 999, .is_late = true}));
        EXPECT_EQ(scene.lock(), kSuccess);
        EXPECT_EQ(scene.checkpoint(), 999);
        EXPECT_EQ(scene.state(), 3);
        EXPECT_EQ(scene.restore(), 401);
        EXPECT_EQ(scene.unlock(), 401);
      },
      machine);
}

TEST(CheckpointFaults, ACallIsSlowOrHangsAndItsCallerCanBeKilled) {
  const test::Machine machine;
  with_scene(
      [&](const Scene& scene) {
        EXPECT_TRUE(inject_checkpoint_fault(machine.state(),
                                            {.call = CheckpointCall::Lock, .delay_millis = 80}));
        const auto before = std::chrono::steady_clock::now();
        EXPECT_EQ(scene.lock(), kSuccess);
        EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(80));
        EXPECT_TRUE(inject_checkpoint_fault(
            machine.state(),
            {.call = CheckpointCall::Checkpoint, .delay_millis = CheckpointFault::kHangs}));
        Process caller([&] { scene.checkpoint(); }, scene.variables());
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        caller.signal(SIGKILL);
        EXPECT_EQ(caller.wait().code, 128 + SIGKILL);
        EXPECT_EQ(scene.state(), 1);
        EXPECT_EQ(scene.unlock(), kSuccess);
        scene.expect_well();
      },
      machine);
}

TEST(CheckpointFaults, TheToolInjectsThem) {
  const test::Machine machine;
  with_scene(
      [&](const Scene& scene) {
        const auto tool = [&](const std::vector<std::string>& words) {
          std::vector<std::string> command{EMU_TOOL, "fault", machine.state()};
          command.insert(command.end(), words.begin(), words.end());
          return test::run(command).code;
        };
        EXPECT_EQ(tool({"--call", "lock", "--error", "46", "--times", "always"}), 0);
        EXPECT_EQ(scene.lock(), 46);
        EXPECT_EQ(scene.lock(), 46);
        EXPECT_EQ(tool({"--call", "lock", "--times", "0"}), 0);
        EXPECT_EQ(scene.lock(), kSuccess);
        EXPECT_EQ(scene.unlock(), kSuccess);
        EXPECT_EQ(tool({"--call", "sing"}), 2);
        EXPECT_EQ(tool({"--error", "46"}), 2);
      },
      machine);
}

}  // namespace checkpoint
}  // namespace berth::emu
