// A job of a trace that takes whole GPUs.
#pragma once

#include <cstdint>

#include "trace/trace.hpp"

namespace berth::sim {

/// Seconds.
inline trace::TraceJob whole_job(std::int64_t submit, std::int64_t run, std::int64_t gpus,
                                 std::uint32_t user = 0) {
  trace::TraceJob job{.name = "j",
                      .submit = kStart + seconds(submit),
                      .duration = seconds(run),
                      .spec = {.user = UserId(user)}};
  job.spec.request.gpu.count = GpuCount(gpus);
  job.spec.request.gpu.sharing = Sharing::Alone;
  return job;
}

}  // namespace berth::sim
