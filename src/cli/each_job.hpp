// The verbs that take jobs one after the other: cancel, hold, release, suspend, resume, show, why,
// wait.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "cli/daemon.hpp"
#include "cli/job_choice.hpp"

namespace berth::cli {

struct EachJob {
  CommonOptions common;
  JobChoice choice;
};
void add_each_job(CLI::App& verb, EachJob& arguments);

/// The jobs chosen; after what is wrong was printed, the code to end with.
std::expected<std::vector<std::uint64_t>, int> chosen_jobs(Daemon& daemon, const JobChoice& choice,
                                                           Among among);

/// Does this with each and prints a line of each answer, or all of them as JSON; goes on after one
/// that fails. Returns: the exit code.
using Change = std::function<Expected<Json>(Daemon&, std::uint64_t job)>;
using LineOf = std::function<std::string(const Json& answer, std::uint64_t job)>;
int change_each(const EachJob& arguments, const Change& change, const LineOf& line_of,
                Among among = Among::Live);
/// The same, where the change is to post to `/v1/jobs/ID` and `rest`.
int post_to_each(const EachJob& arguments, const std::string& rest);

}  // namespace berth::cli
