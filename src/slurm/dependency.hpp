// Whether what a job of Slurm waits for has happened. Slurm 22.05 does not judge the dependencies
// of a job that is held, and berth holds all of its jobs. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "slurm/records.hpp"

namespace berth::slurm {

enum class Met : std::uint8_t { Yes, NotYet, Never };

/// The records of a job, of one task of an array, or of all its tasks; none if Slurm forgot it.
using FindJobs =
    std::function<std::vector<const JobRecord*>(SlurmId id, std::optional<std::uint32_t> task)>;

/// Judges a text as Slurm prints it: `afterok:7(unfulfilled),afterany:8_3(unfulfilled)`; all of its
/// parts, or with `?` between them any. Knows after, afterany, afterok and afternotok; what it does
/// not know (singleton, aftercorr, after with minutes) is never judged as met: NotYet. A job that
/// Slurm forgot counts as met, as in Slurm. Slurm judges again once berth lets the job run.
Met judge(std::string_view dependency, const FindJobs& find);

}  // namespace berth::slurm
