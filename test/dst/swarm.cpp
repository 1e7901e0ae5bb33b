#include "dst/swarm.hpp"

namespace berth::dst {

std::map<std::string, int> run_swarm(std::uint64_t first, std::uint64_t count) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Result result = simulate(seed);
    if (result.finding) {
      ADD_FAILURE() << to_text(result) << "\nBERTH_DST_SEED=" << seed << " runs it again.";
      break;
    }
    for (const auto& [what, times] : result.seen) seen[what] += times;
  }
  return seen;
}

}  // namespace berth::dst
