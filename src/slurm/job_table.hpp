// Slurm's jobs as they were told last, with the counts that dependencies are judged by.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "slurm/records.hpp"

namespace berth::slurm {

/// How far some jobs are.
struct Tally {
  std::size_t jobs = 0;
  std::size_t pending = 0;
  std::size_t unfinished = 0;  ///< Not over, or with processes left.
  std::size_t done = 0;        ///< Of those that are over: well.

  bool operator==(const Tally&) const = default;
};

/// Each call costs O(log jobs), if nothing else is said.
class JobTable {
 public:
  void put(const JobRecord& job);  ///< A new job, or a later record of one.
  void remove(SlurmId id);         ///< Unknown jobs are ignored.

  const JobRecord* find(SlurmId id) const;  ///< Null for an unknown one.
  /// Of a job, or of all records of an array.
  Tally tally(SlurmId id) const;
  /// Of one task of an array. Tasks that Slurm has not told apart are one job.
  Tally tally(SlurmId array, std::uint32_t task) const;
  /// When the last of them began that are not pending; 0 if there is none. O(records of the array).
  std::int64_t last_start(SlurmId id) const;
  std::int64_t last_start(SlurmId array, std::uint32_t task) const;
  /// Of the jobs of its user that have its name, none runs and none of an earlier number waits.
  bool is_next_of_its_name(const JobRecord& job) const;

 private:
  using Name = std::pair<uid_t, std::string>;
  using Task = std::pair<SlurmId, std::optional<std::uint32_t>>;

  const JobRecord* find(SlurmId array, std::uint32_t task) const;
  void enter(const JobRecord& job);
  void leave(const JobRecord& job);

  std::map<SlurmId, JobRecord> jobs_;
  std::map<SlurmId, Tally> arrays_;
  std::map<Task, SlurmId> tasks_;  ///< Without a number: those not told apart.
  std::map<Name, std::set<std::pair<bool, SlurmId>>> names_;  ///< Not over; pending ones last.
};

}  // namespace berth::slurm
