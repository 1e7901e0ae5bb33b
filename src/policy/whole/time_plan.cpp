#include "policy/whole/time_plan.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/assert.hpp"
#include "core/base/wide.hpp"

namespace berth {

namespace {

constexpr Duration kLongestRun = hours(24) * 365 * 150;

/// What jobs put forward for a seat.
struct Claim {
  Wide received = 0;  ///< Times `owed.of`; over `owed.part` it is what they are ranked by.
  TimeShare owed;
  Duration lacking{0};
  std::size_t position = 0;  ///< Of all that are put forward.
  TimePlan::Claimant by;

  bool operator<(const Claim& other) const {
    const Wide own = received * other.owed.part;
    const Wide its = other.received * owed.part;
    if (own != its) return own < its;
    if (lacking != other.lacking) return lacking > other.lacking;
    const Wide own_share = Wide{owed.part} * other.owed.of;
    const Wide its_share = Wide{other.owed.part} * owed.of;
    return own_share != its_share ? own_share > its_share : position < other.position;
  }
};

/// So that a claim's products do not overflow.
bool is_sane(const TimeShare& share) {
  return share.part >= 0 && share.part < std::int64_t{1} << 32 && share.part <= share.of &&
         share.of >= 1 && share.of <= std::int64_t{1} << 40;
}

bool is_sane(const TimePlan::OnType& on) {
  return is_sane(on.owed) && on.ran >= Duration::zero() && on.ran <= kLongestRun &&
         on.lacking >= -kLongestRun && on.lacking <= kLongestRun;
}

/// Of one job alone and of combinations of which it is the last, with figures of as many types.
bool are_sane(JobId last, const TimePlan::ByOthers<std::vector<TimePlan::OnType>>& beside) {
  const auto alone = beside.find({});
  if (alone == beside.end()) return false;
  return std::ranges::all_of(beside, [&](const auto& entry) {
    const auto& [others, types] = entry;
    const bool ascend = std::ranges::adjacent_find(others, std::greater_equal()) == others.end() &&
                        (others.empty() || others.back() < last);
    const auto is_type = [](const TimePlan::OnType& on) { return is_sane(on); };
    return ascend && types.size() == alone->second.size() && std::ranges::all_of(types, is_type);
  });
}

}  // namespace

void TimePlan::follow(const ClusterView& view, const JobList& jobs) {
  auto& standings = memory_.standings;
  const std::size_t types = view.cluster().type_names().size();
  const auto begin = [&](JobId id) {
    auto& beside = standings[id].beside;
    beside.try_emplace({});
    for (auto& [others, of_types] : beside) of_types.resize(types);
  };
  std::vector<JobId> gone;
  const auto end = [&](JobId id) {
    if (standings.erase(id) == 0) return false;
    return gone.push_back(id), true;
  };
  if (std::exchange(unchecked_, false)) {
    std::erase_if(standings, [&](const auto& known) {
      const Job* const job = view.find(known.first);
      const bool is_gone = job == nullptr || !is_live(*job);
      if (is_gone) gone.push_back(known.first);
      return is_gone;
    });
    std::ranges::for_each(jobs.ids(), begin);
  }
  std::ranges::for_each(jobs.gone(), end);
  std::ranges::for_each(jobs.arrived(), begin);
  for (const JobId id : view.running()) {  // one that ends is in the list until it has ended
    if (!is_live(*view.find(id)) && end(id)) begin(id);
  }
  if (!gone.empty()) drop_combinations(gone);
}

void TimePlan::drop_combinations(std::span<const JobId> gone) {
  const auto is_gone = [&](JobId id) { return std::ranges::find(gone, id) != gone.end(); };
  for (auto& [id, standing] : memory_.standings) {
    if (standing.beside.size() == 1) continue;  // alone
    std::erase_if(standing.beside,
                  [&](const auto& known) { return std::ranges::any_of(known.first, is_gone); });
  }
}

void TimePlan::add(const Combination& jobs, std::size_t type, Duration ran) {
  const auto found = memory_.standings.find(jobs.back());
  if (found == memory_.standings.end()) return;
  auto& beside = found->second.beside;
  const auto known = beside.find(std::vector(jobs.begin(), std::prev(jobs.end())));
  if (known != beside.end()) known->second[type].ran += ran;
}

void TimePlan::add_work(JobId job, Duration ran, Rate speed) {
  const auto found = memory_.standings.find(job);
  if (found == memory_.standings.end()) return;
  const Wide worked = Wide{micros(ran)} * speed.ppm() / Rate::kWhole;
  found->second.worked += Duration(static_cast<std::int64_t>(worked));
}

bool TimePlan::is_due(std::span<const JobId> jobs, Instant now, Duration lasts) const {
  const auto planned = std::ranges::count_if(jobs, [&](JobId id) { return has(id); });
  const bool changed = planned != memory_.jobs || planned != std::ssize(jobs);
  return changed && (planned == 0 || now >= later(memory_.made_at, lasts));
}

bool TimePlan::is_outrun(const ClusterView& view, std::span<const JobId> jobs,
                         Duration lasts) const {
  if (view.now() < later(memory_.made_at, lasts)) return false;
  return std::ranges::any_of(jobs, [&](JobId id) {
    const GpuTypes bound = view.job(id).bound();
    if (bound == 0) return false;
    const auto owes_elsewhere = [&](const auto& known) {
      for (std::size_t type = 0; type < known.second.size(); ++type) {
        if (known.second[type].owed.part > 0 && (bound >> type & 1) == 0) return true;
      }
      return false;
    };
    return std::ranges::any_of(memory_.standings.at(id).beside, owes_elsewhere);
  });
}

void TimePlan::make(Instant now, const Owed& owed) {
  for (const auto& [job, by_others] : owed) {
    Standing& standing = memory_.standings.at(job);
    BERTH_ASSERT(by_others.contains({}));
    std::erase_if(standing.beside,
                  [&](const auto& known) { return !by_others.contains(known.first); });
    for (const auto& [others, shares] : by_others) {
      owe(shares, now - memory_.made_at, standing.beside[others]);
    }
    standing.planned = true;
  }
  memory_.made_at = now;
  memory_.jobs = std::ssize(owed);
}

void TimePlan::owe(std::span<const TimeShare> shares, Duration since, std::vector<OnType>& types) {
  types.resize(shares.size());
  for (std::size_t type = 0; type < types.size(); ++type) {
    BERTH_ASSERT(is_sane(shares[type]));
    OnType& on = types[type];
    const Wide before = Wide{on.owed.part} * micros(since) / on.owed.of;
    on.lacking += Duration(static_cast<std::int64_t>(before)) - on.ran;
    on.ran = Duration::zero();
    on.owed = shares[type];
  }
}

std::vector<TimePlan::Claimant> TimePlan::by_claim(std::span<const JobId> jobs, std::size_t type,
                                                   const Ranking& by) const {
  std::vector<Claim> claims;
  claims.reserve(jobs.size());
  std::size_t position = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (const auto& [others, types] : memory_.standings.at(jobs[i]).beside) {
      const OnType& on = types[type];
      ++position;
      if (on.owed.part == 0 && by.unowed == Unowed::Never) continue;
      claims.push_back({.received = Wide{on.owed.of} * micros(by.half + on.ran),
                        .owed = on.owed,
                        .lacking = on.lacking,
                        .position = position,
                        .by = {.last = i, .others = &others}});
    }
  }
  std::ranges::sort(claims, std::less());
  std::vector<Claimant> order;
  order.reserve(claims.size());
  for (const Claim& claim : claims) order.push_back(claim.by);
  return order;
}

TimePlan::Prospect TimePlan::prospect_of(JobId job) const {
  Prospect prospect;
  TimeShare most;
  Wide millionths = 0;
  for (const auto& [last, standing] : memory_.standings) {
    for (const auto& [others, types] : standing.beside) {
      if (last != job && !std::ranges::binary_search(others, job)) continue;
      for (std::size_t type = 0; type < types.size(); ++type) {
        const TimeShare& owed = types[type].owed;
        millionths += Wide{owed.part} * Rate::kWhole / owed.of;
        if (Wide{owed.part} * most.of <= Wide{most.part} * owed.of) continue;
        most = owed;
        prospect.type = type;
        prospect.beside = others;
        prospect.beside.push_back(last);
      }
    }
  }
  std::erase(prospect.beside, job);
  constexpr std::int64_t kPercent = Rate::kWhole / 100;
  prospect.percent = static_cast<std::int32_t>((millionths + kPercent / 2) / kPercent);
  return prospect;
}

bool is_sane(const TimePlan::Memory& memory) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 60;
  return memory.made_at >= kStart && micros(memory.made_at) <= kLargest && memory.jobs >= 0 &&
         std::ranges::all_of(memory.standings, [](const auto& entry) {
           const auto& [last, standing] = entry;
           return standing.worked >= Duration::zero() && are_sane(last, standing.beside);
         });
}

}  // namespace berth
