// The neighbours of each job on its GPUs, and how much they slow each other down, learned from run
// times, so that no job need report.
//
// Jobs of one fingerprint (same user and same telling words of the command) count as runs of the
// same program. A job that succeeded almost without neighbours gives the program's run time alone.
// A job that had neighbours gives its speed beside them: (run time alone - time without neighbours)
// / time with them. Means move by a quarter towards each new figure. A figure counts from the
// second run on, because one run may be an outlier. Run times of one program vary for other reasons
// too, so these figures only choose whether and where to share; admission ignores them.
//
// Differs from published pair tables (Gavel, OSDI 2020; Lucid, ASPLOS 2023): theirs are profiled
// beforehand or matched by features; this one is learned from past runs. A value type, bounded.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/id_map.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"

namespace berth {

/// Time for which a job shared a GPU with jobs of one fingerprint.
struct Meeting {
  Fingerprint with;
  Duration together{0};

  bool operator==(const Meeting&) const = default;
};

/// The speed of one fingerprint beside another, in parts per million of its speed alone.
struct PairRate {
  std::int64_t ppm = 1'000'000;
  std::int32_t times = 0;

  bool operator==(const PairRate&) const = default;
};

struct Lesson {
  Duration alone{0};
  std::int32_t times = 0;    ///< Number of runs alone.
  std::uint64_t latest = 0;  ///< Number of the last update; the least recent lesson is dropped.
  std::map<Fingerprint, PairRate> beside;

  bool operator==(const Lesson&) const = default;
};

struct Identity {
  JobId job;
  Fingerprint what;

  bool operator==(const Identity&) const = default;
};

/// The whole state as plain data, for snapshots.
struct CompanyRecord {
  std::vector<Identity> jobs;  ///< Ascending.
  std::map<JobId, std::vector<Meeting>> meetings;
  std::map<Fingerprint, Lesson> lessons;
  std::uint64_t learned = 0;
};

class Company {
 public:
  static constexpr std::size_t kMostLessons = 4096;
  static constexpr std::size_t kMostMeetings = 256;  ///< Of one job; later ones are not noted.
  static constexpr std::size_t kMostBeside = 64;  ///< Pairs per lesson; later ones are not learned.

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

  /// Notes that two jobs shared a GPU for this long.
  void met(JobId one, JobId other, Duration together);
  /// Learns from an attempt that succeeded after `ran`.
  void learn(JobId job, Duration ran);
  /// Forgets the meetings of an attempt that is over.
  void part(JobId job) { meetings_.erase(job); }

  /// True if the speed of this fingerprint beside any other is known.
  bool knows_pairs() const { return pairs_ > 0; }
  /// 1,000,000 while unknown.
  std::int64_t rate_ppm(Fingerprint what, Fingerprint beside) const;

 private:
  void note_alone(Fingerprint what, Duration ran);

  IdMap<JobId, Fingerprint> jobs_;
  std::map<JobId, std::vector<Meeting>> meetings_;
  std::map<Fingerprint, Lesson> lessons_;
  std::uint64_t learned_ = 0;
  std::size_t pairs_ = 0;  ///< In all lessons.
};

}  // namespace berth
