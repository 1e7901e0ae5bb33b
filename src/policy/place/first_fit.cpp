// First fit: the first GPUs, in order of node and index, that can take the job.
#include <memory>

#include "policy/kit/candidates.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kFirstFit{
    .title = "First fit: the first GPUs, in order of node and index, that can take the job.",
    .rule =
        "The first node with enough fitting GPUs, lowest index first. A job larger than the "
        "largest node takes the fitting GPUs of the first nodes until it has enough.",
    .reads = "Request, free memory, shares and slots per GPU, cores and memory per node.",
    .source =
        "First fit of bin packing (Johnson, \"Near-Optimal Bin Packing Algorithms\", MIT 1973), "
        "for many bins at once.",
    .differs = "Nothing known.",
    .cost = "O(GPUs) at worst.",
    .proof = "None yet."};

namespace {

class FirstFit final : public Placer {
 public:
  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() == GpuCount(0)) return candidates.first_host();
    if (candidates.needs_many_nodes()) return candidates.gather_in_order();
    const auto node = candidates.first_node(candidates.wanted());
    if (!node) return candidates.refusal();
    return candidates.take_from(*node, candidates.wanted());
  }
  bool keeps_on_node() const override { return true; }
};

}  // namespace

std::unique_ptr<Placer> first_fit(const Keys&) { return std::make_unique<FirstFit>(); }

}  // namespace berth
