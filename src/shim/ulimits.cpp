#include "shim/ulimits.hpp"

#include <unistd.h>

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
constexpr std::string_view kNice = "nice=";
constexpr std::string_view kCpus = "cpus=";

/// The next entry of a list, which is taken off its front.
std::string_view take_entry(std::string_view& list, char between) {
  const std::string_view entry = list.substr(0, list.find(between));
  list.remove_prefix(std::min(list.size(), entry.size() + 1));
  return entry;
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

/// `0-3+8`.
std::string text_of_cpus(const cpu_set_t& cpus) {
  std::string text;
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &cpus)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cpus)) ++last;
    text += (text.empty() ? "" : "+") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
    first = last;
  }
  return text;
}

std::optional<cpu_set_t> cpus_in(std::string_view text) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  while (!text.empty()) {
    const std::string_view range = take_entry(text, '+');
    const auto first = whole_number(range.substr(0, range.find('-')));
    const auto last = whole_number(range.substr(std::min(range.find('-') + 1, range.size())));
    if (!first || !last || *first < 0 || *last < *first || *last >= CPU_SETSIZE) {
      return std::nullopt;
    }
    for (int cpu = *first; cpu <= *last; ++cpu) CPU_SET(cpu, &cpus);
  }
  return CPU_COUNT(&cpus) > 0 ? std::optional(cpus) : std::nullopt;
}

/// As long as nobody called nice or taskset there is nothing to say.
std::string own_cpu_habits() {
  std::string text;
  const int niceness = getpriority(PRIO_PROCESS, 0);
  if (niceness != 0) text.append(",").append(kNice).append(std::to_string(niceness));
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  const bool is_known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
  if (is_known && CPU_COUNT(&cpus) < sysconf(_SC_NPROCESSORS_ONLN)) {
    text.append(",").append(kCpus).append(text_of_cpus(cpus));
  }
  return text;
}

/// The value of BERTH_ULIMIT in an environment; "" without it.
std::string_view value_in(const std::vector<std::string>& environment) {
  const auto variable = std::ranges::find_if(environment, is_ulimit);
  if (variable == environment.end()) return {};
  return std::string_view(*variable).substr(kBerthUlimit.size() + 1);
}

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
  return text + own_cpu_habits();
}

std::vector<Ulimit> ulimits_in(std::string_view text) {
  std::vector<Ulimit> all;
  while (!text.empty()) {
    const std::string_view entry = take_entry(text, ',');
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

CpuHabits cpu_habits_in(std::string_view text) {
  CpuHabits habits;
  while (!text.empty()) {
    const std::string_view entry = take_entry(text, ',');
    if (entry.starts_with(kNice)) habits.niceness = whole_number(entry.substr(kNice.size()));
    if (entry.starts_with(kCpus)) habits.cpus = cpus_in(entry.substr(kCpus.size()));
  }
  return habits;
}

std::vector<Ulimit> ulimits_of(const std::vector<std::string>& environment) {
  return ulimits_in(value_in(environment));
}

CpuHabits cpu_habits_of(const std::vector<std::string>& environment) {
  return cpu_habits_in(value_in(environment));
}

void take_ulimits(const std::vector<Ulimit>& ulimits) {
  for (const Ulimit& wanted : ulimits) {
    rlimit limit{};
    if (getrlimit(wanted.resource, &limit) != 0) continue;
    limit.rlim_cur = std::min(wanted.soft, limit.rlim_max);  // RLIM_INFINITY is the largest
    setrlimit(wanted.resource, &limit);
  }
}

void take_cpu_habits(const CpuHabits& habits) {
  if (habits.niceness) setpriority(PRIO_PROCESS, 0, *habits.niceness);
  if (habits.cpus) sched_setaffinity(0, sizeof *habits.cpus, &*habits.cpus);
}

}  // namespace berth::shim
