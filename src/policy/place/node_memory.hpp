// A cache of a placement's figures for each node, valid while the use of the node does not change.
//
// It only saves time, because a placement that scores every node for every job would compute most
// scores again and again. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "core/trial.hpp"

namespace berth {

/// `Facts` are figures of a node alone, a `Score` is that of a node for a request.
template <class Facts, class Score>
class NodeMemory {
  /// As it was when last looked at.
  struct Node {
    NodeUse use;
    std::vector<GpuUse> gpus;
    Facts facts;
    std::uint64_t version = 0;  ///< Grows whenever anything above changes; 0: not looked at yet.
  };
  struct Known {
    std::uint64_t version = 0;  ///< Of the node that was scored.
    Score score;
  };

 public:
  void forget() {
    nodes_.clear();
    scores_.clear();
  }
  /// True if its figures are of this cluster and this admission.
  bool is_of(const Trial& trial) const {
    return !nodes_.empty() && cluster_ == &trial.cluster() &&
           nodes_.size() == cluster_->nodes().size() && admission_ == trial.use().admission();
  }
  /// Forgets everything; from now on it is of this cluster.
  void start(const Trial& trial) {
    forget();
    cluster_ = &trial.cluster();
    admission_ = trial.use().admission();
    nodes_.resize(cluster_->nodes().size());
  }

  /// Calls look_at(NodeId, Facts&) for each node that changed since it was last looked at.
  /// Requires: is_of(trial). O(GPUs) to compare.
  template <class LookAt>
  void follow(const Trial& trial, LookAt look_at) {
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      Node& node = nodes_[n];
      const NodeSpec& spec = trial.cluster().node(NodeId(n));
      const GpuUse* const gpus = spec.gpus == 0 ? nullptr : &trial.use().gpu(spec.first_gpu);
      const bool same = node.version > 0 && node.use == trial.use().node(NodeId(n)) &&
                        std::equal(node.gpus.begin(), node.gpus.end(), gpus);
      if (same) continue;
      node.use = trial.use().node(NodeId(n));
      node.gpus.assign(gpus, gpus + spec.gpus);
      look_at(NodeId(n), node.facts);
      node.version = ++version_;
    }
  }
  const Facts& facts(NodeId node) const { return nodes_[node.value()].facts; }

  /// The scores for one request; until the next call of anything else here.
  class Scores {
   public:
    /// judge(NodeId) is asked for a score that is not known. Requires: it is a function of the
    /// request and the node's books.
    template <class Judge>
    const Score& of(NodeId node, Judge judge) {
      Known& known = scores_[node.value()];
      const std::uint64_t version = nodes_[node.value()].version;
      if (known.version != version) known = {.version = version, .score = judge(node)};
      return known.score;
    }

   private:
    friend class NodeMemory;
    Scores(auto& nodes, auto& scores) : nodes_(nodes), scores_(scores) {}
    const std::vector<Node>& nodes_;
    std::vector<Known>& scores_;
  };
  Scores scores(const Request& request) {
    constexpr std::size_t kMostRequests = 512;
    if (scores_.size() >= kMostRequests) scores_.clear();
    std::vector<Known>& known = scores_[request];
    known.resize(nodes_.size());
    return Scores(nodes_, known);
  }

 private:
  const Cluster* cluster_ = nullptr;
  Admission admission_;
  std::vector<Node> nodes_;
  std::map<Request, std::vector<Known>> scores_;
  std::uint64_t version_ = 0;
};

}  // namespace berth
