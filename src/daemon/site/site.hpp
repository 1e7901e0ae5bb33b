// Where jobs run: on this machine (shim_site.hpp), or on a cluster of another resource manager,
// which has a queue of its own in which jobs also appear without berth (slurm/site.hpp).
//
// Journal, engine, API and answers are the same for every site; the program chooses one. A default
// answer is that of a site whose jobs are all submitted here and controlled by berth alone. All
// calls come from the engine's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "daemon/answers/present.hpp"
#include "daemon/loop/clock.hpp"
#include "daemon/loop/json_text.hpp"
#include "daemon/loop/loop.hpp"
#include "daemon/machine/machine.hpp"
#include "daemon/notices/audit.hpp"
#include "daemon/settings/options.hpp"
#include "gpu/probe.hpp"
#include "live/conductor.hpp"
#include "live/keeper.hpp"
#include "live/ports.hpp"
#include "shim/order.hpp"

namespace berth::daemon {

class Daemon;

class Site {
 public:
  virtual ~Site() = default;  ///< Ends its threads; jobs go on.

  // ---- A start of the daemon, in this order ---------------------------------------------------

  /// Its GPUs. Errors: what keeps it from serving them.
  virtual Expected<Machine> machine(const Options& options) = 0;
  /// Says what becomes of jobs if these are not the GPUs of the start before.
  virtual void plan_change(live::Opening&, const Machine&) const {}
  /// The journal is open. May change the machine to what its jobs live on.
  virtual void settle_machine(Machine&, const live::Keeper&) {}
  /// What it works with; each of these outlives it.
  struct Surroundings {
    Loop& loop;
    live::Keeper& keeper;
    const Clock& clock;
    const Options& options;
    const Machine& machine;
    Audit& audit;
    std::function<void(JobId, live::Occasion)> announce;
  };
  /// What the conductor works with; the site's own.
  struct Attached {
    live::Executor& executor;
    live::Eyes* eyes = nullptr;  ///< As Hands::eyes.
    live::Trespass trespass = live::Trespass::IsTold;
  };
  virtual Expected<Attached> attach(const Surroundings& around) = 0;
  /// The conductor has taken over the journal's jobs: what happens to them is reported to it.
  virtual void begin(live::Conductor& conductor) = 0;

  // ---- What the daemon tells it ---------------------------------------------------------------

  /// A step was taken; its effects follow.
  virtual void on_step(const live::StepTaken&) {}
  /// A job runs, or goes on; also those that an earlier daemon started.
  virtual void on_began(const Job&, const live::Command&) {}
  /// All GPUs are to be looked at, as they are at each `probe` interval.
  virtual void on_probe() {}
  /// The options are others from now on.
  virtual void on_reload() {}
  /// A user has held a job that waited, or has released it.
  virtual void on_user_hold(JobId, bool /*is_held*/) {}
  /// After the loop's end. Returns: false if a thread cannot be ended; then nothing may be
  /// destroyed.
  virtual bool leave() { return true; }

  // ---- What users ask for ---------------------------------------------------------------------

  /// Gives a job to the site's own queue: it is taken from `job`, and `submitted` is called on the
  /// engine's thread, with its number once the engine knows it. Returns: false where there is no
  /// such queue; then nothing was done, and the engine takes the job in.
  using Submitted = std::function<void(Expected<JobId>)>;
  virtual bool submit(live::Submission&, const Submitted&) { return false; }
  /// Lets a client read and type for the job. Errors: NotFound for an attempt whose process is not
  /// there yet; Conflict; Io. Requires: why_not_attended() is "".
  virtual Expected<void> attend(JobId job, Attempt attempt, const shim::Attach& client) = 0;
  /// Why nobody can attach to a job: `runs on ...`; "" where that can be.
  virtual std::string why_not_attended() const { return ""; }
  /// Why no process that was started by hand can become a job; "" if it can.
  virtual std::string why_not_adopted() const { return ""; }
  /// Whose a process is now: a job's, or a stranger's.
  virtual Owner owner_of(pid_t) const { return OfStranger{}; }
  /// Why jobs cannot share GPUs through MPS; "" if they can.
  virtual std::string why_no_mps() const = 0;
  /// Why `berth update` cannot change this field of a job, and what can; "" if it can.
  virtual std::string why_fixed(std::string_view /*field*/) const { return ""; }
  /// Why jobs that have ended cannot be submitted again from what is kept of them here; "" where
  /// they can.
  virtual std::string why_not_again() const { return ""; }
  /// What keeps a held job from its turn that no release ends; "" where nothing does.
  virtual std::string why_not_released(JobId) const { return ""; }
  /// True if jobs that are cancelled in several steps are held first, so that none of them starts.
  virtual bool holds_to_cancel() const { return true; }

  // ---- What is shown --------------------------------------------------------------------------

  /// The file that has a job's output, "" if it is not known; none where berthd has its log.
  virtual std::optional<std::string> output_of(JobId) const { return std::nullopt; }
  /// What keeps jobs to their memory.
  virtual Enforcers enforcers() const {
    return {.cgroup_of = [](JobId, Attempt) { return std::string(); }};
  }
  /// What `doctor` says: a list of checks.
  virtual Json examine(const Daemon& daemon) const = 0;
};

/// Tells the site of steps before their effects are performed, then the others.
class SiteFollower : public live::Audience {
 public:
  /// Requires: both outlive it.
  SiteFollower(Site& site, live::Audience& others) : site_(site), others_(others) {}
  void on_step(const live::StepTaken& step) override {
    site_.on_step(step);
    others_.on_step(step);
  }
  void on_changed(const std::vector<JobId>& jobs) override { others_.on_changed(jobs); }

 private:
  Site& site_;
  live::Audience& others_;
};

}  // namespace berth::daemon
