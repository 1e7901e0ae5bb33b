// The jobs that a job waits for, as people name them: `7,9-12`, `643_5`, `prep`.
#pragma once

#include <string_view>

#include "cli/ask/daemon.hpp"
#include "cli/print/json.hpp"
#include "core/base/error.hpp"

namespace berth::cli {

/// Handles (core/text/handle.hpp) as `{job, when}` of doc/openapi.yaml's Submit, and `task` of some
/// of an array's. Commas are between them, so a name has none; in the place of its number `job` has
/// the name. Errors: InvalidArgument for what is neither.
Expected<Json> jobs_before(std::string_view typed, std::string_view when);

/// Puts numbers for the names into the `after` of a submission: those for which `wait` would wait.
/// Asks no daemon for a submission without names. Errors: as Daemon::open(), chosen_rows().
Expected<void> number_jobs_before(const CommonOptions& common, Json& body);

}  // namespace berth::cli
