// Random: any node that holds the job is as likely as any other.
#include <memory>
#include <vector>

#include "policy/kit/candidates.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr About kRandom{
    .title = "Random: any node that holds the job is as likely as any other.",
    .rule =
        "A node is drawn of the nodes with enough fitting GPUs, and on it the GPUs; for a job "
        "larger than the largest node, nodes are drawn until it has enough. The draw depends only "
        "on the run's seed, the request and the use of every GPU, so a policy that asks twice gets "
        "the same place.",
    .reads = "The run's seed, request, charges, compute shares and tenants of every GPU.",
    .source = "The baseline Random of Weng et al., ATC 2023.",
    .differs = "Nothing known. Single draws differ, because theirs depend on the order of threads.",
    .cost = "O(GPUs).",
    .proof =
        "The published means of Weng et al., ATC 2023, within the larger of 0.3 points and three "
        "standard errors (doc/results/fgd.md, test/fgd/study_slow_test.cpp)."};

namespace {

/// Any difference in what is mixed in makes a different seed.
class Mixer {
 public:
  explicit Mixer(std::uint64_t seed) : sum_(seed) {}
  void add(std::int64_t value) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
    sum_ = (sum_ ^ static_cast<std::uint64_t>(value)) * kOdd;
    sum_ ^= sum_ >> 29;
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_;
};

/// Moves `count` drawn ones to the front. Requires: so many are there.
template <class T>
void draw(std::vector<T>& from, std::size_t count, Rng& rng) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t other = rng.between(static_cast<std::int64_t>(i), std::ssize(from) - 1);
    std::swap(from[i], from[static_cast<std::size_t>(other)]);
  }
}

class Random final : public Placer {
 public:
  void prepare(const ClusterView& view, std::span<const Event>) override {
    seed_ = view.run_rng().next();
  }

  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    const bool wants_gpus = ask.gpus() > GpuCount(0);
    const bool many = wants_gpus && candidates.needs_many_nodes();
    std::vector<NodeId> nodes;
    std::uint32_t room = 0;
    const NodeId end(candidates.node_count());
    for (NodeId node = candidates.next_node(NodeId(0)); node < end;
         node = candidates.next_node(NodeId(node.value() + 1))) {
      const std::uint32_t fitting = wants_gpus ? candidates.fitting(node) : 0;
      const bool fits =
          wants_gpus ? fitting >= (many ? 1 : candidates.wanted()) : candidates.host_fits(node, 0);
      if (fits) nodes.push_back(node);
      room += fitting;
    }
    if (nodes.empty() || (many && room < candidates.wanted())) return candidates.refusal();
    Rng rng(seed_of(ask, trial));
    draw(nodes, many ? nodes.size() : 1, rng);
    if (!wants_gpus) return Placement{.gpus = {}, .host = nodes.front()};
    return placement_on(trial.cluster(), take(nodes, trial, candidates, rng));
  }

 private:
  /// Drawn GPUs of one node after the other, until there are enough.
  static std::vector<GpuId> take(const std::vector<NodeId>& nodes, const Trial& trial,
                                 Candidates& candidates, Rng& rng) {
    std::vector<GpuId> gpus;
    for (const NodeId node : nodes) {
      std::vector<GpuId> here;
      const std::size_t missing = candidates.wanted() - gpus.size();
      const std::size_t part = std::min<std::size_t>(missing, candidates.fitting(node));
      candidates.append_fitting(node, trial.cluster().node(node).gpus, here);
      draw(here, part, rng);
      gpus.insert(gpus.end(), here.begin(), here.begin() + static_cast<std::ptrdiff_t>(part));
      if (gpus.size() == candidates.wanted()) break;
    }
    return gpus;
  }

  std::uint64_t seed_of(const Ask& ask, const Trial& trial) const {
    Mixer mixer(seed_);
    mixer.add(ask.gpus().raw());
    mixer.add(ask.request.gpu.vram.raw());
    mixer.add(ask.request.gpu.milli.raw());
    mixer.add(ask.request.cpu.raw());
    mixer.add(ask.request.host.raw());
    const Occupancy& use = trial.use();
    for (std::uint32_t n = 0; n < trial.cluster().nodes().size(); ++n) {
      mixer.add(use.node(NodeId(n)).cpu.raw());
      mixer.add(use.node(NodeId(n)).host.raw());
    }
    for (std::uint32_t g = 0; g < trial.cluster().gpus().size(); ++g) {
      const GpuUse& gpu = use.gpu(GpuId(g));
      mixer.add(gpu.charged.raw());
      mixer.add(gpu.milli.raw() << 16 | gpu.tenants);
    }
    return mixer.sum();
  }

  std::uint64_t seed_ = 0;
};

}  // namespace

std::unique_ptr<Placer> random(const Keys&) { return std::make_unique<Random>(); }

}  // namespace berth
