#include <algorithm>
#include <cstdint>

#include "sim/share/share_model.hpp"

namespace berth::sim {

namespace {

/// One iteration after another; the next is of the job that has had the least memory x time.
class SalusLane final : public ShareModel {
 public:
  Rate rate(const SharedGpu& gpu) const override {
    double all = 0;
    for (const std::size_t tenant : gpu.tenants) all += time_of(gpu, tenant);
    return Rate(static_cast<std::int64_t>(time_of(gpu, gpu.who) / all * Rate::kWhole));
  }

 private:
  /// In which it has had as much as others in theirs.
  static double time_of(const SharedGpu& gpu, std::size_t tenant) {
    const Bytes memory = gpu.trace.jobs[tenant].spec.request.gpu.vram;
    return 1 / static_cast<double>(std::max(memory, trace::kUnstated).raw());
  }
};

std::unique_ptr<const ShareModel> salus(const Keys&) { return std::make_unique<SalusLane>(); }

}  // namespace

constexpr ShareEntry kSalus{
    .name = "salus",
    .rule =
        "(1 / its GPU memory) / (sum of 1 / GPU memory of all jobs there): iterations have the GPU "
        "one after another, and GPU memory x time is the same for all jobs.",
    .source =
        "Salus (Yu and Chowdhury, MLSys 2020), its single lane under FAIR, with iterations that "
        "are short beside a job and switches that take no time; each job is charged all its "
        "memory, persistent and ephemeral.",
    .make = salus};

}  // namespace berth::sim
