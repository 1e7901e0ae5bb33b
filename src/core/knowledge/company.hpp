// The neighbours of each job on its GPUs, and how much they slow each other down, learned from run
// times and from what jobs report of their progress, so that no job need report.
//
// Jobs of one fingerprint (same user and same telling words of the command) count as runs of the
// same program. There are two sources for the speed of a program beside another:
//   - Progress that a job reports, over time, beside that neighbour against alone, within one
//     berth: run times that vary do not matter.
//   - Without that, run times. A job that succeeded almost without neighbours gives the run time
//     alone. A job that had a neighbour gives
//     (run time alone - time without neighbours) / time with it.
//     A run whose time with the neighbour is short against what run times alone differ by shows
//     nothing and is left out.
// Time counts for a neighbour only while it was the one neighbour; time beside several, or beside
// a job of no known program, shows nothing of any of them. Time suspended does not count, nor does
// a job that was resized or that began again from a checkpoint.
//
// Means move by a quarter towards new figures. A figure counts from the second run on, because
// one run may be an outlier. For a pair that was never seen, the figures of pairs count that are as
// busy: by the share of time in which each program alone keeps its GPU busy. Run times of one
// program vary for other reasons too, so these figures only choose whether and where to share;
// admission ignores them.
//
// Differs from published pair tables (Gavel, OSDI 2020; Lucid, ASPLOS 2023): theirs are profiled
// beforehand or matched by features; this one is learned from past runs. A value type, bounded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/id_map.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"

namespace berth {

inline constexpr std::int16_t kUnknownBusy = -1;

/// Reported progress over time, in millionths of the job's own unit.
struct Advance {
  std::int64_t done = 0;
  Duration time{0};

  bool operator==(const Advance&) const = default;
};

/// Time for which a job had one neighbour, of one fingerprint; of fingerprint 0: several, or one of
/// no known program.
struct Meeting {
  Fingerprint with;
  Duration together{0};
  Advance advance = {};   ///< Of that time, in this berth.
  JobId last = JobId(0);  ///< The latest neighbour of it.
  bool is_told = false;   ///< Its speed was learned from reports.

  bool operator==(const Meeting&) const = default;
};

/// A job that holds a berth, since its neighbours changed last.
struct Stint {
  Instant since;              ///< Of its present neighbours; if later than its own beginning.
  Instant reported = kNever;  ///< When it last reported progress since then; kNever: never.
  std::int64_t done = 0;      ///< That progress.
  Advance alone = {};         ///< Of its time alone, in this berth.
  std::int16_t busy = kUnknownBusy;  ///< Percent, its GPUs as last seen with it alone.

  bool operator==(const Stint&) const = default;
};

/// The speed of one fingerprint beside another, in parts per million of its speed alone.
struct PairRate {
  std::int64_t ppm = 1'000'000;
  std::int32_t times = 0;
  std::int64_t spread = 0;  ///< Mean distance of its figures from the mean; 0 of one figure.
  JobId last = JobId(0);    ///< The latest neighbour, whose name people know.

  bool operator==(const PairRate&) const = default;
};

struct Lesson {
  Duration alone{0};
  std::int32_t times = 0;    ///< Number of runs alone.
  std::uint64_t latest = 0;  ///< Number of the last update; the least recent lesson is dropped.
  std::map<Fingerprint, PairRate> beside;
  Duration spread{0};  ///< Mean distance of runs alone from their mean; a tenth of one.
  std::int16_t busy = kUnknownBusy;  ///< Percent of the time alone.
  JobId last = JobId(0);             ///< Its latest run, whose name people know.

  bool operator==(const Lesson&) const = default;
};

struct Identity {
  JobId job;
  Fingerprint what;

  bool operator==(const Identity&) const = default;
};

inline constexpr std::int16_t kDutyStep = 25;  ///< In percent.
inline constexpr std::uint8_t kMostDuty = 4;
/// Classes of busy share, a step each, of a program and the other: 0 idle, kMostDuty always busy.
using DutyPair = std::pair<std::uint8_t, std::uint8_t>;

/// The whole state as plain data, for snapshots.
struct CompanyRecord {
  std::vector<Identity> jobs;  ///< Ascending.
  std::map<JobId, std::vector<Meeting>> meetings;
  std::map<Fingerprint, Lesson> lessons;
  std::uint64_t learned = 0;
  std::map<JobId, Stint> stints;
  std::map<DutyPair, PairRate> by_duty;
};

/// Where the speed beside a neighbour is from.
enum class RateSource : std::uint8_t { Unknown, Duty, Pair };

struct KnownRate {
  std::int64_t ppm = 1'000'000;
  RateSource from = RateSource::Unknown;
  std::int32_t times = 0;  ///< Figures behind it.

  bool operator==(const KnownRate&) const = default;
};

class Company {
 public:
  static constexpr std::size_t kMostLessons = 4096;
  static constexpr std::size_t kMostMeetings = 256;  ///< Of one job; later ones are not noted.
  static constexpr std::size_t kMostBeside = 64;  ///< Pairs per lesson; later ones are not learned.

  static constexpr std::int32_t kEnough = 2;        ///< Figures of a pair, before they count.
  static constexpr std::int32_t kEnoughAsBusy = 4;  ///< Of pairs as busy, which differ more.

  Company() = default;
  /// Requires: the jobs of `record` ascend and are the known jobs.
  explicit Company(CompanyRecord record);
  CompanyRecord record() const;
  /// Of these jobs alone, which ascend.
  CompanyRecord record_of(std::span<const JobId> jobs) const;

  /// Sets a job's fingerprint; nothing is learned of a job without one (0).
  void identify(JobId job, Fingerprint what);
  Fingerprint of(JobId job) const;
  /// Forgets a job that has ended; its number is not used again.
  void forget(JobId job);

  /// The neighbours of a job that began at `began` change at `at`; until then it was beside this
  /// one job, several (0), or nobody (nothing).
  void pass(JobId job, std::optional<JobId> beside, Instant began, Instant at);
  /// Likewise, before pass(): it was alone, and its GPUs are this busy at the end, in percent.
  void saw_alone(JobId job, std::int16_t busy, Instant began, Instant at);
  /// It reports progress, beside others as in pass().
  void report(JobId job, std::optional<JobId> beside, std::int64_t done, Instant at);
  /// Its berth is over: learns from its reports, and of a program's busy share.
  void leave(JobId job);
  /// Learns from a run that succeeded after `ran` in berths, of which the meetings are.
  void learn(JobId job, Duration ran);
  /// Forgets the meetings of a run that is over, or that begins from nothing.
  void part(JobId job);

  /// True if the speed of any fingerprint beside another is known.
  bool knows_pairs() const { return pairs_ > 0 || !by_duty_.empty(); }
  /// By the pair, else by how busy both are; 1,000,000 while unknown.
  KnownRate rate(Fingerprint what, Fingerprint beside) const;
  std::int64_t rate_ppm(Fingerprint what, Fingerprint beside) const {
    return rate(what, beside).ppm;
  }
  /// The mean over the neighbours beside which it is known, each counting once; without any, over
  /// those as busy as each that is known of programs as busy. Nothing if there are none.
  std::optional<std::int64_t> mean_ppm(Fingerprint what) const;
  const std::map<Fingerprint, Lesson>& lessons() const { return lessons_; }
  const std::map<DutyPair, PairRate>& by_duty() const { return by_duty_; }

 private:
  /// That of the neighbour's program; null if there are too many.
  Meeting* meeting(JobId job, JobId beside);
  void note_alone(Fingerprint what, Duration ran, JobId job);
  /// Of a new run; makes room for it.
  Lesson& lesson_of(Fingerprint what, JobId job);
  void add_figure(Fingerprint what, const Meeting& meeting, std::int64_t ppm);
  std::optional<DutyPair> duties(Fingerprint what, Fingerprint beside) const;

  IdMap<JobId, Fingerprint> jobs_;
  std::map<JobId, std::vector<Meeting>> meetings_;
  std::map<Fingerprint, Lesson> lessons_;
  std::uint64_t learned_ = 0;
  std::size_t pairs_ = 0;  ///< In all lessons.
  std::map<JobId, Stint> stints_;
  std::map<DutyPair, PairRate> by_duty_;
};

}  // namespace berth
