#include "policy/whole/time_plan.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/assert.hpp"
#include "core/base/wide.hpp"

namespace berth {

namespace {

constexpr Duration kLongestRun = hours(24) * 365 * 150;

/// What a job puts forward for a seat.
struct Claim {
  Wide received = 0;  ///< Times `owed.of`; over `owed.part` it is what the job is ranked by.
  TimeShare owed;
  Duration lacking{0};
  std::size_t position = 0;

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

}  // namespace

void TimePlan::follow(const ClusterView& view, const JobList& jobs) {
  auto& standings = memory_.standings;
  const std::size_t types = view.cluster().type_names().size();
  const auto begin = [&](JobId id) { standings[id].types.resize(types); };
  if (std::exchange(unchecked_, false)) {
    std::erase_if(standings, [&](const auto& known) {
      const Job* const job = view.find(known.first);
      return job == nullptr || !is_live(*job);
    });
    std::ranges::for_each(jobs.ids(), begin);
  }
  for (const JobId id : jobs.gone()) standings.erase(id);
  std::ranges::for_each(jobs.arrived(), begin);
  for (const JobId id : view.running()) {  // one that ends is in the list until it has ended
    if (!is_live(*view.find(id)) && standings.erase(id) > 0) begin(id);
  }
}

void TimePlan::add(JobId job, std::size_t type, Duration ran, Rate speed) {
  const auto found = memory_.standings.find(job);
  if (found == memory_.standings.end()) return;
  found->second.types[type].ran += ran;
  const Wide worked = Wide{micros(ran)} * speed.ppm() / Rate::kWhole;
  found->second.worked += Duration(static_cast<std::int64_t>(worked));
}

bool TimePlan::is_due(std::span<const JobId> jobs, Instant now, Duration lasts) const {
  const auto planned = std::ranges::count_if(jobs, [&](JobId id) { return has(id); });
  const bool changed = planned != memory_.jobs || planned != std::ssize(jobs);
  return changed && (planned == 0 || now >= later(memory_.made_at, lasts));
}

void TimePlan::make(Instant now, const Owed& owed) {
  const Duration since = now - memory_.made_at;
  for (const auto& [job, shares] : owed) {
    Standing& standing = memory_.standings.at(job);
    BERTH_ASSERT(shares.size() == standing.types.size());
    for (std::size_t type = 0; type < standing.types.size(); ++type) {
      BERTH_ASSERT(is_sane(shares[type]));
      OnType& on = standing.types[type];
      const Wide before = Wide{on.owed.part} * micros(since) / on.owed.of;
      on.lacking += Duration(static_cast<std::int64_t>(before)) - on.ran;
      on.ran = Duration::zero();
      on.owed = shares[type];
    }
    standing.planned = true;
  }
  memory_.made_at = now;
  memory_.jobs = std::ssize(owed);
}

std::vector<std::size_t> TimePlan::by_claim(std::span<const JobId> jobs, std::size_t type,
                                            const Ranking& by) const {
  std::vector<Claim> claims;
  claims.reserve(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const OnType& on = memory_.standings.at(jobs[i]).types[type];
    if (on.owed.part == 0 && by.unowed == Unowed::Never) continue;
    claims.push_back({.received = Wide{on.owed.of} * micros(by.half + on.ran),
                      .owed = on.owed,
                      .lacking = on.lacking,
                      .position = i});
  }
  std::ranges::sort(claims, std::less());
  std::vector<std::size_t> order;
  order.reserve(claims.size());
  for (const Claim& claim : claims) order.push_back(claim.position);
  return order;
}

bool is_sane(const TimePlan::Memory& memory) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 60;
  return memory.made_at >= kStart && micros(memory.made_at) <= kLargest && memory.jobs >= 0 &&
         std::ranges::all_of(memory.standings, [](const auto& entry) {
           if (entry.second.worked < Duration::zero()) return false;
           const auto is_type = [](const TimePlan::OnType& on) { return is_sane(on); };
           return std::ranges::all_of(entry.second.types, is_type);
         });
}

}  // namespace berth
