// The jobs that a verb is about: numbers, ranges (`5-10`), names (`train-*`), all of a user's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/daemon.hpp"

namespace berth::cli {

struct JobChoice {
  std::vector<std::string> typed;  ///< Numbers, ranges, names.
  std::vector<std::string> users;  ///< Of whom; alone, all their jobs that have not ended.
};
/// `--user` and the positional words.
void add_job_choice(CLI::App& verb, JobChoice& choice);

/// Which jobs a name and a range stand for.
enum class Among {
  Live,  ///< Jobs that have not ended.
  All,   ///< Those; a name of which none is left stands for the latest job that has ended.
};

/// Two numbers with a dash between them; nothing for other text. Errors: InvalidArgument if the
/// first is larger.
struct JobRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
Expected<std::optional<JobRange>> parse_range(std::string_view text);

/// The jobs' numbers in the order typed, each once. A number is taken as it is; a name stands for
/// jobs of the caller's own, or of `--user`. Errors: InvalidArgument for no choice at all, for what
/// fits no job, and for a user who is not there; as Daemon::get().
Expected<std::vector<std::uint64_t>> choose_jobs(Daemon& daemon, const JobChoice& choice,
                                                 Among among);

/// What can be said without a daemon: errors as choose_jobs().
Expected<void> check_choice(const JobChoice& choice);

}  // namespace berth::cli
