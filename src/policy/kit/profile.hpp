// Free capacity over time: the jobs that run, until they are taken to leave, and the bookings of jobs
// that wait.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "core/trial.hpp"
#include "core/view.hpp"
#include "policy/policy.hpp"

namespace berth {

/// A job that is over its limit is taken to leave in a moment, but not now.
inline constexpr Duration kMoment = Duration(1);

/// A time and a place for a waiting job.
struct Booking {
  JobId job;
  Instant from = kNever;  ///< kNever: there is no place as things are.
  Placement place = {};

  bool is_made() const { return from != kNever; }
};

struct Slot {
  Instant from = kNever;
  Placement place = {};
};

/// Whether bookings are numbers of GPUs, or places.
enum class By : std::uint8_t { Number, Place };

/// Who is, or will be, on which GPUs, and for how long. Places are kept from pass to pass: most
/// passes change one or two of hundreds.
class Profile {
 public:
  explicit Profile(By by) : by_(by) {}
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  By by() const { return by_; }

  /// Brings those that run up to date: in every pass, before anything else but remove(), and once
  /// only by number.
  void look(const ClusterView& view);
  void add(const Booking& booking);
  /// Requires nothing: a job without a booking changes nothing.
  void remove(JobId job);

  /// The first time before `before` from which the job can stay as long as it plans, and where. By
  /// number the place is one that those who run now will have left; by place it is `old` if that
  /// will do, so that looking twice changes nothing whatever the placer draws.
  std::optional<Slot> earliest(const JobView& job, const Placer& placer, Instant before,
                               const Slot& old = {}) {
    return by_ == By::Number ? by_number(job, placer, before) : by_place(job, placer, before, old);
  }

  /// From then on, times rest on guesses.
  Instant guessed() const { return guesses_.empty() ? kNever : *guesses_.begin(); }

 private:
  struct Stay;
  using Times = std::multimap<Instant, Stay*>;
  struct Stay {
    JobId job;
    Instant from;  ///< Long ago for those that run.
    Instant to;
    bool is_guess = false;  ///< There is no plan.
    GpuCount gpus{0};       ///< By number: of a running job, those that others can have after it.
    Grant grant = {};       ///< Of one that is booked by place.
    std::uint64_t put_in = 0;  ///< The latest search in which it was put.
    Times::iterator by_from = {};
    Times::iterator by_to = {};
  };
  using Stays = std::map<JobId, Stay>;

  static bool runs(const Stay& stay) { return stay.from == Instant::min(); }
  Stay stay_of(const JobView& running) const;
  GpuCount left_by(const Grant& grant) const;
  void insert(Stays& stays, Stay stay);
  Stays::iterator erase(Stays& stays, Stays::iterator at);
  void count(const Stay& stay, GpuCount gpus);
  std::optional<Slot> by_number(const JobView& job, const Placer& placer, Instant before) const;
  std::optional<Slot> by_place(const JobView& job, const Placer& placer, Instant before,
                               const Slot& old);
  std::optional<Placement> free_of_running(const JobView& job, const Placer& placer,
                                           Instant at) const;

  By by_;
  const ClusterView* view_ = nullptr;  ///< Of the pass under way.
  Stays running_;
  Stays booked_;
  Times by_from_;  ///< Of those booked.
  Times by_to_;
  std::multiset<Instant> guesses_;  ///< When those without a plan are taken to leave.
  std::uint64_t searches_ = 0;
  GpuCount all_{0};                    ///< GPUs there will be once nobody runs.
  std::map<Instant, GpuCount> taken_;  ///< By number: how the number of GPUs taken changes.
};

}  // namespace berth
