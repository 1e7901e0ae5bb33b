// A page of jobs, made in slices: the engine takes steps meanwhile, and each row shows the state at
// the time it is written.
//
// Reads the engine and the journal; belongs to the engine's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "daemon/answers/present.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

struct Page {
  enum class Which { Live, Running, Ended, All };
  enum class Order { NewestFirst, OldestFirst };
  enum class Arrays { InTasks, Whole };  ///< A row for each task, or for the array.

  Which which = Which::Live;
  std::optional<UserId> user;
  Order order = Order::NewestFirst;
  std::optional<JobId> beyond;  ///< Only ids below it, or above it with the oldest first.
  std::size_t most = 100;
  Arrays arrays = Arrays::InTasks;
  RowForm form = RowForm::Full;
};

class Listing {
 public:
  Listing(const live::Keeper& keeper, Presenter& presenter, const Page& page, const Viewer& viewer);

  /// Adds rows for as long as `has_time()`, one at least. Costs what the page holds, whatever the
  /// number of jobs: where few of many are wanted it may hold fewer rows than it could, and goes on
  /// after it. Returns: whether there is more to add.
  Expected<bool> advance(const std::function<bool()>& has_time);
  /// `{"jobs": [...], "next_after": ...}`. Requires: advance() has returned false.
  std::string take();

 private:
  using Rows = std::vector<journal::JobRow>;

  bool is_before(JobId a, JobId b) const {
    return page_.order == Page::Order::OldestFirst ? a < b : b < a;
  }
  Expected<bool> add_row(Reasons& reasons);
  Expected<void> write(const journal::JobRow& row, Reasons& reasons);
  Expected<bool> write_array(JobId job, const ArrayPlace& place, Reasons& reasons);
  void pass_array(const ArraySpan& span);
  bool end_at(std::optional<JobId> last);
  void find_live();
  Expected<void> find_ended();
  std::optional<JobId> live_beyond(std::optional<JobId> last) const;

  const live::Keeper& keeper_;
  Presenter& presenter_;
  const Viewer viewer_;
  Page page_;
  std::optional<JobId> last_;     ///< The one written last; at first where to begin.
  std::optional<JobId> live_at_;  ///< The live one looked at last.
  std::size_t rows_ = 0;
  std::size_t looked_ = 0;        ///< Live ones.
  std::optional<JobId> horizon_;  ///< The last of those, once they were enough for a page.
  std::optional<JobId> live_;     ///< The live one that follows; of this slice, as `ended_`.
  Rows ended_;                    ///< Some that follow.
  std::size_t next_ended_ = 0;
  bool are_all_ended_here_ = false;  ///< None follows `ended_`.
  std::string text_;
};

}  // namespace berth::daemon
