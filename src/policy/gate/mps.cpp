// GPUs are shared through MPS.
#include "policy/gates.hpp"
#include "policy/pipeline/gate.hpp"

namespace berth {

constexpr About kMps{
    .title = "Jobs share GPUs through NVIDIA's MPS: their kernels run at once.",
    .rule =
        "A job that did not say how it shares its GPUs (--share) and has them not alone becomes a "
        "client of its user's MPS server there. Where the machine has no MPS, and on MIG "
        "instances, it runs as without this gate; berthd says so.",
    .reads = "Nothing.",
    .source =
        "Folklore; the scripts of CARMA (Yousefzadeh-Asl-Miandoab et al., arXiv 2508.19073, 2025) "
        "turn MPS on for all GPUs.",
    .differs =
        "CARMA has one server for all jobs, without limits; here are a server for each user and "
        "set of GPUs and a limit of memory for each process (doc/mps.md). Clients of MPS are not "
        "suspended. The simulator goes by its own --share.",
    .cost = "Nothing.",
    .proof = "None yet."};

namespace {

class Mps final : public Gate {
 public:
  ShareMode share() const override { return ShareMode::Mps; }
};

}  // namespace

std::unique_ptr<const Gate> mps(const Keys&) { return std::make_unique<Mps>(); }

}  // namespace berth
