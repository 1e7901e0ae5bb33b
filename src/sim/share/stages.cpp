// How jobs slow each other whose stages overlap on the same GPUs, as in Muri.
#include "core/knowledge/stages.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "core/base/wide.hpp"
#include "sim/share/share_model.hpp"

namespace berth::sim {

namespace {

/// The stages of different jobs at once, each on the resource that is its own.
class Stages final : public ShareModel {
 public:
  /// O(tenants + orders of kMostStaged jobs).
  Rate rate(const SharedGpu& gpu) const override {
    std::vector<Iteration> group;
    Duration one_by_one{0};
    for (const std::size_t tenant : gpu.tenants) {
      const Iteration& its = gpu.trace.jobs[tenant].iteration;
      if (its.alone == Duration::zero()) return Rate(Rate::kWhole / std::ssize(gpu.tenants));
      group.push_back(its);
      one_by_one += its.alone;
    }
    const Wide together = group.size() <= kMostStaged
                              ? Wide{iteration_together(group, kMatchedStages)}
                              : Wide{micros(one_by_one)} * kPicoseconds;
    const Wide alone = Wide{micros(gpu.trace.jobs[gpu.who].iteration.alone)} * kPicoseconds;
    const auto ppm = static_cast<std::int64_t>((alone * Rate::kWhole + together / 2) / together);
    return std::clamp(Rate(ppm), Rate(1), kFullSpeed);
  }
};

std::unique_ptr<const ShareModel> by_stages(const Keys&) { return std::make_unique<Stages>(); }

}  // namespace

constexpr ShareEntry kStages{
    .name = "stages",
    .rule =
        "Its iteration alone / the iteration of the group, in which each job has one: its stages, "
        "on storage, processors and GPU, overlap those of the others, in the order of jobs that is "
        "best. More than four jobs have their iterations one after another, and so have jobs of "
        "which one does not state its stages, as if all were as long.",
    .source =
        "The simulator of Muri (Zhao et al., SIGCOMM 2022), with its factors for what overlapping "
        "costs; traces of format `muri` state the stages.",
    .make = by_stages};

}  // namespace berth::sim
