// What is known of a job's latest attempt beside its outcome: why it waits, failed or was ended.
//
// The text of each job is stored with its end. One that is kept for good is a row of the journal
// until then, so that the next daemon knows it too. Belongs to the engine's thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/job.hpp"
#include "core/view.hpp"
#include "journal/store.hpp"
#include "live/who_asked.hpp"

namespace berth::live {

/// Begins a note that says why a job is held or suspended, where its owner did not ask for that: it
/// is of the wait, and not stored with the job's end.
inline constexpr std::string_view kBecause = "because ";
/// Of a suspended job that waits for its place again, as it was resumed.
inline constexpr std::string_view kResumed = "was resumed and waits for its place";
/// The note of an attempt that ended as its job was suspended: the process went on as the next.
inline constexpr std::string_view kSuspended = "was suspended";

/// The note of a job that is suspended: `its 20.3 GiB are in host memory`. It is of the wait, too.
std::string suspended_note(Bytes held);

class Notes {
 public:
  /// Notes a text instead of the one before. What says who ended the job stays in front of it.
  void set(JobId job, std::string text);
  /// Likewise, and the next daemon knows it too, until there is another note.
  void set_for_good(JobId job, std::string text);
  /// The last note of this daemon; "" if there is none.
  std::string of(JobId job) const;
  /// What is stored with an end: without what is of a wait, and without who wanted another end.
  std::string at_end(JobId job, Outcome outcome) const;
  void forget(JobId job);
  /// What is left of cancels that the daemon before did not finish, by the job that says so.
  std::vector<std::pair<JobId, CancelWish>> wishes() const;

  /// Brings the rows up to date; on_written() follows once that is committed.
  Expected<void> write(journal::Store& store) const;
  void on_written() { changed_.clear(); }
  /// Reads what a former daemon kept. Before the engine goes through its last step again: a job
  /// that ends by it has its note.
  Expected<void> read(const journal::Store& store);
  /// Forgets jobs that have ended.
  void drop_ended(const ClusterView& view);

 private:
  std::string with_who_ended(JobId job, std::string text) const;

  std::map<JobId, std::string> notes_;
  std::set<JobId> kept_;     ///< Of them, those that are kept for good.
  std::set<JobId> changed_;  ///< Whose row is not as it should be.
};

}  // namespace berth::live
