// The options of `run` and `submit` as typed, and the request body made of them.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/json.hpp"
#include "core/error.hpp"
#include "core/time.hpp"

namespace CLI {
class App;
}

namespace berth::cli {

/// The options as they were typed; nothing for those that were not.
struct JobOptions {
  std::optional<std::string> vram;
  std::optional<std::string> gpus;
  std::optional<std::string> cpus;
  std::optional<std::string> mem;
  std::optional<std::string> pids;
  std::optional<std::string> signal;
  std::optional<std::string> notify;
  std::optional<std::string> notify_on;
  std::optional<std::string> min_gpus;
  std::optional<std::string> max_gpus;
  std::optional<std::string> gpu_types;
  std::optional<std::string> gpu_index;
  std::optional<std::string> gpu_milli;
  std::optional<std::string> gpu_processes;
  std::optional<std::string> priority;
  std::optional<std::string> estimate;
  std::optional<std::string> deadline;
  std::optional<std::string> group;
  std::optional<std::string> share;
  std::optional<std::string> vram_shrink;
  std::optional<std::string> model;
  std::optional<std::string> batch;
  std::optional<std::string> job_class;
  std::optional<std::string> time;
  std::optional<std::string> retries;
  std::optional<std::string> name;
  std::optional<std::string> directory;
  std::optional<std::string> after;  ///< As after_ok.
  std::optional<std::string> after_ok;
  std::optional<std::string> after_any;
  std::optional<std::string> after_notok;
  std::optional<std::string> begin;
  std::optional<std::string> array;
  std::optional<std::string> unique;
  std::optional<std::string> requeue_on;
  std::optional<std::string> on_preempt;
  std::optional<std::string> output;
  std::optional<std::string> snapshot;  ///< "." for the flag alone.
  std::optional<std::string> snapshot_exclude;
  std::optional<std::string> snapshot_limit;
  std::vector<std::string> environment;
  bool exclusive = false;
  bool hold = false;
  std::vector<std::string> command;
};

/// Those with one value.
inline constexpr auto kJobTexts = std::to_array<std::optional<std::string> JobOptions::*>(
    {&JobOptions::vram,          &JobOptions::gpus,
     &JobOptions::cpus,          &JobOptions::mem,
     &JobOptions::min_gpus,      &JobOptions::max_gpus,
     &JobOptions::gpu_types,     &JobOptions::gpu_index,
     &JobOptions::gpu_milli,     &JobOptions::gpu_processes,
     &JobOptions::priority,      &JobOptions::estimate,
     &JobOptions::deadline,      &JobOptions::group,
     &JobOptions::model,         &JobOptions::batch,
     &JobOptions::job_class,     &JobOptions::time,
     &JobOptions::retries,       &JobOptions::name,
     &JobOptions::directory,     &JobOptions::after,
     &JobOptions::after_ok,      &JobOptions::after_any,
     &JobOptions::after_notok,   &JobOptions::begin,
     &JobOptions::array,         &JobOptions::unique,
     &JobOptions::requeue_on,    &JobOptions::output,
     &JobOptions::share,         &JobOptions::pids,
     &JobOptions::signal,        &JobOptions::notify,
     &JobOptions::notify_on,     &JobOptions::on_preempt,
     &JobOptions::snapshot,      &JobOptions::snapshot_exclude,
     &JobOptions::snapshot_limit});

/// All of them but those of `submit` alone; the verb then stops reading at the first word that is
/// no option.
void add_job_options(CLI::App& verb, JobOptions& options);

/// Those of jobs that nobody waits for: a time to begin, an array, a file for the output, a hold.
void add_submit_options(CLI::App& verb, JobOptions& options);

/// The surroundings of the submitting process, which the job inherits.
struct Caller {
  std::vector<std::string> environment;  ///< `NAME=value`.
  std::string directory;
  mode_t umask = 022;
  Instant now = kStart;  ///< Since 1970.
};
/// Errors: Io if the working directory is gone.
Expected<Caller> this_caller();

/// A copy of the code that the job is to run in (snapshot.hpp).
struct SnapshotWish {
  std::string folder;  ///< "": that of the git work tree, or the job's.
  std::optional<std::string> exclude;
  std::optional<std::string> limit;
};

struct Submission {
  Json body;                          ///< As doc/openapi.yaml's Submit.
  std::vector<std::string> warnings;  ///< Variables and options left out, and why.
  std::optional<SnapshotWish> snapshot = {};
};

/// With what the command's script says, if it is one (script.hpp). Errors: InvalidArgument naming
/// the option, its value and what is allowed.
Expected<Submission> submission_of(const JobOptions& options, const Caller& caller);

/// The body of POST /v1/jobs/ID/update: GPU memory, time limit, name and priority as typed. Errors:
/// as submission_of(), and if nothing is to be changed.
Expected<Json> change_of(const JobOptions& options);

/// The command: what CLI11 left over before the command line's first `--`, and what stands from
/// there on. Errors: InvalidArgument for an option that is not known, or no word at all.
Expected<std::vector<std::string>> command_words(const std::vector<std::string>& left_over,
                                                 const std::vector<std::string>& from_dashes);

/// `--gres: no such option; say --gpus N ...`.
std::string unknown_option(std::string_view word);

/// Prints berthd's warnings about an accepted job on standard error.
void report_warnings(const Json& answer);

}  // namespace berth::cli
