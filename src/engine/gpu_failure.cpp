// What happens when a GPU fails: jobs whose users want that leave it, and run again elsewhere.
#include <algorithm>

#include "engine/engine.hpp"

namespace berth {

/// True if its user wants it to run again, elsewhere, should a GPU of its fail.
bool Engine::outlives_gpu(const Job& job) {
  const Conditions& asked = *job.spec.conditions;
  return asked.requeue_on_gpu_failure && asked.requeues > 0;
}

bool Engine::is_in_service(const Grant& grant) const {
  return std::ranges::all_of(
      grant.shares, [&](const Share& share) { return state_.ledger.use().gpu(share.gpu).healthy; });
}

/// The others go on: many a program does not notice, or saves what it has.
void Engine::on(const GpuLost& lost) {
  if (lost.gpu.value() >= state_.cluster.gpus().size()) return;
  for (Job* const job : tenants_of(lost.gpu)) {
    if (is_running(job->state) && outlives_gpu(*job)) leave_gpu(*job);
  }
}

void Engine::leave_gpu(Job& job) {
  --job.spec.conditions.edit().requeues;
  stop(job, PreemptHow::Requeue, StopFor::GpuFailure);
  emit(EventKind::Preempted, job.id);
}

/// What becomes of a job that failed and outlives its GPUs, now that these were looked at since.
void Engine::judge_failed(Job& job) {
  if (!is_in_service(job.grant)) {
    --job.spec.conditions.edit().requeues;
    job.outcome = Outcome::Done;
    job.exit_code = 0;
    return;
  }
  job.ending = true;
  emit(EventKind::Ended, job.id);
}

}  // namespace berth
