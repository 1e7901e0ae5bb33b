// A private copy of a code directory, made at submission, in which a job runs: later edits do not
// change it.
//
// Of a git work tree the files that git knows or would add are copied; of another folder all. What
// is left out, by .gitignore or a pattern, is a link to the original, so that data and environments
// are found and results go where they went. Blocks are shared with the original where the file
// system can (FICLONE), so a copy costs little; never hard links, for edits in place would show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/job/submission.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"

namespace berth::cli {

inline constexpr std::size_t kMostSnapshotFiles = 100'000;
inline constexpr Bytes kSnapshotLimit = Bytes(std::int64_t{1} << 30);

struct SnapshotRules {
  std::vector<std::string> exclude;  ///< As fnmatch(3): of a path below the folder, or a name.
  Bytes limit = kSnapshotLimit;
  std::string parent;  ///< Where copies are made.
};

struct Snapshot {
  std::string path;
  std::size_t files = 0;
  Bytes size{0};
  std::vector<std::string> left_out;  ///< Ascending; links but for caches and git's own.
};

/// Copies `folder`. Errors: InvalidArgument naming the limit and what is largest if it is too
/// large; Io naming the file. Nothing is left then.
Expected<Snapshot> take_snapshot(const std::string& folder, const SnapshotRules& rules);

/// The folder that is copied if none is named: the git work tree that `directory` is in, else
/// itself.
std::string snapshot_source(const std::string& directory);

/// Makes the copy that a submission wishes for, and lets its job run there. Removes the copy when
/// it is destroyed, unless keep() was called because the job was taken.
class SubmissionCopy {
 public:
  /// Nothing is copied for a submission without that wish. Errors: as take_snapshot();
  /// InvalidArgument for a folder that the job's directory is not in.
  static Expected<SubmissionCopy> make(Submission& submission);
  SubmissionCopy(SubmissionCopy&& other) noexcept;
  SubmissionCopy& operator=(SubmissionCopy&&) = delete;
  ~SubmissionCopy();

  void keep() { path_.clear(); }
  /// What the user should know, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  SubmissionCopy() = default;

  std::string path_;  ///< "" for none.
  std::vector<std::string> warnings_;
};

}  // namespace berth::cli
