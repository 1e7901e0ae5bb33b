#include "policy/allocate/options.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/wide.hpp"
#include "policy/allocate/pairs.hpp"
#include "policy/kit/seats.hpp"

namespace berth {

namespace {

std::vector<std::int64_t> count_gpus(const Cluster& cluster) {
  std::vector<std::int64_t> gpus(cluster.type_names().size());
  for (const GpuSpec& gpu : cluster.gpus()) ++gpus[gpu.type];
  return gpus;
}

/// Where its processes are now is left aside.
bool can_run_on(const ClusterView& view, const JobView& job, std::uint8_t type) {
  const std::string& name = view.cluster().type_names()[type];
  return on_type({.request = job.request()}, type).has_value() &&
         view.speeds().runs_on(job.spec().model, job.request().gpu.count.raw(), name);
}

}  // namespace

Options::Options(const ClusterView& view, std::span<const JobId> jobs, Speed speed, Packing packing)
    : gpus_(count_gpus(view.cluster())) {
  ByJob rated;
  for (const JobId id : jobs) {
    const JobView job = view.job(id);
    const std::int64_t asked = job.request().gpu.count.raw();
    Wide even = 0;
    rated.emplace_back();
    for (std::uint8_t type = 0; type < gpus_.size(); ++type) {
      if (asked == 0 || asked > gpus_[type] || !can_run_on(view, job, type)) continue;
      rated.back().push_back(
          {.option = {.jobs = {id}, .type = type},
           .job = asked_.size(),
           .speed = speed == Speed::Alike ? kFullSpeed : speed_on(view, job, type)});
      even += Wide{rated.back().back().speed.ppm()} * gpus_[type];
    }
    asked_.push_back(asked);
    even_.push_back(static_cast<std::int64_t>(even / std::max<std::int64_t>(1, gpus())));
  }
  settle(view, jobs, rated);
  for (const std::vector<Rated>& of_job : rated) {
    all_.insert(all_.end(), of_job.begin(), of_job.end());
    begin_.push_back(all_.size());
  }
  if (packing == Packing::Pairs) add_pairs(view, jobs.first(std::min(jobs.size(), kMostPaired)));
}

/// A plan that owed a job time on several types would not be kept: it begins on one, and stays.
void Options::settle(const ClusterView& view, std::span<const JobId> jobs, ByJob& rated) const {
  std::vector<std::int64_t> wanted(gpus_.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobView job = view.job(jobs[i]);
    const GpuTypes bound = job.bound();
    const auto is_elsewhere = [&](const Rated& one) { return (bound >> one.option.type & 1) == 0; };
    if (bound != 0) std::erase_if(rated[i], is_elsewhere);
    if (rated[i].size() == 1) wanted[rated[i].front().option.type] += asked_[i];
    const bool will_be_bound = view.settings().suspends_on_type && !job.saves_itself();
    if (rated[i].size() > 1 && bound == 0 && will_be_bound) open.push_back(i);
  }
  for (const std::size_t i : open) {
    const auto gets = [&](const Rated& one) {
      const std::uint8_t type = one.option.type;
      const std::int64_t all = std::max(gpus_[type], wanted[type] + asked_[i]);
      return Wide{one.speed.ppm()} * gpus_[type] * Rate::kWhole / all;
    };
    const Rated best = *std::ranges::max_element(rated[i], {}, gets);
    wanted[best.option.type] += asked_[i];
    rated[i] = {best};
  }
}

void Options::add_pairs(const ClusterView& view, std::span<const JobId> jobs) {
  Pairs pairs(view, jobs);
  for (std::size_t later = 0; later < jobs.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      for (const Rated& late : of(later)) {
        const std::uint8_t type = late.option.type;
        const auto early = std::ranges::find(of(earlier), type,
                                             [](const Rated& rated) { return rated.option.type; });
        const auto its = pairs.beside(earlier, later, type);
        const auto own = pairs.beside(later, earlier, type);
        if (early == of(earlier).end() || !its || !own) continue;
        together_.push_back({.option = {.jobs = pairs.both(earlier, later), .type = type},
                             .jobs = {earlier, later},
                             .speeds = {early->speed * *its, late.speed * *own}});
      }
    }
  }
}

std::vector<Option> Options::plain() const {
  std::vector<Option> plain;
  for (const Rated& rated : all_) plain.push_back(rated.option);
  for (const RatedTogether& rated : together_) plain.push_back(rated.option);
  return plain;
}

std::int64_t Options::gpus() const {
  return std::accumulate(gpus_.begin(), gpus_.end(), std::int64_t{0});
}

std::vector<Row> Options::rows() const {
  std::vector<Row> of_types(gpus_.size());
  for (std::size_t type = 0; type < gpus_.size(); ++type) {
    of_types[type].most = gpus_[type] * Rate::kWhole;
  }
  std::vector<Row> of_jobs(jobs(), Row{.terms = {}, .most = Rate::kWhole});
  for (const Rated& rated : all_) {
    of_jobs[rated.job].terms.push_back({column(rated), Rate::kWhole});
    of_types[rated.option.type].terms.push_back({column(rated), asked_[rated.job] * Rate::kWhole});
  }
  for (const RatedTogether& rated : together_) {
    for (const std::size_t job : rated.jobs) {
      of_jobs[job].terms.push_back({column(rated), Rate::kWhole});
    }
    const std::int64_t asked = asked_[rated.jobs.front()];
    of_types[rated.option.type].terms.push_back({column(rated), asked * Rate::kWhole});
  }
  std::vector<Row> rows;
  for (Row& row : of_jobs) {
    if (!row.terms.empty()) rows.push_back(std::move(row));
  }
  for (Row& row : of_types) {
    if (!row.terms.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace berth
