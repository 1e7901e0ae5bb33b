// The rows of jobs and attempts in the journal, for users: what follows from a step's inputs and
// effects. The engine does not read them.
//
// All that writes is called within a transaction. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/input.hpp"
#include "engine/engine.hpp"
#include "journal/store.hpp"
#include "live/late_memory.hpp"
#include "live/notes.hpp"
#include "live/ports.hpp"

namespace berth::live {

/// What was found out about attempts and is not written yet.
struct Findings {
  /// What is known of an attempt once its berth is given back; written with that.
  struct Left {
    Bytes peak{0};                            ///< More than was known at its end.
    std::optional<std::int64_t> millijoules;  ///< What it took of its GPUs' energy.
  };
  std::map<JobId, Bytes> peaks;  ///< The most GPU memory that it held.
  std::map<JobId, Left> left;
  LateMemory memory = {};
};

/// `7`, or `643_2` for a task of an array, of jobs that have ended, too.
std::string known_handle(JobId job, const ClusterView& view, const journal::Store& store);
/// `job 7 of bob held 10 GiB on GPU 0, was granted 2 GiB`; `handle` is that of the job.
std::string culprit_text(const Overrun& by, const std::string& handle, Host& host);

class Rows {
 public:
  /// Each outlives the rows.
  struct Sources {
    journal::Store& store;
    const Engine& engine;
    Host& host;
    Notes& notes;
    Findings& findings;
  };
  explicit Rows(const Sources& sources)
      : store_(sources.store),
        view_(sources.engine.view()),
        host_(sources.host),
        notes_(sources.notes),
        findings_(sources.findings) {}

  /// Writes what follows from inputs that the engine does not have yet.
  Expected<void> write(Instant now, const std::vector<Input>& inputs);
  /// Writes what follows from the effects of a step.
  Expected<void> write(Instant now, const Effects& effects);
  /// Writes the command of a job that waits, in which its client need not be there at the start,
  /// and adds the input that says so.
  Expected<void> let_go(JobId id, std::vector<Input>& inputs);

 private:
  Expected<void> write_row(const Updated& updated);
  Expected<void> write_row(const Released& released, Instant now);
  Expected<void> write_suspension(const Job& job, Instant now);
  Expected<void> write_end_note(JobId job, Attempt attempt);
  Expected<void> write_peak(const AttemptEnded& ended);
  Expected<void> set_peak(const journal::PeakRow& row);
  Expected<void> write_left(const Released& released, const Findings::Left& left);
  Expected<void> write_row(const Launch& launch, Instant now);
  Expected<void> write_row(const Continue& resumed, Instant now);
  Expected<void> write_row(const Finished& finished, Instant now);
  Expected<void> write_idle_end(const Stop& stop, const Finished& finished);
  Expected<void> write_row(const Hurt& hurt, Instant now);
  Expected<void> write_row(const Spoiled& spoiled, Instant now);
  static Expected<void> write_row(const Consult&, Instant) { return {}; }
  // Effects of which no row says anything.
  static Expected<void> write_row(const Stop&, Instant) { return {}; }
  Expected<void> add_attempt(const journal::AttemptRow& attempt);
  Expected<std::optional<journal::AttemptRow>> row_of(JobId job, Attempt attempt) const;
  Outcome outcome_of(const AttemptEnded& ended) const;

  journal::Store& store_;
  ClusterView view_;
  Host& host_;
  Notes& notes_;
  Findings& findings_;
};

}  // namespace berth::live
