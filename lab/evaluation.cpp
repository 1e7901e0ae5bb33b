#include "lab/evaluation.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <thread>
#include <type_traits>

#include "core/text/words.hpp"
#include "lab/live.hpp"
#include "lab/report.hpp"
#include "lab/simulated.hpp"
#include "lab/ways.hpp"
#include "lab/workload.hpp"

namespace berth::lab {

namespace {

using Steady = std::chrono::steady_clock;

/// A child hands its score back as it lies in memory: both ends are this very program.
static_assert(std::is_trivially_copyable_v<Score>);

struct Case {
  Way way;
  std::uint64_t seed = 0;
  Score live;
  Score simulated;
};

/// A live run in a process of its own, because asking a daemon as another user changes the identity
/// of the whole process.
class LiveChild {
 public:
  static Expected<LiveChild> start(const Stage& stage, const Case& what) {
    int ends[2];
    if (::pipe(ends) != 0) return fail(ErrorCode::Io, std::strerror(errno));
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid < 0) return fail(ErrorCode::Io, std::strerror(errno));
    if (pid > 0) {
      ::close(ends[1]);
      return LiveChild(pid, ends[0]);
    }
    ::close(ends[0]);
    ::_exit(run(stage, what, ends[1]));
  }
  LiveChild(LiveChild&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), from_(std::exchange(other.from_, -1)) {}
  LiveChild& operator=(LiveChild&&) = delete;
  ~LiveChild() {
    if (from_ >= 0) ::close(from_);
    if (pid_ >= 0) ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  /// After its end; nothing if it failed, which it has said itself.
  std::optional<Score> result() const {
    Score score;
    if (::read(from_, &score, sizeof score) != sizeof score) return std::nullopt;
    return score;
  }
  void reaped() { pid_ = -1; }

 private:
  LiveChild(pid_t pid, int from) : pid_(pid), from_(from) {}

  static int run(const Stage& stage, const Case& what, int to) {
    const trace::Trace trace = mixed_workload(what.seed);
    const auto run = run_live(stage, trace,
                              {.name = what.way.name,
                               .daemon = {.admission = std::string(word_for(what.way.admission)),
                                          .policy = what.way.policy}},
                              [](const Moment&) {});
    if (!run) {
      std::fprintf(stderr, "berth-eval: %s, seed %llu: %s\n", what.way.name,
                   static_cast<unsigned long long>(what.seed), run.error().message.c_str());
      return kFailed;
    }
    const Score got = score(trace, *run);
    return ::write(to, &got, sizeof got) == sizeof got ? 0 : kFailed;
  }

  pid_t pid_;
  int from_;
};

/// Says how far it is, and about how long it will take.
class ProgressLines {
 public:
  explicit ProgressLines(std::size_t all) : all_(all) {}
  void done(const Case& what) {
    ++done_;
    const double spent = std::chrono::duration<double>(Steady::now() - start_).count();
    const double left = spent / static_cast<double>(done_) * static_cast<double>(all_ - done_);
    std::printf("[%2zu/%zu] %-11s seed %llu: %d finished, makespan %.1f s (about %.0f s to go)\n",
                done_, all_, what.way.name, static_cast<unsigned long long>(what.seed),
                what.live.finished, what.live.makespan, left);
    std::fflush(stdout);
  }

 private:
  std::size_t all_;
  std::size_t done_ = 0;
  Steady::time_point start_ = Steady::now();
};

bool run_all_live(const Stage& stage, std::span<Case> cases, int at_once) {
  ProgressLines progress(cases.size());
  std::map<pid_t, std::pair<LiveChild, Case*>> running;
  std::size_t next = 0;
  bool all_good = true;
  while (next < cases.size() || !running.empty()) {
    if (next < cases.size() && running.size() < static_cast<std::size_t>(at_once)) {
      Case& what = cases[next++];
      auto child = LiveChild::start(stage, what);
      if (!child) return false;
      const pid_t pid = child->pid();
      running.emplace(pid, std::pair(std::move(*child), &what));
      continue;
    }
    const auto ended = running.find(::waitpid(-1, nullptr, 0));
    if (ended == running.end()) continue;
    auto& [child, what] = ended->second;
    child.reaped();
    const auto result = child.result();
    all_good = all_good && result.has_value();
    if (result) {
      what->live = *result;
      progress.done(*what);
    }
    running.erase(ended);
  }
  return all_good;
}

Expected<void> simulate_all(std::span<Case> cases) {
  const auto gpus = as_emulated(two_cards());
  if (!gpus) return std::unexpected(gpus.error());
  for (Case& what : cases) {
    const trace::Trace trace = mixed_workload(what.seed);
    const auto run = run_simulated(trace, *gpus, what.way);
    if (!run) return std::unexpected(run.error());
    what.simulated = score(trace, *run);
  }
  return {};
}

/// One row per way and side, all seeds together.
Scores rows_of(std::span<const Case> cases) {
  Scores rows;
  for (const Way& way : kAllWays) {
    std::vector<Score> live;
    std::vector<Score> simulated;
    for (const Case& what : cases) {
      if (std::strcmp(what.way.name, way.name) != 0) continue;
      live.push_back(what.live);
      simulated.push_back(what.simulated);
    }
    rows.emplace_back(std::string(way.name) + ", live", together(live));
    rows.emplace_back(std::string(way.name) + ", simulated", together(simulated));
  }
  return rows;
}

std::string command_of(const EvaluationOptions& options) {
  std::string seeds;
  for (const std::uint64_t seed : options.seeds) {
    seeds += (seeds.empty() ? "" : ",") + std::to_string(seed);
  }
  return "build/release/bin/berth-eval all --seeds " + seeds + " --at-once " +
         std::to_string(options.at_once) + " --folder " + options.folder;
}

Json json_of(std::span<const Case> cases, const EvaluationOptions& options) {
  Json runs = Json::array();
  for (const Case& what : cases) {
    runs.push_back({{"way", what.way.name},
                    {"admission", word_for(what.way.admission)},
                    {"policy", what.way.policy},
                    {"seed", what.seed},
                    {"live", to_json(what.live)},
                    {"simulated", to_json(what.simulated)}});
  }
  return {{"command", command_of(options)},
          {"live_runs_at_a_time", options.at_once},
          {"runs", std::move(runs)}};
}

/// Errors: those of Json, thrown.
std::vector<Case> cases_of(const Json& json) {
  std::vector<Case> cases;
  for (const Json& run : json.at("runs")) {
    const auto way =
        std::ranges::find_if(kAllWays, [&](const Way& one) { return run.at("way") == one.name; });
    if (way == kAllWays.end()) continue;
    cases.push_back({.way = *way,
                     .seed = run.at("seed"),
                     .live = score_of(run.at("live")),
                     .simulated = score_of(run.at("simulated"))});
  }
  return cases;
}

bool lost_none(std::span<const Case> cases) {
  for (const Case& what : cases) {
    if (what.way.admission != AdmissionMode::Guarantee) continue;
    for (const Score& score : {what.live, what.simulated}) {
      if (score.oom_by_admission + score.failed_otherwise > 0) return false;
    }
  }
  return true;
}

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return file.flush().good();
}

}  // namespace

Expected<std::string> live_section(const Json& live) {
  try {
    const std::vector<Case> cases = cases_of(live);
    const Scores rows = rows_of(cases);
    return "## Live against simulated\n\nBy `" + live.at("command").get<std::string>() +
           "`.\n\nThe workload is that of `./demo`: " +
           std::to_string(mixed_workload(1).jobs.size()) +
           " jobs of three users on two 24 GiB cards within three\n"
           "seconds, every user asking honestly for the memory that the job takes; " +
           std::to_string(cases.size() / kAllWays.size()) +
           " seeds. *Live* is real\n"
           "processes on emulated GPUs by a real berthd; *simulated* is the same engine and "
           "policies\n"
           "in the simulator of `berth sim`, on a model of those GPUs: `--share duty`, a probe "
           "every\n"
           "200 ms, a start that takes 5 ms. Counts are sums over the seeds, the\n"
           "rest are means of their figures. Waits, completion times (JCT) and run over solo time "
           "are\n"
           "of the jobs that finished, so a way that loses jobs looks quicker than it is. *JCT "
           "spread* is the\n"
           "largest mean JCT of a user over the smallest.\n\n" +
           markdown(rows) + "\n" + agreement(rows) +
           "\n*none* starts every job at once; *free-memory* polls for free memory, as scripts "
           "do;\n"
           "*fifo* promises memory, strictly first come, first served; *exclusive* gives each "
           "job\n"
           "GPUs of its own; *headroom* is berth's default where jobs cannot be suspended.\n";
  } catch (const Json::exception& error) {  // of the library: a key that is not there
    return fail(ErrorCode::BadData, std::string("is no live evaluation: ") + error.what());
  }
}

int run_evaluation(const EvaluationOptions& options) {
  std::vector<Case> cases;
  for (const std::uint64_t seed : options.seeds) {
    for (const Way& way : kAllWays) cases.push_back({.way = way, .seed = seed});
  }
  if (auto done = simulate_all(cases); !done) return report(done.error());
  const auto stage = Stage::open();
  if (!stage) return report(stage.error());
  if (!run_all_live(*stage, cases, options.at_once)) return kFailed;
  const Scores rows = rows_of(cases);
  std::printf("\n%s\n%s", table(rows).c_str(), agreement(rows).c_str());
  const std::string path = options.folder + "/live.json";
  if (!write(path, json_of(cases, options).dump(1) + "\n")) {
    return report({ErrorCode::Io, path + ": cannot be written"});
  }
  const bool good = lost_none(cases);
  std::printf("\n%s\n", good ? "The guarantee lost no job." : "The guarantee lost jobs: a defect.");
  return good ? 0 : kFailed;
}

}  // namespace berth::lab
