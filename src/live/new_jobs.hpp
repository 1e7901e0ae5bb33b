// New jobs: what a user asks for, what is learned for it from jobs that ended, and how a step
// writes it down.
//
// Belongs to the engine's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/input.hpp"
#include "core/run_estimate.hpp"
#include "core/settings.hpp"
#include "core/view.hpp"
#include "journal/store.hpp"
#include "live/command.hpp"

namespace berth::live {

/// The policy and the engine's settings, from the configuration.
struct Rules {
  std::string policy = "headroom";
  std::string place = "least-shared";
  Settings settings;
  PreemptionBounds bounds = {};
  std::map<UserId, std::int64_t> weights = {};  ///< Of users, in thousandths: see Weighed.
  Speeds speeds = {};                           ///< Of models: see Profiled.
  bool learn_run_times = true;  ///< Of jobs whose users state none: see learn_estimate().
  std::int64_t learn_run_times_after = kFewestRuns;  ///< Runs of a program.
  bool learn_memory = true;  ///< Of jobs whose users state none: see memory_from().
};

/// A job to wait for, or one task of an array.
struct AfterTask {
  Dependency on;
  std::optional<std::int64_t> task = std::nullopt;
  bool same_task = false;  ///< Each task of the new array waits for that with its number.
};

/// Blobs of a submission that no job refers to yet.
struct StoredParts {
  std::vector<BlobId> blobs;
};

/// A new job; it gets its id when the step takes it.
struct Submission {
  JobSpec spec;
  bool held = false;
  std::string name;
  Command command;
  std::string environment;  ///< encode_environment().
  /// The words that come after these in parts that are not stored yet (Words::more), in order.
  std::vector<std::string> more_arguments = {};
  std::vector<std::string> more_environment = {};
  std::shared_ptr<StoredParts> stored = {};    ///< Those that are: they stay while this lives.
  std::vector<std::string> gpu_types = {};     ///< By name, those it accepts; none: any.
  std::vector<std::int64_t> gpu_indices = {};  ///< The GPUs it accepts; none: any.
  std::optional<bool> vram_shrink = {};        ///< Whether its charge may fall, if it was said.
  std::string share = {};                      ///< How it shares GPUs, as its user said it.
  /// Its numbers in an array: one job for each. None: one job. How many may be at once is in
  /// `spec.conditions`.
  std::vector<std::int64_t> tasks = {};
  /// Of a sweep: what stands behind the name of each task (core/text/points.hpp), as many as tasks.
  /// The variables kPoint have them too.
  std::vector<std::string> points = {};
  /// How many of these the steps before took (tasks_in_step()); then `id` is that of the first.
  std::size_t arrived = 0;
  /// As asked, before they are found and stand in `spec.conditions`.
  std::vector<AfterTask> after = {};
  /// Of those in `spec.conditions`, the jobs for which one task alone waits: its number.
  std::map<JobId, std::int64_t> only_for = {};
  /// The number that it has already, elsewhere; none: the next. No job had it before.
  std::optional<JobId> id = {};
  /// What the process of `command.adopted` holds, and its charges.
  std::vector<AdoptedShare> adopted = {};
  std::shared_ptr<void> place = {};  ///< Among those of its user that come (UserTotals).
};

/// What a step takes of what users ask for, counted in jobs: 4 ms.
inline constexpr std::size_t kMostInStep = 128;
/// Jobs to wait for that cost a step as much as a job: each is written down, and followed.
inline constexpr std::size_t kDependenciesAsAJob = 32;

/// For how many jobs each of it waits.
inline std::size_t waits_of_each(const Submission& submission) {
  const std::size_t all = submission.spec.conditions->after.size();
  const std::size_t own = submission.only_for.size();
  return own == 0 ? all : all - own + own / submission.tasks.size();
}
/// What each job of it costs a step.
inline std::size_t cost_of_job(const Submission& submission) {
  return 1 + submission.spec.conditions->after.size() / kDependenciesAsAJob;
}
/// How many jobs of an array one step takes.
inline std::size_t tasks_in_step(const Submission& submission) {
  return std::max<std::size_t>(1, kMostInStep / cost_of_job(submission));
}

/// What is learned may be charged: its user states none, and shares its GPUs.
bool leaves_memory_open(const GpuRequest& gpu);
/// As much was learned, and a GPU has it.
bool has_gpu_for(Bytes learned, const Cluster& cluster);

/// What jobs that ended teach of new ones. Its parts outlive it.
class Learning {
 public:
  Learning(const ClusterView& view, const journal::Store& store, const Rules& rules)
      : view_(view), store_(store), rules_(rules) {}

  const ClusterView& view() const { return view_; }
  /// What is asked for, of an array by its first task, with the run time and the GPU memory that
  /// are learned now for the command, if the user states none and they are learned. Both are
  /// journaled with the job, so that they are the same ever after.
  JobSpec with_estimate(const Submission& submission) const;
  /// The GPU memory of one of its tasks. Zero for a job whose program has not run yet, and where no
  /// GPU has so much: such a job gets a whole one.
  Bytes memory_of(const Submission& submission, std::size_t index) const;
  /// Inputs for jobs that wait, from the last so many that ended. None where run times are not
  /// learned.
  std::vector<Estimated> late(std::uint64_t news) const;

 private:
  Lessons lessons() const;

  ClusterView view_;
  const journal::Store& store_;
  const Rules& rules_;
};

/// Notes how the jobs ended that it is to wait for and that the engine has forgotten.
Expected<void> note_ended(JobSpec& spec, const ClusterView& view, const journal::Store& store);

/// A submission of which a step takes the jobs, or some, from its `arrived` on.
struct Arrival {
  const Submission& submission;
  JobId first;  ///< The number of its first job.
  Instant now;
};
/// Writes its rows, and adds its inputs: one job, or one for each task of an array that a step
/// takes. Within a transaction.
Expected<void> add_jobs(journal::Store& store, const Learning& learning, const Arrival& arrival,
                        std::vector<Input>& inputs);

}  // namespace berth::live
