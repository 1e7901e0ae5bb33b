#include "policy/pipeline/overlay.hpp"

#include <algorithm>

namespace berth {

Scratch free_at_both(const Cluster& cluster, const Occupancy& now, const Occupancy& then,
                     const Placement& kept) {
  Scratch scratch{now, {}};
  for (const GpuId gpu : kept.gpus) {
    GpuUse use = now.gpu(gpu);
    const GpuUse& later = then.gpu(gpu);
    use.charged = std::max(use.charged, later.charged);
    use.milli = std::max(use.milli, later.milli);
    use.tenants = std::max(use.tenants, later.tenants);
    use.alone = std::max(use.alone, later.alone);
    scratch.use.set_gpu(cluster, gpu, use);
  }
  const auto add_node = [&](NodeId node) {
    NodeUse use = scratch.use.node(node);
    use.cpu = std::max(use.cpu, then.node(node).cpu);
    use.host = std::max(use.host, then.node(node).host);
    scratch.use.set_node(node, use);
  };
  add_node(kept.host);
  for (const GpuId gpu : kept.gpus) add_node(cluster.node_of(gpu));
  return scratch;
}

}  // namespace berth
