// The job of tests that work a run out by hand.
#pragma once

#include "trace/trace.hpp"

namespace berth::sim {

/// Of one whole GPU, submitted and long so many seconds; its name is its model.
inline trace::TraceJob one_gpu_job(const char* name, int submit, int run) {
  trace::TraceJob job{.name = name,
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(1)}};
  job.spec.request.gpu.count = GpuCount(1);
  job.spec.request.gpu.sharing = Sharing::Alone;
  job.model = name;
  return job;
}

}  // namespace berth::sim
