// `why` and dry runs: what a job waits for, and when it would start, looked up on a thread of its
// own. Hints (engine/hint.hpp) are asked for on the same copies, for a bounded time.
//
// The engine's thread copies the engine's state as bytes, O(jobs); all else happens on the one
// thread here, on an engine made of them: nothing that is asked here delays a step. Each user has a
// few places for questions, and users are answered in turn.
//
// A start that no limit bounds is told as an interval, by how far off the first predictions of like
// jobs were that anybody asked for (core/knowledge/prediction_errors.hpp). They are kept in memory,
// and after a restart the prior is told until enough jobs have started: they are no facts of which
// the engine decides, and in its snapshots each question would have to be an input of the journal.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <variant>

#include "core/base/error.hpp"
#include "core/job.hpp"
#include "core/knowledge/prediction_errors.hpp"
#include "daemon/answers/adviser.hpp"
#include "daemon/loop/json_text.hpp"
#include "engine/forecast.hpp"
#include "engine/hint.hpp"
#include "http/server.hpp"
#include "live/fair_queue.hpp"
#include "live/keeper.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

/// A job as it would be submitted, and is not.
struct Wish {
  JobSpec spec;
  bool held = false;
};

/// All jobs that wait.
struct EachStart {};

/// A job must be known to the engine.
using Subject = std::variant<JobId, Wish, EachStart>;

struct Question {
  Subject about;
  Instant now;
  std::shared_ptr<http::Exchange> exchange;   ///< Gets the answer.
  std::string note = {};                      ///< Of the job, as its keeper has it.
  std::string memory_limit = {};              ///< Of one with a berth: what keeps it to its memory.
  std::string links = {};                     ///< Likewise: what connects its GPUs.
  std::map<GpuId, std::string> foreign = {};  ///< The non-berth processes of GPUs, in words.
  Duration longest_time = kForever;           ///< That a time limit may be.
  std::set<Wanting> fixed = {};               ///< What the asker cannot change of the job.
  /// The jobs that are looked at, where there are more than kMostJobs; ascending.
  std::optional<std::vector<JobId>> first = {};
  std::size_t waiting = 0;  ///< Then: how many wait in all.
  bool is_beyond = false;   ///< Then: its subject is behind jobs that are not looked at.
};

class Forecaster {
 public:
  /// `policy` and `place` are what the engine decides with.
  Forecaster(std::string policy, std::string place, const ForecastOptions& options = {});
  /// Answers every waiting request that there will be no forecast.
  ~Forecaster();

  /// On the engine's thread; half a microsecond per job that is looked at. Errors: Conflict if
  /// kMostWaiting others of this user wait; ask again. Requires: of more than kMostJobs jobs the
  /// question names those that are looked at (first_jobs.hpp).
  Expected<void> ask(const Engine& engine, Question question);
  /// When each job that waits will start, as far as that is known soon: many ask for it, some of
  /// them all the time, so an answer is given again while nothing has changed. Errors: as ask().
  Expected<void> ask_each(const Engine& engine, Question question);
  /// Answers at once, if it can, as ask_each() would.
  bool answer_again(const Engine& engine, const Question& question);

  /// On the engine's thread: these have perhaps started, or wait no more.
  void on_changed(const ClusterView& view, std::span<const JobId> jobs);

  static constexpr std::size_t kMostWaiting = 8;  ///< Of one user.
  /// Jobs that are looked at, beside those with a berth.
  static constexpr std::size_t kMostJobs = 20'000;

 private:
  /// What an engine's picture of the future follows from, as far as users see it.
  struct Version {
    std::size_t jobs = 0;
    std::uint64_t grants = 0;
    std::uint64_t finished = 0;
    std::uint64_t room = 0;
    JobId last;

    bool operator==(const Version&) const = default;
  };
  struct Told {
    Version version;
    Instant at = kStart;
    std::string body;
  };

  struct Waiting {
    Question question;
    Version version = {};            ///< Of what `state` was made.
    std::string state;               ///< Engine::save(), or a picture.
    std::optional<Refused> decided;  ///< Engine::refused() of the job asked about.
  };

  void work(const std::stop_token& stop);
  http::Response answer(const Waiting& waiting, const std::stop_token& stop);
  http::Response why(Engine engine, JobId job, const Waiting& waiting, const std::stop_token& stop);
  http::Response dry_run(Engine engine, const Waiting& waiting, const std::stop_token& stop) const;
  http::Response each_start(Engine engine, const Waiting& waiting, const std::stop_token& stop);
  static Version version_of(const Engine& engine);
  void settle_all(const ClusterView& view);
  void note(JobId job, const MadePrediction& made);
  PredictionErrors::Quantiles errors_at(Instant now) const;
  bool look_ahead(Json& json, ForwardRun& run, const Waiting& waiting,
                  const std::stop_token& stop) const;
  void speak_of_place(Json& json, JobId job, const Forecast& found, const Waiting& waiting) const;
  /// Good while `waiting` is.
  Adviser adviser(const Waiting& waiting, const std::stop_token& stop) const;
  Expected<Engine> engine_of(const Waiting& waiting) const;
  ForwardRun run_of(Engine engine, const Question& question, Ends ends) const;

  std::string policy_;
  std::string place_;
  ForecastOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  live::FairQueue<Waiting> waiting_;
  std::optional<Told> told_;  ///< The latest answer to ask_each(); under the mutex, as `waiting_`.
  PredictionErrors errors_;   ///< Under the mutex.
  std::jthread thread_;
};

/// Tells a forecaster what has become of jobs, before others hear of it.
class ForecastFollower : public live::Audience {
 public:
  /// Requires: all of them outlive it.
  ForecastFollower(Forecaster& forecaster, const live::Keeper& keeper, live::Audience& others)
      : forecaster_(forecaster), keeper_(keeper), others_(others) {}
  void on_step(const live::StepTaken& step) override { others_.on_step(step); }
  void on_changed(const std::vector<JobId>& jobs) override {
    forecaster_.on_changed(keeper_.engine().view(), jobs);
    others_.on_changed(jobs);
  }

 private:
  Forecaster& forecaster_;
  const live::Keeper& keeper_;
  live::Audience& others_;
};

}  // namespace berth::daemon
