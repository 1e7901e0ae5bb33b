#include "policy/whole/muri_company.hpp"

#include <algorithm>

#include "core/base/wide.hpp"
#include "policy/kit/seats.hpp"

namespace berth {

MuriCompany::MuriCompany(const ClusterView& view, std::span<const JobId> jobs, const Placer& placer,
                         Trial& trial)
    : placer_(placer), trial_(trial), jobs_(jobs) {
  std::map<Kind, std::size_t> kinds;
  for (const JobId id : jobs) {
    const bool is_there = view.knows(id);
    Ask ask = is_there ? ask_of(view.job(id)) : Ask{};
    ask.planned = kForever;  // nearly each job has another
    times_.push_back(is_there ? iteration_of(view, view.job(id)) : Iteration{});
    const std::string model(is_there ? view.job(id).spec().model.text() : "");
    kinds_.push_back(kinds.try_emplace({ask, model}, kinds.size()).first->second);
    asks_.push_back(std::move(ask));
  }
}

std::int64_t MuriCompany::gain(const MuriGroup& group, const StageFactors& factors) {
  Kinds kinds = {};  // zero where there is no job
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (times_[group[i]].alone == Duration::zero()) return 0;
    kinds[i] = kinds_[group[i]] + 1;
  }
  std::ranges::sort(kinds);
  const auto [found, is_new] = gains_.try_emplace(kinds);
  if (is_new && can_share(group)) found->second = muri_gain(times_, group, factors);
  return found->second;
}

bool MuriCompany::can_share(const MuriGroup& group) const {
  std::vector<Ask> asks;
  for (const std::size_t job : group) asks.push_back(asks_[job]);
  const auto all = together(asks);
  return all && placer_.place(unshared(*all), jobs_[group[0]], trial_).has_value();
}

Ask unshared(Ask ask) {
  if (ask.gpus() > GpuCount(0)) ask.request.gpu.sharing = Sharing::Alone;
  return ask;
}

Iteration iteration_of(const ClusterView& view, const JobView& job) {
  const std::string model(job.spec().model.text());
  return view.speeds().iteration(model, job.request().gpu.count.raw()).value_or(Iteration{});
}

Rate speed_by_stages(const ClusterView& view, JobId job, std::span<const JobId> all,
                     const StageFactors& factors) {
  std::vector<Iteration> times;
  for (const JobId id : all) times.push_back(iteration_of(view, view.job(id)));
  const auto is_unknown = [](const Iteration& its) { return its.alone == Duration::zero(); };
  if (times.size() == 1 || std::ranges::any_of(times, is_unknown)) return kFullSpeed;
  const Iteration its = iteration_of(view, view.job(job));
  const Wide alone = Wide{micros(its.alone)} * kPicoseconds * Rate::kWhole;
  const Wide ppm = alone / std::max<std::int64_t>(1, iteration_together(times, factors));
  return std::min(kFullSpeed, Rate(static_cast<std::int64_t>(std::min(ppm, Wide{Rate::kWhole}))));
}

}  // namespace berth
