// What a run was like, in figures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/time.hpp"
#include "trace/trace.hpp"

namespace berth::lab {

/// What became of one job. Instants are of one clock; kNever where it did not happen.
struct Fate {
  std::string state;           ///< As `berth ls` says it.
  Instant submitted = kNever;  ///< For the first time.
  Instant started = kNever;
  Instant ended = kNever;
  int attempts = 1;
  Duration lost{0};  ///< Time on its GPUs of attempts that came to nothing.
  int suspensions = 0;
  int programs = 1;  ///< Times that its program was started: more than once, and steps were lost.
};

/// Means over the samples taken while jobs were there.
struct Use {
  double memory = 0;  ///< Held, of what there is; 0 to 1.
  double busy = 0;    ///< GPU time, of what there is.
};

struct Run {
  std::string name;
  std::vector<Fate> fates;  ///< By job.
  Use use;
  int kills = 0;  ///< Of berthd.
};

struct Score {
  int finished = 0;
  int oom_by_admission = 0;  ///< Of jobs that stayed within what they asked for: must be 0.
  int oom_by_overrun = 0;    ///< Of jobs that took more than they asked for.
  int failed_otherwise = 0;
  int suspensions = 0;
  int began_again = 0;   ///< Jobs whose program was started more than once.
  int kills = 0;         ///< Of berthd.
  double mean_wait = 0;  ///< Seconds, of jobs that finished; as all below.
  double p95_wait = 0;
  double mean_jct = 0;
  double slowdown = 0;     ///< Mean of run time over time alone.
  double makespan = 0;     ///< Until the last end, of all jobs.
  double user_spread = 0;  ///< Largest mean JCT of a user over the smallest.
  Use use;
};

/// Requires: the fates are of these jobs.
Score score(const trace::Trace& trace, const Run& run);
/// Several runs of one way as one: counts are sums, the rest are means. Requires: not empty.
Score together(std::span<const Score> scores);

/// What a run cost the users who ran whatever was lost again until it ended.
struct Effort {
  int jobs = 0;
  int unfinished = 0;  ///< Given up; not in what follows but for `wasted`.
  int first_try = 0;   ///< Jobs that ended well at the first try.
  double wasted = 0;   ///< GPU-seconds of tries that came to nothing.
  double mean = 0;     ///< Seconds from the first submission to the result.
  double worst = 0;
  double makespan = 0;  ///< Seconds from the first submission of all to the last result.
  std::string called;   ///< In a sentence.
};
using Efforts = std::vector<std::pair<std::string, Effort>>;

/// Requires: the fates are of these jobs.
Effort effort(const trace::Trace& trace, const Run& run);
/// One line per run, aligned.
std::string table(const Efforts& efforts);
/// The last of them against the others, in a sentence. Requires: not empty.
std::string in_words(const Efforts& efforts);

/// Rows of a table: what each is called, and its figures.
using Scores = std::vector<std::pair<std::string, Score>>;

nlohmann::json to_json(const Score& score);
/// Errors: those of the library, thrown, for what to_json() did not write.
Score score_of(const nlohmann::json& json);
/// One line per run, aligned.
std::string table(const Scores& scores);
/// The same for a document.
std::string markdown(const Scores& scores);

/// How well the model foresees the machine, for a document: a row for each two of `scores`, which
/// are of one way, live and simulated.
std::string agreement(const Scores& scores);

}  // namespace berth::lab
