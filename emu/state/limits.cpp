#include "emu/state/limits.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace berth::emu {
namespace {

/// `/a/b/c`: `/a`, `/a/b` and `/a/b/c`, the root first, as many as are kept.
std::vector<std::string_view> folders_above(std::string_view folder) {
  std::vector<std::string_view> above;
  for (auto end = folder.find('/', 1); end != std::string_view::npos && above.size() + 1 < kDepth;
       end = folder.find('/', end + 1)) {
    above.push_back(folder.substr(0, end));
  }
  above.push_back(folder);
  return above;
}

std::string read_file(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(file, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(file);
  return text;
}

/// Calls visit(line) until it returns true.
template <class Visit>
void for_lines(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (visit(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The word with this number, from 0 on.
std::string_view word_of(std::string_view line, int number) {
  for (; number > 0 && !line.empty(); --number) {
    line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
  }
  return line.substr(0, line.find(' '));
}

/// Where cgroup v2 is mounted; "" if it is not.
std::string mount_of_cgroups() {
  constexpr int kMountPoint = 4;
  std::string point;
  for_lines(read_file("/proc/self/mountinfo"), [&](std::string_view line) {
    if (line.find(" - cgroup2 ") == std::string_view::npos) return false;
    point = word_of(line, kMountPoint);
    return true;
  });
  return point;
}

const Limit* find(const Layout& layout, Group group) {
  const auto found = std::ranges::find_if(
      layout.limits, [&](const Limit& limit) { return limit.group.load() == group; });
  return found == layout.limits.end() ? nullptr : &*found;
}

Limit* find_or_claim(Layout& layout, Group group) {
  if (const auto* found = find(layout, group)) return const_cast<Limit*>(found);
  for (auto& limit : layout.limits) {
    std::uint64_t free = 0;
    if (limit.group.compare_exchange_strong(free, group)) return &limit;
  }
  return nullptr;
}

Bounds bounds_in(const Limit& limit, std::uint32_t gpu) {
  Bounds bounds{.soft = limit.soft[gpu].load(), .hard = std::nullopt};
  if (const auto hard = limit.hard[gpu].load(); hard != 0) bounds.hard = hard - 1;
  return bounds;
}

bool is_empty(const Limit& limit) {
  const auto is_zero = [](const SharedWord& word) { return word.load() == 0; };
  return std::ranges::all_of(limit.soft, is_zero) && std::ranges::all_of(limit.hard, is_zero);
}

}  // namespace

/// FNV-1a: the folders of one machine are few.
Group group_of(const std::string& folder) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : folder) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return hash == 0 ? 1 : hash;
}

std::string own_cgroup() {
  if (const char* given = std::getenv("BERTH_EMU_CGROUP")) return given;
  const auto mount = mount_of_cgroups();
  if (mount.empty()) return "";
  std::string folder;
  for_lines(read_file("/proc/self/cgroup"), [&](std::string_view line) {
    if (!line.starts_with("0::/")) return false;
    folder = line == "0::/" ? mount : mount + std::string(line.substr(3));
    return true;
  });
  return folder;
}

void enter(Layout& layout, std::uint32_t slot, const std::string& folder) {
  auto& groups = layout.groups[slot];
  const auto above = folders_above(folder);
  for (std::uint32_t level = 0; level < kDepth; ++level) {
    groups[level].store(
        level < above.size() && !folder.empty() ? group_of(std::string(above[level])) : 0);
  }
}

bool is_in(const Layout& layout, std::uint32_t slot, Group group) {
  return std::ranges::any_of(layout.groups[slot],
                             [&](const SharedWord& word) { return word.load() == group; });
}

Group leaf_of(const Layout& layout, std::uint32_t slot) {
  Group leaf = 0;
  for (const auto& group : layout.groups[slot]) {
    if (const auto value = group.load(); value != 0) leaf = value;
  }
  return leaf;
}

Bounds bounds_of(const Layout& layout, Group group, std::uint32_t gpu) {
  const auto* limit = find(layout, group);
  return limit == nullptr ? Bounds{} : bounds_in(*limit, gpu);
}

bool set_bounds(Layout& layout, Group group, std::uint32_t gpu, const Bounds& bounds) {
  if (bounds == Bounds{} && find(layout, group) == nullptr) return true;
  auto* const limit = find_or_claim(layout, group);
  if (limit == nullptr) return false;
  limit->soft[gpu].store(bounds.soft);
  limit->hard[gpu].store(bounds.hard ? *bounds.hard + 1 : 0);
  if (is_empty(*limit)) limit->group.store(0);
  return true;
}

std::vector<LimitState> limits_on(const Layout& layout, std::uint32_t gpu) {
  std::vector<LimitState> limits;
  for (const auto& limit : layout.limits) {
    const auto group = limit.group.load();
    if (group == 0) continue;
    const auto bounds = bounds_in(limit, gpu);
    if (bounds != Bounds{}) limits.push_back({group, bounds});
  }
  return limits;
}

Restraint::Restraint(const Layout& layout, std::uint32_t gpu, std::uint32_t slot)
    : layout_(layout) {
  for (const auto& limit : limits_on(layout, gpu)) {
    if (is_in(layout, slot, limit.group)) {
      if (limit.bounds.hard) own_.push_back(limit);
    } else if (limit.bounds.soft > 0) {
      others_.push_back(limit);
    }
  }
}

}  // namespace berth::emu
