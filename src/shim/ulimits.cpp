#include "shim/ulimits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace berth::shim {

namespace {

/// Those that Slurm hands on, too (`sbatch --propagate`).
constexpr std::array<std::pair<std::string_view, __rlimit_resource_t>, 10> kNames{{
    {"as", RLIMIT_AS},
    {"core", RLIMIT_CORE},
    {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},
    {"fsize", RLIMIT_FSIZE},
    {"memlock", RLIMIT_MEMLOCK},
    {"nofile", RLIMIT_NOFILE},
    {"nproc", RLIMIT_NPROC},
    {"rss", RLIMIT_RSS},
    {"stack", RLIMIT_STACK},
}};
constexpr std::string_view kUnlimited = "unlimited";

}  // namespace

std::string own_ulimits() {
  std::string text;
  for (const auto& [name, resource] : kNames) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0) continue;
    if (!text.empty()) text += ',';
    text.append(name).append("=").append(
        limit.rlim_cur == RLIM_INFINITY ? std::string(kUnlimited) : std::to_string(limit.rlim_cur));
  }
  return text;
}

std::vector<Ulimit> ulimits_in(std::string_view text) {
  std::vector<Ulimit> all;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const auto* const known = std::ranges::find(kNames, entry.substr(0, equals),
                                                [](const auto& row) { return row.first; });
    if (known == kNames.end()) continue;
    const std::string_view value = entry.substr(equals + 1);
    rlim_t soft = RLIM_INFINITY;
    if (value != kUnlimited) {
      const auto read = std::from_chars(value.data(), value.data() + value.size(), soft);
      if (read.ec != std::errc() || read.ptr != value.data() + value.size()) continue;
    }
    all.push_back({.resource = known->second, .soft = soft});
  }
  return all;
}

bool is_ulimit(std::string_view variable) {
  return variable.starts_with(kBerthUlimit) &&
         variable.substr(kBerthUlimit.size()).starts_with('=');
}

std::vector<Ulimit> ulimits_of(const std::vector<std::string>& environment) {
  const auto variable = std::ranges::find_if(environment, is_ulimit);
  if (variable == environment.end()) return {};
  return ulimits_in(std::string_view(*variable).substr(kBerthUlimit.size() + 1));
}

void take_ulimits(const std::vector<Ulimit>& ulimits) {
  for (const Ulimit& wanted : ulimits) {
    rlimit limit{};
    if (getrlimit(wanted.resource, &limit) != 0) continue;
    limit.rlim_cur = std::min(wanted.soft, limit.rlim_max);  // RLIM_INFINITY is the largest
    setrlimit(wanted.resource, &limit);
  }
}

}  // namespace berth::shim
