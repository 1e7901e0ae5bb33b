// What the conductor needs of the world, as narrow ports: processes, GPUs, time, the disk.
//
// berthd implements them with shims, NVML and Asio, test/dst with a simulated world. All calls come
// from the conductor's thread. No port calls the conductor back from within a call: what happens is
// reported later, on that thread (see Conductor).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/job.hpp"
#include "core/time.hpp"
#include "engine/engine.hpp"
#include "gpu/probe.hpp"

namespace berth::live {

// ---- Processes -------------------------------------------------------------------------------

/// An attempt as it is found when a daemon starts.
enum class Trace {
  None,   ///< Nothing of it ran: it may be launched (again).
  Lives,  ///< It runs and is ours now; its end will be reported.
  Over,   ///< Its end is about to be reported.
};

/// What the journal says of an attempt of which something is found.
enum class Standing { Current, Over, Unknown };

enum class Manner { Gently, AtOnce };

// ---- GPUs ------------------------------------------------------------------------------------

/// One GPU, sampled.
struct Look {
  GpuId gpu;
  Instant began;
  Expected<Sample> sample;
  std::map<pid_t, Owner> owners;  ///< Of every process in the sample, looked up after it.
};

class Eyes {
 public:
  virtual ~Eyes() = default;
  /// Asks for a look at each of these GPUs that begins after this call; reported by on_look().
  virtual void look_at(const std::set<GpuId>& gpus) = 0;
};

// ---- Time and the disk -----------------------------------------------------------------------

/// The engine's time. It never goes back.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
};

/// The engine's state as it was at one moment, written down while the engine goes on.
class StateCopy {
 public:
  virtual ~StateCopy() = default;  ///< Ends what writes it.

  enum class Progress { Busy, Done, Failed };
  /// Never waits.
  virtual Progress look() = 0;
  /// Bytes of the state. Requires: Done.
  virtual std::int64_t size() const = 0;
  /// Some of them, from `offset` on. Requires: Done. Errors: Io.
  virtual Expected<std::string> read(std::int64_t offset, std::size_t most) const = 0;
};

/// The machine that the journal is on.
class Host {
 public:
  virtual ~Host() = default;
  /// Room for the journal on its disk. Errors: Io.
  virtual Expected<Bytes> free_room() const = 0;
  /// Begins a copy of the state as it is now. Errors: Io.
  virtual Expected<std::unique_ptr<StateCopy>> copy(const Engine& engine) = 0;
  /// The account name of a user, or the number where there is none. Never waits for a network.
  virtual std::string name_of(UserId user) = 0;
};

}  // namespace berth::live
