// The running jobs of worse rank that must stop so that one waiting job has a place.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "policy/kit/host_room.hpp"
#include "policy/kit/vacancy.hpp"
#include "policy/pipeline/running_index.hpp"
#include "policy/pipeline/walk.hpp"

namespace berth {

/// The running jobs, worst first, in one pass, found on demand.
class Victims {
 public:
  Victims(Walk& walk, const RunningIndex& running, const HostRoom& host, Vacancy& vacancy)
      : walk_(walk),
        running_(running),
        worst_(running, walk.view()),
        host_(host),
        vacancy_(vacancy) {}

  struct Chosen {
    std::vector<JobId> jobs;
    Placement placement;  ///< Where the waiting job fits without them.
  };
  /// The fewest of the worst jobs without which the job has a place once `leaving` have left, less
  /// those that are not in its way; nothing if there is no place even without all of them, or too
  /// little host memory for them (host_room.hpp).
  /// They count as gone from then on. The walk's trial is unchanged.
  std::optional<Chosen> choose(const Head& head, const Ask& ask, std::span<const JobId> leaving);

  /// Asks the order for the ranks that move without a drift, and wakes when time may change them.
  void rank_others();
  /// True if choose() was called.
  bool were_asked() const { return asked_; }

 private:
  /// Candidates for one waiting job: positions in `worst_`.
  struct Search {
    const Head& head;
    std::size_t next = 0;  ///< Not looked at yet.
    std::vector<std::size_t> found = {};
  };
  bool are_too_few(const Head& head, const Ask& ask, std::span<const JobId> leaving);
  bool begin_vacancy(const Ask& ask, std::span<const JobId> leaving);
  bool has(Search& search, std::size_t count);
  Rank bar_of(const Head& head) const;
  void take_off(std::span<const std::size_t> victims);
  std::optional<std::size_t> least(const Ask& ask, Search& search, std::span<const JobId> leaving);
  struct Fewest {
    std::vector<std::size_t> victims;
    Placement placement;  ///< Without them.
  };
  std::optional<Fewest> on_one_node(const Ask& ask, const Search& search, std::size_t lowest);
  std::optional<Fewest> fewest(const Ask& ask, Search& search, std::size_t lowest);
  std::vector<std::size_t> needed(std::span<const std::size_t> chosen, const Head& head,
                                  const Ask& ask, Placement& placement);
  bool needs_vacant(const Ask& ask) const;

  Walk& walk_;
  const RunningIndex& running_;
  WorstFirst worst_;
  const HostRoom& host_;
  Vacancy& vacancy_;
  bool asked_ = false;
  bool ranked_ = false;  ///< All of `running_` are in `worst_`.
};

}  // namespace berth
