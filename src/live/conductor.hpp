// The conductor: the loop of a live scheduler, whatever the machines below it are.
//
// It collects inputs, waits for fresh looks at the GPUs before a step that could start a job, takes
// the step, performs its effects through ports (ports.hpp) and answers users once the journal is on
// the disk. After a restart it compares the journal with the attempts that it finds.
//
// Belongs to one thread, which calls turn() after every event. The `on_` functions report events;
// they never take a step themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/input.hpp"
#include "engine/effect.hpp"
#include "live/failed_starts.hpp"
#include "live/fair_queue.hpp"
#include "live/keeper.hpp"
#include "live/launches.hpp"
#include "live/lookout.hpp"
#include "live/ports.hpp"
#include "live/reasons.hpp"
#include "live/shrinker.hpp"
#include "live/watcher.hpp"

namespace berth::live {

/// Why a request was not carried out normally.
enum class Setback {
  NothingChanged,  ///< It could not be written; the user may try again.
  LeftToNext,      ///< It is written and not done; the next daemon does it.
  MayBeLost,       ///< It is done; if the machine stops now, it may not have been.
};

/// Sends an answer; from any thread.
using Send = std::function<void()>;

/// A request: taken in with a step, answered once that step is on the disk. Either `answer` is
/// called or `fail`, or both where the answer may be lost; neither if the daemon dies before.
struct Asked {
  UserId user = {};  ///< Who asks: users have their turns.
  std::optional<Submission> submission;
  std::vector<Input> inputs;
  std::optional<JobId> left = {};  ///< As Batch::left.
  /// Makes the answer right after the step. The id is that of the submission, if there is one.
  /// Returns: nothing to send if the request goes on with another.
  std::function<Send(JobId)> answer;
  /// From any thread.
  std::function<void(Setback, const Error&)> fail;
};

/// The configuration of a conductor.
struct Setup {
  std::vector<std::string> problems;  ///< By GPU: why it cannot be used; "" if it can.
  Duration probe = seconds(1);        ///< Between two looks at all GPUs.
  Duration fast = Rhythm().fast;      ///< Between two looks where memory may be taken: Rhythm.
  ShrinkRule shrink = {};             ///< For jobs whose users allow their charges to fall.
  Trespass trespass = Trespass::IsTold;
  bool again_after_overrun = true;  ///< Whether a job runs again that another's overrun ended.
};

class Conductor {
 public:
  /// Requires: `keeper` outlives it.
  Conductor(Keeper& keeper, Setup setup, const Hands& hands);

  /// Takes over the jobs that hold a berth by the journal; before the first turn. Returns: messages
  /// for the administrator, a line each.
  std::vector<std::string> recover();
  /// Takes a step with all waiting inputs, unless it has to wait for looks or for the disk.
  void turn();
  /// The error after which it takes no more steps and the daemon must end, if there is one.
  const std::optional<Error>& failure() const { return failure_; }
  /// The error for which no step can be written down now, as on a full disk; it tries again.
  const std::optional<Error>& unwritten() const { return unwritten_; }
  /// True while a step waits for a look, which mostly takes less than a wake-up does.
  bool waits_for_look() const { return lookout_.is_waiting(); }

  /// Queues a request for the next step.
  void ask(Asked asked);
  /// Queues another event.
  void tell(std::vector<Input> inputs);

  // What the executor reports. Attempts that are not current are ignored.
  void on_started(JobId job, Attempt attempt);
  /// No process of the attempt ran.
  void on_failed(JobId job, Attempt attempt, const std::string& why);
  void on_ended(JobId job, Attempt attempt, const Ending& ending);
  /// The end of the attempt is unknown; no process of it is left.
  void on_lost(JobId job, Attempt attempt, const std::string& why);
  /// The attempt was stopped with Manner::Suspend, and its process has freed its GPU memory.
  /// Before on_suspended(): see Rooted.
  void on_rooted(JobId job, Attempt attempt);
  void on_suspended(JobId job, Attempt attempt, const std::string& note = "");
  /// It was to be suspended and runs as before; it is worth another try after `again`.
  void on_suspend_failed(JobId job, Attempt attempt, const std::string& why, Duration again);
  /// It was to go on from where it was suspended; its process waits as before.
  void on_resume_failed(JobId job, Attempt attempt, const std::string& why);

  // Looks of the eyes, and other reports about GPUs and nodes.
  void on_look(Look look);
  void on_fault(GpuId gpu, std::string problem);
  void on_node(NodeId node, bool is_reachable) {
    inputs_.emplace_back(NodeHealth{node, is_reachable});
  }

  void on_answer(Answer answer) { inputs_.emplace_back(Solved{std::move(answer)}); }

  void on_alarm(Alarm alarm);
  /// After one failed fsync the disk is not trusted again.
  void on_sync_failed(const Error& error) { failure_ = error; }

  const Watcher& watcher() const { return watcher_; }
  /// Jobs that ended while the keeper came back, of which no audience has heard.
  const std::vector<JobId>& ended_early() const { return ended_early_; }
  /// What an earlier daemon's watcher saved of energy; after recover().
  void restore_energy(std::string_view text, std::span<const std::string> names) {
    watcher_.energy().restore(text, names, keeper_.engine().view(), hands_.clock.now());
  }

 private:
  // Recovery.
  void recover(const Job& job);
  void cancel_cut_off(std::vector<std::string>& found);
  void go_on_with_cancels(std::vector<std::string>& found);
  void cancel_some();
  Standing standing_of(JobId job, Attempt attempt) const;

  // Inputs.
  const Job* current(JobId job, Attempt attempt) const;
  void on_over(const AttemptEnded& ended);
  void leave(JobId job, Attempt attempt);
  void on_failed_start(JobId job, Attempt attempt, const std::string& why);
  Duration try_later(const Job& job);
  void start_again();
  void on_silence();
  void note_failure(GpuId gpu, const std::function<void()>& learns);

  // A step.
  void refuse_without_room();
  void note_left(const Released& released);
  bool could_start() const;
  bool wait_for_look();
  std::vector<Asked> take_asked();
  void step(Instant now);
  bool take_late_estimates();
  void on_unwritten(const Error& error, std::vector<Input> own, std::vector<Asked> asked);
  void answer_all(std::vector<Asked> asked, const std::vector<JobId>& submitted);
  void work_on_snapshot();

  // Effects.
  void perform(const Launch& wanted);
  void perform(const Continue& wanted);
  void perform(const Stop& wanted);
  void stop(JobId job, Attempt attempt, Manner manner);
  void perform(const Finished& finished);
  void perform(const Hurt&) {}     ///< The keeper has written it down.
  void perform(const Spoiled&) {}  ///< Likewise.
  void perform(const Consult& asked);
  void start(Launching launching);
  void work_on_launches();
  bool allows_shrink(const Job& job) const;

  Keeper& keeper_;
  const Setup setup_;
  const Hands hands_;
  Watcher watcher_;
  Lookout lookout_;
  Shrinker shrinker_;
  const std::vector<JobId> ended_early_;
  Reasons reasons_;
  Launches launches_;

  std::vector<Input> inputs_;
  FairQueue<Asked> asked_;
  /// Told to end for the memory that they took, and how that counts.
  std::map<std::pair<JobId, Attempt>, Outcome> overran_;
  std::map<JobId, Attempt> current_;  ///< The attempt of each job that holds a berth.
  struct ToCancel {
    JobId job;
    UserId by;
    std::string who;
  };
  std::deque<ToCancel> to_cancel_;
  FailedStarts failed_starts_;  ///< Reported to the engine when due, as errors may pass.
  std::set<std::pair<JobId, Attempt>> failed_resumes_;  ///< Of those, with a suspended process.
  bool is_retrying_ = false;
  bool is_snapshot_synced_ = true;  ///< Its last written part is on the disk.
  std::optional<Error> failure_;
  std::optional<Error> unwritten_;
};

}  // namespace berth::live
