#include "daemon/limits/limits.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/text/text.hpp"
#include "daemon/attempts/launcher.hpp"
#include "daemon/limits/host_limits.hpp"
#include "daemon/loop/processes.hpp"
#include "gpu/probe.hpp"
#include "posix/small_file.hpp"

namespace berth::daemon {

namespace {

/// Between two figures of a driver for the same memory.
constexpr Bytes kUnevenness{std::int64_t{64} << 20};

bool allows(const LimitOptions& options, Rung rung) {
  return std::ranges::find(options.allowed, rung) != options.allowed.end();
}

bool has_processes(const std::string& cgroup) {
  return read_small_file(cgroup + "/cgroup.events").find("populated 1") != std::string::npos;
}

/// True for a process in this folder's cgroup or one below it. One that has ended is in none.
bool is_in_cgroup(pid_t pid, std::string_view folder) {
  constexpr std::string_view kUnified = "\n0::";
  const std::string all = "\n" + process_cgroups(pid);
  const std::size_t line = all.find(kUnified);
  if (line == std::string::npos) return false;
  std::string_view path = std::string_view(all).substr(line + kUnified.size());
  path = path.substr(0, path.find('\n'));
  for (; path.size() > 1; path = path.substr(0, path.rfind('/'))) {
    if (folder.ends_with(path)) return true;
  }
  return false;
}

/// Folders of attempts' cgroups.
std::vector<std::string> groups_in(const std::string& parent) {
  std::vector<std::string> groups;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(parent.c_str()), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name.starts_with("berth-")) groups.push_back(parent + "/" + std::string(name));
  }
  return groups;
}

/// Kernels from 6.14 on count GPU memory themselves, in groups that have their controller.
void share_memory_controller(const std::string& cgroup) {
  std::string names;
  std::getline(std::ifstream(cgroup + "/cgroup.controllers"), names);
  if ((" " + names + " ").find(" dmem ") == std::string::npos) return;
  std::ofstream(cgroup + "/cgroup.subtree_control") << "+dmem";
}

}  // namespace

Limits::Limits(GpuPort* port, std::size_t gpus, const LimitOptions& options)
    : port_(port), options_(options), why_not_(gpus) {
  std::string reason;
  const std::string trial = options.cgroup + "/berth-trial-" + std::to_string(::getpid());
  if (port == nullptr) {
    reason = "there is no driver";
  } else if (options.cgroup.empty()) {
    reason = "`cgroup` is not set in berth.toml, and the driver limits cgroups";
  } else if (::geteuid() != 0) {
    reason = "only root sets them, and berthd runs as uid " + std::to_string(::geteuid());
  } else if (::mkdir(trial.c_str(), 0755) != 0 && errno != EEXIST) {
    reason = trial + ": " + std::strerror(errno);
  }
  const bool can_try = reason.empty();
  if (can_try) share_memory_controller(options.cgroup);
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    const std::string lacks = port == nullptr ? "" : what_it_lacks(*port, gpu);
    why_not_[gpu] = !lacks.empty() ? lacks : can_try ? try_out(*port, gpu, trial) : reason;
    if (why_not_[gpu].empty()) can_.insert(GpuId(gpu));
    if (!allows(options, Rung::Driver)) why_not_[gpu] = "`limits` in berth.toml leaves driver out";
  }
  if (can_try) ::rmdir(trial.c_str());
}

/// Read of any cgroup: a driver without limits says so whatever else is missing here.
std::string Limits::what_it_lacks(GpuPort& port, std::uint32_t gpu) const {
  const auto read = port.limits(gpu, "/sys/fs/cgroup");
  const bool has_none = !read && read.error().code == ErrorCode::NotFound;
  return has_none ? read.error().message + ": drivers from r615 on have memory limits" : "";
}

/// Sets what is there anyway, so nothing changes but for the errors of a driver that cannot.
std::string Limits::try_out(GpuPort& port, std::uint32_t gpu, const std::string& cgroup) const {
  const auto done = port.set_limits(gpu, cgroup, {});
  if (!done) return done.error().message;
  const auto read = port.limits(gpu, cgroup);
  return read ? "" : read.error().message;
}

void Limits::set(Group& group, GpuId gpu, const MemoryLimits& limits) {
  const auto known = group.set.find(gpu);
  if (known != group.set.end() && known->second == limits) return;
  group.set[gpu] = limits;
  thread_.post([port = port_, gpu, limits, cgroup = group.cgroup, failures = group.failures] {
    const auto done = port->set_limits(gpu.value(), cgroup, limits);
    if (done) return;
    ++*failures;
    std::fprintf(stderr, "berthd: %s: %s\n", cgroup.c_str(), done.error().message.c_str());
  });
}

void Limits::clear(Group& group) {
  for (const auto& [gpu, limits] : std::map(group.set)) set(group, gpu, {});
  group.set.clear();
}

bool Limits::limit(const ClusterView& view, JobId job, Attempt attempt, const std::string& cgroup) {
  const Grant& grant = view.find(job)->grant;
  if (cgroup.empty() || grant.shares.empty()) return false;
  for (const Share& share : grant.shares) {
    if (!why_not(share.gpu).empty()) return false;
  }
  follow(view);  // those who were there before give way first
  Group& group = groups_[job] = {.attempt = attempt, .cgroup = cgroup};
  for (const Share& share : grant.shares) {
    for (const PlannedLimit& plan : plan_limits(view, share.gpu)) {
      if (plan.job == job) set(group, share.gpu, plan.limits);
    }
  }
  const bool is_set = thread_.wait(kPatience) && *group.failures == 0;
  if (!is_set) {
    std::fprintf(stderr, "berthd: job %llu: the driver set no memory limit in %lld ms; watched\n",
                 static_cast<unsigned long long>(job.value()),
                 static_cast<long long>(micros(kPatience) / 1000));
    clear(group);
    groups_.erase(job);
  }
  return is_set;
}

bool Limits::begin(const ClusterView& view, JobId job, Attempt attempt, const std::string& cgroup) {
  limit(view, job, attempt, cgroup);
  return !can_.empty() && !cgroup.empty();
}

/// A shim that could not move its job's process into the cgroup runs it all the same. One that
/// stayed behind empty would say that the job can be ended by it.
void Limits::check(JobId job, Attempt attempt) {
  if (options_.cgroup.empty()) return;
  const auto found = groups_.find(job);
  const bool is_known = found != groups_.end() && found->second.attempt == attempt;
  const std::string cgroup =
      is_known ? found->second.cgroup : cgroup_path(options_.cgroup, job, attempt);
  // One that was killed in it at once is told of by it.
  if (!has_processes(cgroup) && host_limits_told(cgroup).empty()) forget(job, attempt, cgroup);
}

void Limits::follow(const ClusterView& view) {
  for (auto entry = groups_.begin(); entry != groups_.end();) {
    auto& [id, group] = *entry;
    const Job* const job = view.find(id);
    const bool is_there =
        job != nullptr && job->attempt == group.attempt && holds_berth(job->state);
    if (!is_there) clear(group);
    entry = is_there ? std::next(entry) : groups_.erase(entry);
  }
  std::set<GpuId> gpus;
  for (const auto& [id, group] : groups_) {
    for (const auto& [gpu, limits] : group.set) gpus.insert(gpu);
  }
  for (const GpuId gpu : gpus) {
    for (const PlannedLimit& plan : plan_limits(view, gpu)) {
      const auto found = groups_.find(plan.job);
      if (found != groups_.end()) set(found->second, gpu, plan.limits);
    }
  }
}

void Limits::on_look(const live::Look& look) {
  if (!look.sample || !look.sample->processes) return;
  const auto owner_of = [&](pid_t pid) {
    const auto found = look.owners.find(pid);
    return found == look.owners.end() ? Owner(OfNobody{}) : found->second;
  };
  for (auto& [job, group] : groups_) {
    const auto set = group.set.find(look.gpu);
    if (set == group.set.end() || !set->second.most || *group.failures > 0) continue;
    const Bytes most = *set->second.most;
    const auto before = group.most_at_look.find(look.gpu);
    const Bytes held = held_by(job, *look.sample, owner_of).value_or(Bytes(0));
    const bool is_beyond =
        before != group.most_at_look.end() && held > std::max(most, before->second) + kUnevenness;
    if (is_beyond) {
      const bool has_left = std::ranges::any_of(*look.sample->processes, [&](const auto& process) {
        const Owner owner = owner_of(process.pid);
        const auto* const of = std::get_if<OfJob>(&owner);
        return of != nullptr && of->job == job && !is_in_cgroup(process.pid, group.cgroup);
      });
      const std::string what = "job " + std::to_string(job.value()) + " holds " + to_text(held) +
                               " where its limit is " + to_text(most);
      if (!has_left) why_not_[look.gpu.value()] = "the driver does not hold: " + what;
      tell_unheld(what, group, look.gpu);
    }
    group.most_at_look[look.gpu] = most;
  }
}

/// What the driver counts for the cgroup says whether it does not count, or does not refuse.
void Limits::tell_unheld(const std::string& why, Group& group, GpuId gpu) {
  ++*group.failures;
  thread_.post([port = port_, gpu, cgroup = group.cgroup, why] {
    const auto read = port->limits(gpu.value(), cgroup);
    const std::string counted = read
                                    ? "the driver counts " + to_text(read->used) + " for its cgroup"
                                    : read.error().message;
    std::fprintf(stderr, "berthd: GPU %u: %s; %s: it is watched\n", gpu.value(), why.c_str(),
                 counted.c_str());
  });
}

void Limits::forget(JobId job, Attempt attempt, const std::string& cgroup) {
  const auto found = groups_.find(job);
  if (found != groups_.end() && found->second.attempt == attempt) {
    clear(found->second);
    groups_.erase(found);
  }
  if (!cgroup.empty()) remove(cgroup);
}

bool Limits::adopt(const ClusterView& view, JobId job, Attempt attempt, const std::string& cgroup) {
  if (cgroup.empty() || !has_processes(cgroup)) return false;
  const bool is_limited = limit(view, job, attempt, cgroup);
  if (!is_limited) release(cgroup);
  return is_limited;
}

void Limits::release(const std::string& cgroup) {
  for (const GpuId gpu : can_) {
    thread_.post([port = port_, gpu, cgroup] {
      static_cast<void>(port->set_limits(gpu.value(), cgroup, {}));  // gone with the cgroup then
    });
  }
}

/// After what the driver was asked before.
void Limits::remove(const std::string& cgroup) {
  thread_.post(
      [remover = remover_, cgroup] { remover->post([cgroup] { ::rmdir(cgroup.c_str()); }); });
}

void Limits::sweep(const std::set<std::string>& current) {
  for (const std::string& cgroup : groups_in(options_.cgroup)) {
    if (current.contains(cgroup)) continue;
    release(cgroup);
    remove(cgroup);
  }
}

bool Limits::is_limited(JobId job) const {
  const auto found = groups_.find(job);
  if (found == groups_.end() || *found->second.failures > 0) return false;
  return std::ranges::all_of(found->second.set,
                             [](const auto& entry) { return entry.second.most.has_value(); });
}

std::map<GpuId, MemoryLimits> Limits::limits_of(JobId job) const {
  return is_limited(job) ? groups_.at(job).set : std::map<GpuId, MemoryLimits>();
}

}  // namespace berth::daemon
