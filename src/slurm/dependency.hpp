// Whether what a job of Slurm waits for has happened. Slurm 22.05 does not judge the dependencies
// of a job that is held, and berth holds all of its jobs. Pure functions.
#pragma once

#include <cstdint>

#include "slurm/job_table.hpp"
#include "slurm/records.hpp"

namespace berth::slurm {

enum class Met : std::uint8_t { Yes, NotYet, Never };

/// Judges a job's dependency as Slurm prints it: `afterok:7(unfulfilled),after:8+5(unfulfilled)`;
/// all of its parts, or with `?` between them any. Knows after (with minutes since the start),
/// afterany, afterok, afternotok, aftercorr and singleton; what it does not know is never judged as
/// met: NotYet. A job that Slurm forgot counts as met, as in Slurm. `now` is in seconds since 1970.
/// Slurm judges again once berth lets the job run. O(text log jobs); minutes after the starts of an
/// array: O(its records).
Met judge(const JobRecord& job, const JobTable& jobs, std::int64_t now);

}  // namespace berth::slurm
