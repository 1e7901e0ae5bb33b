// The ports through which the conductor acts: processes, GPUs, time, the disk.
//
// berthd implements them with shims, NVML and Asio, test/dst with a simulated world. All calls come
// from the conductor's thread. No port calls the conductor back from within a call: events
// are reported later, on that thread (see Conductor).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/input.hpp"
#include "core/job.hpp"
#include "engine/engine.hpp"
#include "gpu/probe.hpp"
#include "live/command.hpp"

namespace berth::live {

inline std::vector<GpuId> gpus_of(const Grant& grant) { return placement_of(grant).gpus; }

// ---- Processes -------------------------------------------------------------------------------

/// An attempt to be started. Refers to what lives as long as the call.
struct Assignment {
  const Job& job;
  Attempt attempt;
  const Grant& grant;
  Command& command;                       ///< With all of its arguments.
  std::vector<std::string>& environment;  ///< As submitted. May be taken, like the command.
};

/// The state of an attempt when a daemon starts.
enum class Trace {
  None,   ///< Nothing of it ran: it may be launched (again).
  Lives,  ///< It runs and is ours now; its end will be reported.
  Over,   ///< Its end is about to be reported.
};

/// The journal's state of an attempt whose files or processes are found.
enum class Standing { Current, Over, Unknown };
using StandingOf = std::function<Standing(JobId, Attempt)>;

enum class Manner {
  Gently,  ///< With time to comply.
  Save,    ///< Told to save its state first, as it asked for; then gently.
  AtOnce,  ///< At once, without time to comply.
  /// Its process stays, without GPU memory: on_suspended() follows instead of an end, or
  /// on_suspend_failed() where that cannot be.
  Suspend,
};

/// How an attempt ended.
struct Ending {
  Outcome outcome = Outcome::Done;  ///< Done, Failed or Oom.
  std::int32_t code = 0;
  Instant at;
  std::string note;  ///< For its user; often "".
};

/// Runs attempts. The fate of each is reported once: on_started(), then on_ended() or on_lost();
/// or on_failed() if nothing of it ran.
class Executor {
 public:
  virtual ~Executor() = default;
  /// An attempt that was launched before is adopted, never started twice. If a suspended attempt of
  /// the same job is there, this one goes on with its process. Errors: nothing of it runs.
  virtual Expected<void> launch(const Assignment& assigned) = 0;
  /// Takes over an attempt of an earlier daemon, if it is there.
  virtual Trace adopt(JobId job, Attempt attempt) = 0;
  /// Lets an adopted attempt go on that an earlier daemon was about to continue on these GPUs, if
  /// its process is still suspended.
  virtual void go_on(JobId, Attempt, const Grant&) {}
  /// Ends all processes of an attempt. Unknown attempts are ignored. An executor that cannot
  /// suspend ends it gently instead.
  virtual void stop(JobId job, Attempt attempt, Manner manner) = 0;
  /// True if something other than looks keeps this job to its charges, wherever it has any.
  virtual bool is_limited(JobId) const { return false; }
  /// Removes files and processes of an attempt that is over and of earlier ones of its job, also a
  /// suspended process.
  virtual void forget(JobId job, Attempt attempt) = 0;
  /// Removes files of attempts that ended before a crash; saves those of attempts that the journal
  /// does not know, and of jobs beyond `last`. Returns: messages for the administrator, a line
  /// each.
  virtual std::vector<std::string> sweep(const StandingOf& standing_of, JobId last) = 0;
};

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
  /// Asks for a look at each of these GPUs that begins after this call; on_look() reports it.
  virtual void look_at(const std::set<GpuId>& gpus) = 0;
  /// The same, and GpuPort::glance() will do.
  virtual void glance_at(const std::set<GpuId>& gpus) { look_at(gpus); }
};

// ---- Time ------------------------------------------------------------------------------------

/// The engine's time. It never goes back.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
};

enum class Alarm : std::uint8_t {
  WakeUp,      ///< For the engine.
  Probe,       ///< To look at all GPUs.
  Watch,       ///< To look at GPUs on which somebody may be hurt before that.
  Silence,     ///< To see which looks take too long.
  Leaving,     ///< To look again at GPUs that are being left.
  Retry,       ///< Of a step that could not be written.
  StartAgain,  ///< To try jobs again that could not be started.
};
inline constexpr std::size_t kAlarms = 7;

class Alarms {
 public:
  virtual ~Alarms() = default;
  /// Calls on_alarm() once, after this time. An earlier setting of the same alarm is void.
  virtual void set(Alarm alarm, Duration from_now) = 0;
  /// Does this on the conductor's thread before the next turn, which follows soon. From any thread.
  virtual void post(std::function<void()> task) = 0;
};

// ---- The disk --------------------------------------------------------------------------------

/// Waits for the disk.
class Syncs {
 public:
  using Promise = std::function<void(const Expected<void>&)>;
  virtual ~Syncs() = default;
  /// Calls `promise` on any thread once the disk has all that was written before this call, or
  /// cannot have it; then on_sync_failed() follows.
  virtual void after_sync(Promise promise) = 0;
};

/// A copy of the engine's state at one moment, written while the engine continues.
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

/// What is left of an attempt of an earlier daemon.
struct Remains {
  Trace trace = Trace::Lives;  ///< Also where nobody can tell.
  Ending ending = {};          ///< If it is over; Lost where its end was seen by nobody.
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
  /// The processes on a GPU that are not of its tenants: `process 4711 (python of bob), 8 GiB`; ""
  /// where none is known.
  virtual std::string strangers_on(GpuId) { return ""; }
  /// What is left of a job's attempt, before anything is taken over.
  virtual Remains remains_of(const Job&) { return {}; }
  /// Keeps a text beside the journal, for people. Returns: where it is, or why it is not.
  virtual std::string keep_aside(const std::string& name, const std::string&) { return name; }
};

// ---- Solvers ---------------------------------------------------------------------------------

class Solver {
 public:
  virtual ~Solver() = default;
  /// Has the question answered on another thread; Conductor::on_answer() follows, unless another
  /// question comes before. Never waits.
  virtual void solve(Question question) = 0;
};

// ---- Followers -------------------------------------------------------------------------------

/// A step that was taken and written down; its effects come next.
struct StepTaken {
  Instant now;
  const std::vector<Input>& inputs;  ///< Without submissions.
  const Effects& effects;
};

class Audience {
 public:
  virtual ~Audience() = default;
  virtual void on_step(const StepTaken&) {}
  /// Jobs that a step may have changed, ascending; after its effects.
  virtual void on_changed(const std::vector<JobId>& jobs) = 0;
};

/// The ports, each of which outlives the conductor.
struct Hands {
  Executor& executor;
  Eyes* eyes;  ///< Null if GPUs cannot be sampled; then no step waits for a look.
  const Clock& clock;
  Alarms& alarms;
  Syncs& syncs;
  Audience& audience;
  Solver* solver = nullptr;  ///< Null: a policy's questions have no answers.
};

}  // namespace berth::live
