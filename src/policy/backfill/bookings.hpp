// The waiting jobs, in rank order, and the booking of each: a time and a place in a profile of free
// capacity.
//
// Three things change together here: the order of the jobs, the times at which bookings begin, and
// the capacity that the profile counts as taken. A backfill says when to book new jobs, to move
// bookings forward, or to book all again. Bookings are numbers of GPUs if no job needs more than
// that, else they are places. What one pass looks at is bounded, so that it stops nobody for long;
// the rest goes on in a later pass, from where it was left. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/view.hpp"
#include "policy/backfill/profile.hpp"
#include "policy/policy.hpp"

namespace berth {

/// The position of a waiting job among all; the smallest goes first.
struct Turn {
  Rank group;
  Rank rank;
  JobId job;
  auto operator<=>(const Turn&) const = default;
};

class Bookings {
 public:
  // ---- The jobs ----

  bool has(JobId job) const { return turns_.contains(job); }
  /// Adds a waiting job. It is not booked yet, unless a restored memory has a valid booking of it.
  void add(const Turn& turn, const ClusterView& view);
  /// Returns: whether it had a booking.
  bool remove(JobId job);
  /// Updates ranks: `turn_of(job)` is a job's position now, or nothing if it waits no more.
  /// Returns: whether a booking was given up.
  template <class TurnOf>
  bool sort(TurnOf turn_of);
  /// Forgets bookings of a memory whose jobs were not added. Returns: whether there were any.
  bool forget_others();

  // ---- Their bookings ----

  enum class How : std::uint8_t {
    New,      ///< The jobs that were added since the last time.
    Forward,  ///< First every booking, to the earliest time there is before its own.
    Again,    ///< All, as if none were booked.
  };
  /// How much of the profile is looked at in one pass, at the least (Profile::looks()): some 10 ms.
  static constexpr std::int64_t kMostLooks = 50'000;
  /// Until the rest goes on: time for others.
  static constexpr Duration kPause = std::chrono::milliseconds(20);

  /// Books jobs in rank order, each at the earliest time at which it fits beside those that run and
  /// those that are booked. Books all again if a booking is late, or if places begin or cease to
  /// matter. Once in a pass. Cost: O(running), and a search in the profile for each booking that is
  /// made, until `most_looks` are spent: then the rest waits until goes_on_at(). A walk that is
  /// under way ends before another begins, unless it moves forward what must be booked again; jobs
  /// that are added meanwhile are booked at its end. For kPause after a pass that was cut or went
  /// on nothing is booked, so that a second pass at its time decides nothing: what it would book
  /// again was booked at an earlier time.
  void book(const ClusterView& view, const Placer& placer, How how,
            std::int64_t most_looks = kMostLooks);
  /// When the rest goes on; kNever if there is none. Until then book() only remembers what it was
  /// asked for.
  Instant goes_on_at() const { return has_rest_ ? rests_until_.value_or(kNever) : kNever; }
  /// True from a pass that was cut to the next that books all again by itself: the bookings were
  /// made at several times.
  bool are_in_parts() const { return rests_until_.has_value(); }

  const Booking& of(JobId job) const { return queue_.at(turns_.at(job)); }
  By by() const { return by_; }
  bool is_first(JobId job) const { return queue_.begin()->first.job == job; }
  /// The jobs whose bookings have begun, in rank order.
  std::vector<JobId> due(Instant now) const;
  /// When the booking of this job begins; kNever if it has none, or if that rests on a guess.
  Instant begins_at(JobId job) const {
    const Instant from = of(job).from;
    return from < guessed_ ? from : kNever;
  }
  /// When the next booking begins after this time; kNever if none does.
  Instant next_after(Instant time) const;
  /// The first bookings, at most `most`; those that depend on guesses have no time.
  std::vector<Hold> as_holds(const ClusterView& view, std::size_t most) const;

  // ---- Their memory ----

  Snapshot save() const;
  /// Starts again; no bytes are no memory. Errors: BadData, naming the policy, which is `whose`.
  Expected<void> restore(std::string_view bytes, std::string_view whose);

 private:
  struct Pass;

  bool set(Booking& booking, std::optional<Slot> slot);
  bool is_walking() const { return !to_visit_.empty(); }
  bool has_work(Instant now, How how);
  void fill_profile(const ClusterView& view);
  void leave_recalled(JobId job);
  void begin_walk(const ClusterView& view);
  void drop_all(const ClusterView& view);
  bool walk_on(Pass& pass);
  bool book_new(Pass& pass);
  void visit(JobId job, Pass& pass);
  void make(Booking& booking, Pass& pass);
  void move(Booking& booking, Pass& pass);
  By measure(const ClusterView& view, const Placer& placer) const;

  std::map<Turn, Booking> queue_;            ///< Every job that waits, booked or not.
  std::map<JobId, Turn> turns_;              ///< The position of each in it.
  std::set<std::pair<Instant, JobId>> due_;  ///< The bookings, by when they begin.
  std::set<JobId> added_;                    ///< Not looked at yet.
  std::map<JobId, Booking> restored_;        ///< Of a memory; jobs and GPUs may be gone.
  By by_ = By::Place;                        ///< How they were booked.
  std::optional<Profile> profile_;           ///< With what is booked, if it is there.
  std::optional<Profile::Memory> recalled_;  ///< What it goes on with, by place.
  Instant guessed_ = kNever;                 ///< From then on, times depend on guesses.
  How asked_ = How::New;                     ///< What is to be done after the walk under way.
  bool is_again_ = false;                    ///< Of the walk under way: it books all again.
  std::vector<JobId> to_visit_;              ///< The rest of the walk, the next job at the end.
  std::map<JobId, Slot> before_;             ///< What they had, if it books all again.
  bool has_rest_ = false;                    ///< Something is left, or was asked for meanwhile.
  std::optional<Instant> rests_until_;       ///< Since a pass that was cut or went on.
};

template <class TurnOf>
bool Bookings::sort(TurnOf turn_of) {
  std::vector<JobId> gone;
  std::map<Turn, Booking> before = std::exchange(queue_, {});
  for (auto& [was, booking] : before) {
    const std::optional<Turn> turn = turn_of(booking.job);
    if (!turn) gone.push_back(booking.job);
    queue_.emplace(turn.value_or(was), std::move(booking));
    if (turn) turns_[was.job] = *turn;
  }
  bool gave_up = false;
  for (const JobId job : gone) gave_up = remove(job) || gave_up;
  return gave_up;
}

}  // namespace berth
