// The verbs that change one job after the other: cancel, hold, release, suspend, resume.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/daemon.hpp"

namespace berth::cli {

struct EachJob {
  CommonOptions common;
  std::vector<std::string> jobs;  ///< As typed.
};
void add_each_job(CLI::App& verb, EachJob& arguments);

/// Does this with each and prints a line of each answer, or all of them as JSON; goes on after one
/// that fails. Returns: the exit code.
using Change = std::function<Expected<Json>(Daemon&, std::uint64_t job)>;
using LineOf = std::function<std::string(const Json& answer, std::uint64_t job)>;
int change_each(const EachJob& arguments, const Change& change, const LineOf& line_of);
/// The same, where the change is to post to `/v1/jobs/ID` and `rest`.
int post_to_each(const EachJob& arguments, const std::string& rest);

/// Errors: InvalidArgument naming the first that is not a job number.
Expected<std::vector<std::uint64_t>> parse_jobs(const std::vector<std::string>& typed);

}  // namespace berth::cli
