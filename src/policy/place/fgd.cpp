// Fragmentation gradient descent: the place where fragmentation grows least.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policy/kit/best_node.hpp"
#include "policy/place/fragmentation.hpp"
#include "policy/place/node_memory.hpp"
#include "policy/place/sigmoid.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kFgdKeys = std::to_array<Key>({{
    .name = "typical_percent",
    .type = KeyType::Percent,
    .usual = "95",
    .least = 1,
    .most = 100,
    .what = "The most popular shapes of jobs that make up this part of all known jobs are typical.",
}});

constexpr About kFgd{
    .title = "Fragmentation gradient descent: the place where fragmentation grows least.",
    .rule =
        "score = floor(100 x sigmoid(decrease of fragmentation in GPUs)) of each node that holds "
        "the job, and of each of its GPUs if the job takes a part of one. The largest score, the "
        "first among equals; on a node the GPUs with the least room. Fragmentation is the free GPU "
        "capacity of a node that typical jobs cannot use (policy/place/fragmentation.hpp). A job "
        "larger than the largest node takes GPUs of the first nodes.",
    .reads = "Request, waiting and running jobs, cores, compute shares and memory per GPU.",
    .source = "FGD (Weng et al., ATC 2023).",
    .differs =
        "The score is a whole number as in the authors' artifact, but computed in integers. The "
        "typical jobs are those known now, not those of a past day.",
    .cost =
        "O(GPUs) per job, and O(classes log classes) per GPU of each node that changed; of all "
        "nodes after a pass in which jobs came or went.",
    .proof =
        "The published figures of Weng et al., ATC 2023: 16,608 of 20,800 to 0.01, 30 of 80 runs "
        "in every figure, every mean within the larger of 0.3 points and three standard errors "
        "(doc/results/fgd.md, test/fgd/study_slow_test.cpp).",
    .keys = kFgdKeys};

namespace {

struct Choice {
  std::int64_t score = -1;  ///< Below zero: the node does not hold the job.
  GpuId gpu;                ///< For a job that takes a part of one GPU.
};

/// What follows from a node's books.
struct FgdFacts {
  FreeOnNode free;
  std::size_t measure = 0;         ///< Which one measures it.
  std::int64_t fragmentation = 0;  ///< Of `free`.
};

class Fgd final : public Placer {
 public:
  explicit Fgd(const Keys& keys) : typical_percent_(keys.number("typical_percent")) {}
  explicit Fgd(const TargetWorkload& workload) : fixed_(true), classes_(workload.typical()) {}

  void prepare(const ClusterView& view, std::span<const Event> events) override {
    if (fixed_ || !known_.follow(view, events)) return;
    classes_ = known_.workload().typical(typical_percent_);
    memory_.nodes.forget();
  }

  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() > GpuCount(0) && candidates.needs_many_nodes()) {
      return candidates.gather_in_order();
    }
    look_around(trial);
    const auto best = choose(ask, trial, candidates);
    if (best) return placement_at(*best, ask, trial, candidates);
    count_what_fits(ask, candidates);
    return candidates.refusal();
  }

 private:
  struct Best {
    NodeId node;
    Choice choice;
  };
  struct Memory {
    FragmentationBySpec measures;
    NodeMemory<FgdFacts, Choice> nodes;
  };

  void look_around(const Trial& trial) const {
    if (!memory_.nodes.is_of(trial)) {
      memory_.nodes.start(trial);
      memory_.measures = FragmentationBySpec(classes_);
    }
    memory_.nodes.follow(trial, [&](NodeId node, FgdFacts& facts) {
      facts.free = free_on(node, trial);
      facts.measure = memory_.measures.index_of(node, trial.cluster());
      facts.fragmentation = memory_.measures[facts.measure].of(facts.free);
    });
  }

  /// Scores are remembered unless places kept or reserved for others decide too whether it fits.
  std::optional<Best> choose(const Ask& ask, const Trial& trial, Candidates& candidates) const {
    const auto judge_one = [&](NodeId node) { return judge(node, ask, trial, candidates); };
    auto scores = memory_.nodes.scores(ask.request);
    const bool is_special = trial.has_holds() || ask.barred != 0 || !ask.home.is_default();
    std::optional<Best> best;
    for (NodeId node(0); node < NodeId(candidates.node_count()); node = NodeId(node.value() + 1)) {
      const Choice choice = is_special ? judge_one(node) : scores.of(node, judge_one);
      const bool is_better = choice.score >= 0 && (!best || choice.score > best->choice.score);
      if (is_better) best = {.node = node, .choice = choice};
    }
    return best;
  }

  Choice judge(NodeId node, const Ask& ask, const Trial& trial, Candidates& candidates) const {
    if (!holds(node, ask, candidates)) return {};
    const GpuId first = trial.cluster().node(node).first_gpu;
    const FgdFacts& facts = memory_.nodes.facts(node);
    FreeOnNode after = facts.free;
    after.cpu -= ask.request.cpu.raw();
    const auto take = [&](GpuId gpu) {
      std::int64_t& share = after.shares[gpu.value() - first.value()];
      const std::int64_t left = share - share_of(ask, trial.cluster().gpu(gpu));
      return std::exchange(share, std::max<std::int64_t>(0, left));
    };
    std::vector<GpuId> gpus;
    gpus.reserve(facts.free.shares.size());
    if (!takes_part(ask)) {
      if (ask.gpus() > GpuCount(0)) fullest_gpus(node, trial, candidates, gpus);
      for (const GpuId gpu : gpus) take(gpu);
      return {.score = score_after(facts, after), .gpu = GpuId(0)};
    }
    candidates.append_fitting(node, trial.cluster().node(node).gpus, gpus);
    Choice best;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const auto share = [&](GpuId gpu) { return after.shares[gpu.value() - first.value()]; };
      const auto before = std::span(gpus).first(i);
      if (std::ranges::find(before, share(gpus[i]), share) != before.end()) continue;
      const std::int64_t was = take(gpus[i]);
      const std::int64_t score = score_after(facts, after);
      after.shares[gpus[i].value() - first.value()] = was;
      if (score > best.score) best = {.score = score, .gpu = gpus[i]};
    }
    return best;
  }

  std::int64_t score_after(const FgdFacts& before, const FreeOnNode& after) const {
    const Fragmentation& measure = memory_.measures[before.measure];
    return sigmoid_percent(before.fragmentation - measure.of(after), measure.tasks());
  }

  static bool takes_part(const Ask& ask) { return ask.gpus() == GpuCount(1) && !ask.alone(); }
  static bool holds(NodeId node, const Ask& ask, Candidates& candidates) {
    return ask.gpus() > GpuCount(0) ? candidates.fitting(node) >= candidates.wanted()
                                    : candidates.host_fits(node, 0);
  }

  /// Finds the reason for the refusal, because remembered scores do not look at the candidates.
  static void count_what_fits(const Ask& ask, Candidates& candidates) {
    for (NodeId node(0); node < NodeId(candidates.node_count()); node = NodeId(node.value() + 1)) {
      holds(node, ask, candidates);
    }
  }

  static Placed placement_at(const Best& best, const Ask& ask, const Trial& trial,
                             Candidates& candidates) {
    if (ask.gpus() == GpuCount(0)) return Placement{.gpus = {}, .host = best.node};
    if (takes_part(ask)) return Placement{.gpus = {best.choice.gpu}, .host = best.node};
    std::vector<GpuId> gpus;
    fullest_gpus(best.node, trial, candidates, gpus);
    return placement_on(trial.cluster(), std::move(gpus));
  }

  bool fixed_ = false;
  std::int64_t typical_percent_ = kTypicalPercent;
  KnownWorkload known_;
  std::vector<TargetWorkload::Class> classes_;
  mutable Memory memory_;
};

}  // namespace

std::unique_ptr<Placer> fragmentation_descent(const Keys& keys) {
  return std::make_unique<Fgd>(keys);
}
std::unique_ptr<Placer> fgd_for(const TargetWorkload& workload) {
  return std::make_unique<Fgd>(workload);
}

}  // namespace berth
