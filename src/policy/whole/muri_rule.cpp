#include "policy/whole/muri_rule.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/rate.hpp"
#include "core/base/wide.hpp"

namespace berth {

namespace {

/// The jobs of one number of GPUs.
struct MuriClass {
  std::int64_t gpus;
  std::vector<std::size_t> jobs;  ///< By key.
  std::size_t groups = 0;         ///< For which there is room.
};

std::vector<std::size_t> by_key(std::span<const MuriJob> jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t job) { return jobs[job].key; });
  return order;
}

/// By the first of their jobs.
std::vector<MuriClass> classes_of(std::span<const MuriJob> jobs, const MuriPlace& place) {
  std::vector<MuriClass> classes;
  for (const std::size_t job : by_key(jobs)) {
    const std::int64_t gpus = jobs[job].gpus;
    auto found = std::ranges::find(classes, gpus, &MuriClass::gpus);
    if (found == classes.end()) found = classes.insert(classes.end(), {.gpus = gpus, .jobs = {}});
    found->jobs.push_back(job);
    if (found->jobs.size() > found->groups * kMuriMost && place(job)) ++found->groups;
  }
  return classes;
}

/// Where the groups end that have as many GPUs as the one here.
std::size_t class_end(std::span<const MuriJob> jobs, std::span<const MuriGroup> list,
                      std::size_t from) {
  std::size_t end = from;
  while (end < list.size() && jobs[list[end][0]].gpus == jobs[list[from][0]].gpus) ++end;
  return end;
}

}  // namespace

std::vector<std::size_t> muri_order(std::span<const MuriJob> jobs) {
  std::vector<std::size_t> order = by_key(jobs);
  const auto gpus = [&](std::size_t job) { return jobs[job].gpus; };
  std::ranges::stable_sort(order, std::greater(), gpus);
  return order;
}

MuriGroups muri_candidates(std::span<const MuriJob> jobs, std::int64_t capacity,
                           const MuriPlace& place) {
  MuriGroups groups{.list = {}, .capacity = capacity};
  for (const MuriClass& each : classes_of(jobs, place)) {
    const std::size_t count = std::min(each.groups * kMuriMost, each.jobs.size());
    for (std::size_t i = 0; i < count; ++i) groups.list.push_back({each.jobs[i]});
    groups.need += static_cast<std::int64_t>(count) * each.gpus;
  }
  return groups;
}

void muri_fill(std::span<const MuriJob> jobs, MuriGroups& groups) {
  const std::vector<MuriGroup> singles = std::exchange(groups.list, {});
  std::size_t end = 0;
  for (std::size_t first = 0; first < singles.size(); first = end) {
    end = std::min(first + kMuriMost, class_end(jobs, singles, first));
    MuriGroup group = singles[first];
    for (std::size_t next = first + 1; next < end; ++next) {
      if (groups.need > groups.capacity) {
        group.push_back(singles[next][0]);
        groups.need -= jobs[group[0]].gpus;
      } else {
        groups.list.push_back(singles[next]);
      }
    }
    groups.list.push_back(std::move(group));
  }
}

namespace {

std::vector<Iteration> times_of(std::span<const Iteration> times, const MuriGroup& group) {
  std::vector<Iteration> its;
  for (const std::size_t job : group) its.push_back(times[job]);
  return its;
}

}  // namespace

std::int64_t muri_gain(std::span<const Iteration> times, const MuriGroup& group,
                       const StageFactors& factors) {
  const std::vector<Iteration> its = times_of(times, group);
  Duration busy{0};
  for (const Iteration& one : its) busy += std::reduce(one.stages.begin(), one.stages.end());
  const Wide whole = Wide{iteration_together(its, factors)} * std::int64_t{kMuriMost};
  return static_cast<std::int64_t>(Wide{micros(busy)} * kPicoseconds * Rate::kWhole / whole);
}

bool muri_pays(std::span<const Iteration> times, const MuriGroup& group,
               const StageFactors& factors) {
  const std::vector<Iteration> its = times_of(times, group);
  Duration one_by_one{0};
  for (const Iteration& one : its) one_by_one += one.alone;
  return iteration_together(its, factors) <= micros(one_by_one) * kPicoseconds;
}

std::optional<Matching> muri_question(std::span<const MuriJob> jobs, const MuriGroups& groups,
                                      const MuriGain& gain) {
  if (groups.need <= groups.capacity || groups.rounds >= kMuriMost) return std::nullopt;
  Matching matching{.nodes = static_cast<std::uint32_t>(groups.list.size()), .edges = {}};
  MuriGroup both;
  std::size_t end = 0;
  for (std::uint32_t one = 0; one < matching.nodes; ++one) {
    if (one == end) end = std::min(one + kMuriBucket, class_end(jobs, groups.list, one));
    for (std::uint32_t other = one + 1; other < end; ++other) {
      both = groups.list[one];
      both.insert(both.end(), groups.list[other].begin(), groups.list[other].end());
      const std::int64_t weight = both.size() <= kMuriMost ? gain(both) : 0;
      if (weight > 0) matching.edges.push_back({.one = one, .other = other, .weight = weight});
    }
  }
  return matching.edges.empty() ? std::nullopt : std::optional(std::move(matching));
}

void muri_join(std::span<const MuriJob> jobs, MuriGroups& groups, const Matching& asked,
               std::span<const std::int64_t> values) {
  std::vector<std::size_t> partner(groups.list.size(), groups.list.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Edge& edge = asked.edges[i];
    if (values[i] <= 0) continue;
    partner[edge.one] = edge.other;
    partner[edge.other] = edge.one;
  }
  ++groups.rounds;
  const std::vector<MuriGroup> before = std::exchange(groups.list, {});
  for (std::size_t at = 0; at < before.size(); ++at) {
    const std::size_t other = partner[at];
    if (other < before.size() && other > at) continue;  // the pair is listed where its second is
    const bool is_pair = other < at;
    if (is_pair) groups.list.push_back(before[other]);
    if (is_pair && groups.need > groups.capacity) {
      MuriGroup& group = groups.list.back();
      group.insert(group.end(), before[at].begin(), before[at].end());
      groups.need -= jobs[group[0]].gpus;
    } else {
      groups.list.push_back(before[at]);
    }
  }
}

std::vector<MuriGroup> muri_chosen(std::span<const MuriJob> jobs, std::vector<MuriGroup> groups,
                                   const MuriPays& pays, const MuriPlace& place) {
  std::vector<MuriGroup> chosen;
  for (MuriGroup& group : groups) {
    if (group.size() == 1 || pays(group)) {
      chosen.push_back(std::move(group));
    } else {
      for (const std::size_t job : group) chosen.push_back({job});
    }
  }
  std::ranges::stable_sort(chosen, {}, [&](const MuriGroup& group) {
    const auto key = [&](std::size_t job) { return jobs[job].key; };
    return jobs[*std::ranges::min_element(group, {}, key)].key;
  });
  std::erase_if(chosen, [&](const MuriGroup& group) { return !place(group[0]); });
  const std::vector<std::size_t> order = muri_order(jobs);
  std::vector<std::size_t> ranks(jobs.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  std::ranges::sort(chosen, {}, [&](const MuriGroup& group) {
    const auto rank = [&](std::size_t job) { return ranks[job]; };
    return ranks[*std::ranges::min_element(group, {}, rank)];
  });
  return chosen;
}

}  // namespace berth
