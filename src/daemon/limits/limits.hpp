// The driver's own limits of GPU memory, a cgroup per attempt: an allocation beyond a job's charge
// and margin fails at the call, and no neighbour notices. doc/memory-limits.md.
//
// Limits are set before the first process of an attempt, follow its charges, and are taken away
// when its charges are gone, before the cgroup is removed. All driver calls are made on a thread of
// their own, because a driver may hang; a start waits for its limits for kPatience at most and goes
// on without. Belongs to the engine's thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/view.hpp"
#include "daemon/limits/limit_plan.hpp"
#include "daemon/limits/rung.hpp"
#include "daemon/loop/driver_thread.hpp"
#include "gpu/port.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

struct LimitOptions {
  std::string cgroup;         ///< Folder of the attempts' cgroups; "" for none.
  std::vector<Rung> allowed;  ///< By configuration.
};

class Limits {
 public:
  static constexpr Duration kPatience = Duration(200'000);

  /// Tries on every GPU whether limits can be set: with a cgroup of its own, without an effect on
  /// any other. `port` may be null and outlives the process if a call hangs in it.
  Limits(GpuPort* port, std::size_t gpus, const LimitOptions& options);

  /// Why no job is limited by the driver on this GPU; "" if jobs are.
  const std::string& why_not(GpuId gpu) const { return why_not_[gpu.value()]; }

  /// Before the first process of an attempt: limits for it and, first, for the tenants it joins.
  /// `cgroup` is its folder, "" if it has none. Returns: whether the cgroup is left to forget(),
  /// because it is limited, or may be by the next daemon.
  bool begin(const ClusterView& view, JobId job, Attempt attempt, const std::string& cgroup);
  /// Its first process runs. If it is not in its cgroup, it is not limited, and the cgroup goes.
  void check(JobId job, Attempt attempt);
  /// Moves limits to charges that changed, and takes those away whose charge is gone.
  void follow(const ClusterView& view);
  /// An attempt is over: its limits and its cgroup go.
  void forget(JobId job, Attempt attempt, const std::string& cgroup);
  /// As begin(), for an attempt of a daemon before us that runs in this cgroup. One that is not to
  /// be limited any more loses what that daemon set. Returns: whether it is limited.
  bool adopt(const ClusterView& view, JobId job, Attempt attempt, const std::string& cgroup);
  /// Compares what each limited job's processes hold with its limit. One that holds more, although
  /// the limit was there at the look before, is limited no more, nor is any job that comes to that
  /// GPU: the driver does not do as it says, and they are watched. Where a process of the job's has
  /// left its cgroup, as its user can have it moved by systemd, that is no fault of the driver's:
  /// that job alone is limited no more.
  void on_look(const live::Look& look);
  /// Takes limits and cgroups away that attempts left which are over, but for those in `current`.
  void sweep(const std::set<std::string>& current);

  bool is_limited(JobId job) const;
  /// What is set for a job now, by GPU; empty if it is not limited.
  std::map<GpuId, MemoryLimits> limits_of(JobId job) const;

  bool stop() { return thread_.stop() && remover_->stop(); }

 private:
  struct Group {
    Attempt attempt;
    std::string cgroup;
    std::map<GpuId, MemoryLimits> set;
    std::map<GpuId, Bytes> most_at_look;  ///< The limits at the latest look.
    /// Calls that failed, written by the thread.
    std::shared_ptr<std::atomic<int>> failures = std::make_shared<std::atomic<int>>(0);
  };

  std::string what_it_lacks(GpuPort& port, std::uint32_t gpu) const;
  std::string try_out(GpuPort& port, std::uint32_t gpu, const std::string& cgroup) const;
  bool limit(const ClusterView& view, JobId job, Attempt attempt, const std::string& cgroup);
  void tell_unheld(const std::string& why, Group& group, GpuId gpu);
  void set(Group& group, GpuId gpu, const MemoryLimits& limits);
  void clear(Group& group);
  void release(const std::string& cgroup);
  void remove(const std::string& cgroup);

  GpuPort* port_;
  LimitOptions options_;
  std::vector<std::string> why_not_;
  std::set<GpuId> can_;  ///< Also those that are not to be limited.
  std::map<JobId, Group> groups_;
  /// Removes cgroups, which takes Linux tens of milliseconds; no start waits for it.
  std::shared_ptr<DriverThread> remover_ = std::make_shared<DriverThread>();
  DriverThread thread_;
};

}  // namespace berth::daemon
