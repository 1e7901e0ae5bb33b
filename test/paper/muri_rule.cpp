#include "paper/muri_rule.hpp"

#include <algorithm>
#include <numeric>

namespace berth {

namespace {

/// The jobs of one number of GPUs.
struct MuriClass {
  std::int64_t gpus;
  std::vector<std::size_t> jobs;  ///< By key.
  std::size_t groups = 0;         ///< For which there is room.
  std::size_t candidates() const { return std::min(groups * kMuriMost, jobs.size()); }
};

std::vector<std::size_t> by_key(std::span<const MuriJob> jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t job) { return jobs[job].key; });
  return order;
}

/// By the first of their jobs.
std::vector<MuriClass> classes_of(std::span<const MuriJob> jobs,
                                  const std::function<bool(std::size_t)>& place) {
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

std::vector<MuriGroup> in_order(std::span<const MuriClass> classes, std::int64_t capacity) {
  std::int64_t need = 0;
  for (const MuriClass& each : classes) {
    need += static_cast<std::int64_t>(each.candidates()) * each.gpus;
  }
  std::vector<MuriGroup> groups;
  for (const MuriClass& each : classes) {
    for (std::size_t first = 0; first < each.candidates(); first += kMuriMost) {
      MuriGroup group = {each.jobs[first]};
      const std::size_t end = std::min(first + kMuriMost, each.candidates());
      for (std::size_t next = first + 1; next < end; ++next) {
        if (need > capacity) {
          group.push_back(each.jobs[next]);
          need -= each.gpus;
        } else {
          groups.push_back({each.jobs[next]});
        }
      }
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

}  // namespace

std::vector<std::size_t> muri_order(std::span<const MuriJob> jobs) {
  std::vector<std::size_t> order = by_key(jobs);
  const auto gpus = [&](std::size_t job) { return jobs[job].gpus; };
  std::ranges::stable_sort(order, std::greater(), gpus);
  return order;
}

std::vector<MuriGroup> muri_groups(std::span<const MuriJob> jobs, const MuriRules& rules) {
  std::vector<MuriGroup> groups;
  for (MuriGroup& group : in_order(classes_of(jobs, rules.empty()), rules.capacity)) {
    if (group.size() == 1 || rules.pays(group)) {
      groups.push_back(std::move(group));
    } else {
      for (const std::size_t job : group) groups.push_back({job});
    }
  }
  std::ranges::stable_sort(groups, {}, [&](const MuriGroup& group) {
    const auto key = [&](std::size_t job) { return jobs[job].key; };
    return jobs[*std::ranges::min_element(group, {}, key)].key;
  });
  const auto place = rules.empty();
  std::erase_if(groups, [&](const MuriGroup& group) { return !place(group[0]); });
  const std::vector<std::size_t> order = muri_order(jobs);
  std::vector<std::size_t> ranks(jobs.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  std::ranges::sort(groups, {}, [&](const MuriGroup& group) {
    const auto rank = [&](std::size_t job) { return ranks[job]; };
    return ranks[*std::ranges::min_element(group, {}, rank)];
  });
  return groups;
}

}  // namespace berth
