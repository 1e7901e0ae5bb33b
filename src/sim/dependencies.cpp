#include "sim/dependencies.hpp"

#include <map>
#include <string_view>

namespace berth::sim {

Dependencies::Dependencies(const trace::Trace& trace)
    : free_at_(trace.jobs.size(), kStart),
      open_(trace.jobs.size(), 0),
      followers_(trace.jobs.size()) {
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) by_name.emplace(trace.jobs[i].name, i);
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    think_.push_back(trace.jobs[i].think);
    for (const std::string& name : trace.jobs[i].after) {
      const auto found = by_name.find(name);
      if (found == by_name.end()) continue;
      followers_[found->second].push_back(i);
      ++open_[i];
    }
  }
}

std::vector<std::size_t> Dependencies::end(std::size_t job, Instant now) {
  std::vector<std::size_t> free;
  for (const std::size_t follower : followers_[job]) {
    if (--open_[follower] > 0) continue;
    free_at_[follower] = later(now, think_[follower]);
    free.push_back(follower);
  }
  followers_[job].clear();
  return free;
}

}  // namespace berth::sim
