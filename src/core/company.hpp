// Who runs beside whom, and how fast each then is: learned from run times, so no job need report.
//
// Jobs are known by fingerprint: those with the same one run alike (same user, program and
// arguments but for numbers). A job that ended well and was hardly ever beside another tells how
// long its like takes alone. One that was beside others tells, against that, how fast it was while
// it was: what is missing of its time alone, over the time together. Means move by a quarter
// towards each new figure; a figure counts from the second time on, since one run may be odd. Run
// times of one fingerprint vary for reasons of their own, so this only ever chooses whether and
// where to share, for as long as a job is asked to wait for better; admission knows nothing of it.
//
// Differs from published pair tables (Gavel, OSDI 2020; Lucid, ASPLOS 2023): theirs are profiled
// beforehand or matched by features, this one follows from what ran. A value type, bounded.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/id_map.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"

namespace berth {

/// Time a job had a GPU in common with jobs of one fingerprint.
struct Meeting {
  Fingerprint with;
  Duration together{0};

  bool operator==(const Meeting&) const = default;
};

/// How fast one fingerprint is beside another, parts per million of its speed alone.
struct PairRate {
  std::int64_t ppm = 1'000'000;
  std::int32_t times = 0;

  bool operator==(const PairRate&) const = default;
};

struct Lesson {
  Duration alone{0};
  std::int32_t times = 0;    ///< Runs alone it was learned from.
  std::uint64_t latest = 0;  ///< Of all lessons; the one not renewed for longest is forgotten.
  std::map<Fingerprint, PairRate> beside;

  bool operator==(const Lesson&) const = default;
};

struct Identity {
  JobId job;
  Fingerprint what;

  bool operator==(const Identity&) const = default;
};

/// All of it as plain data, for snapshots.
struct CompanyRecord {
  std::vector<Identity> jobs;  ///< Ascending.
  std::map<JobId, std::vector<Meeting>> meetings;
  std::map<Fingerprint, Lesson> lessons;
  std::uint64_t learned = 0;
};

class Company {
 public:
  static constexpr std::size_t kMostLessons = 4096;
  static constexpr std::size_t kMostBeside = 64;  ///< Pairs per lesson; later ones are not learned.

  Company() = default;
  /// Requires: the jobs of `record` ascend and are those that are known.
  explicit Company(CompanyRecord record);
  CompanyRecord record() const;

  /// Nothing is learned of a job without a fingerprint (0).
  void identify(JobId job, Fingerprint what);
  Fingerprint of(JobId job) const;
  /// It is over, and its number will not come back.
  void forget(JobId job);

  /// Two jobs had a GPU in common for so long.
  void met(JobId one, JobId other, Duration together);
  /// The attempt ended well after `ran`.
  void learn(JobId job, Duration ran);
  /// The attempt is over, whatever came of it.
  void part(JobId job) { meetings_.erase(job); }

  /// True if it is known how fast this runs beside anything.
  bool knows_pairs() const { return pairs_ > 0; }
  /// 1,000,000 until something is known.
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
