// The verbs that change one job after the other: cancel, hold, release, suspend, resume.
#pragma once

#include <string>
#include <vector>

#include "cli/daemon.hpp"

namespace berth::cli {

struct EachJob {
  CommonOptions common;
  std::vector<std::string> jobs;  ///< As typed.
};
void add_each_job(CLI::App& verb, EachJob& arguments);

/// Posts to `/v1/jobs/ID` and `rest` for each; goes on after one that fails. Returns: the exit
/// code.
int post_to_each(const EachJob& arguments, const std::string& rest);

/// Errors: InvalidArgument naming the first that is not a job number.
Expected<std::vector<std::uint64_t>> parse_jobs(const std::vector<std::string>& typed);

}  // namespace berth::cli
