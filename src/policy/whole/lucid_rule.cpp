#include "policy/whole/lucid_rule.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "core/base/wide.hpp"

namespace berth {

namespace {

constexpr Rate kLucidTinyFrom(950'000);
constexpr Rate kLucidMediumFrom(850'000);
constexpr Duration kLucidNegative = seconds(1000);

}  // namespace

int lucid_label(std::optional<Rate> mean_beside) {
  if (!mean_beside) return 2;
  return *mean_beside >= kLucidTinyFrom ? 0 : *mean_beside >= kLucidMediumFrom ? 1 : 2;
}

std::int64_t lucid_key(Duration estimate, std::int64_t gpus) {
  const Duration run = estimate < Duration::zero() ? kLucidNegative : estimate;
  const Wide key = Wide{micros(run)} * gpus;
  return static_cast<std::int64_t>(std::min(key, Wide{std::numeric_limits<std::int64_t>::max()}));
}

bool lucid_may_join(const LucidJob& job, const LucidRunning& other) {
  return !other.is_packed && job.gpus > 0 && other.job.gpus == job.gpus &&
         other.job.memory < other.gpu_memory - job.memory &&
         other.job.label + job.label <= kLucidMostLabels && job.key <= Wide{2} * other.job.key;
}

void lucid_pass(std::span<const LucidJob> waiting, std::vector<LucidRunning>& running,
                const LucidRules& rules, const LucidBegin& begin) {
  std::vector<std::size_t> by_key(waiting.size());
  std::iota(by_key.begin(), by_key.end(), std::size_t{0});
  std::ranges::stable_sort(by_key, {}, [&](std::size_t i) { return waiting[i].key; });
  std::map<std::int64_t, std::vector<std::size_t>> open;  // by GPUs: whom others may join
  const auto add = [&](std::size_t at) {
    if (!running[at].is_packed) open[running[at].job.gpus].push_back(at);
  };
  for (std::size_t at = 0; at < running.size(); ++at) add(at);
  const auto join = [&](std::size_t i) {
    const auto same = open.find(waiting[i].gpus);
    if (!rules.packs || waiting[i].gpus > rules.most_gpus || same == open.end()) return false;
    for (auto host = same->second.begin(); host != same->second.end(); ++host) {
      if (!lucid_may_join(waiting[i], running[*host])) continue;
      const auto memory = begin(i, *host);
      if (!memory) continue;
      running[*host].is_packed = true;
      running.push_back({.job = waiting[i], .gpu_memory = *memory, .is_packed = true});
      same->second.erase(host);
      return true;
    }
    return false;
  };
  for (const std::size_t i : by_key) {
    if (join(i)) continue;
    if (const auto memory = begin(i, std::nullopt)) {
      running.push_back({.job = waiting[i], .gpu_memory = *memory});
      add(running.size() - 1);
    } else if (!rules.packs) {
      break;
    }
  }
}

}  // namespace berth
