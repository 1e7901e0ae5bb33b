// Keys of jobs: text that only a job's own processes, and what they hand it to, can know.
//
// A job's key is in its environment as BERTH_JOB_KEY. It is its number and a sum of that and a
// secret of this berthd's, so it needs no table and is the same after a restart. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"

namespace berth::daemon {

inline constexpr const char* kJobKey = "BERTH_JOB_KEY";

class JobKeys {
 public:
  explicit JobKeys(std::string secret) : secret_(std::move(secret)) {}
  /// With the secret in this file, which is made if it is not there or is none. Errors: Io.
  static Expected<JobKeys> open(const std::string& path);

  /// `42-0f3c...`
  std::string key_of(JobId job) const;
  /// Nothing for text that is no job's key.
  std::optional<JobId> job_of(std::string_view key) const;

 private:
  std::string secret_;
};

}  // namespace berth::daemon
