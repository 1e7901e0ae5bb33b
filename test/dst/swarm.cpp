#include "dst/swarm.hpp"

#include <cstdlib>

namespace berth::dst {

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

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
