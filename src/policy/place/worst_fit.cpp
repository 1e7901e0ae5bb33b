// Worst fit by memory: the most free memory stays behind.
#include <memory>

#include "policy/kit/cheapest.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kWorstFit{
    .title = "Worst fit by memory: the GPUs with the most free memory.",
    .rule =
        "On each node the fitting GPUs with the most free memory; of the nodes the one where "
        "their free memory adds up to the most, the first among equals. A job larger than the "
        "largest node takes the fitting GPUs of the first nodes until it has enough.",
    .reads = "Request, free memory per GPU, cores and memory per node.",
    .source =
        "Worst fit of bin packing (Johnson, \"Near-Optimal Bin Packing Algorithms\", MIT 1973), "
        "for many bins at once; Kubernetes calls it spreading.",
    .differs = "Nothing known.",
    .cost = "O(GPUs log GPUs per node).",
    .proof = "None yet."};

namespace {

class WorstFit final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    return place_cheapest(ask, trial, candidates,
                          [&](GpuId gpu) { return Bytes(0) - free_memory(gpu, trial); });
  }
  bool keeps_on_node() const override { return true; }
};

}  // namespace

std::unique_ptr<Placer> worst_fit(const Keys&) { return std::make_unique<WorstFit>(); }

}  // namespace berth
