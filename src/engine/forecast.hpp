// When a waiting job will start: a bounded run of a copy of the engine into the future.
//
// The copy gets the inputs of a perfect machine: launches succeed at once, jobs end when planned
// (by time, not work, so elastic jobs on other numbers of GPUs are off), jobs give way in the time
// that it takes to copy their memory, no job arrives, no node fails. The engine is not changed; the
// copy may run on another thread. A copy costs Engine::restore(save()) with a fresh policy of the
// same name: O(jobs). The run costs one step of the engine for every instant at which a job ends or
// the policy asks to be woken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/knowledge/prediction_errors.hpp"
#include "core/text/handle.hpp"
#include "engine/engine.hpp"
#include "engine/leaving.hpp"

namespace berth {

/// The reason for a job's predicted end.
enum class Basis : std::uint8_t {
  Limit,     ///< Its time limit, which is enforced.
  Estimate,  ///< Its estimate.
  Learned,   ///< The run times of jobs like it, of those that ran longer than it has.
  Class,     ///< The policy's bound on its duration class.
  Outlived,  ///< It has outlived its estimate or class, and is assumed to run as long again.
  None,      ///< Unknown: it is assumed never to end.
};

/// The weakest basis of a prediction. Even `Bound` is no promise: jobs that arrive later
/// may go first where the policy says so, and one that ends early may make room for another.
enum class Confidence : std::uint8_t {
  Bound,     ///< Every end before it is by a time limit at the latest.
  Estimate,  ///< An end before it is by an estimate, a class, or after as long again; or a job has
             ///< to give way.
  Unknown,   ///< No start is predicted.
};

/// When jobs with a time limit end.
enum class Ends : std::uint8_t {
  AsPredicted,  ///< By their estimates where there are any, at their limits at the latest.
  AtLimits,     ///< For the latest start, if every job before it has a limit.
};

/// How long a job that gives way keeps its GPUs: by default, what berth took on one H100 and a
/// second more (doc/results/gpu.md).
struct GiveWay {
  Duration at_least = seconds(1);
  Bytes rate{std::int64_t{2} << 30};  ///< A second, of the job's GPU memory on a node; 0: at once.
};

struct ForecastOptions {
  Instant now = kStart;  ///< Where the run begins; the engine's time if that is later.
  std::size_t most_steps = 20'000;
  Duration horizon = hours(24 * 30);
  Ends ends = Ends::AsPredicted;
  std::size_t most_listed = 8;  ///< Of Forecast::before.
  GiveWay give_way;
  Solve solve = {};  ///< Answers a policy's questions; without it none has an answer.
};

/// Something that happens before the start.
struct Milestone {
  enum class What : std::uint8_t { Starts, Ends, GivesWay };
  Instant at;
  JobId job;
  What what = What::Starts;
  Basis basis = Basis::None;  ///< Of an end.

  bool operator==(const Milestone&) const = default;
};

struct Forecast {
  std::optional<Instant> start;
  Placement placement;  ///< Where, if it starts.
  Confidence confidence = Confidence::Unknown;
  LikeJobs like;                  ///< Whose predictions err alike, if it starts.
  std::vector<Milestone> before;  ///< In order; the first few.
  std::size_t before_count = 0;   ///< All of them.
  std::vector<JobId> guessed;     ///< Jobs that end before it without a limit; ascending.
  std::vector<JobId> unplanned;   ///< If the start is unknown: jobs in the way without a known end.
  /// Jobs that must leave the place where it starts, ascending: of those that leave before it in
  /// this run, the ones without whose end it would lack room or be over its user's limit. If the
  /// start is unknown: those in its way that do not leave in this run, and those that have to leave
  /// beside them.
  std::vector<JobId> must_end;
  std::vector<JobId> must_start;         ///< Of these, the ones that wait now; ascending.
  std::map<JobId, std::string> handles;  ///< Of the tasks of arrays among all of these.
  std::string text;                      ///< The basis, or why the start is unknown; one line.
};

/// A start of one of many jobs.
struct PredictedStart {
  JobId job;
  Instant at;
  Confidence confidence = Confidence::Bound;
  LikeJobs like = {};

  bool operator==(const PredictedStart&) const = default;
};

/// When the last job of an array ends.
struct PredictedEnd {
  JobId array;  ///< Its first job.
  Instant at;

  bool operator==(const PredictedEnd&) const = default;
};

/// The run, step by step, for callers that may have to stop in between.
class ForwardRun {
 public:
  /// For every job of the copy that waits, also for others or its turn: see starts(). The forecast
  /// says nothing.
  ForwardRun(Engine copy, const ForecastOptions& options);
  /// For a job of the copy; the start of an unknown job is unknown.
  ForwardRun(Engine copy, JobId target, const ForecastOptions& options);
  /// For a job of the copy that its user has changed.
  ForwardRun(Engine copy, const Updated& change, const ForecastOptions& options);
  /// For a job that does not exist: it is submitted to the copy, after all others.
  ForwardRun(Engine copy, const Submitted& job, const ForecastOptions& options);

  /// One instant. Returns: whether there is more to run.
  bool advance();
  /// Ends the run because it took too long; the start is unknown then.
  void stop_here();
  /// The result so far.
  const Forecast& forecast() const { return found_; }
  /// Of a run for every job: those that started so far, in order, each once.
  const std::vector<PredictedStart>& starts() const { return starts_; }
  /// Likewise: of the arrays that have started whole, where each run time is bounded by a limit or
  /// predicted by an estimate. Ascending.
  std::vector<PredictedEnd> ends_of_arrays() const;
  const Engine& engine() const { return engine_; }
  /// Where the run began.
  Instant first() const { return first_; }

 private:
  struct Plan {
    Instant end = kNever;
    Basis basis = Basis::None;
    Attempt attempt;
  };

  Plan plan_of(const Job& job) const;
  Plan prediction_of(const JobView& job) const;
  std::optional<Duration> learned_whole(const JobView& job) const;
  void schedule(JobId id);
  void unschedule(JobId id);
  void answer_what_is_under_way();
  bool is_only_looked_at(Instant next) const;
  bool find_next();
  void end_what_is_due();
  void free_what_is_due();
  /// False: it leaves at once.
  bool free_later(const Job& job);
  void step();
  void note_end_of_array(JobId job, const Plan& plan);
  void note(JobId job, Milestone::What what, Basis basis);
  void note_handle(JobId job);
  void perform(const Launch& launch) { begin(launch.job); }
  void perform(const Continue& resume) { begin(resume.job); }
  void perform(const Stop& stop);
  void perform(const Finished& finished);
  void perform(const Hurt&) {}
  void perform(const Spoiled&) {}
  void perform(const Consult& asked);
  void begin(JobId id);
  void note_leaving(JobId id);
  void predict(const Job& job);
  void name_what_is_in_the_way();
  void note_must_end(std::vector<JobId> jobs);
  Confidence confidence() const;
  LikeJobs like(const Job& job) const;
  void give_up(std::string why);
  void name_the_unplanned();

  Engine engine_;
  JobId target_;             ///< 0: all that wait.
  std::set<JobId> awaited_;  ///< Of those, the ones that have not started.
  std::set<JobId> there_;    ///< Those with a berth as the run began.
  std::vector<PredictedStart> starts_;
  PastRuns past_;  ///< Before the run began: those of the run itself are made up.
  ForecastOptions options_;
  Instant now_;
  Instant first_;
  Instant wake_at_ = kNever;
  std::size_t steps_ = 0;
  bool done_ = false;
  Evidence evidence_ = Evidence::Known;  ///< The weakest of all ends so far.
  bool has_outlived_ = false;            ///< Something that ended was Basis::Outlived.
  bool gives_way_ = false;               ///< Something had to.
  bool again_ = false;                   ///< What the last step led to is to be told at once.
  std::vector<Input> inputs_;
  std::vector<Departure> leaving_;                             ///< In order.
  std::map<JobId, Plan> plans_;                                ///< Of those that run.
  std::set<std::pair<Instant, JobId>> ends_;                   ///< The known ones.
  std::map<std::pair<Instant, JobId>, Attempt> frees_;         ///< Jobs that are giving way.
  std::map<JobId, std::pair<ArraySpan, Instant>> array_ends_;  ///< kNever: not known.
  Forecast found_;
};

/// The whole run. Requires: `copy` is not used elsewhere.
Forecast forecast(Engine copy, JobId target, const ForecastOptions& options = {});
Forecast forecast(Engine copy, const Submitted& job, const ForecastOptions& options = {});

/// One above every job the engine knows.
JobId next_job(const ClusterView& view);

}  // namespace berth
