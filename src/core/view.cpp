#include "core/view.hpp"

namespace berth {

Ask ask_of(const JobView& job) {
  Ask ask{.request = job.request(), .planned = job.planned()};
  GpuRequest& gpu = ask.request.gpu;
  if (gpu.count.raw() == 0 || gpu.vram.raw() > 0 || gpu.sharing == Sharing::Alone) return ask;
  gpu.vram = job.spec().vram_estimate;
  if (gpu.vram.raw() == 0) gpu.sharing = Sharing::Alone;
  return ask;
}

}  // namespace berth
