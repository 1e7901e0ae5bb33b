// Why a job waits, for a column of a table: what is missing, where, and who has it, in few words.
#pragma once

#include <functional>
#include <string>

#include "engine/explain.hpp"

namespace berth {

/// Whose memory it is that processes use there which are no jobs, as `python of eve, 8.3 GiB`; ""
/// where that is not known.
using ForeignUse = std::function<std::string(GpuId gpu)>;

/// `needs 7.5 GiB more on GPU 0 (job 3)`. `found` explains `job`, which waits.
std::string brief_text(const Explanation& found, const JobView& job, const ClusterView& view,
                       const ForeignUse& foreign = {});

}  // namespace berth
