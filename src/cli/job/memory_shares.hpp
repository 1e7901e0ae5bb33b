// Parts of a card's memory that scripts take, against what their job asks for.
#pragma once

#include <string>
#include <vector>

#include "cli/ask/daemon.hpp"
#include "cli/job/submission.hpp"
#include "cli/print/json.hpp"

namespace berth::cli {

/// `gpus`: as GET /v1/gpus has them. Returns: a warning for each part that is more than the job's
/// GPU memory on the smallest card that has as much, with the part to write.
std::vector<std::string> warnings_of_shares(const Submission& submission, const Json& gpus);

/// The same of the daemon's GPUs, which are asked for only if there is such a part; nothing where
/// it does not answer.
std::vector<std::string> shares_told_by(Daemon& daemon, const Submission& submission);

}  // namespace berth::cli
