// Whether what a job of Slurm waits for has happened. Slurm 22.05 does not judge the dependencies
// of a job that is held, and berth holds all of its jobs. Pure functions.
#pragma once

#include <cstdint>

#include "slurm/job_table.hpp"
#include "slurm/records.hpp"

namespace berth::slurm {

enum class Met : std::uint8_t { Yes, NotYet, Never };

/// Judges a job's dependency as Slurm prints it: `afterok:7(unfulfilled),afterany:8(unfulfilled)`;
/// all of its parts, or with `?` between them any. Knows after, afterany, afterok, afternotok,
/// aftercorr and singleton; what it does not know (after with minutes) is never judged as met:
/// NotYet. A job that Slurm forgot counts as met, as in Slurm. Slurm judges again once berth lets
/// the job run. O(text log jobs).
Met judge(const JobRecord& job, const JobTable& jobs);

}  // namespace berth::slurm
