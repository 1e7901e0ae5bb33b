// Which of Slurm's jobs hold more GPU memory than Slurm granted them, and which of those must end
// because others were granted that memory. The rule is berthd's (doc/problem.md, Overruns), on one
// node, with Slurm's grants.
//
// Pure functions. A job's own text can be made to look like Slurm's, by a name with line breaks:
// where a text says two things of a job, the smaller grant counts, so that nobody gains by it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "node/report.hpp"

namespace berth::node {

/// What Slurm granted a job on this node.
struct JobGrant {
  bool has_whole = false;             ///< A GPU of its own, or the node: it is never ended.
  std::map<std::uint32_t, Bytes> of;  ///< By the GPU's index.

  bool operator==(const JobGrant&) const = default;
};
using JobGrants = std::map<std::uint32_t, JobGrant>;  ///< By job.

/// By what `scontrol -o -d show job JOB` shows, which for an array are other jobs, too. Nothing
/// where Slurm does not tell of this job.
std::optional<JobGrant> grant_in(std::string_view shown, std::uint32_t job, std::string_view node);

/// Who a job is to Slurm's commands.
struct JobIdentity {
  std::string handle;         ///< `42`, `40_2`: 42 may mean all tasks of an array.
  std::string state;          ///< `RUNNING`.
  std::string admin_comment;  ///< "" for none.

  bool operator==(const JobIdentity&) const = default;
};
/// The words for squeue of a job, which prints no text of its user. identity_in() reads the answer;
/// nothing where the job is not in it.
std::vector<std::string> identity_words(std::uint32_t job);
std::optional<JobIdentity> identity_in(std::string_view rows, std::uint32_t job);

/// A job that holds more of a GPU than it may.
struct NodeOverrun {
  std::uint32_t job = 0;
  std::uint32_t gpu = 0;
  Bytes held{0};
  Bytes granted{0};
  bool is_lacked = false;  ///< What it holds beyond its grant is granted to others.

  bool operator==(const NodeOverrun&) const = default;
};

struct OverrunRule {
  Bytes context{0};       ///< Of each of its processes a job may hold that beside its grant.
  bool ends_all = false;  ///< Also of which nobody lacks the memory, of jobs with shards.
};

/// All of them, by GPU and then by job. Jobs without a known grant are none.
std::vector<NodeOverrun> overruns_on(const std::vector<NodeGpu>& gpus, const JobGrants& grants,
                                     const OverrunRule& rule);

/// Those that must end, the largest overrun of a GPU first, until the others have what they were
/// granted. The memory of `leaving` jobs counts as coming back. What a GPU lacks is counted by the
/// grants, also of jobs that hold nothing yet.
std::vector<NodeOverrun> overruns_to_end(const std::vector<NodeGpu>& gpus, const JobGrants& grants,
                                         const std::set<std::uint32_t>& leaving,
                                         const OverrunRule& rule);

/// `it held 45 GiB on GPU 0, was granted 20 GiB, and the rest is granted to others`.
std::string to_text(const NodeOverrun& overrun);

/// With which berth's part of a job's admin_comment begins.
inline constexpr std::string_view kNoteMark = "berth: it held ";

/// A job's admin_comment with this of berth's behind what else it says, in place of what berth said
/// before.
std::string with_note(std::string_view admin_comment, const std::string& note);

}  // namespace berth::node
