// The current state of each GPU: its samples, their age, and the attempts on it.
//
// Turns looks of the probe into inputs for the engine and answers when a new look is needed. Pure
// bookkeeping over gpu/probe.hpp: instants are given. Belongs to the engine's thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/input.hpp"
#include "core/view.hpp"
#include "live/energy.hpp"
#include "live/ports.hpp"

namespace berth::live {

/// An attempt that has ended and whose GPU memory may not be free yet.
struct Leaving {
  JobId job;
  Attempt attempt;
  Instant ended;
  std::set<GpuId> unseen;  ///< GPUs not yet seen without it.
};

/// True if a job waits, or will once these inputs have taken its berth: a step could start it.
bool somebody_waits(const ClusterView& view, std::span<const Input> inputs);

/// What becomes of a job that holds memory of a GPU that it was not given.
enum class Trespass : std::uint8_t {
  IsTold,     ///< The engine is told whose the memory is, and ends the job.
  IsForeign,  ///< Somebody else gives out the GPUs, and sees to that.
};

class Watcher {
 public:
  Watcher(std::size_t gpus, Duration longest, Trespass trespass = Trespass::IsTold)
      : gpus_(gpus), energy_(gpus), longest_(longest), trespass_(trespass) {}

  /// A tenant starts or ends there now.
  void changed(const std::vector<GpuId>& gpus, Instant now);
  /// The engine has had all that was told, and may know better: what a process holds that is
  /// adopted is no foreign use any more.
  void follow(const ClusterView& view);
  /// An attempt ended; `released` inputs come from on_look. Without GPUs it is released at once.
  void leaves(JobId job, Attempt attempt, const std::vector<GpuId>& gpus, Instant now);

  /// The engine's inputs from a look: measurements, health, releases. Between two usual looks a
  /// measurement is told only if it matters at once: a start or an end since the last one, other
  /// foreign use, a tenant beyond its charge or back within it.
  std::vector<Input> on_look(Look look, const ClusterView& view);
  /// A GPU that gave no answer in time counts as unhealthy until it does.
  std::vector<Input> on_silence(const std::set<GpuId>& gpus, Instant now);
  /// A GPU that must get no new jobs until the daemon starts again.
  std::vector<Input> on_fault(GpuId gpu, std::string problem);

  /// GPUs that need a newer look before a start.
  std::set<GpuId> stale(Instant now) const;
  /// GPUs that an attempt is leaving.
  std::set<GpuId> left() const;
  bool is_leaving(JobId job) const;
  std::vector<Input> take_released();

  /// The latest good look; nothing before the first.
  const Look* latest(GpuId gpu) const;
  /// The last input to the engine; nothing before the first.
  const Measured* told(GpuId gpu) const {
    const auto& told = gpus_[gpu.value()].told;
    return told ? &*told : nullptr;
  }
  /// What is wrong with the GPU itself: a fault, or that the driver says it is lost. "" if nothing
  /// is, or the driver is merely silent.
  std::string failure(GpuId gpu) const {
    const Known& known = gpus_[gpu.value()];
    return known.faulty ? known.problem : known.lost;
  }
  /// The most GPU memory on one GPU that a look found this job to hold since it began to be looked
  /// at; zero if none did.
  Bytes peak_of(JobId job) const {
    const auto found = peaks_.find(job);
    return found == peaks_.end() ? Bytes(0) : found->second;
  }
  /// It is written; what is found out from now on is a late one.
  void forget_peak(JobId job) {
    peaks_.erase(job);
    late_peaks_.try_emplace(job, Bytes(0));
  }
  /// The most that the driver's accounts told of it since; zero if nothing.
  Bytes take_late_peak(JobId job) {
    const auto found = late_peaks_.extract(job);
    return found ? found.mapped() : Bytes(0);
  }

  const EnergyMeter& energy() const { return energy_; }
  EnergyMeter& energy() { return energy_; }

  /// What this job holds of GPUs that it was not given, by the latest looks; ascending.
  struct Trespasser {
    GpuId gpu;
    pid_t pid = 0;   ///< One of its processes there.
    Bytes bytes{0};  ///< Of all of them.
  };
  std::vector<Trespasser> trespasses_of(const Job& job) const;

  const std::string& problem(GpuId gpu) const { return gpus_[gpu.value()].problem; }

 private:
  struct Known {
    std::optional<Look> look;
    std::optional<Instant> changed;
    std::optional<Measured> told;
    std::optional<Instant> told_of;  ///< The beginning of the last look that was not held back.
    std::string problem;             ///< Why it is unhealthy; "" if it is not.
    std::string lost;                ///< The driver's words for a GPU that is gone; "" else.
    bool faulty = false;             ///< For good.
  };

  bool can_wait(const Known& known, const Look& look, const Measured& measured,
                const ClusterView& view) const;
  std::vector<Input> set_problem(GpuId gpu, std::string problem);
  void see_off(GpuId gpu, Instant began, const Look* look);

  std::vector<Known> gpus_;
  void account(const Look& look, const Look* before);

  std::map<JobId, Bytes> peaks_;
  std::map<JobId, Bytes> late_peaks_;  ///< Of attempts whose end is written, while they leave.
  EnergyMeter energy_;
  Duration longest_;
  Trespass trespass_;
  std::vector<Leaving> leaving_;
  std::vector<Input> released_;
};

}  // namespace berth::live
