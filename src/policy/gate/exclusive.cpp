// No GPU is shared.
#include "policy/gates.hpp"
#include "policy/pipeline/gate.hpp"

namespace berth {

constexpr About kExclusiveGate{
    .title = "No sharing: every job gets its GPUs alone.",
    .rule = "A job is placed as if it had asked for its GPUs alone (--exclusive).",
    .reads = "The request.",
    .source = "Folklore; what most clusters do (Jeon et al., ATC 2019).",
    .differs = "Nothing known.",
    .cost = "Nothing.",
    .proof = "None yet."};

namespace {

class Exclusive final : public Gate {
 public:
  Ask ask(Ask own) const override {
    if (own.gpus() > GpuCount(0)) own.request.gpu.sharing = Sharing::Alone;
    return own;
  }
};

}  // namespace

std::unique_ptr<const Gate> exclusive(const Keys&) { return std::make_unique<Exclusive>(); }

}  // namespace berth
