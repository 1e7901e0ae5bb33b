// When the jobs that run are foreseen to leave, in that order, kept from pass to pass.
//
// Touches only what changed: O(log running) per job that an event names or that outlived what was
// foreseen of it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/event.hpp"
#include "core/base/id_map.hpp"
#include "core/view.hpp"
#include "policy/kit/moments.hpp"
#include "policy/kit/outlook.hpp"
#include "policy/kit/timeline.hpp"

namespace berth {

class Departures {
 public:
  /// Brings all up to date: once in a pass, before anything else. `is_fresh`: the events may not
  /// name all that changed. Returns: true if every plan made by the end of the last pass still
  /// holds: no job left, or will leave, before its plan or after it, none has grown or shrunk, and
  /// no GPU or node changed its health or its foreign use.
  bool follow(const ClusterView& view, std::span<const Event> events, const Plans& plans,
              bool is_fresh);
  /// At the end of a pass: these jobs were started in it.
  void add(const ClusterView& view, std::span<const Fresh> started, const Plans& plans);

  /// All jobs that run or were started in this pass, in the order in which they are foreseen to
  /// leave. Requires of this and the others: follow() in this pass, and all outlive it.
  Leavers leavers(const ClusterView& view, std::span<const Fresh> started,
                  const Plans& plans) const;
  /// The cluster at `then`, without the jobs that are foreseen to have left. `now` is the cluster
  /// now, with the jobs started in this pass.
  Scratch occupancy_at(Instant then, const ClusterView& view, const Occupancy& now,
                       std::span<const Fresh> started, const Plans& plans) const;
  /// When the first of the jobs that are foreseen to leave by `until`, and that no limit ends, is
  /// foreseen to leave later than now, if it still runs then: what was planned by it may move.
  Instant first_doubt(Instant until, const ClusterView& view, std::span<const Fresh> started,
                      const Plans& plans) const;
  /// True if what is foreseen of a job that leaves just then is a guess (is_guess()).
  bool is_guessed(Instant then, const ClusterView& view, std::span<const Fresh> started,
                  const Plans& plans) const;

 private:
  struct Key {
    Instant end;
    std::uint64_t grant_number;
    JobId job;
    auto operator<=>(const Key&) const = default;
  };
  struct Plan {
    Instant holds_until;  ///< If it still runs then, it is foreseen to leave later; else kNever.
    Bytes charge;
  };
  using Entries = std::map<Key, Plan>;
  static Entries::value_type entry_of(const JobView& job, Instant now, const Plans& plans);
  void insert(const Entries::value_type& entry);
  /// Of one job, running or not. Returns: true if what was planned by it still holds.
  bool update(JobId id, const ClusterView& view, const Plans& plans);
  /// The end of those that are foreseen to have left by `then`.
  Entries::const_iterator end_of_gone(Instant then) const;

  Entries entries_;
  IdMap<JobId, Key> keys_;
  Moments doubts_;               ///< Plan::holds_until.
  std::vector<JobId> begun_;     ///< Started in the last pass, by what the policy decided.
  std::uint64_t condition_ = 0;  ///< ClusterView::condition_version() in the last pass.
};

}  // namespace berth
