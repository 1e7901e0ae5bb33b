// What happens when GPU memory runs out: who gives way, and with what request they come again.
#include <algorithm>

#include "engine/engine.hpp"
#include "engine/possible.hpp"

namespace berth {

namespace {

/// Requests stay multiples of it; shells round what they measure up to one.
constexpr Bytes kRequestStep{std::int64_t{64} << 20};

const Share* share_on(const Job& job, GpuId gpu) {
  const auto share = std::ranges::find(job.grant.shares, gpu, &Share::gpu);
  return share == job.grant.shares.end() ? nullptr : &*share;
}

Bytes overrun(const Share& share) { return share.charge - share.granted; }

Bytes rounded_up(Bytes bytes) {
  return kRequestStep * ((bytes.raw() + kRequestStep.raw() - 1) / kRequestStep.raw());
}

/// The largest request that some placement of the job could hold; what is asked, if none is larger.
Bytes largest_request(const Job& job, const Cluster& cluster) {
  Request whole = job.spec.request;
  Bytes low = whole.gpu.vram;
  Bytes high = cluster.largest_gpu();
  while (low + kRequestStep <= high) {
    const Bytes middle = rounded_up(low + Bytes((high - low).raw() / 2));
    whole.gpu.vram = std::min(middle, high);
    if (why_impossible(job.id, whole, cluster)) {
      high = whole.gpu.vram - kRequestStep;
    } else {
      low = whole.gpu.vram;
    }
  }
  return low;
}

}  // namespace

/// Under pressure, who took more than was granted gives way, the largest overrun first: the others'
/// guarantee holds only as long as everybody stays within their charge. One at a time: what the one
/// leaves may be enough. Foreign use alone is nobody's overrun: admission has stopped, no more can
/// be done. Less than a step over may be the rounding of a figure that was within the charge.
void Engine::relieve(GpuId gpu) {
  if (state_.settings.admission.mode != AdmissionMode::Guarantee) return;
  const GpuUse& use = state_.ledger.use().gpu(gpu);
  if (use.tenants < 2 || !is_under_pressure(state_.cluster.gpu(gpu), use)) return;
  Job* offender = nullptr;
  Bytes most = kRequestStep - Bytes(1);
  for (const JobId id : state_.running) {
    Job& job = state_.jobs.at(id);
    const Share* const share = share_on(job, gpu);
    if (share == nullptr) continue;
    if (job.state == JobState::Stopping) return;
    if (overrun(*share) <= most) continue;
    most = overrun(*share);
    offender = &job;
  }
  if (offender == nullptr) return;
  if (!grow_request(*offender)) {
    return stop_for_good(*offender, Outcome::Oom, StopFor::Overrun);
  }
  stop(*offender, PreemptHow::Requeue, StopFor::Overrun);
  emit(EventKind::Preempted, offender->id);
}

/// For another try after it ran out of GPU memory: half as much again, or what it was seen to hold
/// if that is more, up to the largest there is. Returns: false if no try is left, or none would
/// differ.
bool Engine::grow_request(Job& job) {
  GpuRequest& gpu = job.spec.request.gpu;
  if (job.retries_used >= job.spec.retries || gpu.vram == Bytes(0)) return false;
  Bytes wanted = gpu.vram + Bytes(gpu.vram.raw() / 2);
  for (const Share& share : job.grant.shares) {
    const Bytes context = state_.cluster.gpu(share.gpu).context * gpu.processes;
    wanted = std::max(wanted, share.charge - context);
  }
  const Bytes larger = std::min(rounded_up(wanted), largest_request(job, state_.cluster));
  if (larger <= gpu.vram) return false;
  gpu.vram = larger;
  ++job.retries_used;
  return true;
}

}  // namespace berth
