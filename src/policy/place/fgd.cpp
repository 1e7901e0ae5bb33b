// Fragmentation gradient descent: the place where fragmentation grows least.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/wide.hpp"
#include "policy/kit/best_node.hpp"
#include "policy/kit/fragmentation.hpp"
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
        "score = floor(100 x sigmoid(decrease of fragmentation in GPUs)), over the nodes that hold "
        "the job, and over the GPUs of each if it takes a part of one; the largest score, the "
        "first among equals. Fragmentation is what typical jobs cannot use of a node's free GPUs "
        "(policy/kit/fragmentation.hpp). On a node the GPUs with the least to spare. A job larger "
        "than the largest node takes GPUs of the first nodes.",
    .reads = "Request, waiting and running jobs, cores, compute shares and memory per GPU.",
    .source = "FGD (Weng et al., ATC 2023).",
    .differs =
        "The score is cut to whole numbers as in the authors' artifact, but computed in integers. "
        "The workload is the jobs known now, not the history of a day.",
    .cost =
        "O(GPUs) per job, and for each node that changed O(classes log classes) per GPU; all nodes "
        "after a pass in which jobs came or went.",
    .proof =
        "The published figures of Weng et al., ATC 2023: 16,608 of 20,800 to 0.01, 30 of 80 runs "
        "in every figure, every mean within the larger of 0.3 points and three standard errors "
        "(doc/results/fgd.md, test/fgd/study_slow_test.cpp).",
    .keys = kFgdKeys};

namespace {

/// ln((50 + j) / (50 - j)) in millionths, j from 0: the sigmoid is (50 + j) % there.
constexpr auto kLogit = std::to_array<std::int64_t>(
    {0,         40'005,    80'043,    120'144,   160'343,   200'671,   241'162,   281'851,
     322'773,   363'965,   405'465,   447'312,   489'548,   532'217,   575'364,   619'039,
     663'294,   708'185,   753'772,   800'119,   847'298,   895'384,   944'462,   994'623,
     1'045'969, 1'098'612, 1'152'680, 1'208'311, 1'265'666, 1'324'925, 1'386'294, 1'450'010,
     1'516'347, 1'585'627, 1'658'228, 1'734'601, 1'815'290, 1'900'959, 1'992'430, 2'090'741,
     2'197'225, 2'313'635, 2'442'347, 2'586'689, 2'751'535, 2'944'439, 3'178'054, 3'476'099,
     3'891'820, 4'595'120});

/// 100 x sigmoid(less / tasks / 1000), cut to a whole number.
std::int64_t score_of(std::int64_t less, std::int64_t tasks) {
  const Wide size = Wide{less < 0 ? -less : less} * 1000;
  const auto reached = [&](std::int64_t logit) { return Wide{logit} * tasks <= size; };
  const auto above = std::ranges::partition_point(kLogit, reached) - kLogit.begin();
  if (less >= 0) return 49 + above;
  const bool exact = Wide{kLogit[static_cast<std::size_t>(above) - 1]} * tasks == size;
  return exact ? 51 - above : 50 - above;
}

struct Choice {
  std::int64_t score = -1;  ///< Below zero: the node does not hold the job.
  GpuId gpu;                ///< For a job that takes a part of one GPU.
};

class Fgd final : public Placer {
 public:
  explicit Fgd(const Keys& keys) : typical_percent_(keys.number("typical_percent")) {}
  explicit Fgd(const TargetWorkload& workload) : fixed_(true), classes_(workload.typical()) {}

  void prepare(const ClusterView& view, std::span<const Event> events) override {
    if (!fixed_ && follow(view, events)) {
      classes_ = workload_.typical(typical_percent_);
      forget();
    }
  }

  Placed place(const Ask& ask, JobId job, const Trial& trial) const override {
    Candidates candidates(ask, job, trial);
    if (ask.gpus() > GpuCount(0) && candidates.needs_many_nodes()) {
      return candidates.gather_in_order();
    }
    look_around(trial);
    const auto best =
        trial.has_holds() ? choose_afresh(ask, trial, candidates) : choose(ask, trial, candidates);
    if (!best) {
      count_what_fits(ask, candidates);
      return candidates.refusal();
    }
    return placement_at(*best, ask, trial, candidates);
  }

 private:
  struct Best {
    NodeId node;
    Choice choice;
  };
  /// A node as it was when last looked at.
  struct Seen {
    NodeUse use;
    std::vector<GpuUse> gpus;
    FreeOnNode free;
    std::size_t kind = 0;            ///< Index into kinds_.
    std::int64_t fragmentation = 0;  ///< Of `free`.
    std::uint64_t version = 0;       ///< Grows whenever anything above changes.
  };
  struct Known {
    std::uint64_t version = 0;
    Choice choice;
  };
  /// Which jobs there are. Returns: whether they changed.
  bool follow(const ClusterView& view, std::span<const Event> events);
  bool recount(const ClusterView& view, JobId id);

  void forget() const {
    seen_.clear();
    kinds_.clear();
    known_.clear();
  }
  void look_around(const Trial& trial) const;
  void begin(const Trial& trial) const;
  std::size_t kind_of(NodeId node, const Cluster& cluster) const;
  void look_at(NodeId node, const Trial& trial, Seen& seen) const;

  std::optional<Best> choose(const Ask& ask, const Trial& trial, Candidates& candidates) const;
  std::optional<Best> choose_afresh(const Ask& ask, const Trial& trial,
                                    Candidates& candidates) const;
  Choice judge(NodeId node, const Ask& ask, const Trial& trial, Candidates& candidates) const;
  Choice judge_part(NodeId node, const Ask& ask, const Trial& trial, Candidates& candidates) const;
  std::int64_t score_after(Seen& seen) const;

  static bool takes_part(const Ask& ask) { return ask.gpus() == GpuCount(1) && !ask.alone(); }
  static void count_what_fits(const Ask& ask, Candidates& candidates);
  static Placed placement_at(const Best& best, const Ask& ask, const Trial& trial,
                             Candidates& candidates);

  bool fixed_ = false;
  std::int64_t typical_percent_ = kTypicalPercent;
  TargetWorkload workload_;
  std::map<JobId, Ask> jobs_;  ///< What is in the workload.
  std::vector<TargetWorkload::Class> classes_;

  // What follows from the books and is remembered: never more than a shorter way to the same.
  struct Kind {
    GpuSpec gpu;
    Fragmentation measure;
  };
  mutable const Cluster* cluster_ = nullptr;
  mutable Admission admission_;
  mutable std::vector<Kind> kinds_;
  mutable std::vector<Seen> seen_;  ///< By node.
  mutable std::map<Request, std::vector<Known>> known_;
  mutable std::uint64_t version_ = 0;
  mutable std::vector<GpuId> chosen_;
};

/// A job's ask may change while it waits, and the events are hints: what they name is counted anew,
/// and everything if the number of jobs shows that they did not tell all.
bool Fgd::follow(const ClusterView& view, std::span<const Event> events) {
  bool changed = false;
  for (const Event& event : events) changed = recount(view, event.job) || changed;
  if (jobs_.size() == view.job_count()) return changed;
  jobs_.clear();
  workload_.clear();
  view.for_each_job([&](const Job& job) { recount(view, job.id); });
  return true;
}

bool Fgd::recount(const ClusterView& view, JobId id) {
  const auto old = jobs_.find(id);
  const std::optional<Ask> now =
      view.knows(id) ? std::optional(ask_of(view.job(id))) : std::nullopt;
  if (old != jobs_.end() && now && old->second.request == now->request) return false;
  if (old != jobs_.end()) {
    workload_.remove(old->second);
    jobs_.erase(old);
  } else if (!now) {
    return false;
  }
  if (now) {
    workload_.add(*now);
    jobs_.emplace(id, *now);
  }
  return true;
}

void Fgd::begin(const Trial& trial) const {
  forget();
  cluster_ = &trial.cluster();
  admission_ = trial.use().admission();
  seen_.resize(cluster_->nodes().size());
  for (std::uint32_t n = 0; n < seen_.size(); ++n) {
    seen_[n].kind = kind_of(NodeId(n), *cluster_);
    seen_[n].gpus.resize(cluster_->node(NodeId(n)).gpus);
    seen_[n].free.shares.resize(seen_[n].gpus.size());
    look_at(NodeId(n), trial, seen_[n]);
  }
}

/// Nodes of one kind have GPUs of one spec.
std::size_t Fgd::kind_of(NodeId node, const Cluster& cluster) const {
  const NodeSpec& spec = cluster.node(node);
  GpuSpec gpu;
  GpuTypes type = 0;
  if (spec.gpus > 0) {
    gpu = cluster.gpu(spec.first_gpu);
    type = cluster.type_bit(spec.first_gpu);
  }
  gpu.node = NodeId(0);
  const auto found = std::ranges::find(kinds_, gpu, &Kind::gpu);
  if (found == kinds_.end()) {
    kinds_.push_back({.gpu = gpu, .measure = Fragmentation(classes_, gpu, type)});
    return kinds_.size() - 1;
  }
  return static_cast<std::size_t>(found - kinds_.begin());
}

void Fgd::look_around(const Trial& trial) const {
  const bool same = cluster_ == &trial.cluster() && seen_.size() == cluster_->nodes().size() &&
                    admission_ == trial.use().admission();
  if (!same || seen_.empty()) return begin(trial);
  for (std::uint32_t n = 0; n < seen_.size(); ++n) {
    const NodeId node(n);
    Seen& seen = seen_[n];
    const NodeSpec& spec = trial.cluster().node(node);
    const GpuUse* const now = spec.gpus == 0 ? nullptr : &trial.use().gpu(spec.first_gpu);
    if (seen.use == trial.use().node(node) && std::equal(seen.gpus.begin(), seen.gpus.end(), now)) {
      continue;
    }
    look_at(node, trial, seen);
  }
}

void Fgd::look_at(NodeId node, const Trial& trial, Seen& seen) const {
  const NodeSpec& spec = trial.cluster().node(node);
  seen.use = trial.use().node(node);
  seen.free.cpu = free_cpu(node, trial).raw();
  for (std::uint32_t i = 0; i < spec.gpus; ++i) {
    const GpuId gpu(spec.first_gpu.value() + i);
    seen.gpus[i] = trial.use().gpu(gpu);
    seen.free.shares[i] = free_share(gpu, trial);
  }
  seen.fragmentation = kinds_[seen.kind].measure.of(seen.free);
  seen.version = ++version_;
}

std::optional<Fgd::Best> Fgd::choose(const Ask& ask, const Trial& trial,
                                     Candidates& candidates) const {
  constexpr std::size_t kMostAsks = 512;
  if (known_.size() >= kMostAsks) known_.clear();
  std::vector<Known>& known = known_[ask.request];
  known.resize(seen_.size());
  std::optional<Best> best;
  for (std::uint32_t n = 0; n < seen_.size(); ++n) {
    if (known[n].version != seen_[n].version) {
      known[n] = {.version = seen_[n].version, .choice = judge(NodeId(n), ask, trial, candidates)};
    }
    const Choice& choice = known[n].choice;
    if (choice.score >= 0 && (!best || choice.score > best->choice.score)) {
      best = {.node = NodeId(n), .choice = choice};
    }
  }
  return best;
}

/// Places kept for others decide too who fits.
std::optional<Fgd::Best> Fgd::choose_afresh(const Ask& ask, const Trial& trial,
                                            Candidates& candidates) const {
  std::optional<Best> best;
  for (std::uint32_t n = 0; n < seen_.size(); ++n) {
    const Choice choice = judge(NodeId(n), ask, trial, candidates);
    if (choice.score >= 0 && (!best || choice.score > best->choice.score)) {
      best = {.node = NodeId(n), .choice = choice};
    }
  }
  return best;
}

Choice Fgd::judge(NodeId node, const Ask& ask, const Trial& trial, Candidates& candidates) const {
  const bool holds = ask.gpus() > GpuCount(0) ? candidates.fitting(node) >= candidates.wanted()
                                              : candidates.host_fits(node, 0);
  if (!holds) return {};
  if (takes_part(ask)) return judge_part(node, ask, trial, candidates);
  Seen after = seen_[node.value()];
  after.free.cpu -= ask.request.cpu.raw();
  if (ask.gpus() > GpuCount(0)) {
    const NodeSpec& spec = trial.cluster().node(node);
    fullest_gpus(node, trial, candidates, chosen_);
    for (const GpuId gpu : chosen_) {
      std::int64_t& share = after.free.shares[gpu.value() - spec.first_gpu.value()];
      share = std::max<std::int64_t>(0, share - share_of(ask, trial.cluster().gpu(gpu)));
    }
  }
  return {.score = score_after(after), .gpu = GpuId(0)};
}

Choice Fgd::judge_part(NodeId node, const Ask& ask, const Trial& trial,
                       Candidates& candidates) const {
  const GpuId first = trial.cluster().node(node).first_gpu;
  chosen_.clear();
  candidates.append_fitting(node, trial.cluster().node(node).gpus, chosen_);
  Seen after = seen_[node.value()];
  after.free.cpu -= ask.request.cpu.raw();
  Choice best;
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    std::int64_t& share = after.free.shares[chosen_[i].value() - first.value()];
    const auto alike = [&](GpuId gpu) { return after.free.shares[gpu.value() - first.value()]; };
    const auto before = std::span(chosen_).first(i);
    if (std::ranges::find(before, share, alike) != before.end()) continue;
    const std::int64_t was = share;
    share = std::max<std::int64_t>(0, share - share_of(ask, trial.cluster().gpu(chosen_[i])));
    const std::int64_t score = score_after(after);
    share = was;
    if (score > best.score) best = {.score = score, .gpu = chosen_[i]};
  }
  return best;
}

/// Of a node whose free resources became `after.free`.
std::int64_t Fgd::score_after(Seen& after) const {
  const Fragmentation& measure = kinds_[after.kind].measure;
  return score_of(after.fragmentation - measure.of(after.free), measure.tasks());
}

/// So that the refusal names the reason.
void Fgd::count_what_fits(const Ask& ask, Candidates& candidates) {
  for (NodeId node(0); node < NodeId(candidates.node_count()); node = NodeId(node.value() + 1)) {
    if (ask.gpus() == GpuCount(0)) {
      candidates.host_fits(node, 0);
    } else {
      candidates.fitting(node);
    }
  }
}

Placed Fgd::placement_at(const Best& best, const Ask& ask, const Trial& trial,
                         Candidates& candidates) {
  if (ask.gpus() == GpuCount(0)) return Placement{.gpus = {}, .host = best.node};
  if (takes_part(ask)) return Placement{.gpus = {best.choice.gpu}, .host = best.node};
  std::vector<GpuId> gpus;
  fullest_gpus(best.node, trial, candidates, gpus);
  return placement_on(trial.cluster(), std::move(gpus));
}

}  // namespace

std::unique_ptr<Placer> fragmentation_descent(const Keys& keys) {
  return std::make_unique<Fgd>(keys);
}
std::unique_ptr<Placer> fgd_for(const TargetWorkload& workload) {
  return std::make_unique<Fgd>(workload);
}

}  // namespace berth
