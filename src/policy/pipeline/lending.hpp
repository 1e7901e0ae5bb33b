// Places of long jobs that are lent to short ones, for a bounded time in all.
//
// A short job whose limit is enforced borrows the place of one long job: that one is preempted, and
// its place is kept for it from the time on at which it would have been delayed for too long. Until
// then other jobs use the place only if their limits end them in time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/members.hpp"
#include "policy/kit/coming_room.hpp"
#include "policy/kit/memory.hpp"
#include "policy/kit/vacancy.hpp"
#include "policy/pipeline/walk.hpp"

namespace berth {

/// For how long the places of running jobs are lent.
struct LendingOptions {
  Duration delay{0};  ///< Most delay of one job, all in all.
  Duration after{0};  ///< A short job waits this long before it borrows.
  Duration turn{0};   ///< A job runs for this long before its place is lent.
};

/// What is lent, from pass to pass.
struct Loans {
  std::map<JobId, Placement> lent;      ///< By job that gave way, until it runs again.
  std::map<JobId, Placement> borrowed;  ///< By job that waits for memory to be free there.
};
inline auto members(Loans& v) { return std::tie(v.lent, v.borrowed); }
/// False for what no policy could have saved.
bool is_sane(const Loans& loans);

/// In one pass.
class Lending {
 public:
  /// Requires: all outlive it.
  Lending(Walk& walk, const LendingOptions& options, Loans& loans, Vacancy& vacancy)
      : walk_(walk),
        options_(options),
        loans_(loans),
        room_(walk.view(), walk.placer(), walk.trial(), vacancy) {}

  /// Drops what is over, and keeps the rest from jobs that would be in the way. Before the walk.
  void keep_places();
  /// Jobs to be served before all others, in this order.
  std::vector<JobId> first();
  /// One more job was started in the walk.
  void note_start(JobId id, const Grant& grant, Duration planned);
  /// Lends places to the short jobs that the walk did not start. After it.
  void lend();
  /// The places kept, for the view: those of borrowers, then those of lenders.
  std::vector<Hold> holds() const;

 private:
  Ask ask_for(JobId id) const;
  std::optional<KeptRoom> room_of_lender(JobId id, const Placement& place) const;
  KeptRoom counted(KeptRoom room) const;
  void respect(bool with_borrowers);
  bool is_late(JobId id, const Placement& place) const;
  bool may_borrow(JobId id, const Ask& ask);
  bool serve(JobId id, const Ask& ask);
  std::vector<JobId> lenders_for(const Ask& ask) const;
  std::optional<Placement> place_without(JobId lender, JobId id, const Ask& ask);

  Walk& walk_;
  const LendingOptions& options_;
  Loans& loans_;
  ComingRoom room_;
  std::vector<KeptRoom> rooms_;
  std::vector<Ask> hopeless_;  ///< Minimal asks for which no lender would do.
};

}  // namespace berth
