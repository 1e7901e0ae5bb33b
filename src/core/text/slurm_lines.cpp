#include "core/text/slurm_lines.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "core/text/text.hpp"

namespace berth {

namespace {

/// `0-1,3` of `IDX:0-1,3`.
std::vector<std::uint32_t> indices_in(std::string_view inside) {
  std::vector<std::uint32_t> indices;
  constexpr std::int64_t kMostGpus = 1024;
  if (!inside.starts_with("IDX:")) return indices;
  inside.remove_prefix(4);
  while (!inside.empty()) {
    std::string_view range = next_part(inside, ',');
    const auto first = slurm_number(next_part(range, '-'));
    const auto last = range.empty() ? first : slurm_number(range);
    if (!first || !last || *first < 0 || *last > kMostGpus) break;
    for (std::int64_t i = *first; i <= *last; ++i) {
      indices.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return indices;
}

constexpr std::string_view kNameKey = " JobName=";

/// Where ` UserId=eve(1000)` begins, which follows a job's name.
std::size_t end_of_name(std::string_view record) {
  constexpr std::string_view kUser = " UserId=";
  for (auto at = record.find(kUser); at != std::string_view::npos;
       at = record.find(kUser, at + 1)) {
    std::string_view rest = record.substr(at + kUser.size());
    if (next_part(rest, ' ').ends_with(')')) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<SlurmRecord> slurm_records(std::string_view shown) {
  constexpr std::string_view kBegin = "JobId=";
  std::vector<SlurmRecord> records;
  while (!shown.empty()) {
    const std::string_view line = next_part(shown, '\n');
    const bool is_open =
        !records.empty() && end_of_name(records.back().text) == std::string_view::npos;
    const bool begins = line.starts_with(kBegin) && slurm_number(line.substr(kBegin.size()));
    if (begins && !is_open) {
      records.push_back({.name = "", .text = std::string(line)});
    } else if (!records.empty()) {
      records.back().text += " " + std::string(line);
    }
  }
  for (auto& [name, text] : records) {
    const auto begin = text.find(kNameKey);
    const auto end = end_of_name(text);
    if (begin == std::string::npos || end == std::string_view::npos || end < begin) continue;
    name = text.substr(begin + kNameKey.size(), end - begin - kNameKey.size());
    text.erase(begin, end - begin);
  }
  return records;
}

std::optional<std::int64_t> slurm_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

std::vector<std::string> slurm_names(std::string_view list) {
  constexpr std::int64_t kMostNames = 100'000;
  std::vector<std::string> names;
  while (!list.empty()) {
    const auto comma = list.find(',');
    const auto open = list.find('[');
    const auto close = list.find(']', open);
    if (open == std::string_view::npos || close == std::string_view::npos || comma < open) {
      names.emplace_back(next_part(list, ','));
      continue;
    }
    const std::string stem(list.substr(0, open));
    std::string_view ranges = list.substr(open + 1, close - open - 1);
    list.remove_prefix(close + 1);
    const std::string_view behind = next_part(list, ',');
    while (!ranges.empty()) {
      std::string_view range = next_part(ranges, ',');
      const std::string_view from = next_part(range, '-');
      const auto first = slurm_number(from);
      const auto last = range.empty() ? first : slurm_number(range);
      if (!first || !last || *last - *first > kMostNames) break;
      for (std::int64_t i = *first; i <= *last; ++i) {
        std::string number = std::to_string(i);
        if (number.size() < from.size()) number.insert(0, from.size() - number.size(), '0');
        names.push_back(stem + number + std::string(behind));
      }
    }
  }
  return names;
}

SlurmWords slurm_words(std::string_view line) {
  SlurmWords words;
  std::string last;
  while (!line.empty()) {
    std::string_view value = next_part(line, ' ');
    if (value.empty()) continue;
    const bool has_key = is_letter(value.front()) && value.contains('=');
    if (!has_key) {  // a text of several words, as of a reason
      if (!last.empty()) words[last] += " " + std::string(value);
      continue;
    }
    const std::string key(next_part(value, '='));
    const bool is_none =
        value == "(null)" || value == "None" || value == "Unknown" || value == "N/A";
    last = words.contains(key) ? "" : key;
    if (!last.empty()) words[key] = is_none ? "" : value;
  }
  return words;
}

std::string slurm_word(const SlurmWords& words, std::string_view key) {
  const auto found = words.find(key);
  return found == words.end() ? "" : found->second;
}

std::string slurm_handle(const SlurmWords& words) {
  const std::string id = slurm_word(words, "JobId");
  const std::string array = slurm_word(words, "ArrayJobId");
  const std::string task = slurm_word(words, "ArrayTaskId");
  if (array.empty() || task.empty()) return id;
  const bool is_one = std::ranges::all_of(task, is_digit);
  return array + "_" + (is_one ? task : "[" + task + "]");
}

GresPart gres_part(std::string_view text) {
  GresPart part;
  if (text.starts_with("gres:") || text.starts_with("gres/")) text.remove_prefix(5);
  if (const auto open = text.rfind('('); open != std::string_view::npos && text.ends_with(')')) {
    part.inside = text.substr(open + 1, text.size() - open - 2);
    text = text.substr(0, open);
  }
  part.name = text.substr(0, text.find_first_of(":="));
  const auto last = text.find_last_of(":=");
  if (last != std::string_view::npos) {
    part.count = slurm_number(text.substr(last + 1)).value_or(1);
  }
  return part;
}

std::map<std::uint32_t, std::int64_t> gpus_of_gres(const GresPart& part) {
  std::map<std::uint32_t, std::int64_t> gpus;
  if (part.name != "shard" && part.name != "gpu") return gpus;
  const std::vector<std::uint32_t> indices = indices_in(part.inside);
  for (const std::uint32_t gpu : indices) {
    const std::int64_t each = part.count / static_cast<std::int64_t>(indices.size());
    gpus[gpu] = part.name == "gpu" ? 0 : each;
  }
  if (!part.inside.contains('/')) return gpus;
  std::string_view rest = part.inside;
  for (std::uint32_t gpu = 0; !rest.empty(); ++gpu) {
    const auto gib = slurm_number(next_part(rest, ','));
    if (gib && *gib > 0) gpus[gpu] = *gib;
  }
  return gpus;
}

std::vector<SlurmNodesPart> slurm_nodes_parts(std::string_view line) {
  std::vector<SlurmNodesPart> parts;
  constexpr std::string_view kNodes = " Nodes=";
  for (auto at = line.find(kNodes); at != std::string_view::npos; at = line.find(kNodes, at + 1)) {
    std::string_view rest = line.substr(at + kNodes.size());
    SlurmNodesPart part{.nodes = slurm_names(next_part(rest, ' ')), .gres = {}};
    next_part(rest, ' ');  // CPU_IDs
    next_part(rest, ' ');  // Mem
    std::string_view gres = next_part(rest, ' ');
    if (next_part(gres, '=') == "GRES") part.gres = gres;
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<SlurmHolding> slurm_holdings(std::string_view line) {
  std::vector<SlurmHolding> holds;
  for (const SlurmNodesPart& part : slurm_nodes_parts(line)) {
    each_gres(part.gres, [&](const GresPart& gres) {
      for (const auto& [gpu, gib] : gpus_of_gres(gres)) {
        for (const std::string& node : part.nodes) holds.push_back({node, gpu, gib});
      }
    });
  }
  return holds;
}

}  // namespace berth
