// An immutable picture of the cluster at one instant, for a policy. Lives for one call.
//
// Iteration orders are fixed: jobs and nodes ascend by id.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/account.hpp"
#include "core/base/id_map.hpp"
#include "core/base/limits.hpp"
#include "core/base/question.hpp"
#include "core/base/rng.hpp"
#include "core/base/time.hpp"
#include "core/cluster.hpp"
#include "core/history.hpp"
#include "core/job.hpp"
#include "core/knowledge/company.hpp"
#include "core/knowledge/past_runs.hpp"
#include "core/knowledge/speeds.hpp"
#include "core/ledger.hpp"
#include "core/settings.hpp"
#include "core/trial.hpp"

namespace berth {

using limits::kLastJob;

/// The whole state of the engine, as plain data. Only the engine changes it.
struct State {
  Cluster cluster;
  Settings settings;
  Ledger ledger;
  IdMap<JobId, Job> jobs;
  std::vector<JobId> running;               ///< Every job that holds a berth, ascending.
  std::vector<std::vector<JobId>> tenants;  ///< The running jobs of each GPU; ascending.
  std::map<UserId, Account> accounts;
  std::vector<std::int64_t> gpu_values;  ///< By type; empty: each is kUsualValue.
  Worth worth;                           ///< Of all GPUs and their memory.
  std::vector<Hold> holds;
  Company company;
  History history;
  PastRuns past_runs;
  Speeds speeds;
  std::uint64_t grants = 0;     ///< Grants made so far.
  std::uint64_t decisions = 0;  ///< Passes made so far.
  std::uint64_t seed = 0;
  PreemptionBounds bounds;
  std::map<GpuId, Drain> drains;
  std::map<ReservationId, Reservation> calendar;  ///< Those that are not over.
  ReservationId last_reservation;                 ///< The latest ever made; 0: none.
  std::optional<Answer> answer;                   ///< That came in this step.

  State(Cluster its_cluster, const Settings& its_settings)
      : cluster(std::move(its_cluster)),
        settings(its_settings),
        ledger(cluster, settings.admission),
        tenants(cluster.gpus().size()) {}
};

/// A place where a job runs, or might run.
struct Where {
  std::int64_t gpus = 1;
  std::int64_t nodes = 1;
  std::uint8_t type = 0;           ///< Of the slowest of its GPUs: Cluster::type_names().
  std::vector<JobId> beside = {};  ///< Jobs that share a GPU with it.
};

class ClusterView {
 public:
  ClusterView(const State& state, Instant now) : state_(&state), now_(now) {}

  Instant now() const { return now_; }
  const Cluster& cluster() const { return state_->cluster; }
  const Settings& settings() const { return state_->settings; }
  const Occupancy& use() const { return state_->ledger.use(); }

  bool knows(JobId id) const { return state_->jobs.find(id) != nullptr; }
  /// Requires: knows(id).
  JobView job(JobId id) const { return JobView(state_->jobs.at(id), now_); }
  /// Null for a job the view does not know.
  const Job* find(JobId id) const { return state_->jobs.find(id); }

  /// Jobs that hold a berth (starting, running, stopping), ascending.
  std::span<const JobId> running() const { return state_->running; }
  /// The tenants of this GPU, ascending.
  std::span<const JobId> tenants_of(GpuId gpu) const { return state_->tenants[gpu.value()]; }
  std::size_t job_count() const { return state_->jobs.size(); }
  /// The next known job from `from` on, or back from it; nothing if there is none. A walk over some
  /// jobs costs nothing for the others.
  std::optional<JobId> job_from(JobId from) const { return state_->jobs.at_or_above(from); }
  std::optional<JobId> job_back_from(JobId from) const { return state_->jobs.at_or_below(from); }
  /// Calls visit(JobView) for each waiting job, ascending. O(jobs).
  template <class Visit>
  void for_each_pending(Visit visit) const {
    state_->jobs.for_each([&](JobId, const Job& job) {
      if (is_waiting(job.state)) visit(JobView(job, now_));
    });
  }

  /// Calls visit(const Job&) for every job, ascending. O(jobs).
  template <class Visit>
  void for_each_job(Visit visit) const {
    state_->jobs.for_each([&](JobId, const Job& job) { visit(job); });
  }

  const std::map<UserId, Account>& accounts() const { return state_->accounts; }
  /// The user's account, or an empty one.
  Account account(UserId user) const {
    const auto found = state_->accounts.find(user);
    return found == state_->accounts.end() ? Account{} : found->second;
  }

  /// GPUs that take no more jobs, and why.
  const std::map<GpuId, Drain>& drains() const { return state_->drains; }
  /// The reservations that are not over.
  const std::map<ReservationId, Reservation>& calendar() const { return state_->calendar; }
  /// The number of the next reservation; nothing while there are kMostReservations.
  std::optional<ReservationId> next_reservation() const;
  const PreemptionBounds& preemption_bounds() const { return state_->bounds; }
  /// The instant from which preemption would cost this running job too much, so that it must not be
  /// preempted; kNever if preemption costs nothing. Suspension may have failed.
  Instant left_alone_from(const JobView& job) const {
    if (job.stays() || job.stays_until() > now_) return Instant::min();
    if (settings().can_suspend || job.saves_itself()) return kNever;
    if (job.preemptions() >= state_->bounds.most) return Instant::min();
    return later(now_, state_->bounds.lost - std::min(job.ran(), state_->bounds.lost));
  }
  /// When that is over for one that is left alone now; kNever if it never is.
  Instant left_alone_until(const JobView& job) const {
    const bool ends = settings().can_suspend && !job.stays() && job.stays_until() > now_;
    return ends ? job.stays_until() : kNever;
  }
  bool is_left_alone(const JobView& job) const {
    return is_running(job.state()) && left_alone_from(job) <= now_;
  }

  /// GPU memory of a job on the GPUs that it holds: its charge, or what was measured there of all
  /// tenants if that is less.
  Bytes held_by(const Job& job) const;

  std::span<const Hold> holds() const { return state_->holds; }
  std::uint64_t grants() const { return state_->grants; }

  /// Grows whenever more might fit than before: a release, better health, less foreign use.
  std::uint64_t room_version() const { return state_->ledger.room_version(); }
  /// Ledger::condition_version().
  std::uint64_t condition_version() const { return state_->ledger.condition_version(); }
  Trial trial() const { return state_->ledger.trial(state_->cluster); }

  /// The neighbours of each job, and how fast jobs run beside each other.
  const Company& company() const { return state_->company; }

  /// Jobs that ended with a berth after the first `cursor`, the oldest first; of the latest
  /// History::kMost. With finished() as the next cursor no job comes twice.
  std::span<const Ended> finished_after(std::uint64_t cursor) const {
    return state_->history.after(cursor);
  }
  std::uint64_t finished() const { return state_->history.count(); }
  /// How long the latest runs of each user's programs took.
  const PastRuns& past_runs() const { return state_->past_runs; }

  /// Settings::gpu_values, of the type of this GPU.
  std::int64_t value_of(GpuId gpu) const {
    return state_->gpu_values.empty() ? kUsualValue : state_->gpu_values[cluster().gpu(gpu).type];
  }
  /// Of all GPUs.
  const Worth& worth() const { return state_->worth; }
  /// The table of speeds.
  const Speeds& speeds() const { return state_->speeds; }
  /// The speed of this job there, relative to alone on the GPUs it asks for on the fewest nodes:
  /// the table's figures; without them the learned slowdown by neighbours, and GPUs / GPUs asked
  /// for on fewer GPUs, 1 on more; full speed otherwise.
  Rate speed(const JobView& job, const Where& where) const;
  /// The same for a placement, beside its present tenants: the speed on its slowest GPU.
  Rate speed(const JobView& job, const Placement& placement) const;

  /// Beside that job on this type of GPU, against alone: by the table; else as learned of their
  /// programs, or of programs as busy; full speed if neither is known.
  Rate speed_beside(const JobView& job, JobId other, std::uint8_t type) const;
  /// The mean beside all neighbours of which the table has figures; else as learned; nothing if
  /// neither is known.
  std::optional<Rate> mean_beside(const JobView& job) const;

  /// The answer to the question of this number, in the pass of the step that brought it; else null.
  const Answer* answer_to(std::uint64_t number) const {
    return state_->answer && state_->answer->number == number ? &*state_->answer : nullptr;
  }

  /// The same numbers for the same (run seed, pass).
  Rng rng() const { return Rng(state_->seed, state_->decisions); }
  /// The same in every pass of a run, for choices that must not change from pass to pass.
  Rng run_rng() const { return Rng(state_->seed); }

 private:
  const State* state_;
  Instant now_;
};

/// The ask of this job now, for its placement. A job that states no memory is charged its estimate,
/// else a whole GPU.
Ask ask_of(const JobView& job);
/// The same on so many GPUs, for an elastic job. Requires: it runs with as many.
Ask ask_of(const JobView& job, GpuCount gpus);

}  // namespace berth
