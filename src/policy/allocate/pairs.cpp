#include "policy/allocate/pairs.hpp"

namespace berth {

Pairs::Pairs(const ClusterView& view, std::span<const JobId> jobs)
    : view_(view), jobs_(jobs), largest_(view.cluster().type_names().size()) {
  std::map<Kind, std::size_t> kinds;
  for (const JobId id : jobs) {
    const JobView job = view.job(id);
    asks_.push_back(ask_of(job));
    const Kind kind{job.spec().model.text(), asks_.back().gpus().raw()};
    const auto [known, is_new] = kinds.try_emplace(kind, kinds_.size());
    if (is_new) kinds_.push_back(kind);
    kind_of_.push_back(known->second);
  }
  for (const GpuSpec& gpu : view.cluster().gpus()) {
    const GpuSpec*& largest = largest_[gpu.type];
    if (largest == nullptr || gpu.capacity > largest->capacity) largest = &gpu;
  }
}

bool Pairs::can_share(std::size_t one, std::size_t other, std::uint8_t type) const {
  const GpuSpec* const gpu = largest_[type];
  if (gpu == nullptr || asks_[one].gpus() != asks_[other].gpus()) return false;
  GpuUse use;
  for (const std::size_t job : {one, other}) {
    const Ask& ask = asks_[job];
    const GpuTypes types = ask.request.gpu.types;
    if (ask.alone() || (types != 0 && (types >> type & 1) == 0)) return false;
    if (!memory_holds(view_.use().admission(), *gpu, use, ask)) return false;
    if (!tenancy_holds(*gpu, use, ask)) return false;
    use.charged += charge_of(ask, *gpu, use);
    use.milli += ask.request.gpu.milli;
    ++use.tenants;
  }
  return true;
}

bool Pairs::can_share(std::size_t one, std::size_t other) const {
  for (std::uint8_t type = 0; type < types(); ++type) {
    if (can_share(one, other, type)) return true;
  }
  return false;
}

std::optional<Rate> Pairs::beside(std::size_t one, std::size_t other, std::uint8_t type) {
  if (!can_share(one, other, type)) return std::nullopt;
  const auto [found, is_new] = known_.try_emplace({kind_of_[one], kind_of_[other], type});
  if (is_new) {
    const auto& [model, gpus] = kinds_[kind_of_[one]];
    const std::string& name = view_.cluster().type_names()[type];
    const std::string& its = kinds_[kind_of_[other]].first;
    if (view_.speeds().runs_on(model, gpus, name)) {
      found->second = view_.speeds().beside(model, gpus, Speeds::neighbour_on(its, name));
    }
  }
  return found->second;
}

std::int64_t Pairs::gain(std::size_t one, std::size_t other, std::uint8_t type) {
  const auto own = beside(one, other, type);
  const auto its = beside(other, one, type);
  return own && its ? own->ppm() + its->ppm() : 0;
}

}  // namespace berth
