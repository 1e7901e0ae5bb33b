// Jobs from a daemon, page by page.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "cli/ask/daemon.hpp"
#include "cli/ask/job_choice.hpp"
#include "cli/ask/job_filter.hpp"

namespace berth::cli {

/// When waiting jobs start and arrays end, as the daemon predicts it, and with what change a job
/// starts at once.
class Starts {
 public:
  /// Empty where the daemon does not tell: it has too many jobs.
  static Starts ask(Daemon& daemon);
  static Starts ask_as(std::uint32_t user, Daemon& daemon);
  /// The same on a connection of its own: berthd may have to look into the future first, and the
  /// jobs are listed meanwhile.
  static std::future<Starts> ask_meanwhile(const CommonOptions& options);
  /// Gives a job that waits `predicted_start_at`, `predicted_start_confidence`, `predicted_by_at`
  /// unless that is a bound and, if it is the user's to change, `hint`; an array those of its next
  /// job, and `predicted_end_at`.
  void add_to(Json& job) const;

 private:
  void add_to_array(Json& array) const;
  void add_hint(Json& job, std::int64_t of) const;

  std::map<std::int64_t, Json> starts_;
  std::map<std::int64_t, Json> hints_;
  std::map<std::int64_t, Json> ends_;  ///< Of arrays.
  std::uint32_t user_ = 0;             ///< Who asks.
};

/// How many jobs a daemon knows that have not ended.
struct LiveCount {
  std::int64_t jobs = 0;
  std::int64_t running = 0;
};

/// Fetches running jobs, then those that wait, then those that have ended; each once, though they
/// change meanwhile. A queue may have a million jobs, so they are used as they come, the first ones
/// after a short page, and nothing is kept of them but their numbers.
class JobPages {
 public:
  /// Returns: whether to go on.
  using Use = std::function<bool(std::vector<Json> jobs)>;

  /// Which members of jobs are wanted: all, or those of a line of a list, for half of the work.
  enum class Form : std::uint8_t { Full, Brief };
  struct What {
    Arrays arrays = Arrays::InTasks;
    Form form = Form::Full;
  };
  JobPages(Daemon& daemon, const JobFilter& filter, Use use, What what)
      : daemon_(daemon), filter_(filter), use_(std::move(use)), what_(what) {}

  Expected<void> live();
  Expected<void> ended();
  /// The latest `most` that have ended, the oldest of them first.
  Expected<void> latest_ended(std::size_t most);
  /// Of all jobs, whatever the filter; nothing if the daemon does not say, or was not asked.
  const std::optional<LiveCount>& live_count() const { return live_count_; }

 private:
  using Page = std::function<bool(std::vector<Json>)>;

  Expected<std::optional<std::int64_t>> page(const std::string& target, std::int64_t beyond,
                                             const Page& use);
  Expected<std::optional<std::int64_t>> take(Json page, const std::string& target,
                                             std::int64_t beyond, const Page& use);
  Expected<void> pages(const std::string& target, std::int64_t after, const Page& use);
  std::string query(const std::string& more) const;
  bool add(std::vector<Json> jobs);

  Daemon& daemon_;
  const JobFilter& filter_;
  Use use_;
  What what_;
  std::unordered_set<std::int64_t> used_;
  std::optional<LiveCount> live_count_;
  bool goes_on_ = true;
};

}  // namespace berth::cli
