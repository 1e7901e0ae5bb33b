#include "policy/order/backlog.hpp"

#include <algorithm>

#include "policy/kit/free_share.hpp"

namespace berth {

namespace {

constexpr std::int64_t kAll = 1'000'000'000;

std::int64_t part(Wide of, std::int64_t all) {
  return all <= 0 ? 0 : static_cast<std::int64_t>(std::min<Wide>(of * kAll / all, kAll));
}

}  // namespace

std::int64_t part_of(const Ask& ask, const Cluster& cluster) {
  const GpuRequest& gpu = ask.request.gpu;
  if (gpu.count == GpuCount(0)) {
    std::int64_t cores = 0;
    for (const NodeSpec& node : cluster.nodes()) cores += node.cpu.raw();
    return part(ask.request.cpu.raw(), cores);
  }
  const std::int64_t milli = ask.alone() ? kWholeShare : gpu.milli.raw();
  const std::int64_t time =
      part(Wide{gpu.count.raw()} * milli, cluster.gpu_count().raw() * kWholeShare);
  const bool whole = ask.alone() || gpu.vram == Bytes(0);
  const std::int64_t memory =
      whole ? part(gpu.count.raw(), cluster.gpu_count().raw())
            : part(Wide{gpu.count.raw()} * gpu.vram.raw(), cluster.total_vram().raw());
  return std::max(time, memory);
}

void Backlog::add(JobId job, UserId user, Work work) {
  jobs_.insert(job, {user, work});
  Waiting& waiting = users_[user];
  waiting.work += work;
  ++waiting.jobs;
}

void Backlog::remove(JobId job) {
  const Entry* const entry = jobs_.find(job);
  if (entry == nullptr) return;
  const auto user = users_.find(entry->user);
  user->second.work -= entry->work;
  if (--user->second.jobs == 0) users_.erase(user);
  jobs_.erase(job);
}

Work Backlog::of(UserId user) const {
  const auto found = users_.find(user);
  return found == users_.end() ? 0 : found->second.work;
}

Duration Backlog::until_done(UserId user, Work running, const ClusterView& view) const {
  const Wide own = of(user);
  const std::int64_t own_weight = view.account(user).weight_milli;
  Work all = running;
  auto account = view.accounts().begin();  // beside the users, who ascend likewise
  for (const auto& [other, waiting] : users_) {
    while (account != view.accounts().end() && account->first < other) ++account;
    const bool has_one = account != view.accounts().end() && account->first == other;
    const std::int64_t weight = has_one ? account->second.weight_milli : Account{}.weight_milli;
    const Wide most = weight == own_weight ? own : own * weight / own_weight;
    all += std::min<Wide>(waiting.work, most);
  }
  return Duration(static_cast<std::int64_t>(std::min<Wide>(all / kAll, micros(kForever))));
}

}  // namespace berth
