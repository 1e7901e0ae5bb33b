#include "core/text/slurm_lines.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

#include "core/text/array_text.hpp"
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

constexpr std::string_view kJobKey = "JobId=";
constexpr std::string_view kNameKey = " JobName=";
constexpr std::string_view kUserKey = " UserId=";
constexpr std::size_t kIdWidth = 20;
constexpr std::size_t kNameWidth = 1100;  ///< Slurm takes names of 1024 bytes.

/// Of a line that may begin a record of one of these jobs.
std::optional<std::int64_t> id_in(std::string_view line, const SlurmIds& ids) {
  if (!line.starts_with(kJobKey)) return std::nullopt;
  const auto id = slurm_number(line.substr(kJobKey.size()));
  return id && ids.contains(*id) ? id : std::nullopt;
}

/// Whether no user's text can be taken for what Slurm says before it.
bool is_certain(std::string_view line) {
  const auto user = line.find(kUserKey);
  return user != std::string_view::npos &&
         line.find(kUserKey, user + 1) == std::string_view::npos && line.find(kNameKey) < user;
}

/// With `size` bytes of a name.
SlurmRecord without_name(std::int64_t id, std::string_view text, std::size_t size) {
  const auto begin = text.find(kNameKey);
  const std::string_view name = text.substr(begin + kNameKey.size(), size);
  SlurmRecord record{.id = id, .name = std::string(name), .text = std::string(text)};
  record.text.erase(begin, kNameKey.size() + size);
  return record;
}

/// Slurm tells the components of a job behind its name.
std::size_t end_of_name(std::string_view line, std::size_t user) {
  const auto set = line.substr(0, user).rfind(" HetJobIdSet=");
  const bool is_component = line.substr(0, line.find(kNameKey)).contains(" HetJobId=");
  return is_component && set != std::string_view::npos ? set : user;
}

/// As squeue pads it; nothing where it does not tell of this job.
std::optional<std::string> name_in(std::string_view names, std::int64_t id) {
  constexpr std::size_t kRow = kIdWidth + kNameWidth + 1;
  for (; names.size() >= kRow - 1; names.remove_prefix(std::min(kRow, names.size()))) {
    if (slurm_number(names) != id) continue;
    std::string_view name = names.substr(kIdWidth, kNameWidth);
    while (name.ends_with(' ')) name.remove_suffix(1);
    return std::string(name);
  }
  return std::nullopt;
}

}  // namespace

SlurmIds slurm_ids(std::string_view rows) {
  SlurmIds ids;
  while (!rows.empty()) {
    std::string_view row = next_part(rows, '\n');
    const auto id = slurm_number(next_part(row, ' '));
    const std::string_view array = next_part(row, ' ');
    if (!id) continue;
    const bool is_task = !row.empty() && std::ranges::all_of(row, is_digit);
    const bool is_plain = row.empty() || row == "N/A";
    ids[*id] = is_task    ? std::string(array) + "_" + std::string(row)
               : is_plain ? std::to_string(*id)
                          : "";
  }
  return ids;
}

SlurmShown slurm_records(std::string_view shown, const SlurmIds& ids) {
  struct Line {
    std::int64_t id = 0;
    std::string_view text;
  };
  std::vector<Line> lines;
  std::map<std::int64_t, int> times;
  std::set<std::int64_t> uncertain;
  while (!shown.empty()) {
    const std::string_view text = next_part(shown, '\n');
    const auto id = id_in(text, ids);
    if (id) {
      lines.push_back({*id, text});
      ++times[*id];
    } else if (!lines.empty()) {
      uncertain.insert(lines.back().id);  // that line broke
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (times[lines[i].id] > 1 && i > 0) uncertain.insert(lines[i - 1].id);  // it may be in that
    if (times[lines[i].id] > 1 || !is_certain(lines[i].text)) uncertain.insert(lines[i].id);
  }
  SlurmShown told;
  for (const auto& [id, line] : lines) {
    if (uncertain.contains(id)) continue;
    const auto begin = line.find(kNameKey) + kNameKey.size();
    const auto end = end_of_name(line, line.find(kUserKey));
    told.records.push_back(without_name(id, line, std::max(begin, end) - begin));
  }
  told.uncertain.assign(uncertain.begin(), uncertain.end());
  return told;
}

std::string slurm_names_command(const std::vector<std::int64_t>& jobs) {
  std::string list;
  for (const std::int64_t job : jobs) list += (list.empty() ? "" : ",") + std::to_string(job);
  return "squeue --noheader --all --states=all --jobs=" + list +
         " --Format=JobID:" + std::to_string(kIdWidth) + ",Name:" + std::to_string(kNameWidth);
}

std::optional<SlurmRecord> slurm_record(std::string_view shown, std::string_view names,
                                        const SlurmIds::value_type& job) {
  const auto& [id, alone] = job;
  const auto name = name_in(names, id);
  const std::string key = std::string(kJobKey) + std::to_string(id) + " ";
  while (!shown.empty() && !shown.starts_with(key)) next_part(shown, '\n');
  // What else is told of an array is of tasks of the same user.
  if (alone.empty()) shown = shown.substr(0, shown.find("\n" + std::string(kJobKey)));
  const auto begin = shown.find(kNameKey);
  if (!name || begin == std::string_view::npos) return std::nullopt;
  std::string_view behind = shown.substr(begin + kNameKey.size());
  if (!behind.starts_with(*name)) return std::nullopt;
  behind.remove_prefix(name->size());
  behind.remove_prefix(std::min(behind.find_first_not_of(" \n"), behind.size()));
  if (!behind.starts_with("UserId=") && !behind.starts_with("HetJobIdSet=")) return std::nullopt;
  SlurmRecord record = without_name(id, shown, name->size());
  std::ranges::replace(record.text, '\n', ' ');
  return record;
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
  const std::string whole = slurm_word(words, "HetJobId");
  if (!whole.empty()) return whole + "+" + slurm_word(words, "HetJobOffset");
  if (array.empty() || task.empty()) return id;
  const bool is_one = std::ranges::all_of(task, is_digit);
  return array + "_" + (is_one ? task : "[" + task + "]");
}

bool slurm_handle_has(std::string_view handle, std::string_view task) {
  constexpr std::string_view kCut = "...";
  const std::string_view array = next_part(task, '_');
  const auto wanted = slurm_number(task);
  if (next_part(handle, '_') != array || !wanted || !std::ranges::all_of(task, is_digit) ||
      !handle.starts_with('[')) {
    return false;
  }
  handle.remove_prefix(1);
  handle = handle.substr(0, handle.find_first_of("%]"));
  const bool is_cut = handle.ends_with(kCut);
  if (is_cut) handle.remove_suffix(kCut.size());
  if (handle.ends_with(',')) handle.remove_suffix(1);
  const auto ranges = parse_task_ranges(handle);
  if (!ranges || ranges->empty()) return false;
  const auto has_it = [&](const TaskRange& range) { return range.has(*wanted); };
  return std::ranges::any_of(*ranges, has_it) || (is_cut && *wanted > ranges->back().last);
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
