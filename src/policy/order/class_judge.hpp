// Raises the duration classes of jobs that outlive them, and of users whose word is worth little.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "policy/keys.hpp"
#include "policy/kit/classes.hpp"
#include "policy/kit/moments.hpp"
#include "policy/order/stated_classes.hpp"

namespace berth {

inline constexpr Key kShortBoundKey{
    .name = "short_bound",
    .type = KeyType::Time,
    .usual = "15m",
    .least = micros(seconds(1)),
    .most = kYear,
    .what = "A job of class short runs no longer than this; it is at most `medium_bound`."};
inline constexpr Key kMediumBoundKey{
    .name = "medium_bound",
    .type = KeyType::Time,
    .usual = "4h",
    .least = micros(seconds(1)),
    .most = kYear,
    .what = "A job of class medium runs no longer than this; a long one has no bound."};
inline constexpr Key kLiarAfterKey{
    .name = "liar_after",
    .type = KeyType::Count,
    .usual = "3",
    .least = 1,
    .most = 8,
    .what =
        "The class that a user states is raised by one when the user's jobs that outlived their "
        "class outnumber the others by this many."};

/// Errors: InvalidArgument where `short_bound` is above `medium_bound`.
Expected<void> check_class_bounds(const Keys& keys);
/// The values of both keys.
ClassBounds class_bounds(const Keys& keys);

class ClassJudge {
 public:
  /// From the three keys above.
  explicit ClassJudge(const Keys& keys)
      : bounds_(class_bounds(keys)), stated_(bounds_, keys.number(kLiarAfterKey.name)) {}

  const ClassBounds& bounds() const { return bounds_; }

  /// Once per pass: running jobs that have outlived their class join the next one, and waiting jobs
  /// that the events name get the class that their user's word is worth. Asks to be called again
  /// when the next running job will have outlived its class. O(log running) per changed job.
  Decisions judge(const ClusterView& view, std::span<const Event> events);
  /// The class of a job from this pass on; the view shows it from the next one on.
  DurationClass class_of(const JobView& job) const;

  Snapshot save() const { return stated_.save(); }
  /// Errors: BadData for bytes that save() did not write, naming `whose` memory it was to be.
  Expected<void> restore(const Snapshot& bytes, std::string_view whose) {
    is_fresh_ = true;
    return stated_.restore(bytes, whose);
  }
  /// The jobs whose class is another from this pass on.
  const std::map<JobId, DurationClass>& judged() const { return judged_; }

 private:
  /// A running job whose class is raised.
  struct Outlived {
    UserId user;
    DurationClass was;
    DurationClass is;
  };

  void watch(JobId id, const ClusterView& view);
  std::vector<Outlived> raise_outlived(const ClusterView& view, Decisions& decisions);
  void doubt(const JobView& job, Decisions& decisions);
  bool raise(const JobView& job, DurationClass is, Decisions& decisions);

  ClassBounds bounds_;
  StatedClasses stated_;
  std::map<JobId, DurationClass> judged_;  ///< In this pass.
  Moments outlives_;      ///< When each running job that has a bound will have outlived its class.
  bool is_fresh_ = true;  ///< The running jobs were not looked at yet.
};

}  // namespace berth
