// The options of `run` and `submit` as typed, and the request body made of them.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/code/gpu_warnings.hpp"
#include "cli/print/json.hpp"
#include "core/base/error.hpp"
#include "core/base/time.hpp"

namespace CLI {
class App;
}

namespace berth::cli {

/// The options as they were typed.
struct JobOptions {
  /// Those with one value, by their names (`--vram`); nothing for one that was not typed.
  std::map<std::string_view, std::optional<std::string>> typed;
  std::vector<std::string> environment;
  std::vector<std::string> params;  ///< `lr=0.1,0.01`, of a sweep.
  bool exclusive = false;
  bool hold = false;
  std::vector<std::string> command;

  /// `option` is a literal, or stands in the table of fields.
  std::optional<std::string>& operator[](std::string_view option) { return typed[option]; }
  const std::optional<std::string>& operator[](std::string_view option) const;
};

/// The words of a line, where options that are not among them need not be there.
using TypedWords = std::optional<std::vector<std::string>>;

/// All of them but those of `submit` alone; the verb then stops reading at the first word that is
/// no option.
void add_job_options(CLI::App& verb, JobOptions& options, const TypedWords& words = {});

/// Those of jobs that nobody waits for: a time to begin, an array, a sweep, a file for the output,
/// a hold.
void add_submit_options(CLI::App& verb, JobOptions& options, const TypedWords& words = {});
/// Those of fields that may be changed while a job waits.
void add_update_options(CLI::App& verb, JobOptions& options);

/// Those of fields that are of a process which is adopted.
void add_adopt_options(CLI::App& verb, JobOptions& options);

/// The surroundings of the submitting process, which the job inherits.
struct Caller {
  std::vector<std::string> environment;  ///< `NAME=value`; its limits too (shim/ulimits.hpp).
  std::string directory;                 ///< "": it is gone.
  mode_t umask = 022;
  Instant now = kStart;  ///< Since 1970.
};
Caller this_caller();

/// A copy of the code that the job is to run in (snapshot.hpp).
struct SnapshotWish {
  std::string folder;  ///< "": that of the git work tree, or the job's.
  std::optional<std::string> exclude;
  std::optional<std::string> limit;
};

struct Submission {
  Json body;                             ///< As doc/openapi.yaml's Submit.
  std::vector<std::string> warnings;     ///< Variables and options left out, and why.
  std::vector<MemoryShare> shares = {};  ///< Of a card's memory, as its scripts say.
  std::optional<SnapshotWish> snapshot = {};
};

/// With what the command's script says, if it is one (script.hpp). Errors: InvalidArgument naming
/// the option, its value and what is allowed.
Expected<Submission> submission_of(const JobOptions& options, const Caller& caller);

/// The body of POST /v1/jobs/ID/update: what may be changed, as typed at `now`. Errors: as
/// submission_of(), and if nothing is to be changed.
Expected<Json> change_of(const JobOptions& options, Instant now);

/// The same of POST /v1/adopt, without what says which process it is.
Expected<Json> adoption_of(const JobOptions& options);

/// The command: what CLI11 left over before the command line's first `--`, and what stands from
/// there on. Errors: InvalidArgument for an option that is not known, or no word at all.
Expected<std::vector<std::string>> command_words(const std::vector<std::string>& left_over,
                                                 const std::vector<std::string>& from_dashes);

/// `--gres: no such option; say --gpus N ...`.
std::string unknown_option(std::string_view word);

/// `job 7 queued`, `jobs 7-16, array 7`; the number alone where standard output is no terminal.
std::string submitted_text(const Json& answer);

/// Prints berthd's warnings about an accepted job on standard error.
void report_warnings(const Json& answer);

}  // namespace berth::cli
