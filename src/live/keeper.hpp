// The engine with its journal: every input and decision is written before it takes effect.
//
// A step writes its inputs, lets the engine decide, writes the decisions, and only then returns the
// effects: after a crash at any point the journal restores the same engine
// (doc/adr/0008). Belongs to the engine's thread, but for what the store lets any thread do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/input.hpp"
#include "engine/engine.hpp"
#include "journal/store.hpp"
#include "live/new_jobs.hpp"
#include "live/notes.hpp"
#include "live/ports.hpp"
#include "live/rows.hpp"
#include "live/snapshots.hpp"

namespace berth::live {

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

  /// Whether new jobs may be taken in: their ends must be written, too. Errors: Io if less than
  /// journal::kReserve is free beside what is set aside for the log.
  Expected<void> check_room();
  /// Begins a snapshot if there is enough since the last one to be worth it.
  Expected<void> snapshot_if_due() {
    return snapshots_.is_due() ? begin_snapshot() : Expected<void>();
  }
  /// The same at once: Snapshots::begin().
  Expected<void> begin_snapshot();
  using SnapshotWork = Snapshots::Work;
  /// Works on it for a few milliseconds: Snapshots::work().
  Expected<SnapshotWork> work_on_snapshot();
  /// Writes a snapshot if it is small enough to be quick; for the end of a daemon.
  Expected<void> snapshot_at_end();

  /// What jobs that ended teach of a new one now.
  Learning learning() const { return {engine_.view(), store_, rules_}; }

  /// Inputs of the next step for jobs that wait, learned from the jobs that ended since the last
  /// call: see late_estimates(). None where run times are not learned.
  std::vector<Estimated> take_late_estimates();
  /// True if another step would tell more jobs that wait what memory they need: LateMemory.
  bool has_late_memory() const { return findings_.memory.is_due(); }

  /// Cancels that a berthd before did not carry out to their end, by the job that says so.
  std::vector<std::pair<JobId, CancelWish>> cut_off_cancels() const { return notes_.wishes(); }

  /// Notes how the jobs ended that it is to wait for and that the engine has forgotten.
  Expected<void> note_ended(JobSpec& spec) const {
    return live::note_ended(spec, engine_.view(), store_);
  }

  /// Changes rows that the engine does not read, in a transaction of its own. Not within a step.
  Expected<void> tidy(const Writing& work);

  // What is stored with a job's end (Notes), or with its attempt's.
  void note(JobId job, std::string text) { notes_.set(job, std::move(text)); }
  void note_for_good(JobId job, std::string text) { notes_.set_for_good(job, std::move(text)); }
  std::string note_of(JobId job) const { return notes_.of(job); }
  void set_peak(JobId job, Bytes bytes) { findings_.peaks[job] = bytes; }
  void set_left(JobId job, Findings::Left left) { findings_.left[job] = left; }
  /// `7`, or `643_2` for a task of an array, of jobs that have ended, too.
  std::string handle_of(JobId job) const;
  /// `job 7 of bob held 10 GiB on GPU 0, was granted 2 GiB`.
  std::string culprit_text(const Overrun& by) const;
  std::string name_of(UserId user) const { return host_->name_of(user); }

 private:
  /// The parts of a keeper before there is an engine.
  struct Parts {
    Host& host;
    journal::Store store;
    SnapshotSizes sizes;
  };

  Keeper(Parts parts, Engine engine)
      : host_(&parts.host),
        store_(std::move(parts.store)),
        engine_(std::move(engine)),
        snapshots_(parts.sizes) {}

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
  Expected<void> move_to(const Cluster& cluster, const Rules& rules);
  Expected<void> add_snapshot(journal::Continuity continuity);
  Expected<void> write_inputs(Instant now, Batch& batch, Stepped& stepped);
  Expected<void> add_late_memory(Instant now, Batch& batch);
  Expected<void> write_outcome(Instant now);
  Expected<void> write_effect_rows(Instant now);
  Expected<void> write_deferred();
  journal::Snapshot next_snapshot(journal::Continuity continuity) const;
  Expected<void> snapshot_now(journal::Continuity continuity);
  /// A transaction of the decisions not written yet and of what `write` writes.
  Expected<void> with_deferred(const Writing& write);
  Rows rows();

  Host* host_;
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
  Snapshots snapshots_;
  Notes notes_;
  Findings findings_;
  std::uint64_t ended_ = 0;
  std::uint64_t learned_ = 0;  ///< Ends from which jobs that wait have learned.
  std::vector<std::weak_ptr<StoredParts>> awaited_;
  bool broken_ = false;
};

}  // namespace berth::live
