#include "policy/kit/vacancy.hpp"

namespace berth {

bool Vacancy::begin(const Ask& ask, const Placer& placer, const Trial& trial) {
  enough_.clear();
  if (!takes_whole(ask)) return false;
  const Cluster& cluster = trial.cluster();
  const Occupancy& use = trial.use();
  const NodeId end(static_cast<std::uint32_t>(cluster.nodes().size()));
  trial_ = &trial;
  wanted_ = static_cast<std::uint32_t>(ask.gpus().raw());
  vacant_ = use.vacant().raw();
  fits_node_ = !placer.keeps_on_node() || wanted_ > cluster.largest_node() ||
               use.admission().mode != AdmissionMode::Guarantee;
  for (std::uint32_t k = wanted_; !fits_node_ && k <= cluster.largest_node(); ++k) {
    fits_node_ = use.nodes_with(k).next(NodeId(0), end) < end;
  }
  if (++ask_ == 0) by_node_.clear();
  by_node_.resize(cluster.nodes().size());
  return true;
}

void Vacancy::leave(const Grant& grant) {
  vacant_ += std::ssize(grant.shares);
  if (fits_node_) return;
  if (grant.shares.size() == 1) {
    gain(grant.host);  // most jobs have one GPU, and its node is at hand
  } else {
    for (const Share& share : grant.shares) gain(trial_->cluster().node_of(share.gpu));
  }
  fits_node_ = !enough_.empty();
}

void Vacancy::stop(const Grant& grant) {
  const Occupancy& use = trial_->use();
  for (const Share& share : grant.shares) {
    if (grant.sharing == Sharing::Alone && use.gpu(share.gpu).tenants > 1) continue;
    ++vacant_;
    if (!fits_node_) gain(trial_->cluster().node_of(share.gpu));
  }
  fits_node_ = fits_node_ || !enough_.empty();
}

void Vacancy::gain(NodeId node) {
  Count& count = by_node_[node.value()];
  if (count.ask != ask_) count = {ask_, trial_->use().node(node).vacant};
  if (++count.vacant == wanted_) enough_.push_back(node);
}

}  // namespace berth
