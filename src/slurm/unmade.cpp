#include "slurm/unmade.hpp"

#include <algorithm>
#include <array>

namespace berth::slurm {

namespace {

/// 10 s, and twice as long each time, up to 10 minutes.
Duration wait_after_rounds(std::int32_t rounds) {
  constexpr Duration kLongestWait = minutes(10);
  constexpr std::int32_t kMostDoublings = 6;
  return std::min(kLongestWait, seconds(10) * (1 << std::clamp(rounds - 1, 0, kMostDoublings)));
}

bool is_no_smaller(const Cluster& cluster, NodeId one, NodeId other) {
  const NodeSpec& a = cluster.node(one);
  const NodeSpec& b = cluster.node(other);
  const auto room = [&](const NodeSpec& node) {
    return node.gpus == 0 ? Bytes(0) : cluster.gpu(node.first_gpu).capacity;
  };
  return a.gpus >= b.gpus && a.cpu >= b.cpu && a.host >= b.host && room(a) >= room(b);
}

/// All but those of these nodes. 0 where no node is left that can have what `like` can, or the
/// cluster is too large for a set.
GpuSet others_than(const std::set<NodeId>& barred, NodeId like, const Cluster& cluster) {
  GpuSet others = 0;
  bool has_place = false;
  for (const NodeId node : cluster.node_ids()) {
    if (barred.contains(node)) continue;
    has_place = has_place || is_no_smaller(cluster, node, like);
    for (const GpuId gpu : cluster.node(node).gpu_ids()) {
      if (cluster.gpu(gpu).self == 0) return 0;
      others |= cluster.gpu(gpu).self;
    }
  }
  return has_place ? others : 0;
}

/// Whether of each node there are all GPUs or none.
bool is_of_whole_nodes(GpuSet set, const Cluster& cluster) {
  return std::ranges::all_of(cluster.node_ids(), [&](NodeId node) {
    GpuSet all = 0;
    for (const GpuId gpu : cluster.node(node).gpu_ids()) all |= cluster.gpu(gpu).self;
    return (set & all) == 0 || (set & all) == all;
  });
}

}  // namespace

bool is_refusal(std::string_view word) {
  constexpr auto kPassing = std::to_array<std::string_view>(
      {"", "None", "Priority", "Resources", "BeginTime", "Dependency", "JobHeldAdmin",
       "JobHeldUser", "Cleaning", "Prolog", "JobArrayTaskLimit"});
  return std::ranges::find(kPassing, word) == kPassing.end();
}

bool is_of_all_nodes(std::string_view word) {
  constexpr auto kBegins = std::to_array<std::string_view>(
      {"Assoc", "QOS", "Max", "Licenses", "InvalidAccount", "InvalidQOS", "AccountNotAllowed",
       "PartitionDown", "PartitionInactive", "PartitionTimeLimit", "JobHeld"});
  return word.contains("policy") ||  // of the error, as of accounts
         std::ranges::any_of(kBegins, [&](auto begin) { return word.starts_with(begin); });
}

NextTry UnmadeStarts::add(const Job& job, const Cluster& cluster, std::string_view word) {
  const auto [found, is_first] = jobs_.try_emplace(job.id);
  Unmade& unmade = found->second;
  if (is_first) unmade.own = job.spec.request.gpu.only;
  std::set<NodeId> nodes;
  for (const Share& share : job.grant.shares) nodes.insert(cluster.node_of(share.gpu));
  if (nodes.size() == 1 && unmade.own == 0 && !is_of_all_nodes(word)) {
    unmade.barred.insert(*nodes.begin());
    const GpuSet only = others_than(unmade.barred, *nodes.begin(), cluster);
    if (only != 0) return {.wait = seconds(1), .only = only};
  }
  unmade.barred.clear();
  return {.wait = wait_after_rounds(++unmade.rounds), .only = unmade.own};
}

std::optional<GpuSet> UnmadeStarts::over(const Job& job, const Cluster& cluster, Instant now) {
  constexpr Duration kLongestBar = minutes(15);
  const GpuSet only = job.spec.request.gpu.only;
  const Instant begin = job.spec.conditions->begin;
  if (only == 0 || begin == kStart || now - begin < kLongestBar) return std::nullopt;
  const auto found = jobs_.find(job.id);
  if (found == jobs_.end()) {
    return is_of_whole_nodes(only, cluster) ? std::optional<GpuSet>(0) : std::nullopt;
  }
  if (found->second.barred.empty()) return std::nullopt;
  found->second.barred.clear();
  return found->second.own;
}

}  // namespace berth::slurm
