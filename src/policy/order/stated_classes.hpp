// What the duration class that a user states is worth, by how the user's jobs have run so far.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "core/base/event.hpp"
#include "core/view.hpp"
#include "policy/kit/classes.hpp"
#include "policy/policy.hpp"

namespace berth {

/// A user's jobs that were said to be short, or to be short or medium, and ran longer than that,
/// less those that kept to it; from 0 to 8, so that eight jobs that keep to their class clear it.
struct WordRecord {
  std::int32_t over_short = 0;
  std::int32_t over_medium = 0;
};
inline auto members(WordRecord& v) { return std::tie(v.over_short, v.over_medium); }

class StatedClasses {
 public:
  /// A class is doubted once a record reaches `liar_after`.
  StatedClasses(const ClassBounds& bounds, std::int64_t liar_after)
      : bounds_(bounds), liar_after_(liar_after) {}

  /// Jobs that were done within their stated class since the last time speak for the next one. Once
  /// per pass, before the other functions.
  void look_back(const ClusterView& view, std::span<const Event> events);
  /// The class that a user's word is worth.
  DurationClass believed(DurationClass said, UserId user) const;
  /// The class of this job is raised; the user stated `was` or less.
  void note_raised(JobId job, DurationClass was) { memory_.claimed.try_emplace(job, was); }
  /// A job of the user has outlived its class.
  void note_outlived(UserId user, DurationClass was, DurationClass is);

  Snapshot save() const;
  /// Errors: BadData for bytes that save() did not write, naming `whose` memory it was to be.
  Expected<void> restore(const Snapshot& bytes, std::string_view whose);

  struct Memory {
    std::map<UserId, WordRecord> words;      ///< Of users with a record.
    std::map<JobId, DurationClass> claimed;  ///< Of jobs whose class was raised: what was stated.
    std::uint64_t seen = 0;                  ///< Jobs that had ended at the last look_back().
  };

 private:
  void note_kept(const Ended& job);

  ClassBounds bounds_;
  std::int64_t liar_after_;
  Memory memory_;
  bool is_restored_ = false;  ///< The memory may name jobs that the view does not know.
};

}  // namespace berth
