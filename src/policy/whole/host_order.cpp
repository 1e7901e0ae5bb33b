#include "policy/whole/host_order.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/wide.hpp"

namespace berth {

namespace {

constexpr std::int64_t kParts = 1'000'000'000'000;

/// In so many parts of all there is.
struct PartsOfAll {
  Wide gpus = 0;
  Wide cpu = 0;
  Wide host = 0;
};

Wide parts_of(std::int64_t amount, std::int64_t all) {
  return all == 0 ? Wide{0} : Wide{amount} * kParts / all;
}

PartsOfAll all_parts(const Request& request, const HostTotals& totals) {
  return {.gpus = parts_of(request.gpu.count.raw(), totals.gpus.raw()),
          .cpu = parts_of(request.cpu.raw(), totals.cpu.raw()),
          .host = parts_of(request.host.raw(), totals.host.raw())};
}

Wide order_key(HostOrder order, const HostJob& job, Instant now, const HostTotals& totals) {
  const PartsOfAll parts = all_parts(job.choice.wants.request, totals);
  switch (order) {
    case HostOrder::Fifo:
      return 0;
    case HostOrder::Srtf:
      return micros(job.left);
    case HostOrder::Las:
      return job.attained.raw();
    case HostOrder::Ftf:
      return parts_of(micros(now - job.arrival + job.left), micros(job.whole));
    case HostOrder::Drf:
      return std::max({parts.gpus, parts.cpu, parts.host});
    case HostOrder::Tetris:
      return (parts.gpus + parts.cpu + parts.host) * micros(job.left);
  }
  return 0;
}

bool asks_too_many(const HostJob& job, GpuCount free) {
  return takes_whole(job.choice.wants) && job.choice.wants.gpus() > free;
}

/// Those that fit by their number of GPUs, one after the other.
std::vector<HostJob> chosen_by_number(std::span<const HostJob> jobs, GpuCount free) {
  std::vector<HostJob> chosen;
  for (const HostJob& job : jobs) {
    if (asks_too_many(job, free)) continue;
    chosen.push_back(job);
    if (takes_whole(job.choice.wants)) free -= job.choice.wants.gpus();
  }
  return chosen;
}

}  // namespace

HostTotals totals_of(const Cluster& cluster) {
  HostTotals totals{.gpus = cluster.gpu_count()};
  for (const NodeSpec& node : cluster.nodes()) {
    totals.cpu += node.cpu;
    totals.host += node.host;
  }
  return totals;
}

void sort_by(HostOrder order, std::vector<HostJob>& jobs, Instant now, const HostTotals& totals) {
  std::ranges::stable_sort(jobs, {}, [&](const HostJob& job) {
    return std::pair(order_key(order, job, now, totals), job.arrival);
  });
}

void pack(HostOrder order, std::span<const HostJob> jobs, HostPacker& packer, const Trial& trial) {
  std::vector<HostJob> chosen;
  if (order == HostOrder::Las) {
    chosen = chosen_by_number(jobs, trial.use().vacant());
    const auto gpus = [](const HostJob& job) { return job.choice.wants.gpus(); };
    if (packer.how() == HostPacking::Tune) std::ranges::stable_sort(chosen, std::greater(), gpus);
    jobs = chosen;
  }
  for (const HostJob& job : jobs) {
    if (!asks_too_many(job, trial.use().vacant())) packer.add(job.choice);
  }
}

}  // namespace berth
