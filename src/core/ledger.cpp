#include "core/ledger.hpp"

namespace berth {

void Ledger::put(const Cluster& cluster, const Grant& grant) {
  use_.put(cluster, grant);
  scratch_.use.put(cluster, grant);
}

void Ledger::take(const Cluster& cluster, const Grant& grant) {
  use_.take(cluster, grant);
  scratch_.use.take(cluster, grant);
  ++room_version_;
}

void Ledger::grow(const Cluster& cluster, const Share& from, Bytes to) {
  GpuUse use = use_.gpu(from.gpu);
  use.charged += to - from.charge;
  set_gpu(cluster, from.gpu, use);
}

void Ledger::set_gpu(const Cluster& cluster, GpuId id, const GpuUse& use) {
  const GpuUse& was = use_.gpu(id);
  const bool by_use = use_.admission().mode == AdmissionMode::FreeMemory;
  const bool is_same = is_usable(was) == is_usable(use) && was.foreign == use.foreign &&
                       (!by_use || was.used == use.used);
  if (!is_same) ++condition_version_;
  use_.set_gpu(cluster, id, use);
  scratch_.use.set_gpu(cluster, id, use);
  ++room_version_;
}

void Ledger::set_node(NodeId id, const NodeUse& use) {
  if (use_.node(id).healthy != use.healthy) ++condition_version_;
  use_.set_node(id, use);
  scratch_.use.set_node(id, use);
  ++room_version_;
}

void Ledger::set_admission(const Cluster& cluster, const Admission& admission) {
  use_.set_admission(cluster, admission);
  scratch_.use.set_admission(cluster, admission);
  ++room_version_;
  ++condition_version_;
}

}  // namespace berth
