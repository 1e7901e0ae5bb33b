// A berthd whose jobs are suspended, and jobs that show whether a step was lost or made twice.
#pragma once

#include <string>

#include "daemon/rig.hpp"
#include "emu/emulator.hpp"

namespace berth::test {

/// A sanitizer's helper takes seconds to start on a busy machine.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kSlowness = 5;
#else
inline constexpr int kSlowness = 1;
#endif

inline const std::string kRoom =
    "probe = \"100ms\"\ngrace = \"500ms\"\nsuspend_host_memory = \"100GiB\"\n"
    "suspend_patience = \"" +
    std::to_string(2 * kSlowness) + "s\"\n";

/// Steps that take longer than it takes to cut off a call, or for others to come.
inline constexpr int kMany = 500 * kSlowness;
/// Of a job that is suspended as soon as it makes some.
inline constexpr int kSteps = 250 * kSlowness;

struct SuspendRigOptions {
  std::string gpus = "1x24GiB";
  std::string config = kRoom;
};

/// Started from the beginning.
class SuspendRig : public Rig {
 public:
  explicit SuspendRig(const SuspendRigOptions& options = {});

  /// A job that makes steps when this returns, and counts them in its log.
  int submit_load(std::int64_t gib = 20, int all_steps = kSteps, int time_limit = 0);
  /// The same, suspended by its owner.
  int submit_suspended(std::int64_t gib = 20, int all_steps = kSteps);
  Answer ask(int id, const std::string& verb);
  void suspend(int id);
  void resume(int id);
  /// Waits for its end: it made each of its steps once.
  void expect_complete(int id, int all_steps = kSteps);
  /// It was to be suspended, and runs on. Returns: why.
  std::string wait_until_put_back(int id);

  std::int64_t used(int gpu = 0);
  void wait_until_free();
  void inject(const emu::CheckpointFault& fault);
  /// Lets each call take a while.
  void make_slow();
};

}  // namespace berth::test
