// Another resource manager in place of this machine's GPUs and processes: it starts jobs, on nodes
// of its own, and has a queue of its own in which jobs also appear without berth.
//
// A daemon with a remote opens no driver and starts no shims; journal, engine, API and answers are
// the same. All calls come from the engine's thread, but for the destructor's.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "daemon/loop/loop.hpp"
#include "daemon/settings/options.hpp"
#include "daemon/site/machine.hpp"
#include "http/server.hpp"
#include "live/conductor.hpp"
#include "live/keeper.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

class Remote {
 public:
  virtual ~Remote() = default;  ///< Ends its threads; jobs go on.

  /// The nodes' GPUs; asked for once, before all else.
  virtual Machine machine() = 0;

  /// What it works with; each of these outlives it.
  struct Surroundings {
    Loop& loop;
    live::Keeper& keeper;
    const live::Clock& clock;
    const Options& options;
  };
  /// Before the conductor is made. Returns: what starts and stops attempts there; its own.
  virtual live::Executor& attach(const Surroundings& around) = 0;
  /// Once the conductor has taken over the journal's jobs: what happens there is reported to it.
  virtual void begin(live::Conductor& conductor) = 0;
  /// A step was taken; its effects follow.
  virtual void on_step(const live::StepTaken& step) = 0;

  /// Gives a job to the resource manager. `submitted` is called on the engine's thread, with its
  /// number once the engine knows the job.
  using Submitted = std::function<void(Expected<JobId>)>;
  virtual void submit(live::Submission job, Submitted submitted) = 0;

  /// A user has held a job that waited, or has released it.
  virtual void on_user_hold(JobId job, bool is_held) = 0;
  /// Why `berth update` cannot change this field of a job, and what can; "" if it can.
  virtual std::string why_fixed(std::string_view field) const = 0;
  /// What keeps a held job from its turn that no release ends; "" where nothing does.
  virtual std::string why_not_released(JobId job) const = 0;

  /// The file that a job's output goes to, for its user to read; "" if it is not known.
  virtual std::string output_of(JobId job) const = 0;

  /// What `doctor` says of it: a list of checks.
  virtual nlohmann::json examine() const = 0;
};

/// Hears of steps on behalf of a remote, then tells the others.
class RemoteFollower : public live::Audience {
 public:
  RemoteFollower(Remote& remote, live::Audience& others) : remote_(remote), others_(others) {}
  void on_step(const live::StepTaken& step) override {
    remote_.on_step(step);
    others_.on_step(step);
  }
  void on_changed(const std::vector<JobId>& jobs) override { others_.on_changed(jobs); }

 private:
  Remote& remote_;
  live::Audience& others_;
};

}  // namespace berth::daemon
