// The world around a daemon: GPUs and what lies in their memory, nodes that go
// and come back, shims and the jobs they hold. The truth, known or not.
//
// It also keeps what only an onlooker can see: no attempt runs twice, no job
// runs beside itself, and no allocation within a charge fails.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/job.hpp"
#include "dst/plan.hpp"
#include "dst/report.hpp"
#include "gpu/port.hpp"
#include "live/ports.hpp"

namespace berth::dst {

struct Key {
  JobId job;
  Attempt attempt;
  auto operator<=>(const Key&) const = default;
};
/// `4.1`: job and attempt.
std::string to_text(Key key);

/// What a shim is told.
struct Order {
  Key key;
  std::size_t script = 0;
  Grant grant;
  pid_t adopted = 0;  ///< A stranger that it is to hold; 0: it starts a script.
};

struct Exit {
  Outcome outcome = Outcome::Done;
  std::int32_t code = 0;
};

/// The fate of an attempt, as its machine sees it.
enum class News : std::uint8_t {
  Go,        ///< The job's own process runs.
  Ended,     ///< Its end is in the file.
  ShimGone,  ///< The lock is.
};

/// An attempt: its file, its shim, its processes.
struct Run {
  Order order;
  bool locked = true;  ///< Its shim lives.
  bool go = false;
  std::optional<Exit> exit;
  bool process = false;    ///< Something of it lives.
  bool suspended = false;  ///< It does, without GPU memory.
  Duration left{0};
  Instant since;
  pid_t pid = 0;
  Life plans;  ///< Of what was to happen to it; a new one voids the old.
};

/// Memory of one process on one GPU.
struct Block {
  pid_t pid = 0;
  std::optional<Key> key;  ///< None: a stranger's.
  Bytes bytes{0};
  Instant since;
  bool alive = true;   ///< Else its process is gone and the driver is slow.
  JobId claimed = {};  ///< By the job that is to adopt it; 0: by none.
};

class Machines {
 public:
  Machines(const Plan& plan, Agenda& agenda, Report& report, Rng rng);

  /// Sent to the listener: the daemon that lives.
  std::function<void(Key, News)> listener;

  // ---- Shims --------------------------------------------------------------------------------
  /// A shim takes this order. Errors: Io; nothing of it runs.
  Expected<void> begin(const Order& order);
  /// Null for one that has no file.
  const Run* find(Key key) const;
  /// Its file goes.
  void forget(Key key) { runs_.erase(key); }
  void stop(Key key, live::Manner manner);
  /// Its process stays and gives its GPU memory back; an attempt of the same
  /// job that begins later goes on with it.
  void suspend(Key key);
  /// Ends what a shim left behind when it died.
  void end_orphans(Key key);
  const std::map<Key, Run>& runs() const { return runs_; }

  // ---- GPUs ---------------------------------------------------------------------------------
  Expected<Sample> sample(GpuId gpu) const;
  /// The attempt of a process, or that it is a stranger's (nothing); none such:
  /// an error.
  Expected<std::optional<Key>> owner(pid_t pid) const;
  bool is_hung(GpuId gpu) const { return hung_.contains(gpu); }
  bool is_up(NodeId node) const { return !lost_.contains(node); }
  /// Since when no look at it can succeed, itself or its node; nothing if one can.
  std::optional<Instant> bad_since(GpuId gpu) const;
  std::vector<Block> blocks(GpuId gpu) const;
  /// Memory there since before `then` that no charge covers. `charged` are the
  /// attempts with one.
  void set_charged(std::set<Key> charged) { charged_ = std::move(charged); }
  Bytes uncharged(GpuId gpu, Instant before) const;
  /// Foreign use there as an engine knew it when it granted that GPU last.
  void set_believed(GpuId gpu, Bytes foreign) { believed_[gpu] = foreign; }

  // ---- Trouble ------------------------------------------------------------------------------
  void kill_a_shim(Rng& rng);
  void lose(NodeId node);
  void bring_back(NodeId node);
  /// A stranger takes some of what is free, for a while.
  pid_t add_stranger(GpuId gpu, Bytes bytes, Duration how_long);
  /// Of a stranger, wherever it holds any; the rest there is foreign, too. Nothing if it is gone,
  /// or is nobody's any more.
  std::vector<AdoptedShare> held_by_stranger(pid_t pid) const;
  /// Its memory is that job's charge now.
  void claim(pid_t pid, JobId job);
  void break_gpu(GpuId gpu) { broken_.try_emplace(gpu, agenda_.now()); }
  void hang_gpu(GpuId gpu) { hung_.insert(gpu); }
  void mend_gpu(GpuId gpu) { broken_.erase(gpu), hung_.erase(gpu); }
  /// Everything dies; files lose what was not synced.
  void lose_power();
  /// After that: attempts of which the journal knows that they ran.
  void remember_started(std::set<Key> started) { began_ = std::move(started); }
  /// From now on nothing goes wrong by itself; what is wrong is put right.
  void calm_down();

  bool has_finished(JobId job) const { return finished_.contains(job); }
  /// Any process but a stranger's, or memory of one.
  bool is_anything_left() const;
  /// The most a job ever held of a GPU beyond what it was granted there.
  bool has_overrun(Key key) const { return overrun_.contains(key); }

 private:
  Run* run(Key key);
  void plan(Run& run, Duration delay, std::function<void(Key)> what);
  void go(Key key);
  void take_stranger(Key key);
  void end_stranger(pid_t pid);
  void allocate(Key key, std::int64_t of_hundred);
  bool take(Run& run, GpuId gpu, Bytes bytes);
  void check_refusal(const Run& run, GpuId gpu) const;
  void finish(Key key, Exit exit);
  void end_process(Run& run);
  Duration left_of(const Run& run) const;
  void unlock(Key key);
  void free_blocks(pid_t pid);
  void tell(Key key, News news);
  Duration soon();
  bool has_trouble(bool Troubles::* kind, std::int64_t one_in);

  const Plan& plan_;
  Agenda& agenda_;
  Report& report_;
  Rng rng_;
  bool calm_ = false;
  pid_t last_pid_ = 100;
  std::map<Key, Run> runs_;
  std::vector<std::vector<Block>> memory_;  ///< By GPU.
  std::map<GpuId, Instant> broken_;         ///< And since when.
  std::set<GpuId> hung_;
  std::map<NodeId, Instant> lost_;
  std::set<Key> began_;
  std::set<JobId> finished_;
  std::map<JobId, Duration> saved_;  ///< What is left of its work where it last saved its state.
  std::set<Key> overrun_;
  std::set<Key> charged_;
  std::map<GpuId, Bytes> believed_;
};

}  // namespace berth::dst
