// The probe thread: asks the driver, which may take long or hang, and says whose the processes are.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "core/error.hpp"
#include "core/ids.hpp"
#include "daemon/clock.hpp"
#include "daemon/processes.hpp"
#include "gpu/port.hpp"

namespace berth::daemon {

/// One GPU, sampled.
struct Look {
  GpuId gpu;
  Instant began;
  Expected<Sample> sample;
  std::map<pid_t, Whose> owners;  ///< Of every process in the sample, looked up after it.
};

class Probe {
 public:
  /// `deliver` is called on the probe thread.
  Probe(GpuPort& port, const Clock& clock, const ShimTable& shims,
        std::function<void(Look)> deliver);
  ~Probe() { stop(); }

  /// Waits for a sample under way for a second at most. Returns: false if the thread still is in
  /// the driver; then it is left behind, and nothing it uses may go while this process lives.
  bool stop();

  /// Samples these GPUs as soon as possible, each once however often it is asked for meanwhile.
  /// From any thread.
  void ask(const std::set<GpuId>& gpus);

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);
  static Look look(State& state, GpuId gpu);

  std::shared_ptr<State> state_;
};

}  // namespace berth::daemon
