// What intake, executor and reconciliation have in common: what Slurm told last, the attempts that
// it was told to run, and the ways to Slurm and to the conductor. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/site/site.hpp"
#include "slurm/courier.hpp"
#include "slurm/job_table.hpp"
#include "slurm/nodes.hpp"
#include "slurm/texts.hpp"

namespace berth::slurm {

/// The exit code of a run that Slurm ended to run it again; the engine queues such a job again.
/// No process exits with it.
inline constexpr std::int32_t kRequeuedBySlurm = 1000;

struct SlurmOptions {
  std::vector<std::string> partitions;  ///< Berth's.
  Duration patience = seconds(20);      ///< For Slurm to start what it was told to.
  Duration reach = seconds(35);         ///< For which Slurm tries to reach a node with a start.
};

/// An attempt that Slurm was told to run, up to its end.
struct Berth {
  enum class Stage : std::uint8_t { Sent, Released, Runs, Requeued, TakenBack, SentBack };
  Attempt attempt;
  Stage stage = Stage::Sent;
  std::uint32_t restarts = 0;    ///< Of the job, when it was told.
  Instant since;                 ///< Of its stage; kept after it runs.
  Instant rests_since = kNever;  ///< Of a run that is over: before the job runs again.
  bool is_to_wait = false;       ///< Its run was ended to hold it, not by berth.
  bool is_suspect = false;       ///< Slurm had not finished its run before.
  Instant bare_since = kNever;   ///< From when on Slurm shows it running without its shards.
  std::string why_back;          ///< Where it is sent back.
};

/// For the administrator, on standard error.
void say(const std::string& text);

struct Common {
  ClusterView view() const { return around->keeper.engine().view(); }
  Instant now() const { return around->clock.now(); }
  void note(JobId job, std::string text) const { around->keeper.note(job, std::move(text)); }
  const JobRecord* record_of(JobId job) const { return jobs.find(slurm_id(job)); }
  /// Gives an order to Slurm; `then` follows once it is carried out. One that fails is said, as
  /// that of `what`.
  void order(Order order, const std::string& what, std::function<void()> then = {}) const;

  const SlurmOptions options;
  const Cluster cluster;
  JobTable jobs = {};
  std::map<JobId, Berth> berths = {};
  std::optional<daemon::Site::Surroundings> around = {};  ///< Once attached, as is `courier`.
  live::Conductor* conductor = nullptr;                   ///< Once the site has begun.
  std::unique_ptr<Courier> courier = {};                  // last: it reports to the others
};

/// What berth wrote into its comment; nothing where that is not berth's, or cannot be read.
std::optional<SlurmNote> note_of(const JobRecord& job);

}  // namespace berth::slurm
