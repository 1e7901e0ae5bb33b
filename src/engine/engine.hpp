// The engine: the state of the cluster and its transitions. It is the only mutable cluster state.
//
// step() takes inputs and returns effects; it does no I/O, reads no clock and draws no
// random number, so the same inputs give the same bytes live, simulated and replayed. A policy
// proposes; the engine checks each decision against its own books and drops one that is not valid.
// Not thread-safe: one thread owns an engine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/error.hpp"
#include "core/cluster.hpp"
#include "core/decision.hpp"
#include "core/input.hpp"
#include "core/view.hpp"
#include "engine/deferrals.hpp"
#include "engine/effect.hpp"
#include "policy/policy.hpp"

namespace berth {

struct EngineOptions {
  Settings settings;
  PreemptionBounds bounds = {};
  std::uint64_t seed = 0;  ///< Of the random numbers a policy may draw.
};

struct Frame;

/// A job of a snapshot with which no engine can go on, and why.
struct PutAside {
  Job job;
  std::string why;
};
struct Salvaged;

/// What people made for a time and what ended with it, not by their word: a clock may have been
/// wrong. The latest of each GPU, and of as many reservations as may be at a time.
struct PastTerms {
  std::map<ReservationId, Reservation> calendar = {};
  std::map<GpuId, Drain> drains = {};
};
inline auto members(PastTerms& v) { return std::tie(v.calendar, v.drains); }

class Engine {
 public:
  Engine(Cluster cluster, const EngineOptions& options, std::unique_ptr<Policy> policy);

  /// Applies the inputs in order, lets the policy decide once, applies what is valid of that.
  /// Requires: `now` is not before the step before. The result is good until the next step.
  const Effects& step(Instant now, std::span<const Input> inputs);

  /// The same with recorded decisions in place of the policy's: how a journal is recovered.
  const Effects& replay(Instant now, std::span<const Input> inputs, std::span<const Decision> list);

  /// What the policy remembers, as its restore() takes it.
  std::string policy_memory() const { return policy_->save(); }
  /// From now on this policy decides, with the memory that it has.
  void set_policy(std::unique_ptr<Policy> policy) {
    policy_ = std::move(policy);
    forget_events();
  }
  /// A policy that has not decided yet looks at everything. An engine that is restored from here
  /// has no events to tell it of; if this one had some, the two would not decide alike.
  void forget_events() { events_.clear(); }

  ClusterView view() const { return ClusterView(state_, now_); }
  /// What the latest step asked for.
  const Effects& effects() const { return effects_; }
  Instant now() const { return now_; }
  /// Why a job waits, as the policy decided in the latest step; its user's limit if the policy does
  /// not say and the limit is why; else nothing. Requires: the job waits.
  std::optional<Refused> refused(JobId job) const;
  /// The live job of this user that has this key (Conditions::unique).
  std::optional<JobId> job_with_key(UserId user, const std::string& key) const;
  /// How long a job of this class runs at most by what the policy says; kForever: no bound.
  Duration class_bound(DurationClass of) const { return policy_->class_bound(of); }

  /// Decisions dropped so far because they were not valid; a policy's bug, never an input's.
  std::uint64_t dropped() const { return dropped_; }

  /// The whole state, and the policy's memory, as bytes; equal states give equal bytes.
  std::string save() const;
  /// The same with these of its jobs only, and all that hold a berth: for a look ahead, where there
  /// are more than it can take in. Left out are also those that wait for one that is not among
  /// them, and the policy's memory. `jobs` ascend. O(those jobs + GPUs).
  std::string picture(std::span<const JobId> jobs) const;
  /// An engine that goes on as the saved one would. The policy is a fresh one of the same name.
  /// Errors: BadData for bytes that save() did not write.
  static Expected<Engine> restore(std::string_view bytes, std::unique_ptr<Policy> policy) {
    return restore(bytes, std::move(policy), Recall::All);
  }
  /// The same with any policy, which begins without memory.
  static Expected<Engine> restore_state(std::string_view bytes, std::unique_ptr<Policy> policy) {
    return restore(bytes, std::move(policy), Recall::StateOnly);
  }

  /// The same where some jobs cannot be gone on with: without those. Errors: as restore() for
  /// anything else.
  static Expected<Salvaged> salvage(std::string_view bytes, std::unique_ptr<Policy> policy);

  /// The same engine at an earlier time, for a clock that was wrong: what happened after that is as
  /// long ago as it is now, and what was to happen is as far away. Times that users and
  /// administrators state stay, so those that are to come again are waited for again: reservations
  /// and drains of GPUs that ended since are in force again. The policy begins without memory.
  /// Errors: as restore(). O(state).
  Expected<Engine> set_back(Instant to, std::unique_ptr<Policy> policy) const;

  /// The same engine with more nodes, and a policy that begins without memory. Requires: `cluster`
  /// begins_with() the cluster of this one. Errors: as restore(). O(state).
  Expected<Engine> with_nodes(const Cluster& cluster, std::unique_ptr<Policy> policy) const;

  /// The same engine on another cluster, and a policy that begins without memory. A job that can
  /// never run there is held; GPUs that are not there are in no reservation. Requires: no job holds
  /// a berth or has a process. Errors: as restore(). O(state).
  Expected<Engine> moved_to(const Cluster& cluster, std::unique_ptr<Policy> policy) const;

  /// The first broken invariant in words; nothing if all hold. O(jobs + GPUs); for tests.
  std::optional<std::string> check() const;

 private:
  enum class Recall : std::uint8_t { All, StateOnly };
  static Expected<Engine> restore(std::string_view bytes, std::unique_ptr<Policy> policy,
                                  Recall recall);
  void put_head(ByteWriter& out, std::span<const Hold> holds) const;
  void put_tail(ByteWriter& out, const CompanyRecord& company) const;
  static void count_accounts_again(Frame& frame, const Cluster& cluster);
  static Expected<Engine> engine_of(Frame frame, std::unique_ptr<Policy> policy);

  void consult(Question question);

  // Inputs, one function each (inputs.cpp).
  void on(const Submitted&);
  void on(const CancelAsked&);
  void on(const HoldAsked&);
  void on(const ReleaseAsked&);
  void on(const Started&);
  void on(const StartFailed&);
  void on(const Exited&);
  void on(const Released&);
  void on(const Measured&);
  void on(const GpuHealth&);
  void let_go_of(GpuId gpu);
  void on(const GpuLost&);
  void on(const NodeHealth&);
  void on(const Reported&);
  void on(const Configured&);
  void on(const Ticked&);
  void on(const SuspendAsked& asked);
  void on(const SuspendFailed& failed);
  void on(const ResumeFailed& failed);
  void on(const Rooted& rooted);
  void on(const Shrunk& shrunk);
  void on(const Identified&);
  void note_spoiled(Job& job);
  void on(const Profiled&);
  void on(const Wired&);
  void on(const Weighed&);
  void on(const Bounded&);
  void on(const AttemptEnded&);
  void on(const Updated& updated);
  void on(const Estimated& estimated);
  void on(const SurplusAsked& asked);
  void on(const Adopted& adopted);
  void on(const Solved& solved);
  void on(const Drained& drained);
  void on(const Reserved& reserved);
  void on(const Unreserved& unreserved);

  // Decisions, one function each (decisions.cpp). Returns: whether it was valid.
  bool apply(const Start&);
  bool apply(const Preempt&);
  bool apply(const Migrate&);
  bool apply(const Reserve&);
  bool apply(const Classify&);
  bool apply(const Reject&);

  // Jobs that wait for something other than a place (deferral.cpp).
  struct NeverText {
    std::string note;
    std::string ahead;  ///< Finished::ahead.
  };
  std::optional<NeverText> drop_met(Job& job, std::vector<JobId>& met);
  std::optional<NeverText> never_begins(Job& job);
  void queue_or_defer(Job& job);
  void change_begin(Job& job, Instant begin);
  void leave_turn(const Job& job);
  void change_turns(Job& job, std::int32_t at_once);
  void note_gone(const Job& job);
  void on_met(JobId id);
  void settle_deferrals();
  void fill_turns(JobId array);

  // GPUs reserved for users (calendar.cpp).
  void end_reservations();
  void mark_reserved();
  void bar_jobs();
  ReservationBits bars_of(const Job& job) const;
  ReservationBits reserved_bits(GpuId gpu) const;
  ReservationBits calendar_bits() const;
  void watch_bars(const Job& job);

  // The order of one user's jobs (own_line.cpp).
  void note_place(const Job& job);
  void order_own_jobs();
  void order_jobs_of(UserId user);

  // Processes that were started by hand (adoption.cpp).
  std::optional<std::string> why_not(const Job& job, const Adopted& adopted) const;
  void disown(const Job& job);

  // When GPU memory runs out (relief.cpp).
  void relieve(GpuId gpu);
  void relieve(const std::vector<Share>& shares);
  void relieve_again();
  void end_overrun(Job& job, StopFor why);
  void blame_foreign_use(GpuId gpu);
  void end_trespasses(const Measured& measured);
  void end_trespass(const TenantUse& found, GpuId gpu);
  static bool may_run_again(const Job& job);
  bool needs_relief(GpuId gpu) const;
  bool runs_again(const Job& job) const;
  std::vector<Job*> tenants_of(GpuId gpu);
  void watch_relief(GpuId gpu);
  void judge(Job& job);
  bool grow_request(Job& job);

  // When a GPU fails (gpu_failure.cpp).
  static bool outlives_gpu(const Job& job);
  bool is_in_service(const Grant& grant) const;
  void leave_gpu(Job& job);
  void judge_failed(Job& job);

  // State changes that inputs and decisions share (accounting.cpp).
  Job* attempt(JobId id, Attempt attempt);
  bool grant(Job& job, const Start& start);
  void take_berth(Job& job);
  void reject(Job& job, const std::string& why);
  void release(Job& job);
  /// True if its processes are when it gives way: it is suspended then.
  bool is_kept(const Job& job) const { return state_.settings.can_suspend && !saves_itself(job); }
  void stop(Job& job, PreemptHow how, StopFor why);
  void stop_for_good(Job& job, Outcome outcome, StopFor why);
  void wait_again(Job& job, JobState state);
  /// `ahead`: Finished::ahead.
  void end(Job& job, std::string note = {}, std::string ahead = {});
  void set_state(Job& job, JobState state);
  void hold(const Job& job, int sign);
  void settle(UserId user);
  void weigh(UserId user);
  std::int64_t share_of(const Account& account) const;
  /// To the types of its grant.
  void bind(Job& job);
  void value_gpus();
  Worth worth_of(GpuId gpu, Bytes charge) const;
  /// What a grant is of what its user holds.
  void count(Account& account, const Grant& grant, int sign) const;
  std::optional<JobId> beside_of(const Job& job) const;
  std::vector<JobId> neighbours_of(const Job& job) const;
  void pass_company(const Job& job, Instant at);
  void note_company(const Job& job);
  void note_history(const Job& job);
  void note_end(Job& job, Instant at);
  void drop_holds(JobId id);
  bool is_well_formed(const Placement& placement, const Job& job) const;
  bool is_valid(std::span<const Hold> holds) const;
  bool is_within_limits(const Job& job, GpuCount gpus) const;
  std::optional<std::string> impossible(const Job& job) const;
  void make_sensible(JobSpec& spec) const;

  void begin(Instant now);
  void take_inputs(std::span<const Input> inputs);
  void change_limit(Job& job, Duration limit);
  void change_suspending(Job& job, Suspending suspending);
  void watch_time_limit(const Job& job);
  void enforce_time_limits();
  void end_leases();
  void end_drains();
  void set_drain(GpuId gpu, std::optional<Drain> drain);
  void renew(Job& job, Instant lease);
  void apply_all(std::span<Decision> list);
  void wake(Instant at);
  void wake_for_bounds();
  void emit(EventKind kind, JobId job) { events_.push_back({kind, job}); }

  State state_;
  std::unique_ptr<Policy> policy_;
  Instant now_ = kStart;
  std::uint64_t dropped_ = 0;
  std::set<std::pair<Instant, JobId>> time_limits_;  ///< Of jobs with a berth; follows state_.
  std::set<std::pair<Instant, JobId>> leases_;       ///< Likewise.
  std::map<GpuId, Instant> reliefs_;  ///< When to check again if no job has left; follows state_.
  Deferrals deferrals_;               ///< Follows state_.
  PastTerms past_terms_;              ///< For set_back().
  bool are_barred_ = false;           ///< Some jobs were, when it was looked at last.
  Instant next_bar_ = kNever;         ///< When a waiting job is barred from more GPUs.
  /// Users of whose jobs some have priorities, or changed places; follows state_ but may have more.
  std::set<UserId> ranking_;
  struct HowEnded {
    Outcome outcome = Outcome::Done;
    ArrayPlace array = {};  ///< For its handle.
  };
  std::map<JobId, HowEnded> ended_;  ///< Jobs that ended in this step.
  std::vector<JobId> gone_;          ///< Of these, those others wait for and have not heard of.
  std::set<JobId> left_turns_;       ///< Arrays in which a turn may be free.
  std::vector<Event> events_;        ///< Since the last decide.
  std::uint64_t consulted_ = 0;      ///< The number of the question that has no answer yet.
  Effects effects_;
};

/// An engine out of a snapshot with bad jobs, and those jobs.
struct Salvaged {
  Engine engine;
  std::vector<PutAside> aside;
};

}  // namespace berth
