// The jobs that a verb is about: handles (core/text/handle.hpp), all of a user's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/ask/daemon.hpp"
#include "cli/print/json.hpp"

namespace berth::cli {

struct JobChoice {
  std::vector<std::string> typed;  ///< Handles.
  std::vector<std::string> users;  ///< Of whom; alone, all their jobs that have not ended.
};
/// `--user` and the positional words.
void add_job_choice(CLI::App& verb, JobChoice& choice);

/// What can be said without a daemon. Errors: InvalidArgument for no choice at all, for a text that
/// names no job, and for a user who is not there.
Expected<void> check_choice(const JobChoice& choice);

/// `{jobs, users}` of POST /v1/cancel and the like. Requires: check_choice().
Json body_of(const JobChoice& choice);

enum class Arrays { InTasks, Whole };  ///< A row for each task, or for an array that is named.

/// The jobs' rows, each once, also of those that have ended; of what is named by its number alone
/// only that, as it is looked up by the request that follows. Errors: as check_choice(),
/// Daemon::get().
Expected<std::vector<Json>> chosen_rows(Daemon& daemon, const JobChoice& choice, Arrays arrays);

/// What a job is called in requests and in words: `643_5`, `7`.
std::string handle_of(const Json& job);

}  // namespace berth::cli
