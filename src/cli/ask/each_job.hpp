// The verbs that take jobs: cancel, hold, release, suspend, resume, update, which change all of
// them with one request, and show, why, logs, wait, which ask for one after the other.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/ask/daemon.hpp"
#include "cli/ask/job_choice.hpp"

namespace berth::cli {

struct EachJob {
  CommonOptions common;
  JobChoice choice;
};
void add_each_job(CLI::App& verb, EachJob& arguments);

/// The rows of the jobs chosen; after what is wrong was printed, the code to end with.
std::expected<std::vector<Json>, int> chosen_jobs(Daemon& daemon, const JobChoice& choice,
                                                  Arrays arrays);

/// POST /v1/VERB for all of them. Returns: its answer; after what is wrong was printed, the code to
/// end with.
std::expected<Json, int> change_jobs(const EachJob& arguments, std::string_view verb,
                                     const Json& change = {});
/// What became of a job, as `cancelled`.
using Words = std::function<std::string(const Json& job)>;
/// Its reason, if its row has one, else its state.
std::string state_words(const Json& job);
/// Prints what became of them: a line for each job, or for those of an array; or the answer as
/// JSON. Returns: the code to end with, which says whether what was named was done; of an array it
/// is enough that some tasks were in a state that allows it.
int print_changes(const EachJob& arguments, const Json& answer, const Words& words = state_words);
/// Both.
int change_and_print(const EachJob& arguments, std::string_view verb);

}  // namespace berth::cli
