// The engine with its journal: every input and decision is written before it takes effect.
//
// A step writes its inputs, lets the engine decide, writes the decisions, and only then returns the
// effects: after a crash at any point the journal restores the same engine
// (doc/adr/0008). Belongs to the engine's thread, but for sync().
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/input.hpp"
#include "core/run_estimate.hpp"
#include "engine/engine.hpp"
#include "journal/store.hpp"
#include "live/command.hpp"
#include "live/ports.hpp"
#include "live/who_asked.hpp"

namespace berth::live {

/// The policy and the engine's settings, from the configuration.
struct Rules {
  std::string policy = "headroom";
  std::string place = "least-shared";
  Settings settings;
  PreemptionBounds bounds = {};
  std::map<UserId, std::int64_t> weights = {};  ///< Of users, in thousandths: see Weighed.
  Speeds speeds = {};                           ///< Of models: see Profiled.
  bool learn_run_times = true;  ///< Of jobs whose users state none: see learn_estimate().
  std::int64_t learn_run_times_after = kFewestRuns;  ///< Runs of a program.
  bool learn_memory = true;  ///< Of jobs whose users state none: see memory_from().
};

/// A job to wait for, or one task of an array.
struct AfterTask {
  Dependency on;
  std::optional<std::int64_t> task = std::nullopt;
};

/// Blobs of a submission that no job refers to yet.
struct StoredParts {
  std::vector<BlobId> blobs;
};

/// A new job; it gets its id when the step takes it.
struct Submission {
  JobSpec spec;
  bool held = false;
  std::string name;
  Command command;
  std::string environment;  ///< encode_environment().
  /// The words that come after these in parts that are not stored yet (Words::more), in order.
  std::vector<std::string> more_arguments = {};
  std::vector<std::string> more_environment = {};
  std::shared_ptr<StoredParts> stored = {};    ///< Those that are: they stay while this lives.
  std::vector<std::string> gpu_types = {};     ///< By name, those it accepts; none: any.
  std::vector<std::int64_t> gpu_indices = {};  ///< The GPUs it accepts; none: any.
  std::optional<bool> vram_shrink = {};        ///< Whether its charge may fall, if it was said.
  std::string share = "";                      ///< How it shares GPUs, as its user said it.
  /// Its numbers in an array: one job for each. None: one job. How many may be at once is in
  /// `spec.conditions`.
  std::vector<std::int64_t> tasks = {};
  /// How many of these the steps before took (tasks_in_step()); then `id` is that of the first.
  std::size_t arrived = 0;
  /// As asked, before they are found and stand in `spec.conditions`.
  std::vector<AfterTask> after = {};
  /// The number that it has already, elsewhere; none: the next. No job had it before.
  std::optional<JobId> id = {};
  std::shared_ptr<void> place = {};  ///< Among those of its user that come (UserTotals).
};

/// What a step takes of what users ask for, counted in jobs: 4 ms.
inline constexpr std::size_t kMostInStep = 128;
/// Jobs to wait for that cost a step as much as a job: each is written down, and followed.
inline constexpr std::size_t kDependenciesAsAJob = 32;

/// What each job of it costs a step.
inline std::size_t cost_of_job(const Submission& submission) {
  return 1 + submission.spec.conditions->after.size() / kDependenciesAsAJob;
}
/// How many jobs of an array one step takes.
inline std::size_t tasks_in_step(const Submission& submission) {
  return std::max<std::size_t>(1, kMostInStep / cost_of_job(submission));
}

/// The inputs of one step: events of jobs and GPUs, requests of users, then new jobs.
struct Batch {
  std::vector<Input> inputs;
  std::vector<Submission> submissions;
  std::vector<JobId> left;  ///< Jobs that wait, whose clients go: they start without them.
};

struct Stepped {
  std::vector<JobId> submitted;      ///< By submission, of an array the first.
  std::vector<JobId> touched;        ///< Jobs that may have changed, ascending, each once.
  const Effects* effects = nullptr;  ///< Good until the next step.
};

inline std::vector<GpuId> gpus_of(const Grant& grant) { return placement_of(grant).gpus; }

/// The bytes of entries before a snapshot, and the bytes of a snapshot written at once.
struct SnapshotSizes {
  std::size_t every = std::size_t{16} << 20;  ///< Bytes of entries, at least.
  std::size_t part = std::size_t{256} << 10;  ///< A millisecond or two.
};

/// Which journal is opened, and how.
struct Opening {
  std::string path;
  JobId last_job;  ///< Files beside the journal are of jobs with numbers up to this one.
  journal::Loss loss = journal::Loss::Refused;
  SnapshotSizes snapshots;
  /// If the journal is later than this, the engine's time is set back to it, and what was in force
  /// before a time that is to come again is in force again.
  std::optional<Instant> trusted_clock = {};
  /// What becomes of another cluster while jobs hold places of the one before.
  enum class Change : std::uint8_t { Refused, Waits } change = Change::Refused;
  /// The cluster is the one before without GPUs that are gone, and may come back: where a job that
  /// waits needs them, the change waits too. Only with Change::Waits.
  bool has_lost_gpus = false;
};

/// A job that a start could not go on with.
struct JobAside {
  JobId job;
  std::string why;
  std::string where;  ///< The text that says all that is known of it.
};

/// Begins a note that says why a job is held or suspended, where its owner did not ask for that: it
/// is of the wait, and not stored with the job's end.
inline constexpr std::string_view kBecause = "because ";
/// The note of an attempt that ended as its job was suspended: the process went on as the next.
inline constexpr std::string_view kSuspended = "was suspended";

class Keeper {
 public:
  /// Brings the engine back from the journal, or makes a new one for `cluster`. A change of policy
  /// or settings is taken over; so are more nodes at the end of the cluster, and any other change
  /// of it if no job holds a berth or is suspended: jobs that can never run on it are held then.
  /// Under such jobs it waits, or is refused with Conflict: Opening::change. Errors: as
  /// Store::open; BadData for a journal that
  /// does not decide. No number of a job is used again.
  /// Requires: `host` outlives the keeper.
  static Expected<Keeper> open(Host& host, const Opening& opening, const Cluster& cluster,
                               const Rules& rules);

  /// The cluster where jobs hold berths or are suspended, by the journal at `path`; nothing where
  /// none do, or there is no journal. Errors: as Store::open.
  static Expected<std::optional<Cluster>> cluster_held(const std::string& path, journal::Loss loss);

  const Engine& engine() const { return engine_; }
  const journal::Store& store() const { return store_; }
  /// The latest instant in the journal: no step may be before it.
  Instant last() const { return last_; }
  /// The largest number of a job that the journal had when it was opened.
  JobId last_known() const { return last_known_; }
  /// Jobs that were there and that no engine can go on with: they have ended, and the rest goes on.
  const std::vector<JobAside>& put_aside() const { return aside_; }
  /// Jobs that ended while it came back, before anybody could be told; from then on those that end
  /// are in the effects of step() alone.
  std::vector<JobId> take_ended_early();
  /// Why the cluster is still the one before, for people; "" if it is not.
  const std::string& kept_cluster() const { return kept_cluster_; }
  /// How far the opening set the engine's time back.
  Duration set_back() const { return set_back_; }

  /// One step. Errors: Io; if the inputs could not be written, nothing happened and the batch can
  /// be tried again. Broken if the decisions could not be written after that: see is_broken().
  Expected<Stepped> step(Instant now, const Batch& batch);
  /// The same; the batch is as it was afterwards.
  Expected<Stepped> step(Instant now, Batch& batch);
  /// Arrays of which an earlier daemon had not taken all jobs when it ended, so that nobody was
  /// told of them: the jobs that live. Each call says of those that have none that they are over.
  Expected<std::vector<std::pair<JobId, std::vector<JobId>>>> cut_off();
  /// Stores the next part of a submission's words, so that no step has to; not within a step.
  /// Returns: whether there are more. Errors: Io, as check_room() too.
  Expected<bool> store_part(Submission& submission);
  /// What was stored so of submissions that are not taken yet.
  std::vector<BlobId> awaited_blobs();
  /// Jobs that have ended in its steps.
  std::uint64_t ended() const { return ended_; }
  /// True once the journal no longer follows the engine: the daemon must end, and recover.
  bool is_broken() const { return broken_; }

  /// Makes all steps so far survive a crash of the machine. From any thread.
  Expected<void> sync() const { return store_.sync(); }
  /// Moves the log into the file, so that no step has to. From any thread; may take a while.
  Expected<void> checkpoint() const { return store_.checkpoint(); }
  bool needs_checkpoint() const { return store_.needs_checkpoint(); }
  /// Writes the log ahead, so that waits for it are short. From any thread, in no step.
  void lengthen_log() const { store_.lengthen_log(); }
  bool wants_longer_log() const { return store_.wants_longer_log(); }
  /// Whether new jobs may be taken in: their ends must be written, too. Errors: Io if less than
  /// journal::kReserve is free beside what is set aside for the log.
  Expected<void> check_room();
  /// Begins a snapshot if there is enough since the last one to be worth it: a copy of the state is
  /// made beside the engine, and work_on_snapshot() brings it into the journal.
  Expected<void> snapshot_if_due();
  /// The same at once; nothing while a snapshot is being written.
  Expected<void> begin_snapshot();
  /// The state of a snapshot that was begun.
  enum class SnapshotWork {
    None,     ///< Until the next one is due.
    Waiting,  ///< For the copy of the state.
    More,     ///< At once, but for others' turns.
  };
  /// Works on it for a few milliseconds. An error ends the snapshot; the journal does without it.
  Expected<SnapshotWork> work_on_snapshot();
  /// Writes a snapshot if it is small enough to be quick; for the end of a daemon.
  Expected<void> snapshot_at_end();

  /// What is asked for, of an array by its first task, with the run time and the GPU memory that
  /// are learned now for the command, if the user states none and they are learned.
  JobSpec with_estimate(const Submission& submission) const;

  /// Inputs of the next step for jobs that wait, learned from the jobs that ended since the last
  /// call: see late_estimates(). None where run times are not learned.
  std::vector<Estimated> take_late_estimates();

  /// Cancels that a berthd before did not carry out to their end, by the job that says so.
  std::vector<std::pair<JobId, CancelWish>> cut_off_cancels() const;

  /// Notes how the jobs ended that it is to wait for and that the engine has forgotten.
  Expected<void> note_ended(JobSpec& spec) const;

  /// Changes rows that the engine does not read, in a transaction of its own. Not within a step.
  Expected<void> tidy(const std::function<Expected<void>(journal::Store&)>& work);

  /// The place and outcome of a job's latest attempt, stored with the job when it is finished. What
  /// says who ended it stays in front of what is noted after it.
  void note(JobId job, std::string text);
  /// Likewise, and the next daemon knows it too, until there is another note.
  void note_for_good(JobId job, std::string text);
  /// The most GPU memory that its latest attempt held, stored with the attempt's end.
  void set_peak(JobId job, Bytes bytes) { peaks_[job] = bytes; }
  /// What is known of an attempt once its berth is given back; written with that.
  struct Left {
    Bytes peak{0};                            ///< More than was known at its end.
    std::optional<std::int64_t> millijoules;  ///< What it took of its GPUs' energy.
  };
  void set_left(JobId job, Left left) { left_[job] = left; }
  /// `7`, or `643_2` for a task of an array, of jobs that have ended, too.
  std::string handle_of(JobId job) const;
  /// `job 7 of bob held 10 GiB on GPU 0, was granted 2 GiB`.
  std::string culprit_text(const Overrun& by) const;
  std::string name_of(UserId user) const { return host_->name_of(user); }
  /// The last note of this daemon; "" if there is none.
  std::string note_of(JobId job) const {
    const auto found = notes_.find(job);
    return found == notes_.end() ? "" : found->second;
  }

 private:
  /// The parts of a keeper before there is an engine.
  struct Parts {
    Host& host;
    journal::Store store;
    SnapshotSizes sizes;
  };

  Keeper(Parts parts, Engine engine)
      : host_(&parts.host),
        sizes_(parts.sizes),
        store_(std::move(parts.store)),
        engine_(std::move(engine)) {}

  static Expected<Keeper> start(Parts parts, const Cluster& cluster, const Rules& rules);
  static Expected<Keeper> start_or_recover(Parts parts, const Opening& opening,
                                           const Cluster& cluster, const Rules& rules);
  static Expected<Keeper> recover(Parts parts, const journal::Recovered& recovered);
  static Expected<Keeper> recover_engine(Parts parts, const journal::Recovered& recovered);
  void note_rejected(const Effects& effects);
  Expected<void> write_aside(std::vector<PutAside> aside);
  Expected<void> set_back(Instant to);
  Expected<bool> decide_again(const std::vector<journal::Entry>& entries);
  Expected<void> apply_again(const std::vector<journal::Entry>& entries);
  void passed(const journal::Entry& entry);
  Expected<void> tell(std::vector<Input> inputs, const Rules& rules);
  Expected<void> settle(const Opening& opening, const Cluster& cluster, const Rules& rules);
  Expected<void> adapt(const Cluster& cluster, const Rules& rules);
  Expected<void> end_what_is_gone();
  std::string why_it_waits(const Opening& opening, const Cluster& cluster) const;
  Expected<void> move_to(const Cluster& cluster, const Rules& rules);
  void note_impossible();
  Expected<void> add_snapshot(journal::Continuity continuity);
  Expected<void> write_inputs(Instant now, Batch& batch, Stepped& stepped);
  Expected<void> write_notes();
  Expected<void> read_notes();
  void drop_old_notes();
  std::string with_who_ended(JobId job, std::string text) const;
  std::string end_note(JobId job, Outcome outcome) const;
  Outcome outcome_of(const AttemptEnded& ended) const;
  Expected<void> add_jobs(Instant now, const Submission& submission, std::vector<Input>& inputs);
  Expected<Command> command_of(const Submission& submission);
  Expected<void> note_arrival(const Submission& submission, JobId first, std::size_t end);
  Expected<void> write_row(const Updated& updated);
  Expected<void> let_go(JobId id, std::vector<Input>& inputs);
  Expected<void> write_row(const Released& released, Instant now);
  Expected<void> write_suspension(const Job& job, Instant now);
  Expected<void> write_end_note(JobId job, Attempt attempt);
  Expected<void> write_peak(const AttemptEnded& ended);
  Expected<void> write_left(const Released& released, const Left& left);
  Bytes learned_memory(const Submission& submission, std::size_t index) const;
  Fingerprint memory_program_of(const Job& job) const;
  Lessons lessons() const;
  Expected<void> write_input_rows(Instant now, const std::vector<Input>& inputs);
  Expected<void> write_outcome(Instant now);
  Expected<void> write_effect_rows(Instant now);
  Expected<void> write_row(const Launch& launch, Instant now);
  Expected<void> write_row(const Continue& resumed, Instant now);
  Expected<void> write_row(const Finished& finished, Instant now);
  Expected<void> write_idle_end(const Stop& stop, const Finished& finished);
  Expected<void> write_row(const Hurt& hurt, Instant now);
  // Effects of which no row says anything.
  static Expected<void> write_row(const Stop&, Instant) { return {}; }
  Expected<void> add_attempt(const journal::AttemptRow& attempt);
  Expected<void> write_deferred();
  Expected<void> snapshot_now(journal::Continuity continuity);
  Expected<void> add_part();
  /// A transaction of the decisions not written yet and of what `write` writes.
  template <class Write>
  Expected<void> with_deferred(Write write);

  Host* host_;
  SnapshotSizes sizes_;
  journal::Store store_;
  Engine engine_;
  Rules rules_;
  Instant last_ = kStart;
  std::int64_t entry_ = 0;  ///< The number of the last entry.
  JobId last_job_;          ///< The largest number ever used.
  JobId last_known_;
  std::vector<PutAside> bad_;    ///< Found while it comes back, and not written down yet.
  std::vector<JobAside> aside_;  ///< Written down.
  std::optional<std::vector<JobId>> ended_early_ = std::vector<JobId>();  ///< While it comes back.
  Duration set_back_{0};
  std::string kept_cluster_;
  std::optional<std::string> deferred_;  ///< Decisions of the last entry, not written yet.
  std::size_t since_snapshot_ = 0;       ///< Bytes of entries.
  std::size_t snapshot_size_ = 0;
  /// The snapshot that is being written.
  struct Underway {
    std::unique_ptr<StateCopy> copy;
    journal::Snapshot row;  ///< Without its state, which comes in parts.
    std::int64_t parts = 0;
    std::int64_t bytes = 0;
    std::size_t since = 0;  ///< `since_snapshot_` when it began.
  };
  std::optional<Underway> underway_;
  std::size_t retry_at_ = 0;  ///< Of `since_snapshot_`, after a snapshot that failed.
  bool may_drop_ = true;      ///< What snapshots made needless; at first what a crash left.
  std::map<JobId, std::string> notes_;
  std::set<JobId> kept_notes_;     ///< Of them, those of note_for_good().
  std::set<JobId> changed_notes_;  ///< Whose row is not as it should be.
  std::uint64_t ended_ = 0;
  std::uint64_t learned_ = 0;     ///< Ends from which jobs that wait have learned.
  std::map<JobId, Bytes> peaks_;  ///< Of attempts whose end is not written yet.
  std::map<JobId, Left> left_;
  std::vector<std::weak_ptr<StoredParts>> awaited_;
  bool broken_ = false;
};

}  // namespace berth::live
