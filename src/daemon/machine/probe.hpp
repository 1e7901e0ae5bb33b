// The probe thread: asks the driver, which may hang, and finds the job of each process.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "daemon/attempts/declared.hpp"
#include "daemon/loop/clock.hpp"
#include "daemon/loop/processes.hpp"
#include "gpu/port.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

/// A look, and what strangers in it say of themselves.
struct Sighting {
  live::Look look;
  std::map<pid_t, JobId> declared;  ///< Strangers that have the key of a job.
};

class Probe : public live::Eyes {
 public:
  struct Parts {
    GpuPort& port;
    const Clock& clock;
    const ShimTable& shims;
    Declarations declarations;
  };
  /// `deliver` is called on the probe thread.
  Probe(Parts parts, std::function<void(Sighting)> deliver);
  ~Probe() override { stop(); }

  /// Waits for a sample under way for a second at most. Returns: false if the thread still is in
  /// the driver; then it is left behind, and nothing it uses may go while this process lives.
  bool stop();

  /// Each is sampled once however often it is asked for meanwhile. From any thread.
  void look_at(const std::set<GpuId>& gpus) override { ask(gpus, false); }
  void glance_at(const std::set<GpuId>& gpus) override { ask(gpus, true); }

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);
  static Sighting look(State& state, GpuId gpu, bool glance);
  void ask(const std::set<GpuId>& gpus, bool glance);

  std::shared_ptr<State> state_;
};

}  // namespace berth::daemon
