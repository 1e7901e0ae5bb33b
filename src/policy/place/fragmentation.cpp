#include "policy/place/fragmentation.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/base/assert.hpp"
#include "policy/kit/free_share.hpp"

namespace berth {

namespace {

Request class_of(const Ask& ask) {
  Request request = ask.request;
  request.host = Bytes(0);
  request.gpu.min = request.gpu.max = GpuCount(0);
  request.gpu.only = 0;  // a measure is of nodes alike, and no two have the same GPUs
  return request;
}

/// The artifact's order of classes that are equally popular.
auto rank_of(const TargetWorkload::Class& of) {
  const GpuRequest& gpu = of.request.gpu;
  return std::tuple(of.tasks, of.request.cpu, gpu.sharing == Sharing::Alone, gpu.milli, gpu.vram,
                    gpu.count, gpu.types);
}

}  // namespace

void TargetWorkload::add(const Ask& ask) { ++tasks_[class_of(ask)]; }

void TargetWorkload::remove(const Ask& ask) {
  const auto found = tasks_.find(class_of(ask));
  BERTH_ASSERT(found != tasks_.end());
  if (--found->second == 0) tasks_.erase(found);
}

std::vector<TargetWorkload::Class> TargetWorkload::typical(std::int64_t percent) const {
  std::vector<Class> classes;
  std::int64_t all = 0;
  for (const auto& [request, tasks] : tasks_) {
    classes.push_back({.request = request, .tasks = tasks});
    all += tasks;
  }
  std::ranges::stable_sort(classes, std::ranges::greater(), rank_of);
  std::int64_t covered = 0;
  std::size_t kept = 0;
  while (covered * 100 < all * percent) covered += classes[kept++].tasks;
  classes.resize(kept);
  return classes;
}

/// A job's ask may change while it waits, and events are hints: the jobs they name are counted
/// again, and all jobs if their number shows that some event is missing.
bool KnownWorkload::follow(const ClusterView& view, std::span<const Event> events) {
  bool changed = false;
  for (const Event& event : events) changed = recount(view, event.job) || changed;
  if (jobs_.size() == view.job_count()) return changed;
  jobs_.clear();
  workload_.clear();
  view.for_each_job([&](const Job& job) { recount(view, job.id); });
  return true;
}

bool KnownWorkload::recount(const ClusterView& view, JobId id) {
  const auto old = jobs_.find(id);
  const std::optional<Ask> now =
      view.knows(id) ? std::optional(ask_of(view.job(id))) : std::nullopt;
  if (old != jobs_.end() && now && old->second.request == now->request) return false;
  if (old != jobs_.end()) {
    workload_.remove(old->second);
    jobs_.erase(old);
  } else if (!now) {
    return false;
  }
  if (now) {
    workload_.add(*now);
    jobs_.emplace(id, *now);
  }
  return true;
}

Fragmentation::Fragmentation(std::span<const TargetWorkload::Class> classes, const GpuSpec& gpu,
                             GpuTypes type_bit) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::int64_t, std::int64_t>> grouped;
  for (const TargetWorkload::Class& of : classes) {
    tasks_ += of.tasks;
    const GpuRequest& wanted = of.request.gpu;
    const bool served = wanted.types == 0 || (wanted.types & type_bit) != 0;
    if (wanted.count == GpuCount(0) || !served) continue;
    const std::pair key(share_of({.request = of.request}, gpu), wanted.count.raw());
    grouped[key][of.request.cpu.raw()] += of.tasks;
  }
  for (const auto& [key, by_cpu] : grouped) {
    Group group{.share = key.first, .gpus = key.second, .cpu = {}, .tasks = {}};
    std::int64_t sum = 0;
    for (const auto& [cpu, tasks] : by_cpu) {
      group.cpu.push_back(cpu);
      group.tasks.push_back(sum += tasks);
    }
    groups_.push_back(std::move(group));
  }
}

std::int64_t Fragmentation::of(const FreeOnNode& free) const {
  std::int64_t total = 0;
  for (const std::int64_t share : free.shares) total += share;
  std::int64_t usable = 0;
  for (const Group& group : groups_) {
    std::int64_t enough = 0;
    std::int64_t in_them = 0;
    for (const std::int64_t share : free.shares) {
      enough += share >= group.share ? 1 : 0;
      in_them += share >= group.share ? share : 0;
    }
    if (enough < group.gpus) continue;
    const auto past = std::ranges::upper_bound(group.cpu, free.cpu) - group.cpu.begin();
    if (past > 0) usable += in_them * group.tasks[static_cast<std::size_t>(past) - 1];
  }
  return total * tasks_ - usable;
}

FreeOnNode free_on(NodeId node, const Trial& trial) {
  const NodeSpec& spec = trial.cluster().node(node);
  FreeOnNode free{.cpu = free_cpu(node, trial).raw(), .shares = {}};
  free.shares.reserve(spec.gpus);
  for (GpuId gpu = spec.first_gpu; gpu < spec.end_gpu(); gpu = GpuId(gpu.value() + 1)) {
    free.shares.push_back(free_share(gpu, trial));
  }
  return free;
}

std::size_t FragmentationBySpec::index_of(NodeId node, const Cluster& cluster) {
  const NodeSpec& spec = cluster.node(node);
  GpuSpec gpu = spec.gpus > 0 ? cluster.gpu(spec.first_gpu) : GpuSpec{};
  gpu.node = NodeId(0);
  gpu.self = 0;
  const auto found = std::ranges::find(specs_, gpu);
  if (found != specs_.end()) return static_cast<std::size_t>(found - specs_.begin());
  const GpuTypes type = spec.gpus > 0 ? cluster.type_bit(spec.first_gpu) : 0;
  specs_.push_back(gpu);
  measures_.emplace_back(classes_, gpu, type);
  return specs_.size() - 1;
}

}  // namespace berth
