// Which jobs handles (core/text/handle.hpp) stand for. Looked up in slices, as there may be many.
//
// A number stands for its job, ended or not; if that is an array, for its tasks. A range of numbers
// stands for what each of them does, a name for jobs of its user, and, as the name of an array, for
// the array.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/text/handle.hpp"
#include "live/keeper.hpp"

namespace berth::daemon {

/// A job of which anything is kept.
struct KnownJob {
  JobId id;
  ArrayPlace place = {};
  std::optional<UserId> user = std::nullopt;  ///< Nothing: its row is damaged.
  bool lives = false;                         ///< It has not ended.
  Instant submitted = kStart;
  Instant ended = kNever;

  std::optional<ArraySpan> array() const { return array_of(id, place); }
};

/// The jobs there are, as a selection asks for them.
class JobWorld {
 public:
  virtual ~JobWorld() = default;
  JobWorld() = default;
  JobWorld(const JobWorld&) = delete;
  JobWorld& operator=(const JobWorld&) = delete;

  /// The first at or above this number.
  virtual Expected<std::optional<KnownJob>> at_or_above(JobId id) = 0;
  /// The first of those that have not ended.
  virtual std::optional<KnownJob> live_at_or_above(JobId id) = 0;
  /// The last below this number of those that have ended, of this user or of all.
  virtual Expected<std::optional<KnownJob>> ended_below(JobId id, std::optional<UserId> user) = 0;
  virtual Expected<std::string> name_of(JobId id) = 0;
  /// What lists show of a job without a name.
  virtual Expected<std::string> command_of(JobId id) = 0;
};

/// That of a daemon. Costs a look at the engine's memory for jobs that have not ended, and a row of
/// the journal for others and for names. Belongs to the engine's thread.
class KeptJobs final : public JobWorld {
 public:
  explicit KeptJobs(const live::Keeper& keeper) : keeper_(keeper) {}

  Expected<std::optional<KnownJob>> at_or_above(JobId id) override;
  std::optional<KnownJob> live_at_or_above(JobId id) override;
  Expected<std::optional<KnownJob>> ended_below(JobId id, std::optional<UserId> user) override;
  Expected<std::string> name_of(JobId id) override;
  Expected<std::string> command_of(JobId id) override;

 private:
  const live::Keeper& keeper_;
  std::vector<journal::JobRow> page_;  ///< Some that have ended, the latest first.
  std::optional<UserId> page_of_;
};

/// What an array, a range or a name stands for. One number always stands for its job.
enum class Among {
  Live,  ///< Jobs that have not ended.
  All,   ///< All jobs; a name that no job has that lives stands for the latest with it.
  /// As All, and a name or pattern stands for those too that ended of the same batch. A job is, if
  /// it ended after another of its name that is taken was submitted, or was submitted kLoopOfBatch
  /// before that; where none of its name is taken, if it ended kBetweenOfBatch before the first of
  /// all that are.
  Batch,
};
inline constexpr Duration kBetweenOfBatch = minutes(10);
inline constexpr Duration kLoopOfBatch = seconds(5);  ///< A script's; people take longer.
/// Jobs that were submitted so long before the first of a batch are not looked at.
inline constexpr Duration kLongestBatch = hours(24);

struct Wanted {
  std::vector<Handle>
      handles;             ///< None: all jobs of `users` that have not ended, if there are any.
  std::set<UserId> users;  ///< Whose, of ranges and names; none: of all, and `own`.
  UserId own;              ///< Who asks.
  Among among = Among::Live;
  bool goes_on = false;  ///< Without what of several handles stands for nothing: missing() has it.
};

/// A handle that stands for nothing, and why.
struct Missing {
  std::string typed;
  std::string why;
};

class Selection {
 public:
  /// Requires: `world` outlives it.
  Selection(JobWorld& world, Wanted wanted) : world_(world), wanted_(std::move(wanted)) {}

  /// Looks for as long as `has_time()`, once at least. Returns: whether there is more to look at.
  /// Errors: NotFound and Conflict naming the first handle that stands for nothing, unless it goes
  /// on without; as the world's.
  Expected<bool> advance(const std::function<bool()>& has_time);
  /// In the order of the handles, those of each ascending; each job once. Requires: advance() has
  /// returned false.
  std::vector<JobId> take() { return std::move(chosen_); }
  const std::vector<Missing>& missing() const { return missing_; }
  /// Jobs of a name that stands for a batch which are not of that: earlier tries, the latest first.
  const std::vector<JobId>& earlier() const { return earlier_; }
  /// True if what was asked for is one job by its own handle.
  bool is_one() const { return is_one_ && wanted_.handles.size() == 1; }
  /// Arrays that stand there by their number or name, by their first jobs.
  const std::set<JobId>& wholes() const { return wholes_; }
  /// The array, if what was asked for is one by its number, or one that alone has the name.
  std::optional<ArraySpan> array() const {
    return wanted_.handles.size() == 1 ? array_ : std::nullopt;
  }

 private:
  /// Numbers to look at.
  struct Walk {
    JobId next;
    JobId last;
    Among among = Among::Live;
    std::set<UserId> users = {};          ///< Only theirs; none: of all.
    const JobsNamed* name = nullptr;      ///< Only those.
    std::optional<TaskRange> tasks = {};  ///< Only these of an array.
    bool has_first = true;                ///< `next` is where they begin, and not the array.
  };

  Expected<void> look();
  Expected<void> begin();
  Expected<void> begin(const NumberedJobs& numbers);
  Expected<void> begin(const TasksOfArray& tasks);
  Expected<void> begin(const JobsNamed& name);
  Expected<void> walk_on();
  Expected<void> visit(const KnownJob& job, const Walk& walk);
  Expected<void> look_for_ended();
  bool is_of_batch(const KnownJob& job, const std::string& name) const;
  void note_batch(const KnownJob& job, std::string_view name);
  Expected<std::string> shown_name_of(const KnownJob& job);
  Expected<JobId> first_task_from(const ArraySpan& span, std::int64_t task);
  Error nothing() const;
  Expected<void> stands_for_nothing(const Error& why);
  void go_to_next();
  void take(JobId job);
  void take_whole(const ArraySpan& span);
  void walk_array(const ArraySpan& span, Among among);

  JobWorld& world_;
  Wanted wanted_;
  std::size_t at_ = 0;  ///< The handle at work.
  bool has_begun_ = false;
  std::size_t chosen_before_ = 0;  ///< By the handles before it.
  std::vector<Walk> walks_;        ///< Of it; the last one first.
  bool has_found_ = false;         ///< It stands for something.
  std::optional<JobId> before_;    ///< Where its name is looked for among jobs that have ended.
  Instant batch_from_ = kNever;    ///< When the first of those like its name was submitted.
  std::map<std::string, Instant, std::less<>> names_of_batch_;  ///< The same for each.
  bool is_one_ = false;             ///< Of the handle at work, which may be the only one.
  std::optional<ArraySpan> array_;  ///< Likewise.
  std::set<JobId> wholes_;
  std::set<JobId> seen_;
  std::vector<JobId> chosen_;
  std::vector<Missing> missing_;
  std::vector<JobId> earlier_;
};

}  // namespace berth::daemon
