#include "slurm/texts.hpp"

#include "core/base/split.hpp"
#include "core/text/amounts.hpp"
#include "core/text/text.hpp"
#include "core/text/words.hpp"

namespace berth::slurm {

namespace {

constexpr std::int64_t kMostShards = std::int64_t{1} << 20;

/// `g5`: the stem and the index.
std::optional<std::pair<std::string_view, std::uint32_t>> split_type(std::string_view type) {
  const std::size_t last = type.find_last_not_of("0123456789");
  if (last == std::string_view::npos) return std::nullopt;
  const auto index = number_of<std::uint32_t>(type.substr(last + 1));
  if (!index) return std::nullopt;
  return std::pair{type.substr(0, last + 1), *index};
}

/// One part of a list: `shard:g5:20(IDX:5)`.
void add_part(Shards& shards, std::string_view part) {
  if (part.starts_with("gres:")) part.remove_prefix(5);
  part = part.substr(0, part.find('('));
  if (!part.starts_with("shard:")) return;
  part.remove_prefix(6);
  const std::size_t colon = part.find(':');
  if (colon == std::string_view::npos) return;
  const auto type = split_type(part.substr(0, colon));
  const auto count = number_of<std::int64_t>(part.substr(colon + 1));
  if (!type || !count || *count <= 0 || *count > kMostShards) return;
  if (shards.per.empty()) shards.stem = type->first;
  if (shards.stem == type->first) shards.per[type->second] += *count;
}

/// In single quotes, which a shell takes as they are.
std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

Shards parse_shards(std::string_view gres) {
  Shards shards;
  while (!gres.empty()) add_part(shards, next_part_outside_parentheses(gres));
  return shards;
}

std::string shard_request(const Shards& shards) {
  std::string text;
  for (const auto& [index, count] : shards.per) {
    text += (text.empty() ? "gres:shard:" : ",gres:shard:") + shards.stem + std::to_string(index) +
            ":" + std::to_string(count);
  }
  return text;
}

Expected<std::vector<std::uint32_t>> parse_tasks(std::string_view text) {
  constexpr std::size_t kMost = 1'000'000;
  const auto wrong = [&](const std::string& why) {
    return fail(ErrorCode::BadData, "'" + std::string(text.substr(0, 60)) + "': " + why);
  };
  std::vector<std::uint32_t> tasks;
  std::string_view rest = text.substr(0, text.find('%'));
  do {
    std::string_view part = next_part(rest, ',');
    std::string_view range = next_part(part, ':');
    const auto step = part.empty() ? std::optional(1U) : number_of<std::uint32_t>(part);
    const bool is_one = range.find('-') == std::string_view::npos;
    const auto first = number_of<std::uint32_t>(next_part(range, '-'));
    const auto last = is_one ? first : number_of<std::uint32_t>(range);
    if (!first || !last || !step || *step == 0 || *first > *last) return wrong("no list of tasks");
    if (tasks.size() + (*last - *first) / *step >= kMost) return wrong("more than a million tasks");
    for (std::uint64_t task = *first; task <= *last; task += *step) {
      tasks.push_back(static_cast<std::uint32_t>(task));
    }
  } while (!rest.empty());
  return tasks;
}

std::string script_for(const std::vector<std::string>& arguments) {
  std::string line = "#!/bin/sh\nexec";
  for (const std::string& argument : arguments) line += " " + quoted(argument);
  return line + "\n";
}

}  // namespace berth::slurm
