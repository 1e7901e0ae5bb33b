// One pass of EASY: a job may pass the first that does not fit if it does not delay it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include "policy/pipeline/overdue.hpp"
#include "policy/pipeline/start_promise.hpp"
#include "policy/pipeline/walk.hpp"

namespace berth {

class Lending;

/// Walks over the waiting jobs until no more of them can start.
class EasyPass {
 public:
  /// Requires: all outlive it; `lending` is null for plain EASY.
  EasyPass(Walk& walk, StartPromise& promise, Lending* lending = nullptr)
      : walk_(walk), promise_(promise), lending_(lending) {}

  /// True if all wait on as they did at the end of the last pass, and those submitted since too:
  /// none of these has a place, or comes before the job that has the promise. Else nothing has
  /// happened yet. Cost: O(log waiting) and a placement per submitted job.
  bool all_wait_on(const Overdue& overdue);
  /// `before_all` go first, then the jobs that are overdue; null: none is.
  void run(const Overdue* overdue, std::span<const JobId> before_all = {});

 private:
  bool waits_on(JobId id, const Standing& promised);
  std::optional<Head> promised_before();
  void serve_overdue(const Overdue& overdue);
  enum class Next : std::uint8_t {
    Any,      ///< The next job of the lane may start too,
    Briefer,  ///< the next that runs for a shorter time, or
    None,     ///< none.
  };
  Next serve(const Head& head);
  void start_if_it_fits(const Head& head);
  void start(JobId id, const Ask& ask, Placement place);
  void pass_on(const Head& head);

  Walk& walk_;
  StartPromise& promise_;
  Lending* lending_;
  Walk::Choices choices_;     ///< Where nothing is lent. Most jobs ask for the same as others.
  bool refused_any_ = false;  ///< For the promise, in this walk.
  std::set<const Lane*> longer_refused_;  ///< Jobs of these that outlast the start need no look.
};

}  // namespace berth
